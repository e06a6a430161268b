"""The task of judging: the worker's pages and socket, the report's reads, and the rehearsal."""
