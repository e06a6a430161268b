"""The REST API of studies: what their bots are, for analysis."""

from typing import cast

from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Body, Router
from ninja.errors import HttpError

from accounts.models import User
from live.answers import answers
from studies.facets import facets_of, set_facets
from studies.models import Study
from studies.queries import studies_of

router = Router(tags=["studies"])

Facets = dict[str, dict[str, str]]


def _study(request: HttpRequest, code: str) -> Study:
    return get_object_or_404(studies_of(cast(User, request.user)), code=code)


@router.get("/studies/{slug:code}/facets", response=answers(Facets, 404))
def facets(request: HttpRequest, code: str) -> Facets:
    """By bot of the study, what it is: each facet with its level."""
    return facets_of(_study(request, code))


@router.put("/studies/{slug:code}/facets", response=answers(Facets, 404, has_body=True))
def change_facets(request: HttpRequest, code: str, sent: Body[Facets]) -> Facets:
    """Say what these bots are; of others it stays. An empty level takes the facet away."""
    study = _study(request, code)
    try:
        set_facets(study, sent)
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return facets_of(study)
