"""The REST API of queues: what is judged, and which systems are taken out."""

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
    """How far the judging of one system is."""

    system: str = Field(description="What reports call it; of pairs both, as “Alpha against Beta”.")
    items: int = Field(description="That are in the queue.")
    removed: int = Field(description="That were taken out of it.")
    judged: int = Field(description="Judgments of both, all of which count.")
    wanted: int = Field(description="Judgments in all, those given included.")


@router.get("/studies/{slug:code}/queue", response=answers(list[SystemOut], 404))
def queue(request: AuthenticatedHttpRequest, code: str) -> list[SystemOut]:
    """What is judged, by system."""
    return _counts(_judging(request, code))


@router.put("/studies/{slug:code}/queue/removed", response=answers(list[SystemOut], 404, has_body=True))
def keep_out(request: AuthenticatedHttpRequest, code: str, sent: Body[list[System]]) -> list[SystemOut]:
    """Take these systems out of the queue, and put all others back; what was judged stays, and counts."""
    study = _judging(request, code)
    try:
        removal.keep_out(study, sent)
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return _counts(study)


def _judging(request: AuthenticatedHttpRequest, code: str) -> Study:
    own = studies_of(request.user)
    return get_object_or_404(own.filter(rehearsal_of=None, task__in=keys_of(QueuedTask)), code=code)


def _counts(study: Study) -> list[SystemOut]:
    return [SystemOut(**row._asdict()) for row in system_counts(study)]
