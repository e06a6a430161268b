"""Draws of items for people by a judge's uncertainty: form, page and calls of the API."""
