"""The REST API of bots. Every call carries a token: `Authorization: Bearer turnwise_…`."""

from datetime import datetime
from functools import partial
from typing import Annotated, Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema, Status
from ninja.errors import HttpError
from pydantic import ConfigDict, StringConstraints

from chatbots.registry import REGISTRY
from chatbots.replies import ReplyOutcome
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.colleagues import UnknownPersonError, people_named
from turnwise.accounts.limits import TooManyAtOnceError, too_often
from turnwise.accounts.models import User
from turnwise.bots import queries, services, tasks, trial
from turnwise.bots.models import LONGEST_NOTE, OPERATED, Bot, BotVersion
from turnwise.live.cursors import PathKey
from turnwise.live.http_responses import answers
from turnwise.live.jobs import NOT_STARTED, is_sent
from turnwise.live.problems import InvalidFieldsError

router = Router(tags=["bots"])


class AdapterOut(Schema):
    name: str
    summary: str
    configuration: dict[str, Any] = Field(description="JSON Schema of the configuration.")


Title = Annotated[
    str, StringConstraints(strip_whitespace=True, min_length=1, max_length=120, pattern=r"^[^\x00-\x1f]*$")
]


class Sent(Schema):
    """Base of request bodies; an unknown field is an error."""

    model_config = ConfigDict(extra="forbid")


class BotIn(Sent):
    name: str = Field(pattern=r"^[-a-zA-Z0-9_]+$", max_length=60)
    title: Title
    adapter: str
    configuration: dict[str, Any] = {}
    open_to_all: bool = Field(False, description="Whether all who sign in may see and use it.")
    shared_with: list[str] = Field([], description="Names of people who may use it besides you and admins.")
    operators: list[str] = Field(
        [], description="For a bot in whose place people answer: who may answer besides you and admins."
    )


class BotChange(Sent):
    title: Title | None = None
    configuration: dict[str, Any] | None = Field(
        None, description="Replaces the whole configuration; a change is a new revision."
    )
    active: bool | None = None
    open_to_all: bool | None = None
    shared_with: list[str] | None = Field(None, description="Replaces all names.")
    operators: list[str] | None = Field(None, description="Replaces all names.")


class BotOut(Schema):
    name: str
    title: str
    adapter: str
    active: bool
    owner: str | None = Field(description="Name of the owner; null: only admins can change it.")
    open_to_all: bool
    shared_with: list[str]
    operators: list[str] = Field(description="Who may answer in its place; empty for other bots.")
    state: str = Field(description="ready, loading, failing, stuck, failed, not hosted, no operator, or off")
    configuration: dict[str, Any] = Field(description="With defaults; secrets masked.")


class VersionOut(Schema):
    id: int
    name: str = Field(description="As pages have it: its number, and how its fingerprint begins.")
    fingerprint: str
    details: dict[str, Any]
    first_seen_at: datetime
    perplexity: float | None = Field(description="Per token; null: not known.")
    perplexity_data: str = Field(description="The held-out data on which it was measured.")
    perplexity_tokenizer: str = Field(description="What counted as a token.")


class PerplexityIn(Sent):
    """Measured perplexity of a version."""

    perplexity: float | None = Field(description="Per token, at least 1; null removes it.")
    measured_on: str = Field("", max_length=LONGEST_NOTE, description="The held-out data.")
    tokenizer: str = Field("", max_length=LONGEST_NOTE, description="What counts as a token.")


class CopyOut(Schema):
    host: str
    state: str
    seen_at: datetime
    health: dict[str, Any]


class ReplyIn(Sent):
    turns: list[str] = Field(description="Oldest first; the last is answered.")
    seed: int | None = None


class CandidateOut(Schema):
    text: str
    score: float


class UsageOut(Schema):
    """Tokens of a reply; null where the service does not say."""

    prompt: int | None
    completion: int | None
    reasoning: int | None
    cached: int | None


class ReplyOut(Schema):
    text: str
    candidates: list[CandidateOut]
    outcome: ReplyOutcome = Field(description="How the reply ended; the text may be empty if it was refused.")
    remarks: list[str] = Field(description="What filters, other wrappers or the service did to it.")
    reasoning: str = Field(description="The model's reasoning, apart from the text.")
    usage: UsageOut
    model: str = Field(description="Model that answered, as its service names it.")
    first_seconds: float | None = Field(description="Seconds to the first token of the text.")
    latency_ms: int
    seed: int | None
    version: int
    version_name: str


def _bot_out(standing: queries.BotStatus) -> dict[str, Any]:
    bot = standing.bot
    return {
        "name": bot.name,
        "title": bot.title,
        "adapter": bot.adapter,
        "active": bot.active,
        "owner": bot.owner.username if bot.owner else None,
        "open_to_all": bot.open_to_all,
        "shared_with": sorted(person.username for person in bot.shared_with.all()),
        "operators": sorted(person.username for person in bot.operators.all()) if bot.is_operated else [],
        "state": standing.state,
        "configuration": queries.masked_settings(bot),
    }


@router.get("/adapters", response=answers(list[AdapterOut]))
def adapters(request: HttpRequest) -> list[dict[str, Any]]:
    """The kinds of bots that can be registered."""
    described = [REGISTRY.describe(name) for name in REGISTRY.registered_names()]
    return [
        {"name": each.name, "summary": each.summary, "configuration": dict(each.schema)} for each in described
    ]


@router.get("/bots", response=answers(list[BotOut]))
def bots(request: AuthenticatedHttpRequest) -> list[dict[str, Any]]:
    """Every bot that you may see, with its state: your own, those shared with you, and those open to all."""
    return [_bot_out(status) for status in queries.bot_statuses(request.user)]


@router.post("/bots", response=answers(BotOut, 409, status=201, has_body=True))
def register(request: AuthenticatedHttpRequest, sent: BotIn) -> Status[dict[str, Any]]:
    """Register a bot, which is yours alone unless you share it. Safe to repeat with the same values."""
    settings = sent.model_dump(exclude={"open_to_all", "shared_with", "operators"})
    with transaction.atomic():
        bot = services.register_bot(**settings, owner=request.user)
        operators = _operators(bot, sent.operators)
        services.share(
            bot,
            named=_people(sent.shared_with),
            open_to_all=sent.open_to_all,
            operators=operators,
        )
    return Status(201, _bot_out(queries.bot_status(bot)))


@router.get("/bots/{slug:name}", response=answers(BotOut, 404))
def bot(request: AuthenticatedHttpRequest, name: str) -> dict[str, Any]:
    """One bot."""
    return _bot_out(queries.bot_status(get_object_or_404(queries.visible_bots(request.user), name=name)))


def _people(names: list[str], field: str = "shared_with") -> list[User]:
    try:
        return people_named(names)
    except UnknownPersonError as error:
        raise InvalidFieldsError({field: [str(error)]}) from None


def _operators(bot: Bot, names: list[str]) -> list[User]:
    if names and not bot.is_operated:
        raise HttpError(
            422,
            f"“operators” names {names[0]}, but nobody answers in the place of “{bot.name}”: its adapter is "
            f"“{bot.adapter}”. Leave the field out, or register a bot with the adapter “{OPERATED}”.",
        )
    return _people(names, "operators")


@router.patch("/bots/{slug:name}", response=answers(BotOut, 404, 409, has_body=True))
@transaction.atomic
def change(request: AuthenticatedHttpRequest, name: str, sent: BotChange) -> dict[str, Any]:
    """Change a bot of your own: title, configuration (a new revision), state, sharing and operators."""
    bot = get_object_or_404(queries.changeable_by(request.user), name=name)
    if sent.title is not None or sent.configuration is not None:
        services.change_bot(
            bot.pk,
            title=bot.title if sent.title is None else sent.title,
            configuration=bot.configuration if sent.configuration is None else sent.configuration,
            by=request.user,
        )
    if sent.active is not None:
        services.set_active(bot.pk, sent.active)
    if (sent.open_to_all, sent.shared_with, sent.operators) != (None, None, None):
        services.share(
            bot,
            named=bot.shared_with.all() if sent.shared_with is None else _people(sent.shared_with),
            open_to_all=bot.open_to_all if sent.open_to_all is None else sent.open_to_all,
            operators=None if sent.operators is None else _operators(bot, sent.operators),
        )
    return _bot_out(queries.bot_status(Bot.objects.get(pk=bot.pk)))


class DailyCheckIn(Schema, extra="forbid"):
    """The daily check of a bot for drift."""

    watched: bool | None = Field(None, description="Whether it is asked every day; null: as it is.")
    anew: bool = Field(False, description="Whether it is asked now, and its answers are the new baseline.")


class WatchOut(Schema):
    """State of the daily check of a bot for drift."""

    watched: bool


@router.put("/bots/{slug:name}/watch", response=answers(WatchOut, 404, 503, has_body=True))
def watch_bot(request: AuthenticatedHttpRequest, name: str, sent: DailyCheckIn) -> WatchOut:
    """Switch the daily check of a bot of your own on or off, or begin it anew from today's answers."""
    bot = get_object_or_404(queries.changeable_by(request.user), name=name)
    if sent.watched is not None:
        services.set_watched(bot.pk, sent.watched)
    if sent.anew and not is_sent(partial(tasks.replay_canary.delay, bot.pk, anew=True)):
        raise HttpError(503, str(NOT_STARTED))
    return WatchOut(watched=Bot.objects.get(pk=bot.pk).watched)


@router.get("/bots/{slug:name}/versions", response=answers(list[VersionOut], 404))
def versions(request: AuthenticatedHttpRequest, name: str) -> list[Any]:
    """List the versions that ever answered, one for each fingerprint, newest first."""
    return list(
        get_object_or_404(queries.visible_bots(request.user), name=name).versions.order_by("-first_seen_at")
    )


@router.put(
    "/bots/{slug:name}/versions/{version}/perplexity", response=answers(VersionOut, 404, has_body=True)
)
def set_perplexity(
    request: AuthenticatedHttpRequest, name: str, version: PathKey, sent: PerplexityIn
) -> BotVersion:
    """Note the perplexity of a version that its bot does not report itself."""
    bot = get_object_or_404(queries.visible_bots(request.user), name=name)
    found = get_object_or_404(bot.versions, pk=version)
    try:
        services.record_perplexity(
            found,
            perplexity=sent.perplexity,
            data=sent.measured_on,
            tokenizer=sent.tokenizer,
            by=request.user,
        )
    except ValidationError as error:
        raise HttpError(422, " ".join(error.messages)) from None
    found.refresh_from_db()
    return found


@router.get("/bots/{slug:name}/health", response=answers(list[CopyOut], 404))
def health(request: AuthenticatedHttpRequest, name: str) -> list[dict[str, Any]]:
    """List the processes that have the bot loaded, with its state in each."""
    bot = get_object_or_404(queries.visible_bots(request.user), name=name)
    in_full = queries.changeable_by(request.user).filter(pk=bot.pk).exists()
    return [
        {"host": copy.host, "state": copy.words, "seen_at": copy.seen_at, "health": copy.health}
        for copy in queries.copies(bot, in_full=in_full)
    ]


@router.post("/bots/{slug:name}/reply", response=answers(ReplyOut, 404, 429, 503, has_body=True))
def reply(request: AuthenticatedHttpRequest, name: str, sent: ReplyIn) -> dict[str, Any]:
    """Ask the bot. Nothing is stored."""
    bot = get_object_or_404(queries.visible_bots(request.user), name=name)
    if too_often(request, "api-reply", rate="600/m", key="user"):
        raise HttpError(429, "More than 600 replies in a minute. Wait a little.")
    try:
        context = trial.context_of(sent.model_dump())
    except trial.UnusableError as error:
        raise HttpError(422, str(error)) from error
    try:
        return trial.reply_json(trial.reply(bot, context, to=request.user))
    except TooManyAtOnceError:
        raise HttpError(429, trial.TOO_MANY) from None
