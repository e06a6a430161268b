"""Sockets of browsers: their loop, messages between processes, batched steps, and the end of a server.

`layer` carries messages between sockets and processes over Redis. `batches` runs the consumers' database
steps, which must be idempotent.
"""
