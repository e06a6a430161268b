"""User accounts of researchers and admins: sign-in, tokens, access rules, rate limits and the audit log.

Workers have no account (see `turnwise.crowd`). Every queryset of a staff view goes through `access`.
"""
