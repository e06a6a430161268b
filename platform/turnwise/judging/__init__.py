"""Judging: readers judge items of a queue, one after the other, or a fixed battery each.

Rooms: `items` (which responses, turns, conversations, contexts or pairs are judged), `queue` (the plan,
leases and saved judgments), `batteries` (fixed sets of items for each reader), `gold` (items with a known
answer) and `readers` (agreement of readers with chatters and with a second group). `queries` reads the queue,
`views` and `forms` are the researcher's pages.

An item has as many slots as raters are wanted; a worker's batch leases slots for a limited time. Steps that
many workers take at once are SQL functions in `sql/` (docs/decisions/slots-and-leases.md). The socket of
readers is in `tasks/judging`.
"""
