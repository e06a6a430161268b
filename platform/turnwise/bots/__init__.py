"""Registered chatbots: their configuration, revisions and versions, and the processes that host them.

`services` holds every write, `queries` what a person may see, `composition` bots inside other bots.
`hosting` loads bots and answers for them; everything else asks a bot through `hosting.client`. `drift_check`
asks each bot the same contexts daily.
"""
