"""Audits: questions to a bot version about its identity, with verdicts of rules and of raters.

`tasks` runs audits in chunks, `services` records replies, `verdicts` has replies judged by people, and
`identity_leaks` finds replies that name a bot in a blind study.
"""
