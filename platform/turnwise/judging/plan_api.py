"""REST API of the plan of a queue, and of the battery that workers get instead of its items."""

from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import Http404
from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.judging.batteries import battery_rules
from turnwise.judging.battery_views import BatteryForm, battery_form
from turnwise.judging.forms import NumberForm, PlanForm
from turnwise.judging.gold import gold_items
from turnwise.judging.items import subjects
from turnwise.judging.models import Battery, JudgingPlan
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.judging.queue.services import plan_of
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.submitted_forms import filled_form
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.services import OPENED
from turnwise.studies.sharing.permissions import Permission
from turnwise.studies.tasks import keys_of, task_of

router = Router(tags=["studies"])


class PlanIn(Schema, extra="forbid"):
    """Values of the plan; those that are left out stay."""

    raters_per_item: int | None = Field(None, description="How many workers judge each item.")
    third_rater: bool | None = Field(None, description="Whether one more judges an item if they differ.")
    batch_size: int | None = Field(None, description="Items for each worker.")
    lease_seconds: int | None = Field(None, description="After which an idle worker loses an item.")
    shows_reading: bool | None = Field(None, description="Whether raters see what those who talked read.")
    training_tries: int | None = Field(None, description="Attempts at the training questions; 0: none.")
    gold_items: int | None = Field(None, ge=0, le=50, description="Gold items that every worker judges.")


class PlanOut(Schema):
    """Plan of a queue: raters, batches, training and gold items."""

    raters_per_item: int
    third_rater: bool
    batch_size: int
    lease_seconds: int
    shows_reading: bool
    training_tries: int
    gold_items: int
    has_battery: bool = Field(
        description="Whether workers get a battery, which decides the first three instead."
    )


class BatteryIn(Schema, extra="forbid"):
    """Values of the battery; those that are left out stay, or are those of the study's protocol."""

    targets: list[str] | None = Field(None, max_length=200, description="Systems: one item of each.")
    fillers_of: list[str] | None = Field(None, max_length=200, description="Systems of the fillers.")
    fillers: int | None = Field(None, description="Fillers in every battery, all different.")
    repeats: int | None = Field(None, description="Fillers that come twice.")
    compared_with: str | None = Field(None, description="The target with which others are compared.")
    reasons_at: list[int] | None = Field(
        None, max_length=200, description="Positions at which a reason is asked for."
    )
    workers: int | None = Field(None, description="Each gets one battery.")
    seed: int | None = None
    repeat_points: int | None = Field(None, description="Excluded if what comes twice is further apart,")
    repeat_questions: int | None = Field(None, description="on at least this many questions.")
    least_spread: float | None = Field(None, description="Least standard deviation of the sum of ratings.")
    least_seconds: float | None = Field(None, description="Least median of seconds to an answer.")
    filler_question: str | None = Field(None, description="Question whose rating of fillers is known.")
    filler_least: float | None = Field(None, description="A filler that is rated lower is wrong.")
    filler_misses: int | None = Field(None, description="How many wrong fillers are allowed.")


class BatteryOut(BatteryIn):
    """The battery of a study."""

    rules: list[str] = Field(description="By which the report proposes exclusions.")


@router.get("/studies/{slug:code}/queue/plan", response=answers(PlanOut, 404))
def judging_plan(request: AuthenticatedHttpRequest, code: str) -> PlanOut:
    """Get how the queue of a study that you work on is judged."""
    return _plan_out(plan_of(study_with_queue(request, code)))


@router.patch("/studies/{slug:code}/queue/plan", response=answers(PlanOut, 404, has_body=True))
def change_judging_plan(request: AuthenticatedHttpRequest, code: str, sent: PlanIn) -> PlanOut:
    """Change the plan; it applies to every item, and to workers who start from now on."""
    study = study_with_queue(request, code)
    values = sent.model_dump(exclude_unset=True)
    gold = values.pop("gold_items", None)
    form = filled_form(partial(PlanForm, instance=plan_of(study)), values, fixed=OPENED) if values else None
    try:
        with transaction.atomic():
            if form:
                subjects.save_plan(form.save(commit=False))
            if gold is not None:
                _set_gold(study, gold)
    except ValidationError as error:
        raise InvalidFieldsError.of(error) from None
    return _plan_out(plan_of(study))


def _set_gold(study: Study, number: int) -> None:
    filled_form(partial(NumberForm, instance=plan_of(study)), {"gold_items": number})
    try:
        gold_items.set_gold_per_worker(study, number)
    except ValidationError as error:
        raise InvalidFieldsError({"gold_items": error.messages}) from None


def _plan_out(plan: JudgingPlan) -> PlanOut:
    values = {name: getattr(plan, name) for name in PlanOut.model_fields if name != "has_battery"}
    return PlanOut(**values, has_battery=Battery.objects.filter(plan=plan).exists())


@router.get("/studies/{slug:code}/battery", response=answers(BatteryOut, 404))
def battery(request: AuthenticatedHttpRequest, code: str) -> BatteryOut:
    """Get the battery of a study that you work on; 404 if its workers get items of the queue."""
    return _battery_out(_stored_battery(_with_batteries(request, code)))


@router.put("/studies/{slug:code}/battery", response=answers(BatteryOut, 404, has_body=True))
def change_battery(request: AuthenticatedHttpRequest, code: str, sent: BatteryIn) -> BatteryOut:
    """Give the workers of a draft a battery, or change it; once it is open, only `workers`."""
    study = _with_batteries(request, code)
    values = sent.model_dump(exclude_unset=True)
    form: BatteryForm = filled_form(partial(battery_form, study), values, fixed=OPENED)
    try:
        subjects.save_battery(form.save(commit=False))
    except ValidationError as error:
        raise InvalidFieldsError.of(error) from None
    return _battery_out(_stored_battery(study))


@router.delete("/studies/{slug:code}/battery", response=answers(PlanOut, 404, 409))
def delete_battery(request: AuthenticatedHttpRequest, code: str) -> PlanOut:
    """Let the workers of a draft get items of the queue instead of a battery. Safe to repeat."""
    study = _with_batteries(request, code)
    with refusals_as_conflicts():
        subjects.remove_battery(study)
    return _plan_out(plan_of(study))


def study_with_queue(
    request: AuthenticatedHttpRequest, code: str, permission: Permission = Permission.CHANGE
) -> Study:
    """The study with this code if it has a queue and the caller has the permission; else 404."""
    studies = studies_of(request.user, permission)
    return get_object_or_404(studies.filter(rehearsal_of=None, task__in=keys_of(QueuedTask)), code=code)


def _with_batteries(request: AuthenticatedHttpRequest, code: str) -> Study:
    study = study_with_queue(request, code)
    task = task_of(study)
    if not isinstance(task, QueuedTask) or not task.has_batteries:
        raise Http404
    return study


def _stored_battery(study: Study) -> Battery:
    stored = battery_rules.battery_of(study)
    if stored is None:
        raise HttpError(404, f"“{study.title}” has no battery. PUT the same address makes one.")
    return stored


def _battery_out(stored: Battery) -> BatteryOut:
    values: dict[str, Any] = {name: getattr(stored, name) for name in BatteryIn.model_fields}
    return BatteryOut(**values, rules=[str(each) for each in battery_rules.rule_sentences(stored)])
