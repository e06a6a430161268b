"""Figures of a self-play study, in which bots talk with each other. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluation.conversation.encoders import EXTRA
from evaluation.conversation.exchanges import Turn
from evaluation.conversation.figures import BY_TURN, metric_cell, metric_descriptions, trajectory, warnings
from evaluation.conversation.metrics import METRICS
from evaluation.conversation.ngrams import SHARED, overlap
from evaluation.files.writing import percent
from evaluation.report.studies.replies import Price, Replies, reply_figures
from evaluation.statistics.labels import FloatArray, IntArray

LEVEL = 0.95


@dataclass(frozen=True, eq=False)
class SelfPlayData:
    """All input of the report of a self-play study.

    Attributes:
        names: by name of a bot, its name in the report.
        turns: by id of an ended conversation, (speaker, text) of its turns without the opening.
        under_way: number of open conversations.
        silent: number of conversations that ended because a bot said nothing.
        measures: rows of the table `measures`.
        encoders: by key of a metric that could be computed, its encoder; empty if it needs none.
        replies: by name of a bot, facts about each of its replies.
        prices: by name of a bot, prices of its tokens.
    """

    names: Mapping[str, str]
    turns: Mapping[str, Sequence[Turn]]
    under_way: int
    silent: int
    measures: Sequence[Mapping[str, Any]]
    encoders: Mapping[str, str]
    replies: Mapping[str, Replies] = field(default_factory=dict)
    prices: Mapping[str, Sequence[Price]] = field(default_factory=dict)


def self_play_figures(data: SelfPlayData) -> dict[str, Any]:
    """Compute every number and sentence of the report, ready to be stored as JSON; deterministic."""
    # The slope of a conversation belongs to both speakers, so it is left out if two bots talk.
    encoder = {key: name for key, name in data.encoders.items() if key != "min_max" or len(data.names) == 1}
    metrics = [metric for metric in METRICS if metric.key in encoder]
    table = _Table.of(data, [metric.key for metric in metrics])
    texts = [[text for _, text in talk] for talk in data.turns.values()]
    overlaps = {length: overlap(texts, length) for length in SHARED}
    encoders = sorted({each for each in data.encoders.values() if each})
    rows_of_bot = {name: table.bot == bot for bot, name in data.names.items()}
    return {
        "bots": [{"bot": name, "turns": int(rows.sum())} for name, rows in rows_of_bot.items() if rows.any()],
        "columns": [
            each
            | {
                "cells": [
                    metric_cell(each["key"], *table.means(rows, each["key"]), LEVEL)
                    for rows in rows_of_bot.values()
                ]
            }
            for each in metric_descriptions(encoder)
        ],
        "by_turn": [
            {
                "key": m.key,
                "title": m.title,
                "bots": [_course(table, b, n, m.key) for b, n in data.names.items()],
            }
            for m in metrics
            if m.key in BY_TURN and len(table.position)
        ],
        "overlaps": [
            {"length": length, "sharing": each.sharing, "pairs": each.pairs, "percent": each.percent}
            for length, each in overlaps.items()
        ],
        "replies": [
            {"bot": name, **reply_figures(data.replies[bot], data.prices.get(bot, ()))}
            for bot, name in data.names.items()
            if len(data.replies.get(bot, ()))
        ],
        "conversations": {"ended": len(texts), "under_way": data.under_way, "silent": data.silent},
        "warnings": warnings(" and ".join(data.names.values()), list(data.turns.values())),
        "encoders": encoders,
        "missing": "" if encoders else f"No encoder was installed when this was computed: {EXTRA}.",
        "level": LEVEL,
        "method": (f"{percent(LEVEL)} intervals: Student's t on the logit of the scale, over conversations"),
    }


@dataclass(frozen=True, eq=False)
class _Table:
    """The rows as columns.

    Attributes:
        bot: (n,) the bot that said the turn.
        conversation: (n,) number of the conversation.
        position: (n,) number of the reply in its conversation, from 0.
        values: by key, (n,) the figure; NaN for none.
    """

    bot: Any
    conversation: IntArray
    position: IntArray
    values: Mapping[str, FloatArray]

    @classmethod
    def of(cls, data: SelfPlayData, keys: Sequence[str]) -> "_Table":
        numbers = {dialogue: number for number, dialogue in enumerate(data.turns)}
        rows = [row for row in data.measures if row["dialogue"] in numbers]
        conversation = np.array([numbers[row["dialogue"]] for row in rows], dtype=np.int64)
        turn = np.array([row["turn"] for row in rows], dtype=np.int64)
        # Count positions from the first reply of each conversation.
        first = np.full(len(numbers), np.iinfo(np.int64).max)
        np.minimum.at(first, conversation, turn)
        return cls(
            np.array([row["bot"] for row in rows], dtype=object),
            conversation,
            turn - first[conversation],
            {
                key: np.array([np.nan if row[key] is None else row[key] for row in rows], dtype=np.float64)
                for key in keys
            },
        )

    def means(self, rows: Any, key: str) -> tuple[FloatArray, IntArray]:
        """Mean of these rows in each conversation, and the numbers of the conversations."""
        defined = rows & ~np.isnan(self.values[key])
        conversations, group = np.unique(self.conversation[defined], return_inverse=True)
        sums = np.bincount(group, self.values[key][defined], len(conversations))
        return sums / np.maximum(np.bincount(group, minlength=len(conversations)), 1), conversations


def _course(table: _Table, bot: str, name: str, key: str) -> dict[str, Any]:
    """Figure of a bot by turn; the first reply is the second turn."""
    points = trajectory(table.position, table.values[key], table.bot == bot, LEVEL)
    return {
        "bot": name,
        "points": [
            {"turn": p.position + 1, "value": p.mean, "low": p.low, "high": p.high, "going_on": p.going_on}
            for p in points
        ],
    }
