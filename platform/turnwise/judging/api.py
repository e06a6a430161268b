"""The REST API of queues: progress by system, items to list, add and take out, and gold."""

from collections.abc import Sequence
from typing import Annotated, Any, Literal
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db.models import Count, Q
from django.shortcuts import get_object_or_404
from ninja import Body, Field, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.contexts.queries import versions_of
from turnwise.judging.forms import ContextsForm, ConversationsForm, ResponsesForm
from turnwise.judging.gold import gold_items
from turnwise.judging.gold.gold_items import Gold
from turnwise.judging.items import removal, subjects
from turnwise.judging.items.item_selection import MOST_TURNS
from turnwise.judging.models import Item
from turnwise.judging.plan_api import study_with_queue
from turnwise.judging.queries import system_counts, systems_of
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.live.cursors import NEXT, BodyKey, Cursor, Limit, page, page_of
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.list_pages import MOST_TICKED
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.submitted_forms import filled_form
from turnwise.studies.models import Study
from turnwise.studies.queries import real_studies_of, studies_of
from turnwise.studies.tasks import keys_of

router = Router(tags=["studies"])
Turns = Annotated[int, Field(ge=1, le=MOST_TURNS)]


class SomeContexts(Schema, extra="forbid"):
    """Which contexts, and how many."""

    contexts: int | None = Field(None, ge=1, description="How many, drawn at random; null: all.")
    seed: int = Field(1, ge=0, le=2**31)
    category: list[Annotated[str, StringConstraints(max_length=60)]] = Field(
        [], max_length=100, description="Only contexts of these categories."
    )
    least_turns: Turns | None = None
    most_turns: Turns | None = None


class OfRuns(SomeContexts):
    """Responses of runs."""

    runs: list[BodyKey] = Field(min_length=1, max_length=100, description="Their `id` in GET /api/runs.")


class OfContextSet(SomeContexts):
    """Contexts themselves."""

    context_set: BodyKey = Field(description="Its `id` in GET /api/context-sets.")
    version: int = Field(ge=1, le=2**31 - 1)


class OfConversations(Schema, extra="forbid"):
    """Conversations of a study."""

    study: str = Field(max_length=40, description="Code of the study in which they were held.")
    subject: Literal["turn", "dialogue"] = Field("turn", description="Single turns, or whole conversations.")
    language: str = Field("en", max_length=10)
    conversations: int | None = Field(None, ge=1, description="How many, drawn at random; null: all.")


class ItemsIn(Schema, extra="forbid"):
    """Source of new items of the queue: exactly one of these."""

    responses: OfRuns | None = None
    conversations: OfConversations | None = None
    contexts: OfContextSet | None = None


class AddedOut(Schema):
    """Result of adding items."""

    added: int
    of_other_languages: int = Field(
        description="Responses that were left out: the study has no workers for their language."
    )


class ItemOut(Schema):
    """An item of a queue."""

    key: UUID
    ask: int = Field(description="Number of the ask.")
    system: str = Field(description="Name in reports.")
    subject: str = Field(description="turn, response, dialogue, pair or context.")
    run: int | None = Field(description="Of a response.")
    context: str | None = Field(description="Id of the context, of a response or a context.")
    dialogue: UUID | None = Field(description="Of a turn or a whole conversation.")
    turn: int | None = Field(description="Position in the conversation, of a turn.")
    language: str
    removed: bool = Field(description="Whether it was taken out of the queue.")
    gold: dict[str, list[Any]] | None = Field(description="Right answers by question; null: an ordinary one.")
    instructed: bool = Field(description="Whether a gold item says itself what to answer.")
    judgments: int


class ItemsOut(Schema):
    """A page of items."""

    items: list[ItemOut]
    next: str | None = NEXT


class RemovedIn(Schema, extra="forbid"):
    """Items to take out of the queue, or to put back."""

    items: list[UUID] = Field(min_length=1, max_length=MOST_TICKED, description="Their keys.")
    removed: bool = Field(True, description="False puts them back.")


class ChangedOut(Schema):
    """Number of changed items."""

    changed: int = Field(description="Others were in that state already, or are gold.")


class GoldIn(Schema, extra="forbid"):
    """The right answers about an item."""

    right: dict[str, list[str | int | bool]] = Field(
        description="By key of the question, the values that are right."
    )
    instructed: bool = Field(False, description="Whether the item says itself what to answer.")


@router.get("/studies/{slug:code}/items", response=answers(ItemsOut, 400, 404, 422))
def items(
    request: AuthenticatedHttpRequest, code: str, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the items in the queue of a study that you work on, with those that were taken out."""
    study = study_with_queue(request, code)
    found, following = page_of(_detailed(study), f"items {code}", cursor, limit)
    return page(_items(study, found), following)


@router.post("/studies/{slug:code}/items", response=answers(AddedOut, 404, status=201, has_body=True))
def add_items(request: AuthenticatedHttpRequest, code: str, sent: ItemsIn) -> Status[AddedOut]:
    """Add items to the queue. Safe to repeat: what is in it already is left out."""
    study = study_with_queue(request, code)
    given = [name for name, value in sent if value is not None]
    if len(given) != 1:
        known = ", ".join(ItemsIn.model_fields)
        raise HttpError(422, f"Send exactly one of {known}; {len(given)} were sent.")
    form = _filled(request, study, sent)
    try:
        added = subjects.add_selection(form.selection(study))
    except ValidationError as error:
        raise InvalidFieldsError({given[0]: error.messages}) from None
    others = subjects.count_in_other_languages(study, form.cleaned_data["run"]) if sent.responses else 0
    return Status(201, AddedOut(added=added, of_other_languages=others))


def _filled(
    request: AuthenticatedHttpRequest, study: Study, sent: ItemsIn
) -> ResponsesForm | ConversationsForm | ContextsForm:
    """The form of the queue's page with these values."""
    user = request.user
    if sent.responses:
        values = sent.responses.model_dump(exclude={"runs"}) | {"run": sent.responses.runs}
        return filled_form(lambda data: ResponsesForm(data, user=user), values, prefix="responses.")
    if sent.contexts:
        of = {"context_set": sent.contexts.context_set, "number": sent.contexts.version}
        version = versions_of(user).filter(**of).first()
        if version is None:
            says = "There is no such version. GET /api/context-sets lists those that you may use."
            raise InvalidFieldsError({"contexts.version": [says]})
        values = sent.contexts.model_dump(exclude={"context_set"}) | {"version": version.pk}
        return filled_form(lambda data: ContextsForm(data, user=user), values, prefix="contexts.")
    assert sent.conversations
    source = real_studies_of(user).filter(code=sent.conversations.study).first()
    if source is None:
        says = "There is no such study, or you do not work on it. The code of a study is in its link."
        raise InvalidFieldsError({"conversations.study": [says]})
    values = sent.conversations.model_dump(exclude={"study"}) | {"source": source.pk}
    return filled_form(
        lambda data: ConversationsForm(data, user=user, study=study), values, prefix="conversations."
    )


@router.post("/studies/{slug:code}/items/removed", response=answers(ChangedOut, 404, has_body=True))
def remove_items(request: AuthenticatedHttpRequest, code: str, sent: Body[RemovedIn]) -> ChangedOut:
    """Take items out of the queue, or put them back. Judgments stay, and count. Safe to repeat."""
    study = study_with_queue(request, code)
    change = removal.take_out_items if sent.removed else removal.put_back_items
    known = {*study.items.filter(key__in=sent.items).values_list("key", flat=True)}
    if lacking := next((key for key in sent.items if key not in known), None):
        raise InvalidFieldsError({"items": [f"The queue has no item {lacking}. GET …/items lists them."]})
    try:
        return ChangedOut(changed=change(study, sent.items))
    except ValidationError as error:
        raise InvalidFieldsError({"items": error.messages}) from None


@router.get("/studies/{slug:code}/items/{uuid:item}", response=answers(ItemOut, 404))
def one_item(request: AuthenticatedHttpRequest, code: str, item: UUID) -> ItemOut:
    """Get an item of a queue."""
    return _item(study_with_queue(request, code), item)


@router.put("/studies/{slug:code}/items/{uuid:item}/gold", response=answers(ItemOut, 404, has_body=True))
def declare_gold(request: AuthenticatedHttpRequest, code: str, item: UUID, sent: GoldIn) -> ItemOut:
    """Make an item gold, which counts in no score, or replace its right answers."""
    study = study_with_queue(request, code)
    _item(study, item)
    right: dict[str, Any] = {key: list(answered) for key, answered in sent.right.items()}
    try:
        gold_items.declare_gold(study, {item: Gold(right, sent.instructed)})
    except ValidationError as error:
        raise InvalidFieldsError({"right": error.messages}) from None
    return _item(study, item)


@router.delete("/studies/{slug:code}/items/{uuid:item}/gold", response=answers(ItemOut, 404, 409))
def undeclare_gold(request: AuthenticatedHttpRequest, code: str, item: UUID) -> ItemOut:
    """Make a gold item an ordinary one, which counts in scores. Safe to repeat."""
    study = study_with_queue(request, code)
    _item(study, item)
    with refusals_as_conflicts():
        gold_items.undeclare_gold(study, item)
    return _item(study, item)


def _detailed(study: Study) -> Any:
    judged = Count("slots", filter=Q(slots__label__isnull=False))
    of = ("ask", "turn__dialogue", "dialogue", "response__context", "context")
    return Item.objects.filter(study=study).select_related(*of).annotate(judged=judged)


def _item(study: Study, key: UUID) -> ItemOut:
    return _items(study, [get_object_or_404(_detailed(study), key=key)])[0]


def _items(study: Study, rows: Sequence[Any]) -> list[ItemOut]:
    systems = systems_of(study.pk, [row.pk for row in rows])
    return [_item_out(row, systems[row.pk]) for row in rows]


def _item_out(row: Any, system: str) -> ItemOut:
    kinds = ("turn", "response", "dialogue", "pair", "context")
    context = row.response.context if row.response else row.context
    dialogue = row.turn.dialogue if row.turn else row.dialogue
    return ItemOut(
        key=row.key,
        ask=row.ask.number,
        system=system,
        subject=next(kind for kind in kinds if getattr(row, f"{kind}_id") is not None),
        run=row.response.run_id if row.response else None,
        context=context.key if context else None,
        dialogue=dialogue.public_id if dialogue else None,
        turn=row.turn.position if row.turn else None,
        language=row.language,
        removed=row.removed_at is not None,
        gold=row.right_answers,
        instructed=row.is_instructed,
        judgments=row.judged,
    )


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
