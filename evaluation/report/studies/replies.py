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
        bot: name of the bot that gave it, where a system may have replies of several bots; else empty.
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
    bot: str = ""


def facts_of(
    row: Mapping[str, Any], said_at: str | None = None, *, is_scored: bool = True, bot: str = ""
) -> ReplyFacts:
    """Read the facts from a row of a bundle's table with the columns about replies.

    Args:
        row: the row.
        said_at: time of the reply in UTC, in ISO 8601; None: unknown.
        is_scored: as in `ReplyFacts`.
        bot: as in `ReplyFacts`.
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
        bot=bot,
    )


def prices_of(about: Mapping[str, Any]) -> dict[str, list[Price]]:
    """Read the prices of each bot from study.json; older bundles have none."""
    return {bot["bot"]: [Price(**price) for price in bot.get("prices", ())] for bot in about["bots"]}


def judged_prices_of(about: Mapping[str, Any]) -> dict[str, list[Price]]:
    """Read from study.json the prices of bots whose replies are judged; older bundles have none."""
    by_bot = about.get("judged_prices") or {}
    return {bot: [Price(**price) for price in prices] for bot, prices in by_bot.items()}


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
    columns = _columns(scored)
    counts = _outcome_counts(columns)
    regenerated = len(scored) - columns["versions"].count(1)
    share = 100 / len(scored) if scored else 0.0
    return {
        "replies": len(scored),
        "remarked": sum(columns["has_remarks"]),
        "outcomes": [
            {"outcome": outcome, "replies": counts[outcome], "percent": counts[outcome] * share}
            for outcome in OUTCOMES
        ],
        **({"regenerated": {"replies": regenerated, "percent": regenerated * share}} if regenerated else {}),
        "tokens": _summaries(columns, ("prompt", "completion", "reasoning", "cached"), ""),
        "seconds": _summaries(columns, ("first", "last"), "_seconds"),
        "cost": cost_of(replies, prices),
    }


def judged_reply_figures(
    by_system: Mapping[str, Sequence[ReplyFacts]], prices: Mapping[str, Sequence[Price]]
) -> dict[str, Any]:
    """Compute the figures of the judged replies of each system.

    Args:
        by_system: facts about each judged reply, each once, with the names of its bots.
        prices: by name of a bot, in the order in which they apply.

    Returns:
        `replies`, a row for each system, in the order of their names: `bot`, the system, and the keys of
        `reply_figures`; `cost` is that of the judged replies. Empty if no bot replied.
    """
    rows = [
        {"bot": system, **reply_figures(facts), "cost": _cost_by_bot(facts, prices)}
        for system, facts in sorted(by_system.items())
    ]
    return {"replies": rows} if rows else {}


# A study may have a million replies: its columns are read much faster than its replies one by one.
_Columns = Mapping[str, Sequence[Any]]


def _columns(replies: Sequence[ReplyFacts]) -> _Columns:
    """Values of each field of `ReplyFacts`, in the order of the replies."""
    values = zip(*replies, strict=True) if replies else [()] * len(ReplyFacts._fields)
    return dict(zip(ReplyFacts._fields, values, strict=True))


def _outcome_counts(columns: _Columns) -> Counter[str]:
    """Count each outcome, and that of the whole reply if the reader stopped it, unless it was complete."""
    counts: Counter[str] = Counter()
    for both, replies in Counter(
        zip(columns["outcome"], columns["outcome_before_stop"], strict=True)
    ).items():
        outcome, _ = both
        for each in set(both) - ({"", "complete"} - {outcome}):
            counts[each] += replies
    return counts


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
    return _cost((reply, prices) for reply in replies) if prices else None


def _cost_by_bot(
    replies: Sequence[ReplyFacts], prices: Mapping[str, Sequence[Price]]
) -> dict[str, Any] | None:
    """Compute as `cost_of` what replies of several bots cost; None if none of the bots has a price."""
    priced = [(reply, prices.get(reply.bot, ())) for reply in replies]
    return _cost(priced) if any(of_bot for _, of_bot in priced) else None


def _cost(priced: Iterable[tuple[ReplyFacts, Sequence[Price]]]) -> dict[str, Any]:
    spent: dict[str, list[float]] = {}
    unpriced = 0
    for reply, prices in priced:
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


def _summaries(columns: _Columns, names: Iterable[str], suffix: str) -> dict[str, Any]:
    summaries = {}
    for name in names:
        values = [value for value in columns[name + suffix] if value is not None]
        if values:
            summaries[name] = {
                "mean": math.fsum(values) / len(values),
                "median": float(statistics.median(values)),
                "replies": len(values),
            }
    return summaries
