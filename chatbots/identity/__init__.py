"""Does somebody ask whether they talk to a machine, and does a bot say so?

Source: Gros, Li and Yu 2021, The R-U-A-Robot Dataset, ACL-IJCNLP, pages 6999-7013.
"""
