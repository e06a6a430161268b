"""Metrics that processes measure themselves: recorded in memory, and published to Redis by a timer.

`recording` is what the measured code calls, `families` declares each metric, `publishing` adds what is new to
the shared totals in Redis, and reads them. What the database knows is not counted here but read when somebody
asks: `turnwise.project.system`. See docs/decisions/metrics.md.
"""
