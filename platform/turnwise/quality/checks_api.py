"""REST API of attention checks, and of a person's saved messages to workers."""

from typing import Literal

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema, Status

from turnwise.accounts.access import AuthenticatedHttpRequest, visible_to
from turnwise.live.cursors import PathKey
from turnwise.live.http_responses import answers
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.submitted_forms import filled_form
from turnwise.quality import flagging
from turnwise.quality.api import study_with_workers_of
from turnwise.quality.models import Check, MessageTemplate
from turnwise.quality.qualification_views import CheckForm
from turnwise.quality.saved_messages import MessageForm, messages_of, remove_message, save_message
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Study
from turnwise.studies.sharing.permissions import Permission
from turnwise.trash.api import DeletionOut, deletion_out

router = Router(tags=["studies"])
Right = bool | int | float | str


class AttentionCheckIn(Schema, extra="forbid"):
    """A question of the study that says what to answer."""

    question_set: str = Field(max_length=60, description="Key of a question set that the study asks.")
    question: str = Field(max_length=60, description="Key of the question.")
    right: Right = Field(description="The answer that it asks for: the value of one of its choices.")


class AttentionCheckOut(Schema):
    """An attention check."""

    id: int
    question_set: str
    question: str
    wording: str
    right: Right


class SavedMessageIn(Schema, extra="forbid"):
    """A message to save."""

    kind: Literal["rejection", "bonus", "thanks"] = "rejection"
    title: str = Field(max_length=80, description="Its name; you have each once.")
    text: str = Field(
        max_length=500, description="May have {worker}, {study}, {reasons} and {amount}, which are filled in."
    )


class SavedMessageOut(Schema):
    """A saved message."""

    id: int
    kind: str
    title: str
    text: str


@router.get("/studies/{slug:code}/attention-checks", response=answers(list[AttentionCheckOut], 404))
def attention_checks(request: AuthenticatedHttpRequest, code: str) -> list[AttentionCheckOut]:
    """List the attention checks of a study that you review or work on."""
    return _checks(study_with_workers_of(request, code, Permission.REVIEW))


@router.post(
    "/studies/{slug:code}/attention-checks",
    response=answers(AttentionCheckOut, 404, status=201, has_body=True),
)
def add_attention_check(
    request: AuthenticatedHttpRequest, code: str, sent: AttentionCheckIn
) -> Status[AttentionCheckOut]:
    """Make a question an attention check, or change its right answer, and check all workers again."""
    study = study_with_workers_of(request, code)
    known = CheckForm(study=study).known
    of_question = {
        key: choice.value
        for key, (name, question, choice) in known.items()
        if (name, question.key) == (sent.question_set, sent.question)
    }
    if not of_question:
        there = ", ".join(dict.fromkeys(f"{name} {question.key}" for name, question, _ in known.values()))
        says = f"This is no question of the study with one answer. There are: {there or 'none'}."
        raise InvalidFieldsError({"question": [says]})
    # True == 1, and both may be values of choices.
    chosen = [
        key for key, value in of_question.items() if (type(value), value) == (type(sent.right), sent.right)
    ]
    if not chosen:
        says = f"This is no choice of the question. There are: {', '.join(map(repr, of_question.values()))}."
        raise InvalidFieldsError({"right": [says]})
    form = filled_form(lambda data: CheckForm(data, study=study), {"asked": chosen[0]})
    made = form.save()
    flagging.update_flags(study)
    return Status(201, _check(made))


@router.delete(
    "/studies/{slug:code}/attention-checks/{int:check}", response=answers(list[AttentionCheckOut], 404)
)
def remove_attention_check(
    request: AuthenticatedHttpRequest, code: str, check: PathKey
) -> list[AttentionCheckOut]:
    """Make it an ordinary question, and check all workers again. Returns the checks that are left."""
    study = study_with_workers_of(request, code)
    get_object_or_404(study.attention_checks, pk=check).delete()
    flagging.update_flags(study)
    return _checks(study)


@router.get("/saved-messages", response=answers(list[SavedMessageOut]))
def saved_messages(request: AuthenticatedHttpRequest) -> list[MessageTemplate]:
    """List your saved messages to workers."""
    return messages_of(request.user)


@router.post("/saved-messages", response=answers(SavedMessageOut, status=201, has_body=True))
def add_saved_message(request: AuthenticatedHttpRequest, sent: SavedMessageIn) -> Status[MessageTemplate]:
    """Save a message to workers, for decisions, bonuses and messages over a panel."""
    form = filled_form(
        lambda data: MessageForm(data, instance=MessageTemplate(owner=request.user)), sent.model_dump()
    )
    try:
        return Status(201, save_message(form.save(commit=False)))
    except ValidationError as error:
        raise InvalidFieldsError.of(error) from None


@router.delete("/saved-messages/{int:message}", response=answers(DeletionOut, 404))
def remove_saved_message(request: AuthenticatedHttpRequest, message: PathKey) -> DeletionOut:
    """Remove a saved message, which can be put back for a day."""
    visible = visible_to(request.user, MessageTemplate.objects.all(), owner="owner")
    return deletion_out(remove_message(get_object_or_404(visible, pk=message), by=request.user))


def _checks(study: Study) -> list[AttentionCheckOut]:
    return [_check(each) for each in study.attention_checks.all()]


def _check(row: Check) -> AttentionCheckOut:
    question = question_set(row.question_set).question(row.question)
    return AttentionCheckOut(
        id=row.pk,
        question_set=row.question_set,
        question=row.question,
        wording=question.wording,
        right=row.right,
    )
