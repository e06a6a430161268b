"""Calls of the REST API about whole studies: lists, drafts, changes, checks, opening and copies."""
