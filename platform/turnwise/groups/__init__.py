"""Groups of accounts, such as a lab: members, their roles, and invitations by link.

Studies are shared with groups in `turnwise.studies.sharing`; the pages are in `turnwise.workspace.groups`.
"""
