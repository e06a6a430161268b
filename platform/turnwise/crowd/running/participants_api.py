"""REST API of a study's participants: end their work, write to them, act on several; and time limits."""

from typing import Annotated, Literal

from django.shortcuts import get_object_or_404
from ninja import Field, Path, Router, Schema

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE
from turnwise.crowd.api import Number, People, PersonIn, Pseudonym, chosen_participations
from turnwise.crowd.models import Outcome, Participation
from turnwise.crowd.pay.panel_acts import LONGEST_MESSAGE
from turnwise.crowd.places import ending
from turnwise.crowd.running import bulk_actions
from turnwise.crowd.running.running_views import LimitsForm
from turnwise.crowd.worker_task import WorkerTask
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.submitted_forms import filled_form
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.tasks import keys_of

router = Router(tags=["studies"])
Text = Annotated[str, Field(max_length=LONGEST_MESSAGE)]


class EndIn(Schema, extra="forbid"):
    """How the work of a person ended, such as that they returned it at the panel."""

    outcome: Literal["withdrawn", "timed_out", "screened_out"]
    number: Number = 1


class EndOut(Schema):
    """A participation that has ended."""

    worker: str
    number: int
    outcome: str
    was_open: bool = Field(description="Whether it was open before; an earlier outcome stays.")


class WorkerMessageIn(Schema, extra="forbid"):
    """A message to a person over their panel."""

    text: Text
    number: Number = 1


class ActionIn(Schema, extra="forbid"):
    """An action on several participants, as the list of their page takes it."""

    action: Literal["exclude", "include", "write", "end-withdrawn", "end-timed_out", "end-screened_out"]
    people: People
    note: Text = Field("", description="Reason of an exclusion, or the text of a message.")


class DoneOut(Schema):
    """What was done."""

    says: str = Field(description="The result in a sentence.")


class TimeLimitsIn(Schema, extra="forbid"):
    """Time limits of a study; those that are left out stay."""

    message_minutes: int | None = Field(None, description="For each message or judgment; 0: no limit.")
    session_minutes: int | None = Field(None, description="For the whole; 0: no limit.")
    extensions: int | None = Field(None, description="How often a person may ask for the same time again.")
    notes_typing: bool | None = Field(None, description="Whether pasting and typing times are recorded.")


class TimeLimitsOut(Schema):
    """Time limits of a study."""

    message_minutes: int
    session_minutes: int
    extensions: int
    notes_typing: bool


@router.post(
    "/studies/{slug:code}/participants/{worker}/end",
    response=answers(EndOut, 404, has_body=True),
    openapi_extra=PEOPLE,
)
def end_participation(
    request: AuthenticatedHttpRequest, code: str, worker: Path[Pseudonym], sent: EndIn
) -> EndOut:
    """End the work of a person who left, ran out of time or was screened out; the place is free at once."""
    found = _participation(_study(request, code), worker, sent.number)
    was_open = ending.end(found.pk, Outcome(sent.outcome))
    found = Participation.objects.select_related("assignment").get(pk=found.pk)
    return EndOut(
        worker=found.pseudonym, number=found.number, outcome=found.assignment.outcome, was_open=was_open
    )


@router.post(
    "/studies/{slug:code}/participants/{worker}/message",
    response=answers(DoneOut, 404, 409, has_body=True),
    openapi_extra=PEOPLE,
)
def write_to_participant(
    request: AuthenticatedHttpRequest, code: str, worker: Path[Pseudonym], sent: WorkerMessageIn
) -> DoneOut:
    """Send a person a message over their panel, if its API is used (Prolific)."""
    study = _study(request, code)
    found = _participation(study, worker, sent.number)
    return _carried_out(request, study, "write", [found], sent.text)


@router.post(
    "/studies/{slug:code}/participants/actions",
    response=answers(DoneOut, 404, 409, has_body=True),
    openapi_extra=PEOPLE,
)
def act_on_participants(request: AuthenticatedHttpRequest, code: str, sent: ActionIn) -> DoneOut:
    """Exclude several participants, take them back in, end their work or write to them: all, or none."""
    study = _study(request, code)
    found = chosen_participations(study, sent.people, "people")
    return _carried_out(request, study, sent.action, found, sent.note)


def _carried_out(
    request: AuthenticatedHttpRequest, study: Study, action: str, people: list[Participation], note: str
) -> DoneOut:
    details = bulk_actions.Request(note, None, request.user)
    with refusals_as_conflicts():
        return DoneOut(says=bulk_actions.carry_out(study, action, [each.pk for each in people], details))


@router.get("/studies/{slug:code}/limits", response=answers(TimeLimitsOut, 404))
def time_limits(request: AuthenticatedHttpRequest, code: str) -> TimeLimitsOut:
    """Get the time limits of a study."""
    return _limits(_study(request, code))


@router.patch("/studies/{slug:code}/limits", response=answers(TimeLimitsOut, 404, has_body=True))
def change_time_limits(request: AuthenticatedHttpRequest, code: str, sent: TimeLimitsIn) -> TimeLimitsOut:
    """Change these limits; a clock that is already running does not change."""
    study = _study(request, code)
    form = filled_form(lambda data: LimitsForm(data, instance=study), sent.model_dump(exclude_none=True))
    # Save these fields only, as the page does: others may have changed meanwhile.
    Study.objects.filter(pk=study.pk).update(**form.cleaned_data)
    return _limits(Study.objects.get(pk=study.pk))


def _limits(study: Study) -> TimeLimitsOut:
    return TimeLimitsOut(**{name: getattr(study, name) for name in TimeLimitsOut.model_fields})


def _study(request: AuthenticatedHttpRequest, code: str) -> Study:
    return get_object_or_404(studies_of(request.user).filter(task__in=keys_of(WorkerTask)), code=code)


def _participation(study: Study, worker: str, number: int) -> Participation:
    """A participation by pseudonym and number; 404 without the worker, 422 without the number."""
    get_object_or_404(Participation, study=study, pseudonym=worker, number=1)
    return chosen_participations(study, [PersonIn(worker=worker, number=number)], "number")[0]
