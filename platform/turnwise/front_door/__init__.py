"""The first page of an installation, for people who are not signed in, and its demo conversation.

An example report is named in `examples`; `scripts/example_reports.py` has its study and writes its file.
"""
