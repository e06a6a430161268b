"""Infrastructure that all apps share: sockets, database steps, jobs, caching and frames.

`database` runs the consumers' database steps, which must be idempotent. `jobs` sends background jobs and
holds advisory locks. `sql` loads the SQL functions of every app.
"""
