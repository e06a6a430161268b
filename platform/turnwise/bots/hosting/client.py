"""Client for bots: asks the bot in this process or in another one."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Hashable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from channels.db import database_sync_to_async
from django.db import connection

from chatbots.base import Context
from chatbots.errors import (
    BotBusyError,
    BotFailedError,
    BotHostGoneError,
    BotLateError,
    BotNotHostedError,
    ChatbotError,
    LineLostError,
)
from chatbots.hosting.health import State
from chatbots.hosting.response_checks import limited
from chatbots.replies import Response
from turnwise.bots.generation import Generation
from turnwise.bots.hosting import presence, resident_bots, spending
from turnwise.bots.hosting.growth import OnPartial
from turnwise.bots.hosting.presence import DIRECTORY, Copy
from turnwise.bots.hosting.remote import BotClient, bot_client, decode_response
from turnwise.bots.hosting.resident_bots import HostedBot
from turnwise.bots.models import Bot
from turnwise.live.metrics.recording import record_reply
from turnwise.live.traces.spans import traced

# Workers do not notice that their message is confirmed this much later.
AT_ONCE_SECONDS = 0.02
# Longest wait for a bot that loads, as all do after a restart. Some take minutes.
LOADING_SECONDS = 600.0
LOOK_AGAIN_SECONDS = 0.25
# A killed Redis is usually back at once.
LINE_BACK_WITHIN_SECONDS = 5.0

OnLoading = Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Reply:
    """A bot's response with what is needed to reproduce and to time it."""

    response: Response
    version_id: int
    latency_ms: int
    seed: int | None

    def within(self, limit: int, *, stores_reasoning: bool) -> "Reply":
        """The reply as a study stores it: cut after `limit` code points, perhaps without its reasoning."""
        response = limited(self.response, limit)
        if response.reasoning and not stores_reasoning:
            response = replace(response, reasoning="")
        return self if response is self.response else replace(self, response=response)

    @property
    def generation(self) -> dict[str, Any] | None:
        """Stored record of how the reply was generated; with the reasoning, unless `within` removed it."""
        return Generation.of_response(self.response).as_json()

    @property
    def candidates(self) -> list[dict[str, Any]]:
        """Candidates as they are stored and exported."""
        return [{"text": each.text, "score": each.score} for each in self.response.candidates]


@traced("ask bot")
async def reply(
    bot_id: int,
    context: Context,
    *,
    tenant: Hashable = None,
    deadline: float | None = None,
    on_loading: OnLoading | None = None,
    on_partial: OnPartial | None = None,
) -> Reply:
    """Ask a bot for its response to `context`, in this process or in the least busy one.

    The deadline starts once the bot is loaded.

    Args:
        bot_id: of a `turnwise.bots.models.Bot`.
        context: the dialogue so far.
        tenant: on whose behalf the bot is asked, such as a study's code; a bot serves tenants in turn.
        deadline: seconds to wait at most; None: as people wait for this bot (`resident_bots.deadline_for`).
        on_loading: called once if the bot is still loading.
        on_partial: called with the text so far whenever it has grown, if the bot shows it. If the process
            that hosts the bot dies, another one may start over with another text.

    Raises:
        chatbots.errors.ChatbotError: the bot is busy, late, failed or not hosted, or its budget is reached; a
            class for each.
    """
    try:
        await spending.refuse_over_budget(bot_id)
    except spending.BudgetReachedError:
        record_reply(bot_id, "over_budget")
        raise
    try:
        found = await _reply(bot_id, context, tenant, deadline, on_loading=on_loading, on_partial=on_partial)
    except asyncio.CancelledError:
        record_reply(bot_id, "cancelled")
        spending.count_later(bot_id)
        raise
    except BotLateError:
        record_reply(bot_id, "late")
        await spending.count(bot_id, None)
        raise
    except Exception as error:
        record_reply(bot_id, _outcome_of(error))
        raise
    record_reply(bot_id, "answered", found.latency_ms / 1000)
    await spending.count(bot_id, found.response)
    return found


_OUTCOMES: dict[type[Exception], str] = {
    BotBusyError: "busy",
    BotFailedError: "failed",
    BotNotHostedError: "not_hosted",
}


def _outcome_of(error: Exception) -> str:
    """Name of an error in the metrics."""
    return next((name for kind, name in _OUTCOMES.items() if isinstance(error, kind)), "other")


async def _reply(
    bot_id: int,
    context: Context,
    tenant: Hashable,
    deadline: float | None,
    *,
    on_loading: OnLoading | None,
    on_partial: OnPartial | None,
) -> Reply:
    """Ask the bot where it is hosted; the deadline starts once it is loaded."""
    await _until_loaded(bot_id, on_loading)
    hosted = resident_bots.hosted_here(bot_id)
    if copies := DIRECTORY.answering(bot_id):
        sender = await bot_client()
        if not await sender.is_connected(patience=0.0 if hosted else LINE_BACK_WITHIN_SECONDS):
            here = hosted or _unreachable(copies[0])
            return await _reply_from_here(here, context, tenant, deadline, on_partial=on_partial)
        copy = min(copies, key=sender.pending_requests)
        if hosted is None or hosted.is_loading or hosted.resident.waiting > sender.pending_requests(copy):
            return await _reply_from_elsewhere(
                sender, copy, context, tenant, deadline, on_loading=on_loading, on_partial=on_partial
            )
    here = hosted or await _host_now(bot_id)
    return await _reply_from_here(here, context, tenant, deadline, on_partial=on_partial)


async def _until_loaded(bot_id: int, on_loading: OnLoading | None) -> None:
    until = time.monotonic() + LOADING_SECONDS
    is_loading = await _is_loading(bot_id, as_known_since=presence.OLD_AFTER_SECONDS)
    while is_loading and time.monotonic() < until:
        await asyncio.sleep(LOOK_AGAIN_SECONDS)  # most bots are loaded by then
        is_loading = await _is_loading(bot_id, as_known_since=LOOK_AGAIN_SECONDS)
        if on_loading and is_loading:
            await on_loading()
            on_loading = None


async def _is_loading(bot_id: int, *, as_known_since: float) -> bool:
    """True if every copy of the bot is loading. If there is no copy yet, start to load one here."""
    if DIRECTORY.is_older(as_known_since):
        await asyncio.to_thread(_in_thread, partial(DIRECTORY.refresh, as_known_since))
    hosted, copies = resident_bots.hosted_here(bot_id), DIRECTORY.answering(bot_id)
    if hosted is None and not copies and not DIRECTORY.is_expected_back(bot_id):
        hosted = await _host_now(bot_id)
    is_loading_here = hosted is None or hosted.is_loading
    return is_loading_here and all(copy.state is State.LOADING for copy in copies)


@traced("ask quick bot")
async def reply_at_once(bot_id: int, context: Context, *, tenant: Hashable = None) -> Reply | None:
    """Response of a bot in this process that recently answered within `AT_ONCE_SECONDS`.

    None for any other bot, one with a budget, or if it fails or takes longer: then use `reply`. Only the
    bot's own time counts, so that a busy server keeps saving message and reply in one commit.
    """
    hosted = resident_bots.hosted_here(bot_id)
    if hosted is None or hosted.resident.answered_in > AT_ONCE_SECONDS or await spending.is_limited(bot_id):
        return None
    try:
        found = await _reply_from_here(hosted, context, tenant, None, timeout=AT_ONCE_SECONDS)
    except (ChatbotError, TimeoutError):
        return None
    record_reply(bot_id, "answered", found.latency_ms / 1000)
    await spending.count(bot_id, found.response)
    return found


async def _reply_from_here(
    hosted: HostedBot,
    context: Context,
    tenant: Hashable,
    deadline: float | None,
    *,
    timeout: float | None = None,
    on_partial: OnPartial | None = None,
) -> Reply:
    started = time.monotonic()
    on_text = hosted.on_text(on_partial) if on_partial else None
    response = await hosted.resident.respond(
        context, deadline=deadline, tenant=tenant, timeout=timeout, on_text=on_text
    )
    waited = time.monotonic() - started
    if hosted.version_id is None:
        raise BotFailedError(f"{hosted.row} answered before its version was recorded.")
    return Reply(response, hosted.version_id, round(waited * 1000), context.seed)


async def _reply_from_elsewhere(
    sender: BotClient,
    copy: Copy,
    context: Context,
    tenant: Hashable,
    deadline: float | None,
    *,
    on_loading: OnLoading | None,
    on_partial: OnPartial | None,
) -> Reply:
    """Ask a copy in another process; if that process unloaded it or died, or Redis broke, ask again."""
    seconds = resident_bots.deadline_for(copy.reply_seconds) if deadline is None else deadline
    try:
        answer = await sender.ask(copy, context, deadline=seconds, tenant=tenant, on_partial=on_partial)
    except (BotNotHostedError, LineLostError) as error:
        if isinstance(error, BotHostGoneError):
            await asyncio.to_thread(_in_thread, partial(DIRECTORY.mark_lost, copy))
        elif isinstance(error, BotNotHostedError):
            DIRECTORY.forget(copy)
        return await _reply(
            copy.bot_id, context, tenant, deadline, on_loading=on_loading, on_partial=on_partial
        )
    return Reply(decode_response(answer), answer["version"], answer["latency_ms"], context.seed)


def _unreachable(copy: Copy) -> HostedBot:
    raise BotFailedError(
        f"The chatbot runs in another process ({copy.host}), and Redis, over which it is asked, "
        "does not answer. Try again in a minute."
    )


def _in_thread(step: Callable[[], None]) -> None:
    try:
        step()
    finally:
        connection.close()


@database_sync_to_async
def _host_now(bot_id: int) -> HostedBot:
    """Load a bot that was registered after this process started, when it is first needed."""
    bot = Bot.objects.filter(pk=bot_id).first()
    if bot is None or not bot.active:
        named = bot or f"Bot {bot_id}"
        raise BotFailedError(f"{named} is switched off. Its owner or an admin can switch it on under Bots.")
    if bot.is_operated:
        raise BotFailedError(f"A person answers in place of {bot}, and only in conversations of studies.")
    if not resident_bots.is_named_here(bot.name):
        if failed := presence.describe_unavailable(bot):
            raise BotFailedError(failed)
        raise BotNotHostedError(
            f"{bot} is not hosted anywhere. Start a host for it: manage.py hostbots {bot.name}"
        )
    return resident_bots.host(bot)
