"""The REST API of studies of pairs: which pairs are judged."""

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from ninja import Router, Schema
from ninja.errors import HttpError
from pydantic import ConfigDict, Field

from evaluation.texts.uninformative_contexts import Fit
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.judging.items import pairs
from turnwise.judging.items.pairs import PairSource
from turnwise.live.cursors import BodyKey
from turnwise.live.http_responses import answers
from turnwise.live.problems import InvalidFieldsError
from turnwise.responses.queries import real_runs_of
from turnwise.studies.queries import studies_of
from turnwise.tasks.pairs.task import MOST_EACH, MOST_WORDS

MOST_RUNS = 100
router = Router(tags=["studies"])


class PairsIn(Schema):
    """Runs whose responses to the same contexts become pairs."""

    model_config = ConfigDict(extra="forbid")

    runs: list[BodyKey] = Field(
        max_length=MOST_RUNS, description="One run of each system, over the same contexts."
    )
    each: int | None = Field(None, ge=1, le=MOST_EACH, description="Pairs of every two systems; null: all.")
    seed: int = Field(1, ge=0, le=2**31, description="The same seed gives the same pairs.")
    least_words: int = Field(
        0, ge=0, le=MOST_WORDS, description="Minimum of words of a context, over all its turns."
    )
    without_unknown: bool = Field(False, description="Leave out contexts with <unknown> or <unk>.")


class PairsOut(Schema):
    """Result of adding pairs."""

    added: int
    unfit: int = Field(description="Contexts that were left out: too short, or with an unknown word.")


@router.post("/studies/{slug:code}/pairs", response=answers(PairsOut, 404, has_body=True))
def add_pairs(request: AuthenticatedHttpRequest, code: str, sent: PairsIn) -> PairsOut:
    """Add pairs to the queue. Sent again, it adds what is new."""
    user = request.user
    study = get_object_or_404(studies_of(user).filter(rehearsal_of=None), code=code)
    runs = real_runs_of(user).filter(pk__in=sent.runs)
    lacking = sorted(set(sent.runs) - {run.pk for run in runs})
    if lacking:
        says = f"There is no run {lacking[0]}, or it is not yours. Its page has its number."
        raise InvalidFieldsError({"runs": [says]})
    fit = Fit(sent.least_words, unknown=not sent.without_unknown)
    try:
        source = PairSource.of_runs(runs, each=sent.each, seed=sent.seed, fit=fit)
        unfit = pairs.preview(study, source).unfit
        return PairsOut(added=pairs.add(study, source), unfit=unfit)
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
