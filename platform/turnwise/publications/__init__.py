"""Public pages of reports, with machine-readable results, badges and leaderboards.

`snapshots` selects what becomes public; `services` publishes a version and revokes an address; `row_files`
makes the archive of rows; `metadata` describes a version for machines; `leaderboards` groups versions that
may be compared, from small rows that it caches. A snapshot never changes. The rows disappear as
soon as somebody withdraws: `removal`.
"""
