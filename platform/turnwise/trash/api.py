"""REST API of deletions, which can be undone for a day."""

from datetime import datetime

from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.live.http_responses import answers
from turnwise.trash import soft_delete
from turnwise.trash.models import UNDO_PERIOD, Deletion

router = Router(tags=["studies"])


class DeletionOut(Schema):
    """Something that was deleted and can be put back."""

    id: int
    what: str
    study: str | None = Field(description="Code of the study to which it belonged.")
    deleted_at: datetime
    until: datetime = Field(description="Until when it can be put back.")


def deletion_out(deletion: Deletion) -> DeletionOut:
    """Build the answer about a deletion."""
    return DeletionOut(
        id=deletion.pk,
        what=deletion.what,
        study=deletion.study.code if deletion.study else None,
        deleted_at=deletion.at,
        until=deletion.at + UNDO_PERIOD,
    )


@router.get("/deletions", response=answers(list[DeletionOut]))
def deletions(request: AuthenticatedHttpRequest) -> list[DeletionOut]:
    """List what you deleted within a day and can put back, the newest 200."""
    return [deletion_out(each) for each in soft_delete.deletions_of(request.user)[:200]]


@router.post("/deletions/{int:pk}/undo", response=answers(DeletionOut, 404, 409))
def undo_deletion(request: AuthenticatedHttpRequest, pk: int) -> DeletionOut:
    """Put back what was deleted."""
    deletion = get_object_or_404(soft_delete.deletions_of(request.user), pk=pk)
    found = deletion_out(deletion)
    try:
        soft_delete.restore(pk)
    except soft_delete.RestoreRefusedError as error:
        raise HttpError(409, str(error)) from None
    return found
