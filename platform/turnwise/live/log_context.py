"""Ids that structured logs carry: of the request, the study, the conversation or the job at hand.

They follow the flow of control: a task or thread that is started from another one inherits its ids.
"""

from collections.abc import Mapping
from contextvars import ContextVar

_ids: ContextVar[Mapping[str, str | int]] = ContextVar("log_ids", default={})  # noqa: B039  # never changed


def bind(**ids: str | int) -> None:
    """Add ids to those of this flow of control; they are never text that a person has written."""
    _ids.set({**_ids.get(), **ids})


def clear() -> None:
    """Remove all ids, as a new request or job begins."""
    _ids.set({})


def current() -> Mapping[str, str | int]:
    """The ids of this flow of control."""
    return _ids.get()
