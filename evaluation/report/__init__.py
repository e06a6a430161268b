"""The numbers of a study's report, from what was said, labelled and measured in it.

Pure like all of `evaluation`, so that whoever has a study's bundle gets them again without the platform.
"""
