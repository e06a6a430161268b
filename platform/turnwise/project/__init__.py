"""Wiring only: settings, addresses, servers, jobs and the embedded services."""
