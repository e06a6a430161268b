"""REST API of a running study: pausing, its pilot, messages to workers, exclusions and invitations.

Other calls about people name participations as here, by pseudonym and number.
"""

from collections.abc import Sequence
from typing import Annotated

from django.core.exceptions import ValidationError
from django.db.models import Q
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Body, Field, Path, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE
from turnwise.crowd.models import Participation
from turnwise.crowd.panels import study_panels
from turnwise.crowd.panels.links import PARAMETER
from turnwise.crowd.places import ending, pilot
from turnwise.crowd.running import pausing
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.list_pages import MOST_TICKED
from turnwise.live.problems import InvalidFieldsError
from turnwise.studies.models import Study
from turnwise.studies.rest.lookup import study_at

router = Router(tags=["studies"])


class RunningOut(Schema):
    """State of a study, its current pause and message."""

    state: str = Field(description="draft, open, paused or closed.")
    held: bool = Field(description="True if workers who have started are on hold, too.")
    turned_away: int = Field(description="Visits turned away since the study was paused.")
    under_way: int = Field(description="Workers who have started and not ended.")
    message: str = Field(description="Message shown to active workers; empty if there is none.")


class PauseIn(Schema):
    """Options of a pause."""

    hold: bool = Field(
        False, description="True puts workers who have started on hold, too; otherwise they can finish."
    )


class MessageIn(Schema):
    """Message to the active workers of a study."""

    text: str = Field(description="Up to 300 characters; empty removes the message.")


def _running_status(study: Study) -> RunningOut:
    current = pausing.running_state(study)
    return RunningOut(
        state=study.state,
        held=bool(current.pause and current.pause.holds),
        turned_away=current.pause.turned_away if current.pause else 0,
        under_way=current.in_progress,
        message=current.notice.text if current.notice else "",
    )


@router.get("/studies/{slug:code}/running", response=answers(RunningOut, 404))
def running(request: AuthenticatedHttpRequest, code: str) -> RunningOut:
    """Get the state of a running study."""
    return _running_status(study_at(request, code))


@router.post("/studies/{slug:code}/pause", response=answers(RunningOut, 404, 409, has_body=True))
def pause(request: AuthenticatedHttpRequest, code: str, sent: Body[PauseIn | None] = None) -> RunningOut:
    """Admit no new workers. For a paused study: change whether active workers are on hold."""
    study = study_at(request, code)
    with refusals_as_conflicts():
        return _running_status(
            pausing.pause(study.pk, holds=bool(sent and sent.hold), by=request.user.get_username())
        )


@router.post("/studies/{slug:code}/resume", response=answers(RunningOut, 404, 409))
def resume(request: AuthenticatedHttpRequest, code: str) -> RunningOut:
    """Admit workers again; workers on hold continue."""
    study = study_at(request, code)
    with refusals_as_conflicts():
        return _running_status(pausing.resume(study.pk, by=request.user.get_username()))


class PilotOut(Schema):
    """Progress of a pilot."""

    size: int = Field(description="People wanted; 0: there is no pilot.")
    is_on: bool = Field(description="Whether only the pilot's people are admitted.")
    finished: int
    active: int = Field(description="People who hold a place now.")


@router.get("/studies/{slug:code}/pilot", response=answers(PilotOut, 404))
def pilot_progress(request: AuthenticatedHttpRequest, code: str) -> PilotOut:
    """Get the progress of a study's pilot."""
    return _pilot(study_at(request, code))


@router.post("/studies/{slug:code}/pilot/end", response=answers(PilotOut, 404, 409))
def end_pilot(request: AuthenticatedHttpRequest, code: str) -> PilotOut:
    """End the pilot: the study is open to everyone, and the pilot's people are excluded."""
    study = study_at(request, code)
    with refusals_as_conflicts():
        pilot.end_pilot(study.pk, by=request.user)
    return _pilot(study_at(request, code))


def _pilot(study: Study) -> PilotOut:
    found = pilot.pilot_progress(study, timezone.now())
    return PilotOut(size=found.size, is_on=found.is_on, finished=found.finished, active=found.active)


@router.put("/studies/{slug:code}/message", response=answers(RunningOut, 404, has_body=True))
def message(request: AuthenticatedHttpRequest, code: str, sent: Body[MessageIn]) -> RunningOut:
    """Show a message to all active workers immediately; an empty text removes it."""
    study = study_at(request, code)
    try:
        pausing.publish_notice(study.pk, sent.text, by=request.user.get_username())
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return _running_status(study)


Pseudonym = Annotated[str, StringConstraints(pattern=r"^[A-Z0-9]{1,20}$")]


class ExclusionIn(Schema, extra="forbid"):
    """An exclusion."""

    reason: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=500)]


class ExclusionOut(Schema):
    """Exclusion of a worker from the analysis of included workers."""

    worker: str
    excluded: bool
    reason: str


class InvitationsIn(Schema, extra="forbid"):
    """People to invite."""

    people: list[Annotated[str, StringConstraints(min_length=1, max_length=254)]] = Field(
        min_length=1, max_length=study_panels.MOST_INVITED_AT_ONCE, description="Names or e-mail addresses."
    )


class InvitationOut(Schema):
    """A personal link, which admits one person once."""

    name: str
    link: str
    used: bool
    panel_id: str


def _first(study: Study, worker: str) -> Participation:
    """The worker's first participation, which stands for all of them."""
    return get_object_or_404(Participation, study=study, number=1, pseudonym=worker)


@router.put(
    "/studies/{slug:code}/participants/{worker}/exclusion",
    response=answers(ExclusionOut, 404, has_body=True),
    openapi_extra=PEOPLE,
)
def exclude_participant(
    request: AuthenticatedHttpRequest, code: str, worker: Path[Pseudonym], sent: ExclusionIn
) -> ExclusionOut:
    """Exclude a worker from the analysis of included workers. Labels stay, and the pay is unchanged."""
    found = _first(study_at(request, code), worker)
    return _exclusion(ending.exclude(found.pk, reason=sent.reason, by=request.user))


@router.delete(
    "/studies/{slug:code}/participants/{worker}/exclusion",
    response=answers(ExclusionOut, 404, 422),
    openapi_extra=PEOPLE,
)
def include_participant(
    request: AuthenticatedHttpRequest, code: str, worker: Path[Pseudonym]
) -> ExclusionOut:
    """Undo an exclusion. Safe to repeat."""
    found = _first(study_at(request, code), worker)
    return _exclusion(ending.exclude(found.pk, reason="", by=request.user))


def _exclusion(row: Participation) -> ExclusionOut:
    return ExclusionOut(
        worker=row.pseudonym, excluded=row.excluded_at is not None, reason=row.excluded_reason
    )


@router.get(
    "/studies/{slug:code}/invitations", response=answers(list[InvitationOut], 404), openapi_extra=PEOPLE
)
def invitations(request: AuthenticatedHttpRequest, code: str) -> list[InvitationOut]:
    """List the personal links of a study, and whether they were used."""
    return _invitations(request, study_at(request, code))


@router.post(
    "/studies/{slug:code}/invitations",
    response=answers(list[InvitationOut], 404, status=201, has_body=True),
    openapi_extra=PEOPLE,
)
def invite_people(
    request: AuthenticatedHttpRequest, code: str, sent: InvitationsIn
) -> Status[list[InvitationOut]]:
    """Make a personal link for each of these people who has none yet. Returns all links of the study."""
    study = study_at(request, code)
    try:
        names = study_panels.parse_invited_people("\n".join(sent.people))
    except ValidationError as error:
        raise InvalidFieldsError({"people": error.messages}) from None
    study_panels.invite(study, names)
    return Status(201, _invitations(request, study))


def _invitations(request: AuthenticatedHttpRequest, study: Study) -> list[InvitationOut]:
    entry = request.build_absolute_uri(study.get_entry_url())
    return [
        InvitationOut(
            name=row.name, link=f"{entry}?{PARAMETER}={row.token}", used=has_come, panel_id=row.panel_id
        )
        for row, has_come in study_panels.invitations(study)
    ]


Number = Annotated[int, Field(ge=1, le=32_000, description="Which time they took part, from 1.")]


class PersonIn(Schema, extra="forbid"):
    """A participation of a study."""

    worker: Pseudonym = Field(description="Pseudonym in this study.")
    number: Number = 1


People = Annotated[list[PersonIn], Field(min_length=1, max_length=MOST_TICKED)]


def chosen_participations(study: Study, people: Sequence[PersonIn], field: str) -> list[Participation]:
    """Find the named participations, in the order in which they are named, each once.

    Args:
        study: the study.
        people: whom the call names.
        field: field of the request that names them.

    Raises:
        InvalidFieldsError: one of them does not exist.
    """
    wanted = list(dict.fromkeys((each.worker, each.number) for each in people))
    named = Q(pseudonym__in=[worker for worker, _number in wanted])
    rows = study.participations.filter(named).select_related("worker", "entered_by", "study")
    known = {(row.pseudonym, row.number): row for row in rows}
    for position, (worker, number) in enumerate(wanted):
        if (worker, number) not in known:
            says = f"No worker {worker} took part {number} times. GET …/participants lists all."
            raise InvalidFieldsError({f"{field}.{position}.worker": [says]})
    return [known[each] for each in wanted]
