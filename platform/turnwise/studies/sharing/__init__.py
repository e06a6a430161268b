"""Who may do what on a study: roles and their permissions, shares with people and groups, and transfers.

`permissions` is the only place that decides; `studies.queries.studies_of` applies it to querysets.
"""
