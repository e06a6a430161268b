"""The REST API of queues: list what is judged, and take systems out."""

from typing import Annotated

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from ninja import Body, Field, Router, Schema
from ninja.errors import HttpError
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.judging.items import removal
from turnwise.judging.queries import system_counts
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.live.http_responses import answers
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.tasks import keys_of

router = Router(tags=["studies"])
System = Annotated[str, StringConstraints(min_length=1, max_length=500)]


class SystemOut(Schema):
    """Progress of the judging of one system."""

    system: str = Field(description="Name in reports; of pairs both names: “Alpha against Beta”.")
    items: int = Field(description="Items in the queue.")
    removed: int = Field(description="Items taken out of the queue.")
    judged: int = Field(description="Judgments of both; all of them count.")
    wanted: int = Field(description="Judgments wanted in all, including those given.")


@router.get("/studies/{slug:code}/queue", response=answers(list[SystemOut], 404))
def queue(request: AuthenticatedHttpRequest, code: str) -> list[SystemOut]:
    """Systems of the queue, with their items and judgments."""
    return _counts(_judging(request, code))


@router.put("/studies/{slug:code}/queue/removed", response=answers(list[SystemOut], 404, has_body=True))
def keep_out(request: AuthenticatedHttpRequest, code: str, sent: Body[list[System]]) -> list[SystemOut]:
    """Take these systems out of the queue and put all others back. Judgments stay, and count."""
    study = _judging(request, code)
    try:
        removal.set_removed_systems(study, sent)
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return _counts(study)


def _judging(request: AuthenticatedHttpRequest, code: str) -> Study:
    studies = studies_of(request.user)
    return get_object_or_404(studies.filter(rehearsal_of=None, task__in=keys_of(QueuedTask)), code=code)


def _counts(study: Study) -> list[SystemOut]:
    return [SystemOut(**row._asdict()) for row in system_counts(study)]
