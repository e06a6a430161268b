"""Trying bots: a private chat that stores nothing and shows every candidate, and greetings to test bots."""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

from asgiref.sync import async_to_sync
from django.http import HttpRequest
from django.http.request import RawPostDataException
from django.utils.translation import gettext as _

from chatbots.base import Context
from chatbots.errors import ChatbotError
from chatbots.hosting.response_checks import is_blank
from chatbots.replies import Usage
from evaluation.texts.lengths import MAX_TURN_CHARS
from turnwise.accounts.limits import TooManyAtOnceError, limit_concurrency
from turnwise.accounts.models import User
from turnwise.bots.hosting import client
from turnwise.bots.hosting.growth import GrowthEncoder, PartialReply
from turnwise.bots.models import Bot, BotVersion
from turnwise.live.database import in_database
from turnwise.live.frames import FrameStream, Tell, as_json
from turnwise.live.markdown import has_marks
from turnwise.live.sockets.newest import NewestSender

MOST_TURNS = 200
SEEDS = range(2**53)  # what JavaScript can count
# Concurrent replies per person and process: a slow bot takes half a minute. Behind nginx the socket server,
# whose number of threads is not fixed, handles these requests.
MOST_AT_ONCE = 4
TOO_MANY = f"You are already waiting for {MOST_AT_ONCE} replies. Send the next once one of them is there."


class UnusableError(ValueError):
    """The request is no valid context; the message says what to send instead."""


def json_of(request: HttpRequest) -> Any:
    """Parse the body of a request.

    Raises:
        UnusableError: it is not JSON.
    """
    try:
        return json.loads(request.body)
    except (ValueError, RecursionError, RawPostDataException):  # the last one: a form was sent
        raise UnusableError("The request is not JSON.") from None


def context_of(sent: Any) -> Context:
    """Parse the context of a request `{"turns": [texts, oldest first], "seed": null or a number}`.

    Raises:
        UnusableError: it is something else, or too long.
    """
    if not isinstance(sent, dict):
        raise UnusableError('Send an object with "turns": a list of texts, oldest first.')
    turns, seed = sent.get("turns"), sent.get("seed")
    if not isinstance(turns, list) or not turns or not all(isinstance(text, str) for text in turns):
        raise UnusableError('"turns" must be a list of one or more texts, oldest first.')
    if len(turns) > MOST_TURNS or any(len(text) > MAX_TURN_CHARS for text in turns):
        raise UnusableError(f'"turns" may hold {MOST_TURNS} texts of {MAX_TURN_CHARS} characters at most.')
    turns = [_storable(text) for text in turns]
    if is_blank(turns[-1]):
        raise UnusableError("The last turn is empty: there is nothing to answer.")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or seed not in SEEDS):
        raise UnusableError(f'"seed" must be null or a whole number from 0 to {SEEDS[-1]}.')
    return Context.from_texts(turns, seed)


def _storable(text: str) -> str:
    """Remove characters that JSON allows but databases and messages do not."""
    return text.encode(errors="ignore").decode().replace("\x00", "")


def reply(bot: Bot, context: Context, *, to: User) -> client.Reply:
    """Ask the bot for a reply.

    Raises:
        chatbots.errors.ChatbotError: it does not answer.
        turnwise.accounts.limits.TooManyAtOnceError: this person waits for too many replies already.
    """
    with limit_concurrency(MOST_AT_ONCE, "trial", to.pk):
        return async_to_sync(client.reply)(bot.pk, context, tenant="trial")


async def streamed_reply(bot: Bot, context: Context, *, to: User) -> AsyncIterator[bytes]:
    """Ask the bot, and yield lines of JSON: parts of its text as it grows, then the reply or the error.

    A part is `{"offset": …, "text": …}`: how many code points of the text so far stay, and what follows. The
    last line is `reply_json`, or `{"error": …}`.
    """
    asking = FrameStream(partial(_growing_reply, bot, context, to))
    async for part in asking.frames():
        yield _line(part)
    try:
        yield _line(await in_database(partial(reply_json, asking.result())))
    except TooManyAtOnceError:
        yield _line({"error": TOO_MANY})
    except ChatbotError as error:
        yield _line({"error": str(error)})


async def _growing_reply(bot: Bot, context: Context, to: User, send: Tell) -> client.Reply:
    encoder = GrowthEncoder()

    async def send_part(partial_reply: PartialReply) -> None:
        part = encoder.encode(partial_reply)
        await send({"offset": part["offset"], "text": part["text"]})

    sender = NewestSender(send_part)
    try:
        with limit_concurrency(MOST_AT_ONCE, "trial", to.pk):
            return await client.reply(bot.pk, context, tenant="trial", on_partial=sender.put)
    finally:
        await sender.close()


def _line(value: Any) -> bytes:
    return as_json(value).encode() + b"\n"


def reply_json(reply: client.Reply) -> dict[str, Any]:
    response = reply.response
    version = BotVersion.objects.select_related("bot").get(pk=reply.version_id)
    return {
        "text": response.text,
        "candidates": reply.candidates,
        "outcome": response.outcome.value,
        "remarks": list(response.remarks),
        "reasoning": response.reasoning,
        "usage": asdict(response.usage or Usage()),
        "model": response.model,
        "first_seconds": response.first_seconds,
        "unformatted": has_marks(response.text) and _is_unformatted_somewhere(version.bot),
        "latency_ms": reply.latency_ms,
        "seed": reply.seed,
        "version": reply.version_id,
        "version_name": version.name,
    }


def _is_unformatted_somewhere(bot: Bot) -> bool:
    """True if a study shows the bot's replies as plain text with their marks, or no study has the bot yet."""
    studies = bot.study_bots.values_list("study__markdown", flat=True)
    return not studies or not all(studies)


GREETING = "Hi!"
LONGEST_SECONDS = 20.0
MOST_SHOWN = 200


@dataclass(frozen=True, slots=True)
class Greeting:
    """Result of greeting a bot.

    Attributes:
        bot: the greeted bot.
        answered: whether it answered in time.
        seconds: time until the answer or the failure.
        says: its answer, or its error.
    """

    bot: Bot
    answered: bool
    seconds: float
    says: str


def greet_bots(bots: Sequence[Bot]) -> list[Greeting]:
    """Greet all bots at once, and wait at most `LONGEST_SECONDS` for each."""
    return async_to_sync(_greet_bots)(bots)


async def _greet_bots(bots: Sequence[Bot]) -> list[Greeting]:
    return list(await asyncio.gather(*[_greet(bot) for bot in bots]))


async def _greet(bot: Bot) -> Greeting:
    if bot.is_operated:
        says = _("A person answers. People are admitted while somebody is at its operator's page.")
        return Greeting(bot, True, 0.0, says)
    context, began = Context.from_texts([GREETING], None), time.monotonic()
    try:
        reply = await client.reply(bot.pk, context, tenant="opening", deadline=LONGEST_SECONDS)
    except ChatbotError as error:
        return Greeting(bot, False, time.monotonic() - began, str(error)[:MOST_SHOWN])
    return Greeting(bot, True, time.monotonic() - began, reply.response.text[:MOST_SHOWN])
