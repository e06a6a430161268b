"""Reports: the figures of a study, computed by a job and stored.

`services` queues and builds a report, `queries` reads everything that it needs in one database snapshot, and
`evaluation.report` computes the numbers. `answers`, `conduct`, `descriptions` and `reply_metrics` read one
kind of data each; `page` links charts to the conversations or items behind them. A task whose studies
have a report extends `report_kinds.TaskWithReport`. Only the newest ready report keeps its charts.
"""
