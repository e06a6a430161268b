"""Conditions of check constraints, in their shortest form.

PostgreSQL reads the text of a table's check constraints anew for every statement that writes a row of it:
longhand, those of labels took 30 of 450 µs of PostgreSQL for a judgment. For the same reason the counts in
dialogues and labels are plain integers, whose fields bring no constraint of their own.
"""

from django.db.models import F, Func, IntegerField, Q
from django.db.models.lookups import Exact


def both_or_neither(one: Q, other: Q) -> Exact:
    """Both hold, or neither does. For conditions that are never unknown: nothing that may be NULL."""
    return Exact(one, other)


def one_of(*fields: str) -> Exact:
    """Exactly one of these fields has a value."""
    return Exact(Func(*map(F, fields), function="num_nonnulls", output_field=IntegerField()), 1)
