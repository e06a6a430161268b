"""REST API of personal data in texts: find it, redact it, record the review; remove pictures."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from ninja import Field, Query, Router, Schema, Status
from ninja.errors import HttpError

from evaluation.texts.personal_data import Kind
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE
from turnwise.accounts.limits import too_often
from turnwise.crowd import redaction
from turnwise.crowd.models import Redaction
from turnwise.dialogues.models import Picture
from turnwise.live.cursors import NEXT, BodyKey, Cursor, Limit, PathKey, page, page_of
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.problems import InvalidFieldsError
from turnwise.privacy import text_review
from turnwise.privacy.personal_data import review_texts
from turnwise.studies.rest.lookup import study_at

router = Router(tags=["studies"])
KindName = Literal["email", "link", "account", "phone", "address", "name", "other"]
After = Annotated[int, Query(0, ge=0, le=2**63 - 1, description="`after` of the answer before; 0 to begin.")]


class PassageOut(Schema):
    """A place where the text stands."""

    before: str
    text: str
    after: str
    where: str = Field(description="Beginning of the conversation's id, a run, or a worker.")


class LikelyOut(Schema):
    """Likely personal data that is not redacted."""

    text: str
    kind: KindName
    times: int
    passages: list[PassageOut] = Field(description="The first three.")


class TextReviewOut(Schema):
    """Likely personal data in some of a study's texts."""

    version: int = Field(
        description="Of the results that were searched; POST …/redactions takes it as `seen`."
    )
    texts: int = Field(description="Texts that were searched.")
    found: list[LikelyOut]
    after: int | None = Field(description="Send it to search the next texts; null at the end.")
    reviewed: str = Field(
        description="Review by a person: `never`, `newer` if texts came since, empty if all are reviewed."
    )


class RedactIn(Schema, extra="forbid"):
    """A text to redact."""

    text: str = Field(min_length=2, max_length=redaction.LONGEST)
    kind: KindName = Field("other", description="Kind of data, which stands in its place, as `[phone]`.")


class RedactionsIn(Schema, extra="forbid"):
    """Texts to redact, and what was reviewed."""

    texts: list[RedactIn] = Field(max_length=redaction.MOST)
    seen: int = Field(
        0,
        ge=0,
        le=2**63 - 1,
        description="`version` of GET …/personal-data, once you have read all it found; 0: record no review.",
    )


class RedactionOut(Schema):
    """A text that exports, bundles and reports show as a mark."""

    id: int
    text: str
    kind: KindName
    at: datetime
    by: str | None
    undone_at: datetime | None


class RedactionsOut(Schema):
    """A page of redactions, with those that were undone."""

    items: list[RedactionOut]
    next: str | None = NEXT


class RedactedOut(Schema):
    """Result of a request to redact texts."""

    redacted: int = Field(description="Texts that were not redacted before.")
    reviewed: str = Field(description="As in GET …/personal-data.")


class SentPictureOut(Schema):
    """A picture that a participant sent."""

    id: int
    dialogue: UUID
    turns: list[int] = Field(description="Positions of the messages with it.")
    width: int
    height: int
    description: str


class SentPicturesOut(Schema):
    """A page of pictures."""

    items: list[SentPictureOut]
    next: str | None = NEXT


class RemovePicturesIn(Schema, extra="forbid"):
    """Pictures to remove for good."""

    pictures: list[BodyKey] = Field(min_length=1, max_length=1000, description="Their ids in GET …/pictures.")


class RemovedPicturesOut(Schema):
    """Number of pictures that were removed."""

    removed: int


@router.get(
    "/studies/{slug:code}/personal-data", response=answers(TextReviewOut, 404, 422, 429), openapi_extra=PEOPLE
)
def personal_data(request: AuthenticatedHttpRequest, code: str, after: After = 0) -> TextReviewOut:
    """Search the texts of people in a study for likely personal data that is not redacted yet."""
    study = study_at(request, code)
    if too_often(request, "texts", rate="30/m", key="user"):
        raise HttpError(429, "Texts can be searched 30 times a minute. Wait a little.")
    found = review_texts(study, after=after)
    return TextReviewOut(
        version=study.results_version,
        texts=found.looked_through,
        found=[
            LikelyOut(
                text=each.text, kind=_name_of(each.kind), times=each.times,
                passages=[
                    PassageOut(before=one.before, text=one.text, after=one.after, where=one.where)
                    for one in each.passages
                ],
            )
            for each in found.found
        ],
        after=found.after,
        reviewed=redaction.unreviewed(study),
    )  # fmt: skip


@router.get(
    "/studies/{slug:code}/redactions", response=answers(RedactionsOut, 400, 404, 422), openapi_extra=PEOPLE
)
def redactions(
    request: AuthenticatedHttpRequest, code: str, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the redactions of a study that you work on, also those that were undone."""
    rows = Redaction.objects.filter(study=study_at(request, code)).select_related("by")
    found, following = page_of(rows, f"redactions {code}", cursor, limit)
    return page([_redaction(each) for each in found], following)


@router.post(
    "/studies/{slug:code}/redactions",
    response=answers(RedactedOut, 404, status=201, has_body=True),
    openapi_extra=PEOPLE,
)
def redact_texts(request: AuthenticatedHttpRequest, code: str, sent: RedactionsIn) -> Status[RedactedOut]:
    """Redact texts in all that is exported from now on, and record that you reviewed the study's texts."""
    study = study_at(request, code)
    marked = [(Kind[each.kind.upper()], each.text) for each in sent.texts]
    try:
        done = text_review.redact(study, marked, seen=sent.seen, by=request.user)
    except ValidationError as error:
        raise InvalidFieldsError({"texts": error.messages}) from None
    study.refresh_from_db(fields=["results_version"])
    return Status(201, RedactedOut(redacted=done, reviewed=redaction.unreviewed(study)))


@router.post(
    "/studies/{slug:code}/redactions/{int:redacted}/undo",
    response=answers(RedactionOut, 404),
    openapi_extra=PEOPLE,
)
def undo_redaction(request: AuthenticatedHttpRequest, code: str, redacted: PathKey) -> RedactionOut:
    """Export a text as it was written again. Safe to repeat; the list keeps both."""
    rows = Redaction.objects.filter(study=study_at(request, code)).select_related("by", "study")
    text_review.undo(get_object_or_404(rows, pk=redacted), by=request.user)
    return _redaction(rows.get(pk=redacted))


@router.get(
    "/studies/{slug:code}/pictures", response=answers(SentPicturesOut, 400, 404, 422), openapi_extra=PEOPLE
)
def sent_pictures(
    request: AuthenticatedHttpRequest, code: str, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the pictures that participants of a study sent."""
    rows = text_review.sent_pictures(study_at(request, code))
    found, following = page_of(rows, f"pictures {code}", cursor, limit)
    return page([_picture(each) for each in found], following)


@router.post(
    "/studies/{slug:code}/pictures/removed",
    response=answers(RemovedPicturesOut, 404, 409, has_body=True),
    openapi_extra=PEOPLE,
)
def remove_pictures(
    request: AuthenticatedHttpRequest, code: str, sent: RemovePicturesIn
) -> RemovedPicturesOut:
    """Delete pictures for good, with all bundles that may have them; their messages stay."""
    study = study_at(request, code)
    with refusals_as_conflicts():
        return RemovedPicturesOut(removed=text_review.remove(study, sent.pictures))


def _name_of(kind: Kind) -> Any:
    return kind.name.lower()


def _redaction(row: Redaction) -> RedactionOut:
    return RedactionOut(
        id=row.pk,
        text=row.text,
        kind=_name_of(Kind[row.kind]),
        at=row.at,
        by=row.by.username if row.by else None,
        undone_at=row.undone_at,
    )


def _picture(row: Picture) -> SentPictureOut:
    return SentPictureOut(
        id=row.pk,
        dialogue=row.seat.dialogue.public_id,
        turns=[each.turn.position for each in row.messages.all()],
        width=row.width,
        height=row.height,
        description=row.description,
    )
