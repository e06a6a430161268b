"""The client for programs without an event loop."""
