"""The first page of an installation, for people who are not signed in, and its demo conversation."""
