"""Responses: one system's answers to every context of a set, without a conversation.

A run is a bot at one version, the people of a writing study, or an uploaded file. `services` writes runs,
`queries` reads their
progress, `files` reads and writes files, `checks` examines texts that workers write, `sweeps` varies N and T
of a sampling bot.
`bot_jobs` and `bulk_replies` ask a bot for many replies, one slice of time after the other; audits and
self-play use them, too.
"""
