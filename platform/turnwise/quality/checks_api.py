"""REST API of attention checks, of qualifications, and of a person's saved messages to workers.

Qualifications are tests with known answers that workers pass before the work.
"""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any, Literal

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema, Status
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest, visible_to
from turnwise.live.cursors import NEXT, Cursor, Limit, PathKey, page, page_of
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.submitted_forms import filled_form
from turnwise.quality import flagging, qualification_tests
from turnwise.quality.api import study_with_workers_of
from turnwise.quality.models import Check, MessageTemplate, Qualification
from turnwise.quality.qualification_tests import qualifications_of
from turnwise.quality.qualification_views import LONGEST_TEXT, CheckForm, QualificationForm
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


Title = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)]
Questions = Annotated[
    str,
    Field(
        max_length=LONGEST_TEXT,
        description="Questions as on its page: the question, then lines with `*` (right) or `-` (wrong), and "
        "after `>` the reason; an empty line ends a question.",
    ),
]
PassMark = Annotated[int, Field(ge=1, le=1000, description="This many right answers, or more, pass.")]
Tries = Annotated[int, Field(ge=1, le=20)]


class QualificationIn(Schema, extra="forbid"):
    """A test with known answers."""

    title: Title
    text: Questions
    pass_mark: PassMark
    tries: Tries = 2
    feedback: bool = Field(True, description="Whether workers read what was wrong.")


class QualificationChangeIn(Schema, extra="forbid"):
    """Changes of a qualification; fields that are left out stay."""

    title: Title | None = None
    text: Questions | None = None
    pass_mark: PassMark | None = None
    tries: Tries | None = None
    feedback: bool | None = None


class QualificationOut(Schema):
    """A test with known answers that workers pass before the work."""

    id: int
    title: str
    questions: int
    pass_mark: int
    tries: int
    feedback: bool


class FullQualificationOut(QualificationOut):
    """A qualification with its questions."""

    text: str = Field(description="Its questions, as POST /api/qualifications takes them.")


class QualificationsOut(Schema):
    """A page of qualifications."""

    items: list[QualificationOut]
    next: str | None = NEXT


@router.get("/qualifications", response=answers(QualificationsOut, 400, 422))
def qualifications(
    request: AuthenticatedHttpRequest, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List your qualifications."""
    found, following = page_of(qualifications_of(request.user), "qualifications", cursor, limit)
    return page([QualificationOut(**_values(each)) for each in found], following)


@router.post("/qualifications", response=answers(QualificationOut, status=201, has_body=True))
def make_qualification(request: AuthenticatedHttpRequest, sent: QualificationIn) -> Status[QualificationOut]:
    """Make a qualification; a study requires it once you choose it there."""
    saved = _saved(Qualification(owner=request.user), sent.model_dump())
    return Status(201, QualificationOut(**_values(saved)))


@router.get("/qualifications/{int:qualification}", response=answers(FullQualificationOut, 404))
def one_qualification(request: AuthenticatedHttpRequest, qualification: PathKey) -> FullQualificationOut:
    """Get a qualification with its questions."""
    return _full(get_object_or_404(qualifications_of(request.user), pk=qualification))


@router.patch(
    "/qualifications/{int:qualification}", response=answers(FullQualificationOut, 404, has_body=True)
)
def change_qualification(
    request: AuthenticatedHttpRequest, qualification: PathKey, sent: QualificationChangeIn
) -> FullQualificationOut:
    """Change a qualification. Once people have tried it, its questions stay as they are."""
    own = get_object_or_404(qualifications_of(request.user), pk=qualification)
    return _full(_saved(own, sent.model_dump(exclude_none=True)))


@router.delete("/qualifications/{int:qualification}", response=answers(DeletionOut, 404, 409))
def delete_qualification(request: AuthenticatedHttpRequest, qualification: PathKey) -> DeletionOut:
    """Delete a qualification that no study requires and nobody has tried; undone with …/deletions."""
    own = get_object_or_404(qualifications_of(request.user), pk=qualification)
    with refusals_as_conflicts():
        return deletion_out(qualification_tests.delete_qualification(own, by=request.user))


def _saved(own: Qualification, values: Mapping[str, Any]) -> Qualification:
    form = filled_form(partial(QualificationForm, instance=own), values)
    try:
        return qualification_tests.save_qualification(form.save(commit=False))
    except ValidationError as error:
        raise InvalidFieldsError.of(error) from None


def _values(row: Qualification) -> dict[str, Any]:
    return {
        "id": row.pk,
        "title": row.title,
        "questions": row.of,
        "pass_mark": row.pass_mark,
        "tries": row.tries,
        "feedback": row.feedback,
    }


def _full(row: Qualification) -> FullQualificationOut:
    return FullQualificationOut(**_values(row), text=qualification_tests.format_questions(row.questions))
