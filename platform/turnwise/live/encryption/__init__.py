"""Encryption at rest of secrets that people type into forms."""
