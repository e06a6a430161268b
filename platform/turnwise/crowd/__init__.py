"""Workers and their participations: from the study link to the payment.

Rooms: `entry` (arrival, consent, gates, practice, sessions), `panels` (recruiting services), `places`
(assignment, reservation, end), `running` (pauses, limits, lobby, costs), `pay` (ledger, panel requests) and
`preview`. `worker_task` and `worker_socket` are the base classes of tasks done by workers; `refusals` has all
texts for workers who are refused. Participations are locked before their study, never after it.
"""
