"""Infrastructure that all apps share: live messages, batched database steps, jobs, caching and frames.

`layer` carries messages between sockets and processes over Redis. `batches` and `database` run the consumers'
database steps; steps in them must be idempotent. `jobs` sends background jobs and holds advisory locks.
`sql` loads the SQL functions of every app.
"""
