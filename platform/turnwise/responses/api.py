"""REST API of responses to contexts: runs of bots, files of other systems, progress, and the responses."""

import secrets
from datetime import datetime
from functools import partial
from typing import Annotated, Any, Literal

from django.core.exceptions import ValidationError
from django.db import transaction
from django.shortcuts import get_object_or_404
from django.utils import timezone
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import StringConstraints

from evaluation.texts.personal_data import Redactor
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.uploads_api import reading_a_file
from turnwise.bots.models import OPERATED
from turnwise.bots.queries import visible_bots
from turnwise.bots.search import bots_named
from turnwise.contexts.api import FileIn, refuse_findings
from turnwise.contexts.models import ContextSetVersion
from turnwise.contexts.queries import versions_of
from turnwise.contexts.tables import MAX_BYTES
from turnwise.crowd.redaction import redactor_of
from turnwise.live.cursors import NEXT, BodyKey, Cursor, Limit, PathKey, page, page_of
from turnwise.live.http_responses import answers, refusals_as_conflicts, takes_a_file
from turnwise.live.jobs import is_sent
from turnwise.live.problems import InvalidFieldsError
from turnwise.responses import model_files, services, tasks
from turnwise.responses.models import Response, ResponseRun
from turnwise.responses.queries import progress, real_runs_of, runs_of
from turnwise.responses.services import MOST_REPETITIONS

router = Router(tags=["responses"])


class OfContexts(Schema, extra="forbid"):
    """The contexts to which responses are."""

    context_set: BodyKey = Field(description="Its `id` in GET /api/context-sets.")
    version: int | None = Field(None, ge=1, le=2**31 - 1, description="Its number; null: the newest.")


class RunIn(OfContexts):
    """A bot that is to respond to every context of a set."""

    bot: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120)] = Field(
        description="Its name."
    )
    repetitions: int = Field(1, ge=1, le=MOST_REPETITIONS, description="Responses to each context.")
    seed: int | None = Field(None, ge=0, le=2**53, description="Null: one is drawn.")
    stores_reasoning: bool = Field(False, description="Whether the reasoning of the bot is stored.")


class ResponseFileIn(OfContexts, FileIn):
    """A file of responses by systems that do not run here."""

    format: Literal["jsonl", "csv"] = Field("jsonl", description="Kind of file.")
    system: Annotated[str, StringConstraints(strip_whitespace=True, max_length=120)] = Field(
        "", description="What reports call it; empty: the file names its models."
    )


class RunOut(Schema):
    """One system's responses to the contexts of a set."""

    id: int
    system: str
    source: str = Field(description="bot, person or file.")
    bot: str | None
    context_set: int
    version: int
    repetitions: int
    seed: int | None
    state: str = Field(description="queued, running, done, failed or cancelled.")
    reason: str = Field(description="Why it failed or waits; empty otherwise.")
    responses: int = Field(description="How many there are.")
    wanted: int
    failing: int = Field(description="Contexts whose response failed and is missing.")
    created_at: datetime


class RunsOut(Schema):
    """A page of runs, the newest first."""

    items: list[RunOut]
    next: str | None = NEXT


class ResponseOut(Schema):
    """A response."""

    context: str = Field(description="Id of the context.")
    repetition: int
    text: str = Field(description="With redactions applied.")
    seed: int | None
    latency_ms: int | None
    created_at: datetime


class ResponsesOut(Schema):
    """A page of responses."""

    items: list[ResponseOut]
    next: str | None = NEXT


@router.get("/runs", response=answers(RunsOut, 400, 422))
def runs(request: AuthenticatedHttpRequest, cursor: Cursor = "", limit: Limit = 100) -> dict[str, Any]:
    """List the runs that you may see, the newest first."""
    found, following = page_of(real_runs_of(request.user), "runs", cursor, limit, newest_first=True)
    return page([_run_out(each) for each in found], following)


@router.post("/runs", response=answers(RunOut, status=202, has_body=True))
def start_run(request: AuthenticatedHttpRequest, sent: RunIn) -> Status[RunOut]:
    """Have a bot respond to every context of a set."""
    version = _version(request, sent)
    usable = visible_bots(request.user).filter(active=True).exclude(adapter=OPERATED)
    try:
        [bot] = bots_named(usable, [sent.bot])
    except ValidationError as error:
        raise InvalidFieldsError({"bot": error.messages}) from None
    try:
        run = services.start_run(
            version,
            bot,
            owner=request.user,
            seed=secrets.randbits(31) if sent.seed is None else sent.seed,
            repetitions=sent.repetitions,
            stores_reasoning=sent.stores_reasoning,
        )
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    return Status(202, _sent(run))


@router.post(
    "/runs/files",
    response=answers(list[RunOut], 429, status=201, has_body=True),
    openapi_extra=takes_a_file(MAX_BYTES),
)
def import_responses(request: AuthenticatedHttpRequest, sent: ResponseFileIn) -> Status[list[RunOut]]:
    """Import a file of responses as a run of each system in it; all of them or none."""
    version = _version(request, sent)
    text = sent.content()
    if not sent.system and not model_files.names_models(text, sent.format):
        raise InvalidFieldsError({"system": ["Name the system: the file has no column “model”."]})
    with reading_a_file(request):
        values = model_files.parse_for(version, text, sent.format, sent.system)
    parsed = model_files.from_json(values)
    refuse_findings(parsed.problems)
    if not parsed.may_be_imported:
        raise InvalidFieldsError({"text": ["There are no responses in the file, so no run was made."]})
    with transaction.atomic():
        stored = [
            services.store_file(version, each.responses, system=system, owner=request.user)
            for system, each in parsed.models.items()
        ]
    return Status(201, [_run_out(_run(request, each.pk)) for each in stored])


@router.get("/runs/{int:run}", response=answers(RunOut, 404))
def one_run(request: AuthenticatedHttpRequest, run: PathKey) -> RunOut:
    """Get the progress of a run."""
    return _run_out(_run(request, run))


@router.get("/runs/{int:run}/responses", response=answers(ResponsesOut, 400, 404, 422))
def responses(
    request: AuthenticatedHttpRequest, run: PathKey, cursor: Cursor = "", limit: Limit = 100
) -> dict[str, Any]:
    """List the responses of a run, in the order in which they came."""
    found = _run(request, run)
    redactor = redactor_of([found.study_id] if found.study_id else [])
    rows = found.responses.defer("candidates").select_related("context")
    listed, following = page_of(rows, f"responses {run}", cursor, limit)
    return page([_response_out(each, redactor) for each in listed], following)


@router.post("/runs/{int:run}/cancel", response=answers(RunOut, 404, 409))
def cancel_run(request: AuthenticatedHttpRequest, run: PathKey) -> RunOut:
    """Stop a run; its responses so far are kept. Safe to repeat."""
    found = _run(request, run)
    if found.study_id:
        raise HttpError(409, "People write in this run. Close its study to stop it.")
    services.cancel(found, now=timezone.now())
    return _run_out(_run(request, run))


@router.post("/runs/{int:run}/retry", response=answers(RunOut, 404, 409, status=202))
def retry_run(request: AuthenticatedHttpRequest, run: PathKey) -> Status[RunOut]:
    """Continue a run that failed or was cancelled; only missing responses are asked for."""
    found = _run(request, run)
    with refusals_as_conflicts():
        return Status(202, _sent(services.retry(found.pk)))


def _sent(run: ResponseRun) -> RunOut:
    is_sent(partial(tasks.send, run.pk))  # else the timer sends it, once the queue is back
    return _run_out(runs_of(run.owner).get(pk=run.pk))


def _run(request: AuthenticatedHttpRequest, pk: int) -> ResponseRun:
    return get_object_or_404(runs_of(request.user), pk=pk)


def _version(request: AuthenticatedHttpRequest, sent: OfContexts) -> ContextSetVersion:
    versions = versions_of(request.user).filter(context_set=sent.context_set)
    found = versions.filter(number=sent.version) if sent.version else versions
    version = found.order_by("-number").first()
    if version is None:
        numbers = ", ".join(str(each) for each in versions.values_list("number", flat=True)[:20])
        if numbers:
            raise InvalidFieldsError(
                {"version": [f"The set has no version {sent.version}, only: {numbers}."]}
            )
        says = (
            f"There is no context set {sent.context_set} that you may use. GET /api/context-sets lists all."
        )
        raise InvalidFieldsError({"context_set": [says]})
    return version


def _run_out(row: ResponseRun) -> RunOut:
    now_at = progress(row)
    return RunOut(
        id=row.pk,
        system=row.system,
        source=row.source,
        bot=row.bot.name if row.bot else None,
        context_set=row.context_version.context_set_id,
        version=row.context_version.number,
        repetitions=row.repetitions,
        seed=row.seed,
        state=row.state,
        reason=row.reason,
        responses=now_at.had,
        wanted=now_at.wanted,
        failing=now_at.failing,
        created_at=row.created_at,
    )


def _response_out(row: Response, redactor: Redactor) -> ResponseOut:
    return ResponseOut(
        context=row.context.key,
        repetition=row.repetition,
        text=redactor(row.text),
        seed=row.seed,
        latency_ms=row.latency_ms,
        created_at=row.created_at,
    )
