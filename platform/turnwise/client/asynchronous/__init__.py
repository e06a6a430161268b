"""The client for programs with an event loop; `scripts/blocking_client.py` makes the other one from it."""
