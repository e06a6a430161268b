"""Pages of the REST API by cursor, stable while rows are added and tied to one list, and ids of rows."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from django.core import signing
from django.db.models import Model, QuerySet
from ninja import Field, Path, Query
from pydantic import AfterValidator, AwareDatetime

from turnwise.live.problems import InvalidFieldsError

_SALT = "live.cursors"
MOST = 1000
M = TypeVar("M", bound=Model)

Cursor = Annotated[
    str, Query("", max_length=300, description="`next` of the page before; empty for the first page.")
]
Limit = Annotated[int, Query(100, ge=1, le=MOST, description="Most rows of a page.")]


def _in_utc(at: datetime | None) -> datetime | None:
    """Time in UTC: PostgreSQL refuses offsets of 16 hours and more, which Python takes."""
    try:
        return at and at.astimezone(UTC)
    except OverflowError:
        raise ValueError("This time is outside the calendar.") from None


Since = Annotated[
    AwareDatetime | None,
    AfterValidator(_in_utc),
    Query(None, description="Only rows that were added or changed at or after this time, for polling."),
]
PathKey = Annotated[int, Path(..., ge=1, le=2**63 - 1)]
"""Id of a row in the path of a call."""
BodyKey = Annotated[int, Field(ge=1, le=2**63 - 1)]
"""Id of a row in the body of a request."""
NEXT = Field(description="Cursor of the next page; null at the end.")


def page_of(
    rows: QuerySet[M], of: str, cursor: str, limit: int, *, newest_first: bool = False
) -> tuple[Sequence[M], str | None]:
    """Read a page of rows by their keys.

    Args:
        rows: all rows of the list.
        of: what the list is, such as `labels abc`; a cursor of another list is refused.
        cursor: of the page; empty for the first.
        limit: most rows.
        newest_first: whether the rows come by falling keys.

    Returns:
        The rows, and the cursor of the next page; None at the end.

    Raises:
        InvalidFieldsError: the cursor is none of this list.
    """
    if cursor:
        rows = rows.filter(**{"pk__lt" if newest_first else "pk__gt": _key(of, cursor)})
    found = list(rows.order_by("-pk" if newest_first else "pk")[: limit + 1])
    is_last = len(found) <= limit
    return found[:limit], None if is_last else signing.dumps([of, found[limit - 1].pk], salt=_SALT)


def _key(of: str, cursor: str) -> int:
    cure = "Send `next` of its page before, or nothing for the first."
    try:
        list_of, key = signing.loads(cursor, salt=_SALT)
    except (signing.BadSignature, ValueError, TypeError):
        raise InvalidFieldsError({"cursor": [f"This is no cursor. {cure}"]}) from None
    if list_of != of:
        says = f"This cursor belongs to another list ({list_of}), not to this one ({of}). {cure}"
        raise InvalidFieldsError({"cursor": [says]})
    return int(key)


def page(items: Sequence[Any], following: str | None) -> dict[str, Any]:
    """Build the answer with a page."""
    return {"items": items, "next": following}
