"""REST API of adjudication: items on which raters differ, decisions about them, gold items from decisions."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError

from evaluation.questions import AnswersError
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE
from turnwise.crowd.redaction import redactor_of
from turnwise.experts import disputes, services
from turnwise.experts.api import study_with_experts
from turnwise.experts.disputes import Judged
from turnwise.experts.models import LONGEST_REASON, Adjudication
from turnwise.experts.services import Adjudicator, DecidedMeanwhileError
from turnwise.judging.items.sources import source_studies
from turnwise.judging.models import Item
from turnwise.judging.queries import item_for_raters
from turnwise.live.cursors import NEXT, Cursor, Limit, page, page_of
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.problems import InvalidFieldsError
from turnwise.questions.question_sets import describe_answers_error, question_set
from turnwise.studies.models import Study
from turnwise.studies.sharing.permissions import Permission

router = Router(tags=["studies"])
Given = dict[str, Any]
Newest = Annotated[
    int, Field(ge=0, le=32_000, description="`decision` of the item as you read it; 0 without one.")
]
LATE = "Somebody has decided about this item since you read it. Read it again: GET …/adjudication/items/KEY."


class DisputeOut(Schema):
    """An item with two judgments or more, about which an adjudicator may decide."""

    item: UUID
    question_set: str
    differ: list[str] = Field(description="Keys of the questions about which the raters differ.")
    open: list[str] = Field(description="Keys of the questions to decide.")
    complete: bool = Field(description="Whether no further judgment is wanted, so that it can be decided.")
    decided: bool = Field(description="Whether a decision covers every open question.")
    decision: int = Field(description="Number of its newest decision, or of the undoing of one; 0: none.")


class DisputesOut(Schema):
    """A page of items about which raters differ."""

    items: list[DisputeOut]
    next: str | None = NEXT


class AdjudicationEntryOut(Schema):
    """A decision about an item, or that it was undone. It is never deleted."""

    number: int
    answers: Given | None = Field(description="By question; null: the decision before was undone.")
    reason: str
    at: datetime
    by: str = Field(description="Name of the adjudicator; empty: a former researcher.")


class WholeDisputeOut(DisputeOut):
    """An item with its judgments and the decisions about it."""

    said_before: list[str] = Field(description="As its raters saw it, with redactions applied.")
    text: str | None = Field(description="What is judged; null for a whole conversation or a context.")
    judgments: list[Given] = Field(
        description="Answers of each rater, in an order that says nothing about them."
    )
    history: list[AdjudicationEntryOut] = Field(description="The newest first.")


class DecidedIn(Schema, extra="forbid"):
    """A decision about an item."""

    answers: Given = Field(description="By key of each open question, the value of its answer.")
    reason: str = Field(min_length=1, max_length=LONGEST_REASON)
    after: Newest


class UndecidedIn(Schema, extra="forbid"):
    """The decision that is undone."""

    after: Newest


class GoldStudyIn(Schema, extra="forbid"):
    """The draft whose gold items the decided items become."""

    study: str = Field(max_length=60, description="Code of your draft, which asks the same questions.")


class GoldMadeOut(Schema):
    """Number of items that became gold items."""

    gold: int


@router.get(
    "/studies/{slug:code}/adjudication/items",
    response=answers(DisputesOut, 400, 404, 422),
    openapi_extra=PEOPLE,
)
def disputed_items(
    request: AuthenticatedHttpRequest, code: str, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the items on which raters differ, with whether each is decided."""
    study = study_with_experts(request, code, Permission.REVIEW)
    steps = disputes.adjudication_steps(study)
    judged = {each.item_id: each for each in disputes.judged_items(study, steps)} if steps else {}
    differing = [key for key, each in judged.items() if each.differ]
    found, following = page_of(study.items.filter(pk__in=differing), f"disputes {code}", cursor, limit)
    return page([DisputeOut(**_values(judged[each.pk])) for each in found], following)


@router.get(
    "/studies/{slug:code}/adjudication/items/{uuid:item}",
    response=answers(WholeDisputeOut, 404),
    openapi_extra=PEOPLE,
)
def disputed_item(request: AuthenticatedHttpRequest, code: str, item: UUID) -> WholeDisputeOut:
    """Get an item with its judgments and the decisions about it."""
    return _whole(_item(study_with_experts(request, code, Permission.REVIEW), item))


@router.post(
    "/studies/{slug:code}/adjudication/items/{uuid:item}/decision",
    response=answers(WholeDisputeOut, 404, 409, status=201, has_body=True),
    openapi_extra=PEOPLE,
)
def decide_about_item(
    request: AuthenticatedHttpRequest, code: str, item: UUID, sent: DecidedIn
) -> Status[WholeDisputeOut]:
    """Decide the open questions of an item, in place of the raters who differ."""
    found = _item(study_with_experts(request, code, Permission.REVIEW), item)
    try:
        with _lateness_as_conflict(), refusals_as_conflicts():
            services.decide(
                found, sent.answers, reason=sent.reason, after=sent.after, by=Adjudicator(user=request.user)
            )
    except AnswersError as error:
        raise InvalidFieldsError({f"answers.{error.question}": [describe_answers_error(error)]}) from None
    return Status(201, _whole(found))


@router.post(
    "/studies/{slug:code}/adjudication/items/{uuid:item}/undo",
    response=answers(WholeDisputeOut, 404, 409, has_body=True),
    openapi_extra=PEOPLE,
)
def undo_item_decision(
    request: AuthenticatedHttpRequest, code: str, item: UUID, sent: UndecidedIn
) -> WholeDisputeOut:
    """Undo the decision about an item; it stays in the history."""
    found = _item(study_with_experts(request, code, Permission.REVIEW), item)
    with _lateness_as_conflict(), refusals_as_conflicts():
        services.undo(found, after=sent.after, by=Adjudicator(user=request.user))
    return _whole(found)


@router.post("/studies/{slug:code}/adjudication/gold", response=answers(GoldMadeOut, 404, 409, has_body=True))
def gold_of_decisions(request: AuthenticatedHttpRequest, code: str, sent: GoldStudyIn) -> GoldMadeOut:
    """Make the decided items gold items of a draft that asks the same questions."""
    study = study_with_experts(request, code)
    target = disputes.drafts_for_gold(request.user, study).filter(code=sent.study).first()
    if target is None:
        raise InvalidFieldsError({"study": ["You have no such draft that asks the same questions."]})
    with refusals_as_conflicts():
        return GoldMadeOut(gold=services.make_gold(study, target))


@contextmanager
def _lateness_as_conflict() -> Iterator[None]:
    try:
        yield
    except DecidedMeanwhileError:
        raise HttpError(409, LATE) from None


def _item(study: Study, key: UUID) -> Item:
    return get_object_or_404(disputes.items_of_raters(study), key=key)


def _whole(item: Item) -> WholeDisputeOut:
    steps = disputes.adjudication_steps(item.study)
    judged = next(iter(disputes.judged_items(item.study, steps, item)), None) if steps else None
    values: Mapping[str, Any] = (
        _values(judged)
        if judged
        else {
            "item": item.key, "question_set": item.ask.question_set, "differ": [], "open": [],
            "complete": False, "decided": False, "decision": 0,
        }
    )  # fmt: skip
    history = item.adjudications.select_related("by", "invitation").order_by("-number")
    shown = item_for_raters(item)
    redactor = redactor_of({item.study_id, *source_studies(item.study)})
    free_texts = set(question_set(item.ask.question_set).free_texts)
    return WholeDisputeOut(
        **values,
        said_before=[redactor(each) for each in shown["context"]],
        text=shown["text"] and redactor(shown["text"]),
        judgments=[
            {
                key: redactor(answer) if key in free_texts and isinstance(answer, str) else answer
                for key, answer in given.items()
            }
            for given in (judged.answers if judged else ())
        ],
        history=[_entry(each) for each in history],
    )


def _values(judged: Judged) -> dict[str, Any]:
    return {
        "item": judged.key,
        "question_set": judged.ask.question_set,
        "differ": list(judged.differ),
        "open": list(judged.open),
        "complete": judged.is_complete,
        "decided": judged.is_decided,
        "decision": judged.decision.number if judged.decision else 0,
    }


def _entry(row: Adjudication) -> AdjudicationEntryOut:
    by = row.invitation.name if row.invitation else row.by.username if row.by else ""
    return AdjudicationEntryOut(number=row.number, answers=row.answers, reason=row.reason, at=row.at, by=by)
