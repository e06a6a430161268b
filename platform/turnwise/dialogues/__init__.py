"""Conversations while they are held: seats, turns, bot and operator replies, and reading material.

`services` holds every write, `queries` the reads, and `progress` the rules of what a person may do next.
`turn_taking` carries one exchange from a message to the bot's reply; `partner_events` serves two people who
talk with each other. Each write of a turn is one database function in `sql/`: keep those and `progress` in
step (see docs/decisions/one-statement-per-turn.md).
"""
