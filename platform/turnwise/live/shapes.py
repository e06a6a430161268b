"""What dataclasses look like, to tell what another version of the code kept of them. Pure."""

from dataclasses import fields
from typing import Any


def shape_of(*kinds: type[Any]) -> str:
    """The names of their fields, which a change of any of them changes."""
    return ";".join(f"{kind.__name__}:{','.join(each.name for each in fields(kind))}" for kind in kinds)
