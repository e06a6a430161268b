"""A private chat with a bot, for who registers it: nothing is stored, every candidate is shown."""

from typing import Any

from bots import client
from bots.models import Bot
from chatbots.base import Context, is_blank

MOST_TURNS = 200
MOST_CHARS = 4_000
SEEDS = range(2**53)  # what JavaScript can count


class UnusableError(ValueError):
    """What was sent is no context; the message says what to send instead."""


def context_of(sent: Any) -> Context:
    """The context in a request `{"turns": [texts, oldest first], "seed": null or a number}`.

    Raises:
        UnusableError: it is something else, or too long.
    """
    if not isinstance(sent, dict):
        raise UnusableError('Send an object with "turns": a list of texts, oldest first.')
    turns, seed = sent.get("turns"), sent.get("seed")
    if not isinstance(turns, list) or not turns or not all(isinstance(text, str) for text in turns):
        raise UnusableError('"turns" must be a list of one or more texts, oldest first.')
    if len(turns) > MOST_TURNS or any(len(text) > MOST_CHARS for text in turns):
        raise UnusableError(f'"turns" may hold {MOST_TURNS} texts of {MOST_CHARS} characters at most.')
    turns = [_storable(text) for text in turns]
    if is_blank(turns[-1]):
        raise UnusableError("The last turn is empty: there is nothing to answer.")
    if seed is not None and (not isinstance(seed, int) or isinstance(seed, bool) or seed not in SEEDS):
        raise UnusableError(f'"seed" must be null or a whole number from 0 to {SEEDS[-1]}.')
    return Context.from_texts(turns, seed)


def _storable(text: str) -> str:
    """Without what JSON can carry and no database and no message to another process can."""
    return text.encode(errors="ignore").decode().replace("\x00", "")


async def reply(bot: Bot, context: Context) -> client.Reply:
    """What the bot says.

    Raises:
        chatbots.errors.ChatbotError: it does not answer.
    """
    return await client.reply(bot.pk, context, party="trial")


def shown(reply: client.Reply) -> dict[str, Any]:
    response = reply.response
    return {
        "text": response.text,
        "candidates": [
            {"text": candidate.text, "score": candidate.score} for candidate in response.candidates
        ],
        "tokens": response.tokens,
        "remarks": list(response.remarks),
        "fallback": response.fallback,
        "latency_ms": reply.latency_ms,
        "seed": reply.seed,
        "version": reply.version_id,
    }
