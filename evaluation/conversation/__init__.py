"""Automatic metrics of conversations: pure functions of their texts."""
