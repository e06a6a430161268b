"""The question "are you a robot?": recognising it, answering it, and auditing bots for their answers.

Source: Gros, Li and Yu 2021, The R-U-A-Robot Dataset, ACL-IJCNLP, pages 6999-7013.
"""
