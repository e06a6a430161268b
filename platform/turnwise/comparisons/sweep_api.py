"""REST API of sweeps of N and T: start, read, stop and continue a sweep, and have people judge it."""

import secrets
from datetime import datetime
from functools import partial
from typing import Any

from django.core.exceptions import ValidationError
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import STUDIES
from turnwise.accounts.limits import too_often
from turnwise.bots.api import Sent
from turnwise.bots.queries import visible_bots
from turnwise.comparisons import sweeps
from turnwise.contexts.queries import versions_of
from turnwise.live.cursors import BodyKey, PathKey
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.jobs import is_sent
from turnwise.responses.models import Sweep
from turnwise.responses.sweeps import Grid, cells, progress, resume_sweep, start_sweep, stop, sweeps_of
from turnwise.responses.tasks import send_all

router = Router(tags=["sweeps"])


class SweepIn(Sent):
    context_set: int = Field(description="Number in the address of the set's page.")
    version: int = Field(description="Version number of the context set.", ge=1)
    samples: list[int] = Field(description="Values of N; each is combined with each temperature.")
    temperatures: list[float] = Field(description="Values of T, above 0.")
    seed: int | None = Field(
        None, ge=0, le=2**53, description="Seed of all responses; null for a random one."
    )


class CellOut(Schema):
    run: int = Field(description="Number of the response run, as in the address of its page.")
    system: str = Field(description="Name of the system in studies and reports.")
    samples: int
    temperature: float
    state: str = Field(description="queued, running, done, failed or cancelled")
    reason: str = Field(description="Reason why it waits or stopped; else empty.")
    had: int
    wanted: int
    log_likelihood_per_token: float | None = Field(
        description="Mean over the responses, in nats; null until all exist, or if the bot reports none."
    )
    scores: dict[str, float] = Field(
        description="Scores by key, from the newest report that has them; `scored` gives their scales."
    )


class ScoredOut(Schema):
    key: str = Field(
        description="Key of the score; `SET.KEY` if another question set has a score with the same key."
    )
    title: str
    percent: bool = Field(description="True for percent of labels, false for points of the question's scale.")
    low: float = Field(description="The lower end of the scale.")
    high: float = Field(description="The upper end of the scale.")


class SweepOut(Schema):
    id: int
    context_set: int
    version: int
    seed: int
    state: str = Field(description="running, done or cancelled")
    created_at: datetime
    had: int
    wanted: int
    scored: list[ScoredOut] = Field(description="Scores computed from judgments.")
    cells: list[CellOut]


def _sweep_out(request: AuthenticatedHttpRequest, sweep: Sweep) -> dict[str, Any]:
    rows, scored = cells(sweep), sweeps.scores(sweep, request.user)
    how_far = progress(rows)
    return {
        "id": sweep.pk,
        "context_set": sweep.context_version.context_set_id,
        "version": sweep.context_version.number,
        "seed": sweep.seed,
        "state": how_far.state,
        "created_at": sweep.created_at,
        "had": how_far.had,
        "wanted": how_far.wanted,
        "scored": [
            {
                "key": key,
                "title": each.title,
                "percent": each.percent,
                "low": each.low,
                "high": each.high,
            }
            for key, each in scored.columns.items()
        ],
        "cells": [
            {
                "run": each.run.pk,
                "system": each.run.system,
                "samples": each.run.samples,
                "temperature": each.run.temperature,
                "state": each.run.state,
                "reason": each.run.reason,
                "had": each.had,
                "wanted": each.wanted,
                "log_likelihood_per_token": each.per_token,
                "scores": {key: cell["value"] for key, cell in scored.of.get(each.run.system, {}).items()},
            }
            for each in rows
        ],
    }


def _sweep(request: AuthenticatedHttpRequest, name: str, sweep: int) -> Sweep:
    return get_object_or_404(sweeps_of(request.user), bot__name=name, pk=sweep)


@router.get("/bots/{slug:name}/sweeps", response=answers(list[SweepOut], 404))
def sweeps_of_bot(request: AuthenticatedHttpRequest, name: str) -> list[dict[str, Any]]:
    """Your sweeps of a bot, newest first, at most 50: how its responses change with N and T."""
    bot = get_object_or_404(visible_bots(request.user), name=name)
    return [_sweep_out(request, each) for each in sweeps_of(request.user).filter(bot=bot)[:50]]


@router.post("/bots/{slug:name}/sweeps", response=answers(SweepOut, 404, 422, 429, status=201, has_body=True))
def begin_sweep(request: AuthenticatedHttpRequest, name: str, wanted: SweepIn) -> Status[dict[str, Any]]:
    """Start a sweep: the bot answers the contexts of a set with every N and T instead of its own settings."""
    bot = get_object_or_404(visible_bots(request.user), name=name)
    version = versions_of(request.user).filter(context_set=wanted.context_set, number=wanted.version).first()
    if version is None:
        raise HttpError(
            422,
            f"There is no context set {wanted.context_set} with a version {wanted.version} that you can use. "
            "Both numbers are in the address of its page.",
        )
    if too_often(request, "sweep", rate="20/h", key="user"):
        raise HttpError(429, "More than 20 sweeps in an hour. Wait a little.")
    temperatures = [round(each, 4) for each in wanted.temperatures]
    grid = Grid(tuple(dict.fromkeys(wanted.samples)), tuple(dict.fromkeys(temperatures)))
    seed = secrets.randbits(31) if wanted.seed is None else wanted.seed
    try:
        begun = start_sweep(bot, version, grid, owner=request.user, seed=seed)
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    is_sent(partial(send_all, begun.runs.order_by("pk")))
    return Status(201, _sweep_out(request, begun))


@router.get("/bots/{slug:name}/sweeps/{int:sweep}", response=answers(SweepOut, 404))
def one_sweep(request: AuthenticatedHttpRequest, name: str, sweep: int) -> dict[str, Any]:
    """Read a sweep: progress, likelihood of the responses and scores for each pair of N and T."""
    return _sweep_out(request, _sweep(request, name, sweep))


@router.post("/bots/{slug:name}/sweeps/{int:sweep}/stop", response=answers(SweepOut, 404))
def stop_sweep(request: AuthenticatedHttpRequest, name: str, sweep: int) -> dict[str, Any]:
    """Stop a sweep; its responses so far are kept. Idempotent."""
    row = _sweep(request, name, sweep)
    stop(row, now=timezone.now())
    return _sweep_out(request, row)


@router.post("/bots/{slug:name}/sweeps/{int:sweep}/continue", response=answers(SweepOut, 404, 409))
def continue_sweep(request: AuthenticatedHttpRequest, name: str, sweep: int) -> dict[str, Any]:
    """Continue a sweep that was stopped or failed; only missing responses are requested."""
    row = _sweep(request, name, sweep)
    with refusals_as_conflicts():
        runs = resume_sweep(row)
    is_sent(partial(send_all, runs))
    return _sweep_out(request, row)


class SweepRatersIn(Schema, extra="forbid"):
    """The pairs of N and T whose responses people judge."""

    runs: list[BodyKey] = Field(min_length=1, max_length=1000, description="`run` of each pair in its cells.")


class SweepRatersOut(Schema):
    """The draft of a study in which people judge a sweep's responses."""

    study: str = Field(description="Its code.")


@router.post(
    "/bots/{slug:name}/sweeps/{int:sweep}/raters",
    response=answers(SweepRatersOut, 404, 409, status=201, has_body=True),
    openapi_extra=STUDIES,
)
def judge_sweep(
    request: AuthenticatedHttpRequest, name: str, sweep: PathKey, sent: SweepRatersIn
) -> Status[SweepRatersOut]:
    """Make the draft of a study in which people judge complete pairs of N and T, each as a system."""
    row = _sweep(request, name, sweep)
    with refusals_as_conflicts():
        study = sweeps.create_judging_study(row, sent.runs, by=request.user)
    return Status(201, SweepRatersOut(study=study.code))
