"""Calls about what a study declares before it opens: its stopping rule, and its plan as a preregistration."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django.core.exceptions import ValidationError
from ninja import Field, Router, Schema
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.live.http_responses import answers
from turnwise.live.problems import InvalidFieldsError
from turnwise.studies.models import Preregistration, StoppingRule, Study
from turnwise.studies.plans.preregistration import plan_of
from turnwise.studies.plans.stopping import bots_to_compare, declare_rule, remove_rule, stopping_rule_of
from turnwise.studies.rest.lookup import study_at
from turnwise.studies.services import PROTOCOL_FIELDS
from turnwise.studies.sharing.permissions import Permission

router = Router(tags=["studies"])
_NUMBERS = ("score", "difference", "equivalence", "planned", "largest", "first_look")


class StoppingRuleIn(Schema, extra="forbid"):
    """When a study ends by itself."""

    compare: list[str] | None = Field(
        None, min_length=2, max_length=2, description="Names of two bots; null: all, each with each other."
    )
    score: str = Field(max_length=60, description="Key of a score of the first question set.")
    difference: float = Field(
        allow_inf_nan=False, description="Smallest difference that matters, in points as in the report."
    )
    equivalence: bool = Field(
        True, description="Whether it also stops when no difference that matters is left."
    )
    planned: int = Field(ge=0, le=2**31 - 1, description="Planned conversations with each bot.")
    largest: int = Field(ge=0, le=2**31 - 1, description="Largest number of conversations with each bot.")
    first_look: int = Field(ge=0, le=2**31 - 1, description="Conversations before which it does not decide.")


class StoppingRuleOut(StoppingRuleIn):
    """A study's stopping rule."""

    compared: list[str] = Field(description="Names of all bots that it compares.")
    declared_at: datetime
    frozen_at: datetime | None = Field(description="When the study first opened; null: it can be changed.")
    stopped_at: datetime | None = Field(description="When it closed the study; null: it did not.")
    stopped: dict[str, Any] | None = Field(description="The figures with which it did.")


class DeclaredOut(Schema):
    """Whether a study has a stopping rule, and which."""

    rule: StoppingRuleOut | None = Field(description="Null: it has none.")


class StudyPlanOut(Schema):
    """The plan of a study, as it was when the study first opened; of a draft, as it would be now."""

    frozen_at: datetime | None = Field(description="When it was fixed; null: it is not.")
    sha256: str = Field(description="Of the plan's JSON file; empty if it is not fixed.")
    plan: dict[str, Any] | None = Field(
        description="Null: the study is a rehearsal, or opened before plans were fixed."
    )


@router.get("/studies/{slug:code}/stopping-rule", response=answers(DeclaredOut, 404))
def stopping_rule(request: AuthenticatedHttpRequest, code: str) -> DeclaredOut:
    """Get the stopping rule of a study."""
    return _declared(study_at(request, code))


@router.put("/studies/{slug:code}/stopping-rule", response=answers(DeclaredOut, 404, 409, has_body=True))
def declare_stopping_rule(request: AuthenticatedHttpRequest, code: str, sent: StoppingRuleIn) -> DeclaredOut:
    """Declare the stopping rule of a draft, in place of an earlier one; it is fixed once the study opens."""
    study = study_at(request, code)
    values = sent.model_dump(exclude={"compare"})
    try:
        declare_rule(study, StoppingRule(pair=_pair(study, sent.compare), **values))
    except ValidationError as error:
        raise _refusal(error) from None
    return _declared(study_at(request, code))


@router.delete("/studies/{slug:code}/stopping-rule", response=answers(DeclaredOut, 404, 409))
def remove_stopping_rule(request: AuthenticatedHttpRequest, code: str) -> DeclaredOut:
    """Remove the stopping rule of a draft. Safe to repeat."""
    study = study_at(request, code)
    try:
        remove_rule(study)
    except ValidationError as error:
        raise _refusal(error) from None
    return _declared(study_at(request, code))


@router.get("/studies/{slug:code}/plan", response=answers(StudyPlanOut, 404))
def study_plan(request: AuthenticatedHttpRequest, code: str) -> StudyPlanOut:
    """Get a study's plan, as it was fixed at the first opening, with its hash; or as a draft has it now."""
    study = study_at(request, code, Permission.REVIEW)
    stored = Preregistration.objects.filter(study=study).first()
    if stored:
        return StudyPlanOut(frozen_at=stored.frozen_at, sha256=stored.sha256, plan=stored.plan)
    is_draft = study.state == Study.State.DRAFT and not study.rehearsal_of_id
    return StudyPlanOut(frozen_at=None, sha256="", plan=plan_of(study, PROTOCOL_FIELDS) if is_draft else None)


def _pair(study: Study, names: list[str] | None) -> list[int]:
    """Keys of two bots of the study.

    Raises:
        InvalidFieldsError: one of them is no bot of the study that gets workers.
    """
    if names is None:
        return []
    known = {bot.name: bot.pk for bot in bots_to_compare(study)}
    for name in names:
        if name not in known:
            says = f"“{name}” is no bot of this study. There are: {', '.join(sorted(known)) or 'none'}."
            raise InvalidFieldsError({"compare": [says]})
    return [known[name] for name in names]


def _refusal(error: ValidationError) -> Exception:
    """409 once the study has opened, or takes no rule; else 422 with the fields that are wrong."""
    if not hasattr(error, "error_dict"):
        return HttpError(409, " ".join(error.messages))
    return InvalidFieldsError({_sent_as(name): says for name, says in error.message_dict.items()})


def _sent_as(field: str) -> str:
    return "compare" if field == "pair" else field


def _declared(study: Study) -> DeclaredOut:
    rule = stopping_rule_of(study)
    if rule is None:
        return DeclaredOut(rule=None)
    compared = rule.compared or rule.pair or [bot.pk for bot in bots_to_compare(study)]
    return DeclaredOut(
        rule=StoppingRuleOut(
            **{name: getattr(rule, name) for name in _NUMBERS},
            compare=_names(study, rule.pair) or None,
            compared=_names(study, compared),
            declared_at=rule.declared_at,
            frozen_at=rule.frozen_at,
            stopped_at=rule.stopped_at,
            stopped=rule.stopped,
        )
    )


def _names(study: Study, keys: Sequence[int]) -> list[str]:
    rows = study.study_bots.filter(bot__in=keys).order_by("bot__name")
    return list(rows.values_list("bot__name", flat=True))
