"""Entry: arrival, consent, gates, practice, sessions and the worker pages."""
