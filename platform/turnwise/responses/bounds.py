"""Bounds of responses, also for processes without models."""

MAX_RESPONSE = 4000
