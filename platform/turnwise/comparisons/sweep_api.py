"""The REST API of sweeps of N and T: begin one, look how far it is, stop, continue and read it."""

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
from turnwise.accounts.limits import too_often
from turnwise.bots.api import Sent
from turnwise.bots.queries import visible_bots
from turnwise.comparisons import sweeps
from turnwise.contexts.queries import versions_of
from turnwise.live.http_responses import answers
from turnwise.live.jobs import is_sent
from turnwise.responses.models import Sweep
from turnwise.responses.sweeps import Grid, cells, go_on, progress, start_sweep, stop, sweeps_of
from turnwise.responses.tasks import send_all

router = Router(tags=["sweeps"])


class SweepIn(Sent):
    context_set: int = Field(description="The number in the address of its page.")
    version: int = Field(description="Of the context set.", ge=1)
    samples: list[int] = Field(description="N, each once with each temperature.")
    temperatures: list[float] = Field(description="T, above 0.")
    seed: int | None = Field(None, ge=0, le=2**53, description="Of all responses; null: one is drawn.")


class CellOut(Schema):
    run: int = Field(description="The run of responses: its number in the address of its page.")
    system: str = Field(description="What studies and reports call it.")
    samples: int
    temperature: float
    state: str = Field(description="queued, running, done, failed or cancelled")
    reason: str = Field(description="Why it waits or stopped; else empty.")
    had: int
    wanted: int
    log_likelihood_per_token: float | None = Field(
        description="Mean over the responses, in nats; null before all are there, or if the bot tells none."
    )
    scores: dict[str, float] = Field(
        description="By key, those of the newest report that has them; `scored` says on which scale."
    )


class ScoredOut(Schema):
    key: str = Field(description="Of the score; `SET.KEY` if other questions have one of that key, too.")
    title: str
    percent: bool = Field(description="Whether in percent of labels; else in points of the question's scale.")
    low: float = Field(description="The lower end of the scale.")
    high: float = Field(description="Its upper end.")


class SweepOut(Schema):
    id: int
    context_set: int
    version: int
    seed: int
    state: str = Field(description="running, done or cancelled")
    created_at: datetime
    had: int
    wanted: int
    scored: list[ScoredOut] = Field(description="The scores that people's judgments give.")
    cells: list[CellOut]


def _shown(request: AuthenticatedHttpRequest, sweep: Sweep) -> dict[str, Any]:
    found, scored = cells(sweep), sweeps.scores(sweep, request.user)
    how_far = progress(found)
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
            for each in found
        ],
    }


def _sweep(request: AuthenticatedHttpRequest, name: str, sweep: int) -> Sweep:
    return get_object_or_404(sweeps_of(request.user), bot__name=name, pk=sweep)


@router.get("/bots/{slug:name}/sweeps", response=answers(list[SweepOut], 404))
def sweeps_of_bot(request: AuthenticatedHttpRequest, name: str) -> list[dict[str, Any]]:
    """Your sweeps of a bot: how its responses change with N and T. The newest first, at most 50."""
    bot = get_object_or_404(visible_bots(request.user), name=name)
    return [_shown(request, each) for each in sweeps_of(request.user).filter(bot=bot)[:50]]


@router.post("/bots/{slug:name}/sweeps", response=answers(SweepOut, 404, 422, 429, status=201, has_body=True))
def begin_sweep(request: AuthenticatedHttpRequest, name: str, wanted: SweepIn) -> Status[dict[str, Any]]:
    """Have a bot answer the contexts of a set with every N and every T, whatever its settings say."""
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
    return Status(201, _shown(request, begun))


@router.get("/bots/{slug:name}/sweeps/{int:sweep}", response=answers(SweepOut, 404))
def one_sweep(request: AuthenticatedHttpRequest, name: str, sweep: int) -> dict[str, Any]:
    """A sweep: how far each pair of N and T is, how likely its responses are, what people made of them."""
    return _shown(request, _sweep(request, name, sweep))


@router.post("/bots/{slug:name}/sweeps/{int:sweep}/stop", response=answers(SweepOut, 404))
def stop_sweep(request: AuthenticatedHttpRequest, name: str, sweep: int) -> dict[str, Any]:
    """Stop a sweep; its responses so far are kept. Safe to repeat."""
    found = _sweep(request, name, sweep)
    stop(found, now=timezone.now())
    return _shown(request, found)


@router.post("/bots/{slug:name}/sweeps/{int:sweep}/continue", response=answers(SweepOut, 404, 409))
def continue_sweep(request: AuthenticatedHttpRequest, name: str, sweep: int) -> dict[str, Any]:
    """Continue a sweep that was stopped or failed: only what it lacks is asked for."""
    found = _sweep(request, name, sweep)
    try:
        runs = go_on(found)
    except ValidationError as error:
        raise HttpError(409, " ".join(error.messages)) from None
    is_sent(partial(send_all, runs))
    return _shown(request, found)
