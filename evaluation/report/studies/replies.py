"""Figures of the replies of one system: outcomes, tokens, seconds to first and last token, and cost. Pure.

Sums are exact (`math.fsum`), so that a bundle gives the same figures in whatever order its rows come.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, NamedTuple, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.statistics.labels import AnyArray, BoolArray, FloatArray, IntArray, coded

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


_NUMBERS = (
    "prompt", "completion", "reasoning", "cached", "first_seconds", "last_seconds",
)  # fmt: skip
_CODES = {outcome: code for code, outcome in enumerate(OUTCOMES)}


@dataclass(frozen=True, slots=True, eq=False)
class ReplyColumns:
    """Facts about n replies: each field of `ReplyFacts` as a column of (n,), in the same order.

    A study may have a million replies, whose columns need a tenth of the memory and time of as many tuples.
    Here an outcome is its number in `OUTCOMES`, -1 if there is none, a day is NaT if unknown, and an unknown
    number is NaN.
    """

    outcome: IntArray
    has_remarks: BoolArray
    prompt: FloatArray
    completion: FloatArray
    reasoning: FloatArray
    cached: FloatArray
    first_seconds: FloatArray
    last_seconds: FloatArray
    day: NDArray[np.datetime64]
    is_scored: BoolArray
    outcome_before_stop: IntArray
    versions: IntArray
    bot: AnyArray

    @classmethod
    def of(cls, replies: "Replies") -> "ReplyColumns":
        """Turn replies into columns, unless they are columns already."""
        if isinstance(replies, ReplyColumns):
            return replies
        values = zip(*replies, strict=True) if replies else [()] * len(ReplyFacts._fields)
        of_field = dict(zip(ReplyFacts._fields, values, strict=True))
        return cls(
            outcome=_codes(of_field["outcome"]),
            has_remarks=np.array(of_field["has_remarks"], np.bool_),
            day=np.array([day or "NaT" for day in of_field["day"]], "datetime64[D]"),
            is_scored=np.array(of_field["is_scored"], np.bool_),
            outcome_before_stop=_codes(of_field["outcome_before_stop"]),
            versions=np.array(of_field["versions"], np.int64),
            bot=np.array(of_field["bot"], object),
            **{name: np.array(of_field[name], np.float64) for name in _NUMBERS},
        )

    def __len__(self) -> int:
        return len(self.outcome)

    def __getitem__(self, chosen: AnyArray) -> Self:
        """Return the replies that a mask or indices choose."""
        return type(self)(*(getattr(self, field.name)[chosen] for field in fields(self)))


Replies: TypeAlias = Sequence[ReplyFacts] | ReplyColumns


def _codes(outcomes: Iterable[str]) -> IntArray:
    return np.array([_CODES.get(outcome, -1) for outcome in outcomes], np.int64)


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


def reply_figures(replies: Replies, prices: Sequence[Price] = ()) -> dict[str, Any]:
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
    every = ReplyColumns.of(replies)
    scored = every[every.is_scored]
    counts = _outcome_counts(scored)
    regenerated = int(np.count_nonzero(scored.versions > 1))
    share = 100 / len(scored) if len(scored) else 0.0
    return {
        "replies": len(scored),
        "remarked": int(np.count_nonzero(scored.has_remarks)),
        "outcomes": [
            {"outcome": outcome, "replies": count, "percent": count * share}
            for outcome, count in zip(OUTCOMES, counts, strict=True)
        ],
        **({"regenerated": {"replies": regenerated, "percent": regenerated * share}} if regenerated else {}),
        "tokens": _summaries(scored, ("prompt", "completion", "reasoning", "cached"), ""),
        "seconds": _summaries(scored, ("first", "last"), "_seconds"),
        "cost": cost_of(every, prices),
    }


def judged_reply_figures(
    by_system: Mapping[str, Replies], prices: Mapping[str, Sequence[Price]]
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
        {"bot": system, **reply_figures(replies), "cost": _cost_by_bot(replies, prices)}
        for system, replies in sorted(by_system.items())
    ]
    return {"replies": rows} if rows else {}


def _outcome_counts(replies: ReplyColumns) -> list[int]:
    """Count each outcome, and that of the whole reply if the reader stopped it, unless it was complete."""
    before = replies.outcome_before_stop
    also = before[(before > _CODES["complete"]) & (before != replies.outcome)]
    known = replies.outcome[replies.outcome >= 0]
    counts: list[int] = np.bincount(np.concatenate([known, also]), minlength=len(OUTCOMES)).tolist()
    return counts


def percent_of(figures: Mapping[str, Any], outcome: str) -> float:
    """Percentage of one outcome in the result of `reply_figures`."""
    return float(next(row["percent"] for row in figures["outcomes"] if row["outcome"] == outcome))


def cost_of(replies: Replies, prices: Sequence[Price]) -> dict[str, Any] | None:
    """Compute what replies cost by the prices of the day on which they were given.

    Tokens of the cache have their own price. Without a number of cached tokens, none counts as cached.

    Returns:
        `amounts`, by currency the sum and its number of replies; `unpriced`, the number of replies of which
        tokens or a price for their day are unknown, and which the sums therefore lack. None if no price was
        given.
    """
    return _cost([(ReplyColumns.of(replies), prices)]) if prices else None


def _cost_by_bot(replies: Replies, prices: Mapping[str, Sequence[Price]]) -> dict[str, Any] | None:
    """Compute as `cost_of` what replies of several bots cost; None if none of the bots has a price."""
    columns = ReplyColumns.of(replies)
    bots, of_bot = coded(columns.bot)
    priced = [(columns[of_bot == code], prices.get(bot, ())) for code, bot in enumerate(bots)]
    return _cost(priced) if any(of_bot for _, of_bot in priced) else None


def _cost(priced: Iterable[tuple[ReplyColumns, Sequence[Price]]]) -> dict[str, Any]:
    spent: dict[str, list[float]] = {}
    unpriced = 0
    for replies, prices in priced:
        days, of_day = np.unique(replies.day, return_inverse=True)
        for code, day in enumerate(days):
            given = replies[of_day == code]
            price = _price_on("" if np.isnat(day) else str(day), prices)
            if price is None:
                unpriced += len(given)
                continue
            known = ~np.isnan(given.prompt) & ~np.isnan(given.completion)
            unpriced += int(np.count_nonzero(~known))
            spent.setdefault(price.currency, []).extend(_parts(given[known], price))
    amounts = [
        {"currency": currency, "amount": math.fsum(parts), "replies": len(parts) // 3}
        for currency, parts in sorted(spent.items())
        if parts
    ]
    return {"amounts": amounts, "unpriced": unpriced}


def _parts(replies: ReplyColumns, price: Price) -> list[float]:
    """Cost of each reply in three parts: new tokens of the prompt, cached ones, and those of the reply."""
    cached = np.minimum(np.nan_to_num(replies.cached), replies.prompt)
    parts = ((replies.prompt - cached) * price.prompt, cached * price.cached)
    each: list[float] = (np.concatenate([*parts, replies.completion * price.completion]) / MILLION).tolist()
    return each


def _price_on(day: str, prices: Sequence[Price]) -> Price | None:
    """The newest price that was valid on a day; None if there was none."""
    return max(
        (price for price in reversed(prices) if day and price.valid_from <= day),
        key=lambda price: price.valid_from,
        default=None,
    )


def _summaries(replies: ReplyColumns, names: Iterable[str], suffix: str) -> dict[str, Any]:
    summaries = {}
    for name in names:
        values = getattr(replies, name + suffix)
        values = values[~np.isnan(values)]
        if len(values):
            summaries[name] = {
                "mean": math.fsum(values.tolist()) / len(values),
                "median": float(np.median(values)),
                "replies": len(values),
            }
    return summaries
