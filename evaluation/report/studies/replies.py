"""Figures of the replies of one system: outcomes, tokens, seconds to first and last token, and cost. Pure.

Sums are exact (`math.fsum`), so that a bundle gives the same figures in whatever order its rows come.
"""

import math
import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

OUTCOMES = ("complete", "cut", "refused", "filtered", "tool_call", "fallback", "stopped")
"""Outcomes of a reply, as in the column `outcome` of bundles, in the order of reports."""

MILLION = 1_000_000


class Price(NamedTuple):
    """Prices of a bot's tokens from a day on.

    Attributes:
        valid_from: first day in UTC, as YYYY-MM-DD.
        currency: three letters, as in ISO 4217.
        prompt: price of a million prompt tokens that were not cached, at least 0.
        cached: price of a million cached prompt tokens, at least 0.
        completion: price of a million generated tokens, at least 0.
    """

    valid_from: str
    currency: str
    prompt: float
    cached: float
    completion: float


class ReplyFacts(NamedTuple):
    """Facts about one reply of a bot.

    Attributes:
        outcome: one of `OUTCOMES`.
        has_remarks: filters, wrappers or the service remarked on it.
        prompt: tokens of the request, cached ones included; None if unknown, as for the other numbers.
        completion: tokens that were generated, reasoning included.
        reasoning: those of `completion` that were reasoning.
        cached: those of `prompt` that were cached.
        first_seconds: seconds to the first token.
        last_seconds: seconds to the last token.
        day: the day in UTC on which it was given, as YYYY-MM-DD; empty if unknown.
        is_scored: it belongs to a finished conversation, or is a judged item, and is not a version that the
            worker discarded; cost counts all replies.
        outcome_before_stop: one of `OUTCOMES`, of the whole reply, if it was stopped; empty if unknown.
        versions: replies to the same message, this one included, at least 1.
    """

    outcome: str = "complete"
    has_remarks: bool = False
    prompt: int | None = None
    completion: int | None = None
    reasoning: int | None = None
    cached: int | None = None
    first_seconds: float | None = None
    last_seconds: float | None = None
    day: str = ""
    is_scored: bool = True
    outcome_before_stop: str = ""
    versions: int = 1


def facts_of(row: Mapping[str, Any], said_at: str | None = None, *, is_scored: bool = True) -> ReplyFacts:
    """Read the facts from a row of a bundle's table with the columns about replies.

    Args:
        row: the row.
        said_at: time of the reply in UTC, in ISO 8601; None: unknown.
        is_scored: as in `ReplyFacts`.
    """
    latency = row["latency_ms"]
    return ReplyFacts(
        outcome=row["outcome"],
        has_remarks=row["remarks"] is not None,
        prompt=row["prompt_tokens"],
        completion=row["completion_tokens"],
        reasoning=row["reasoning_tokens"],
        cached=row["cached_tokens"],
        first_seconds=row["first_seconds"],
        last_seconds=None if latency is None else latency / 1000,
        day=(said_at or "")[:10],
        is_scored=is_scored,
        outcome_before_stop=row.get("outcome_before_stop") or "",
        versions=row.get("reply_versions") or 1,
    )


def prices_of(about: Mapping[str, Any]) -> dict[str, list[Price]]:
    """Read the prices of each bot from study.json; older bundles have none."""
    return {bot["bot"]: [Price(**price) for price in bot.get("prices", ())] for bot in about["bots"]}


def reply_figures(replies: Sequence[ReplyFacts], prices: Sequence[Price] = ()) -> dict[str, Any]:
    """Compute the figures of a system's replies, ready to be stored as JSON.

    Args:
        replies: all replies, in any order.
        prices: prices of the bot, in the order in which they apply; of two for one day the later counts.

    Returns:
        `replies`, the number of scored replies, and `remarked`, those with remarks; `outcomes`, by outcome
        the number and percentage of them, where a stopped reply that was refused, filtered, cut or the like
        counts as both; `regenerated`, number and percentage of the replies that are one of several to the
        same message, if there are any; `tokens` and `seconds`, the mean, the median and the number of
        replies that have the figure, without figures that no reply has; `cost` as in `cost_of`, of all
        replies.
    """
    scored = [reply for reply in replies if reply.is_scored]
    counts = Counter(outcome for reply in scored for outcome in _outcomes_of(reply))
    regenerated = sum(reply.versions > 1 for reply in scored)
    share = 100 / len(scored) if scored else 0.0
    return {
        "replies": len(scored),
        "remarked": sum(reply.has_remarks for reply in scored),
        "outcomes": [
            {"outcome": outcome, "replies": counts[outcome], "percent": counts[outcome] * share}
            for outcome in OUTCOMES
        ],
        **({"regenerated": {"replies": regenerated, "percent": regenerated * share}} if regenerated else {}),
        "tokens": _summaries(scored, ("prompt", "completion", "reasoning", "cached"), ""),
        "seconds": _summaries(scored, ("first", "last"), "_seconds"),
        "cost": cost_of(replies, prices),
    }


def _outcomes_of(reply: ReplyFacts) -> set[str]:
    """The outcome, and that of the whole reply if the reader stopped it, unless it was complete."""
    return {reply.outcome, reply.outcome_before_stop} - ({"", "complete"} - {reply.outcome})


def percent_of(figures: Mapping[str, Any], outcome: str) -> float:
    """Percentage of one outcome in the result of `reply_figures`."""
    return float(next(row["percent"] for row in figures["outcomes"] if row["outcome"] == outcome))


def cost_of(replies: Iterable[ReplyFacts], prices: Sequence[Price]) -> dict[str, Any] | None:
    """Compute what replies cost by the prices of the day on which they were given.

    Tokens of the cache have their own price. Without a number of cached tokens, none counts as cached.

    Returns:
        `amounts`, by currency the sum and its number of replies; `unpriced`, the number of replies of which
        tokens or a price for their day are unknown, and which the sums therefore lack. None if no price was
        given.
    """
    if not prices:
        return None
    spent: dict[str, list[float]] = {}
    unpriced = 0
    for reply in replies:
        price = _price_on(reply.day, prices)
        if price is None or reply.prompt is None or reply.completion is None:
            unpriced += 1
            continue
        cached = min(reply.cached or 0, reply.prompt)
        parts = (
            (reply.prompt - cached) * price.prompt,
            cached * price.cached,
            reply.completion * price.completion,
        )
        spent.setdefault(price.currency, []).extend(part / MILLION for part in parts)
    amounts = [
        {"currency": currency, "amount": math.fsum(parts), "replies": len(parts) // 3}
        for currency, parts in sorted(spent.items())
    ]
    return {"amounts": amounts, "unpriced": unpriced}


def _price_on(day: str, prices: Sequence[Price]) -> Price | None:
    """The newest price that was valid on a day; None if there was none."""
    return max(
        (price for price in reversed(prices) if day and price.valid_from <= day),
        key=lambda price: price.valid_from,
        default=None,
    )


def _summaries(replies: Sequence[ReplyFacts], names: Iterable[str], suffix: str) -> dict[str, Any]:
    summaries = {}
    for name in names:
        values = [value for reply in replies if (value := getattr(reply, name + suffix)) is not None]
        if values:
            summaries[name] = {
                "mean": math.fsum(values) / len(values),
                "median": float(statistics.median(values)),
                "replies": len(values),
            }
    return summaries
