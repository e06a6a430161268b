"""REST API of quality: flags with their evidence, decisions about workers, and what a study requires."""

from collections.abc import Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema, Status
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE
from turnwise.crowd.models import Participation
from turnwise.crowd.worker_task import WorkerTask
from turnwise.live.cursors import NEXT, Cursor, Limit, PathKey, page, page_of
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.submitted_forms import filled_form
from turnwise.quality import decisions, flagging, qualification_tests
from turnwise.quality.flagging import describe_flag
from turnwise.quality.models import Decision, Flag, Limits
from turnwise.quality.qualification_tests import qualifications_of, required_qualification
from turnwise.quality.qualification_views import LimitsForm
from turnwise.studies.models import Study
from turnwise.studies.queries import real_studies_of
from turnwise.studies.sharing.permissions import Permission
from turnwise.studies.tasks import keys_of

router = Router(tags=["studies"])
Share = Annotated[float, Field(ge=0, le=1)]


class FlagOut(Schema):
    """A quality flag of a worker, which a person should look at."""

    worker: str
    number: int = Field(description="Which time they take part, from 1.")
    kind: str
    says: str = Field(description="The finding in a sentence.")
    figures: dict[str, Any] = Field(description="What it rests on.")
    labels: list[int] = Field(description="Labels to look at: `id` in GET …/labels.")
    found_at: datetime


class FlagsOut(Schema):
    """A page of flags."""

    items: list[FlagOut]
    next: str | None = NEXT


class DecisionIn(Schema, extra="forbid"):
    """A decision about a worker."""

    worker: Annotated[str, StringConstraints(pattern=r"^[A-Z0-9]{1,20}$")]
    number: int = Field(1, ge=1, le=32_000, description="Which time they took part.")
    action: Literal["keep", "exclude", "block", "approve", "reject"]
    reason: str = Field("", max_length=500, description="Needed to exclude, block or reject.")
    category: str = Field("", max_length=40, description="The panel's category of a rejection.")


class DecisionOut(Schema):
    """A decision about a worker; it is never deleted."""

    id: int
    worker: str
    action: str
    reason: str
    by: str
    at: datetime
    undone: bool


class DecisionsOut(Schema):
    """A page of decisions, the newest first."""

    items: list[DecisionOut]
    next: str | None = NEXT


class LimitsIn(Schema, extra="forbid"):
    """Limits beyond which a figure becomes a flag; those that are left out stay."""

    unread_share: float | None = Field(None, description="Share of answers faster than anybody reads.")
    pace: float | None = None
    run_chance: float | None = None
    peers_gap: float | None = None
    repeats_least: float | None = None
    gold_least: float | None = None
    attention_misses: int | None = None


class LimitsOut(Schema):
    """Limits beyond which a figure becomes a flag."""

    unread_share: float
    pace: float
    run_chance: float
    peers_gap: float
    repeats_least: float
    gold_least: float
    attention_misses: int


class RequirementIn(Schema, extra="forbid"):
    """The qualification that a study requires."""

    qualification: int | None = Field(ge=1, le=2**63 - 1, description="Its `id`; null: none.")


class RequirementOut(Schema):
    """The qualification that a study requires."""

    qualification: int | None


@router.get("/studies/{slug:code}/flags", response=answers(FlagsOut, 400, 404, 422), openapi_extra=PEOPLE)
def flags(
    request: AuthenticatedHttpRequest, code: str, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the quality flags of a study that you review or work on."""
    study = study_with_workers_of(request, code, Permission.REVIEW)
    rows = Flag.objects.filter(participation__study=study).select_related("participation")
    found, following = page_of(rows, f"flags {code}", cursor, limit)
    return page([_flag(each) for each in found], following)


def _flag(row: Flag) -> FlagOut:
    return FlagOut(
        worker=row.participation.pseudonym,
        number=row.participation.number,
        kind=row.kind,
        says=describe_flag(row.kind, row.figures),
        figures=row.figures,
        labels=row.evidence,
        found_at=row.found_at,
    )


@router.get("/studies/{slug:code}/flags/limits", response=answers(LimitsOut, 404))
def flag_limits(request: AuthenticatedHttpRequest, code: str) -> LimitsOut:
    """Get the limits beyond which a figure becomes a flag."""
    return _limits(flagging.limits_of(study_with_workers_of(request, code, Permission.REVIEW)))


@router.patch("/studies/{slug:code}/flags/limits", response=answers(LimitsOut, 404, has_body=True))
def change_flag_limits(request: AuthenticatedHttpRequest, code: str, sent: LimitsIn) -> LimitsOut:
    """Change these limits, and look for flags anew."""
    limits = flagging.limits_of(study_with_workers_of(request, code))
    form = filled_form(partial(LimitsForm, instance=limits), sent.model_dump(exclude_unset=True))
    stored = form.save(commit=False)
    flagging.save_limits(stored)
    return _limits(stored)


def _limits(row: Limits) -> LimitsOut:
    return LimitsOut(**{name: getattr(row, name) for name in LimitsOut.model_fields})


@router.get(
    "/studies/{slug:code}/decisions", response=answers(DecisionsOut, 400, 404, 422), openapi_extra=PEOPLE
)
def list_decisions(
    request: AuthenticatedHttpRequest, code: str, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the decisions about the workers of a study, the newest first."""
    study = study_with_workers_of(request, code, Permission.REVIEW)
    rows = study.decisions.exclude(action=Decision.Action.UNDO).select_related("undone_by")
    found, following = page_of(rows, f"decisions {code}", cursor, limit, newest_first=True)
    return page(_decisions(found), following)


@router.post(
    "/studies/{slug:code}/decisions",
    response=answers(DecisionOut, 404, 409, status=201, has_body=True),
    openapi_extra=PEOPLE,
)
def decide_about_worker(
    request: AuthenticatedHttpRequest, code: str, sent: DecisionIn
) -> Status[DecisionOut]:
    """Keep, exclude, block, approve or reject a worker, as on the page Quality."""
    study = study_with_workers_of(request, code, Permission.REVIEW)
    of = Participation.objects.filter(study=study, pseudonym=sent.worker, number=sent.number)
    participation = of.first()
    if participation is None:
        says = f"No worker {sent.worker} took part {sent.number} times. GET …/participants lists all."
        raise InvalidFieldsError({"worker": [says]})
    with refusals_as_conflicts():
        made = decisions.decide(
            participation, sent.action, reason=sent.reason, by=request.user, category=sent.category
        )
    return Status(201, _decisions([made])[0])


@router.post(
    "/studies/{slug:code}/decisions/{int:decision}/undo",
    response=answers(DecisionOut, 404, 409),
    openapi_extra=PEOPLE,
)
def undo_decision(request: AuthenticatedHttpRequest, code: str, decision: PathKey) -> DecisionOut:
    """Undo a decision with its effects; both stay in the list."""
    study = study_with_workers_of(request, code, Permission.REVIEW)
    made = get_object_or_404(study.decisions.exclude(action=Decision.Action.UNDO), pk=decision)
    with refusals_as_conflicts():
        decisions.undo(made, by=request.user)
    return _decisions([study.decisions.select_related("undone_by").get(pk=decision)])[0]


def _decisions(rows: Sequence[Decision]) -> list[DecisionOut]:
    return [
        DecisionOut(
            id=row.pk,
            worker=row.worker,
            action=row.action,
            reason=row.reason,
            by=row.by,
            at=row.at,
            undone=hasattr(row, "undone_by"),
        )
        for row in rows
    ]


@router.get("/studies/{slug:code}/qualification", response=answers(RequirementOut, 404))
def requirement(request: AuthenticatedHttpRequest, code: str) -> RequirementOut:
    """Get the qualification that a study requires."""
    return _required(study_with_workers_of(request, code, Permission.REVIEW))


@router.put("/studies/{slug:code}/qualification", response=answers(RequirementOut, 404, has_body=True))
def require_qualification(
    request: AuthenticatedHttpRequest, code: str, sent: RequirementIn
) -> RequirementOut:
    """Set the qualification that a study requires, or none; it applies to workers who have not started."""
    study = study_with_workers_of(request, code)
    wanted = sent.qualification and qualifications_of(request.user).filter(pk=sent.qualification).first()
    if sent.qualification and not wanted:
        says = f"There is no qualification {sent.qualification} of yours. GET /api/qualifications lists them."
        raise InvalidFieldsError({"qualification": [says]})
    qualification_tests.set_requirement(study, wanted or None)
    return _required(study)


def _required(study: Study) -> RequirementOut:
    stored = required_qualification(study)
    return RequirementOut(qualification=stored.pk if stored else None)


def study_with_workers_of(
    request: AuthenticatedHttpRequest, code: str, permission: Permission = Permission.CHANGE
) -> Study:
    """The study with this code on which the person has the permission, if workers take part in it.

    Raises:
        Http404: there is none.
    """
    studies = real_studies_of(request.user, permission).filter(task__in=keys_of(WorkerTask))
    return get_object_or_404(studies, code=code)
