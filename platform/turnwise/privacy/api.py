"""REST API of privacy: what is stored about a person, erasing it, finding them, and the ethics document."""

from typing import Annotated, Any, Literal

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from ninja import Field, Path, Query, Router, Schema
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PEOPLE, STUDIES
from turnwise.accounts.limits import TooManyAtOnceError, too_often
from turnwise.crowd.api import Number, Pseudonym
from turnwise.crowd.models import Participation
from turnwise.live.http_responses import answers, file_answer, refusals_as_conflicts
from turnwise.privacy import erasure, withdrawal
from turnwise.privacy.ethics.document import ethics_document, has_ethics_document
from turnwise.privacy.ethics.views import pdf_response, why_no_pdf
from turnwise.privacy.stored_data import count_stored, stored_data_of
from turnwise.privacy.study_views import MOST, find_participations
from turnwise.studies.rest.lookup import study_at

router = Router(tags=["studies"])
Sought = Annotated[
    str,
    Query(..., min_length=1, max_length=120, description="Panel id, submission, pseudonym, or a code."),
]
Time = Annotated[int, Query(1, ge=1, le=32_000, description="Which time they took part.")]


class FoundOut(Schema):
    """A participation of a person who was sought."""

    study: str = Field(description="Code of the study.")
    worker: str
    number: int
    withdrawn: bool
    erased: bool = Field(description="Whether their ids are erased.")


class ErasureIn(Schema, extra="forbid"):
    """What is erased at a person's request; it cannot be undone."""

    what: Literal["everything", "ids"] = Field(
        description="`everything`: their texts and answers, from all their participations. `ids`: only what "
        "names them at the panel."
    )
    number: Number = 1


class ErasureOut(Schema):
    """What is left after an erasure."""

    worker: str
    withdrawn: bool
    erased: bool
    stored: dict[str, int] = Field(description="Numbers of what is still stored.")


@router.get("/people", response=answers(list[FoundOut], 400, 422, 429), openapi_extra=PEOPLE)
def find_person(request: AuthenticatedHttpRequest, find: Sought) -> list[FoundOut]:
    """Find a person in all studies that you work on, for a request about their data; at most 100."""
    if too_often(request, "find_person", rate="60/m", key="user"):
        raise HttpError(429, "People can be sought 60 times a minute. Wait a little.")
    return [
        FoundOut(
            study=each.study.code,
            worker=each.pseudonym,
            number=each.number,
            withdrawn=hasattr(each, "withdrawal"),
            erased=each.erased_at is not None,
        )
        for each in find_participations(request.user, find)[:MOST]
    ]


@router.get(
    "/studies/{slug:code}/participants/{worker}/data",
    response=answers(dict[str, Any], 400, 404),
    openapi_extra=PEOPLE,
)
def data_of_participant(
    request: AuthenticatedHttpRequest, code: str, worker: Path[Pseudonym], number: Time = 1
) -> dict[str, Any]:
    """Get all data that are stored about a person, but for the code with which they resume their work."""
    found = stored_data_of(_participation(request, code, worker, number))
    found["you"].pop("resume_code")  # with it, others could write in their name
    return found


@router.post(
    "/studies/{slug:code}/participants/{worker}/erasure",
    response=answers(ErasureOut, 404, 409, has_body=True),
    openapi_extra=PEOPLE,
)
def erase_participant(
    request: AuthenticatedHttpRequest, code: str, worker: Path[Pseudonym], sent: ErasureIn
) -> ErasureOut:
    """Erase a person's data, or only their ids, at their request. Safe to repeat."""
    found = _participation(request, code, worker, sent.number)
    with refusals_as_conflicts():
        if sent.what == "ids":
            erasure.erase_ids(found.pk)
        else:
            withdrawal.withdraw(found.pk, by=request.user)
    left = Participation.objects.select_related("study", "worker", "withdrawal").get(pk=found.pk)
    return ErasureOut(
        worker=left.pseudonym,
        withdrawn=hasattr(left, "withdrawal"),
        erased=left.erased_at is not None,
        stored=count_stored(left),
    )


@router.get(
    "/studies/{slug:code}/ethics.pdf",
    response={frozenset({404, 409, 429}): None},
    openapi_extra=STUDIES | file_answer("application/pdf", about="The document as PDF"),
)
def ethics_file(request: AuthenticatedHttpRequest, code: str) -> HttpResponse:
    """Download the document about the study for an ethics board, as its page has it."""
    study = study_at(request, code)
    if not has_ethics_document(study):
        raise HttpError(404, f"No workers take part in “{study.title}”, so there is no such document.")
    document = ethics_document(study, request.user)
    if refused := why_no_pdf(document):
        raise HttpError(409, refused)
    try:
        return pdf_response(document, study, request.user.pk)
    except TooManyAtOnceError:
        raise HttpError(429, "Another PDF is being made for you. Wait until it is there.") from None


def _participation(request: AuthenticatedHttpRequest, code: str, worker: str, number: int) -> Participation:
    people = Participation.objects.select_related("study", "worker", "consent", "withdrawal")
    study = study_at(request, code)
    return get_object_or_404(people, study=study, pseudonym=worker, number=number)
