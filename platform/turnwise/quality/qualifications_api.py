"""REST API of qualifications: tests with known answers that workers pass before the work."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema, Status
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.live.cursors import NEXT, Cursor, Limit, PathKey, page, page_of
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.problems import InvalidFieldsError
from turnwise.live.submitted_forms import filled_form
from turnwise.quality import qualification_tests
from turnwise.quality.models import Qualification
from turnwise.quality.qualification_tests import qualifications_of
from turnwise.quality.qualification_views import LONGEST_TEXT, QualificationForm
from turnwise.trash.api import DeletionOut, deletion_out

router = Router(tags=["studies"])
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
