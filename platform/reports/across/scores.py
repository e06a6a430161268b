"""Scores of bot versions over any studies, from the sums of their conversations or contexts.

The sums are made in the database, one row per version and conversation, so that memory and time follow the
conversations, not the labels; a statement that takes too long is given up with a word on what to do. What
other systems said, such as people or a file, is scored by their name.
"""

from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np
from django.db import OperationalError, connection, transaction

from evaluation.bootstrap import SENSIBLENESS, SPECIFICITY, SSA, Ratio, cluster_intervals
from evaluation.interval import Interval, Undefined
from evaluation.labels import FloatArray
from evaluation.report.figures import METHOD, SEED
from labels.item_queries import items_of

Cell: TypeAlias = dict[str, Any]
Who: TypeAlias = int | str
"""The id of a bot or of a version; of a system that is none, its name."""

RESAMPLES = 2_000
LONGEST_SECONDS = 20
MOST_CONVERSATIONS = 200_000


class TooMuchError(Exception):
    """The conversations are more than a page may read; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question set as it is summed: the keys of its yes-or-no questions, and by score its ratio of sums."""

    question_set: str
    keys: tuple[str, ...]
    scores: Mapping[str, Ratio]


ASKED_SSA = Asked(
    "ssa", ("sensible", "specific"), {"ssa": SSA, "sensible": SENSIBLENESS, "specific": SPECIFICITY}
)
ASKED_HUMAN_LIKENESS = Asked("human-likeness", ("human_like",), {"human_like": Ratio((1.0, 0.0), 1)})


@dataclass(frozen=True, slots=True)
class Conversation:
    """A finished conversation of a version, or its responses to a context, the labels summed.

    Attributes:
        bot: the bot, or another system.
        version: the version that replied, or another system.
        study: id of the study.
        dialogue: id of the conversation; of a context the negative one.
        ended: when it was finished, or last judged, in seconds since 1970.
        sums: how many labels say yes, by question; then how many labels there are.
    """

    bot: Who
    version: Who
    study: int
    dialogue: int
    ended: float
    sums: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores in percent with intervals over conversations or contexts, and what they rest on."""

    cells: Mapping[str, Cell]
    conversations: int
    labels: int
    first_ended: datetime
    last_ended: datetime
    newest_dialogues: Sequence[int]


SHAPE = [field.name for field in fields(Scored)]
"""Part of the key under which scores are remembered: other code does not read what it does not know."""

_SUMS = """
SELECT v.bot_id, v.id, NULL, d.study_id, d.id, extract(epoch FROM d.ended_at){sums}, count(*)
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  JOIN labels_label AS l ON l.turn_id = t.id
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
 WHERE d.study_id = ANY(%s) AND d.ending = 'complete' AND l.question_set = %s
   AND (%s IS NULL OR v.bot_id = %s)
   AND NOT EXISTS (SELECT FROM labels_slot AS slot WHERE slot.label_id = l.id)
 GROUP BY v.bot_id, v.id, d.id
 LIMIT %s
"""
_JUDGED_SUMS = f"""
SELECT v.bot_id, v.id, i.system, s.study_id, i.cluster, extract(epoch FROM max(l.changed_at)){{sums}},
       count(*)
  FROM ({items_of("ANY(%s)")}) AS i
  JOIN labels_slot AS s ON s.item_id = i.id
  JOIN labels_label AS l ON l.id = s.label_id
  LEFT JOIN bots_botversion AS v ON v.id = i.bot_version_id
 WHERE l.question_set = %s AND (%s IS NULL OR v.bot_id = %s)
 GROUP BY v.bot_id, v.id, i.system, s.study_id, i.cluster
 LIMIT %s
"""
_YES = ", sum(((l.answers->>%s)::boolean)::int)"


def conversations(
    studies: Collection[int],
    asked: Asked,
    *,
    bot: int | None = None,
    most: int = MOST_CONVERSATIONS,
    seconds: int = LONGEST_SECONDS,
) -> list[Conversation]:
    """The finished conversations and judged contexts of these studies, of one bot or of all, by their ids.

    Raises:
        TooMuchError: there are more than `most`, or reading them takes more than `seconds`.
    """
    sums_of = _YES * len(asked.keys)
    parameters = [*asked.keys, list(studies), asked.question_set, bot, bot, most + 1]
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{seconds}s"])
            rows: list[Any] = []
            for statement in (_SUMS, _JUDGED_SUMS):
                cursor.execute(statement.format(sums=sums_of), parameters)
                rows += cursor.fetchall()
    except OperationalError as error:
        if "statement timeout" not in str(error):
            raise
        raise TooMuchError(
            f"Reading the labels took more than {seconds} seconds and was given up. Choose fewer studies."
        ) from error
    if len(rows) > most:
        raise TooMuchError(
            f"These studies have more than {most:,} finished conversations or contexts. Choose fewer studies."
        )
    return sorted(
        (
            Conversation(
                each or system, version or system, study, dialogue, float(ended), tuple(map(float, sums))
            )
            for each, version, system, study, dialogue, ended, *sums in rows
        ),
        key=lambda conversation: conversation.dialogue,
    )


def scored_by(
    key: Callable[[Conversation], Hashable], found: Iterable[Conversation], asked: Asked
) -> dict[Any, Scored]:
    """By the value of `key`, the scores of the conversations that share it."""
    groups: dict[Hashable, list[Conversation]] = {}
    for conversation in found:
        groups.setdefault(key(conversation), []).append(conversation)
    return {value: scored(group, asked) for value, group in groups.items()}


def scored(found: Sequence[Conversation], asked: Asked) -> Scored:
    """The scores over these conversations, every label counting once.

    Args:
        found: at least one conversation; several rows may be of the same one if the bot's version changed
            while it ran, and are then resampled together.
        asked: what was asked in them.
    """
    sums = _of_dialogues(found)
    totals = sums.sum(axis=0, keepdims=True)
    ratios = list(asked.scores.values())
    intervals = cluster_intervals(
        sums, ratios, np.random.default_rng(SEED), resamples=RESAMPLES, method=METHOD
    )
    ended = [conversation.ended for conversation in found]
    dialogues = sorted({conversation.dialogue for conversation in found})
    return Scored(
        cells={
            score: _cell(float(ratio(totals)[0]), interval)
            for score, ratio, interval in zip(asked.scores, ratios, intervals, strict=True)
        },
        conversations=len(dialogues),
        labels=int(totals[0, -1]),
        first_ended=datetime.fromtimestamp(min(ended), UTC),
        last_ended=datetime.fromtimestamp(max(ended), UTC),
        newest_dialogues=[dialogue for dialogue in dialogues[:-4:-1] if dialogue > 0],
    )


def _of_dialogues(found: Sequence[Conversation]) -> FloatArray:
    """(k, m) the sums of each of the k conversations."""
    _, dialogue = np.unique([conversation.dialogue for conversation in found], return_inverse=True)
    sums = np.zeros((int(dialogue.max()) + 1, len(found[0].sums)))
    np.add.at(sums, dialogue, np.array([conversation.sums for conversation in found]))
    return sums


def _cell(value: float, interval: Interval | Undefined) -> Cell:
    """In percent; an interval never leaves the scale."""
    if isinstance(interval, Undefined):
        return {"value": 100 * value, "undefined": interval.reason}
    return {
        "value": 100 * value,
        "low": max(0.0, 100 * interval.low),
        "high": min(100.0, 100 * interval.high),
    }
