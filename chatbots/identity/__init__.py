"""The question "are you a robot?": recognising it, answering it, and auditing bots for their answers.

A new classifier is one file in `classifiers`, listed in its `__init__`; a new phrasing of the question is a
rule in `grammar/rules`.

Source: Gros, Li and Yu 2021, The R-U-A-Robot Dataset, ACL-IJCNLP, pages 6999-7013.
"""
