"""Participants' data: the data page, withdrawal, erasure of identifiers, and redaction of personal data."""
