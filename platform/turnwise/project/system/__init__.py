"""State of the installation in numbers: `/metrics` for Prometheus, and the page *System* for admins.

`figures` are read from PostgreSQL, Redis and the disk when somebody asks; `gathering` puts them together with
what the processes publish (`turnwise.live.metrics`). A part that does not answer is left out, and a metric
says so. See docs/decisions/metrics.md.
"""
