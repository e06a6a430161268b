"""Soft delete: deletions on staff pages can be undone for a day.

Use `soft_delete.SoftDeleter` to delete, and `views.offer_undo` to show the button *Undo*.
"""
