"""Hosting of bots: resident bots, their presence in the database, and requests between processes."""
