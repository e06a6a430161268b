"""Signs that a worker did not read what they judged, or takes part under several names. Pure.

A sign is not a verdict. A worker with a sign stays in every figure and is paid. The report also shows scores
without these workers, and a person who reads the conversation decides.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from evaluation.report.label_columns import Judged
from evaluation.statistics.labels import FloatArray, IntArray, coded

# --- thresholds and their reasons -------------------------------------------------------------------

FEWEST_ANSWERS = 5
"""With fewer answers a median says little: anyone presses a button too early once or twice."""

FASTEST_ANSWER_MS = 1000.0
"""Adults read four words a second (Brysbaert 2019: 238 a minute), and a reply has about ten. Workers who
answer most questions within a second of seeing the reply have not read most replies."""

FASTEST_MESSAGE_SECONDS = 3.0
"""Fewest seconds per message of a conversation, for reading the reply, judging it and writing the next one.
People type 52 words a minute (Dhakal et al. 2018, 168,000 people), so three words alone take longer."""

FEWEST_SAME_MESSAGES = 4
MOST_SAME_MESSAGES = 0.5
"""Honest conversations repeat "Hi" and "yes", but no text in more than half of all messages."""

FEWEST_SAME_ANSWERS = 8
FEWEST_ANSWERS_OF_OTHERS = 20
CHANCE_OF_SAME_ANSWERS = 0.001
"""About a good bot nearly all raters answer yes throughout. So equal answers are a sign only if they would be
this rare among people who answer about the same bots like the others."""

MOST_AT_AN_ADDRESS = 2
"""Two people of a household share a network address, and so do many at a university or behind a phone
network: this is the weakest sign."""


@dataclass(frozen=True, slots=True)
class Manner:
    """Behaviour of a worker in a study, other than their labels.

    Attributes:
        messages: number of messages in finished conversations.
        repeated: number of messages with the most frequent text.
        text: the most frequent text.
        seconds: total duration of these conversations; None without any.
        at_address: number of participants who agreed from the same network address, including this one; 0 if
            unknown.
    """

    messages: int = 0
    repeated: int = 0
    text: str = ""
    seconds: float | None = None
    at_address: int = 0


def signs(asks: Sequence[Judged], manners: Mapping[str, Manner] | None) -> dict[str, str]:
    """Find the signs of each worker, with their evidence, in sentences; workers without signs are left out.

    Args:
        asks: the labels of each ask.
        manners: behaviour by worker; None: look for no signs.
    """
    sentences_of: dict[str, list[str]] = {}
    if manners is None:
        return {}
    for sentences_by_worker in (_hasty_answers(asks), *map(_same_answers, asks)):
        for worker, sentence in sentences_by_worker.items():
            sentences_of.setdefault(worker, []).append(sentence)
    for worker, manner in manners.items():
        for sentence in filter(None, (_hasty(manner), _repeating(manner), _crowded(manner))):
            sentences_of.setdefault(worker, []).append(sentence)
    return {worker: " ".join(sentences) for worker, sentences in sorted(sentences_of.items())}


def _hasty_answers(asks: Sequence[Judged]) -> dict[str, str]:
    sentences, of_asks = {}, dict[str, list[FloatArray]]()
    for judged in asks:
        for worker, rows in _rows_of_raters(judged).items():
            of_asks.setdefault(worker, []).append(judged.answer_ms[rows])
    for worker, each in of_asks.items():
        times = np.concatenate(each)
        measured = times[~np.isnan(times)]
        if len(times) >= FEWEST_ANSWERS and not len(measured):
            sentences[worker] = (
                f"None of {len(times)} answers says how long it took, as our page always does: a program may "
                "have given them."
            )
        elif len(measured) >= FEWEST_ANSWERS and (median := float(np.median(measured))) < FASTEST_ANSWER_MS:
            sentences[worker] = (
                f"Half of {len(measured)} answers came within {median / 1000:.1f}\u00a0s of what they judge."
            )
    return sentences


def _same_answers(judged: Judged) -> dict[str, str]:
    """Find workers who always answer the same although that is unlikely."""
    sentences = {}
    answered = _patterns(judged)
    of_all = Counter(zip(judged.bot_code.tolist(), answered.tolist(), strict=True))
    of_bots = Counter(judged.bot_code.tolist())
    for worker, rows in _rows_of_raters(judged).items():
        patterns = answered[rows]
        if len(rows) < FEWEST_SAME_ANSWERS or (patterns != patterns[0]).any():
            continue
        counts = Counter(judged.bot_code[rows].tolist())
        pattern = int(patterns[0])
        same = {bot: of_all[bot, pattern] - times for bot, times in counts.items()}
        others = {bot: of_bots[bot] - times for bot, times in counts.items()}
        # Laplace's rule of succession: an answer that no other worker gave is rare, not impossible.
        chance = math.prod(((same[bot] + 1) / (others[bot] + 2)) ** times for bot, times in counts.items())
        if sum(others.values()) >= FEWEST_ANSWERS_OF_OTHERS and chance < CHANCE_OF_SAME_ANSWERS:
            share = sum(same.values()) / sum(others.values())
            sentences[worker] = (
                f"All {len(rows)} answers are the same; of the others' answers about the same bots "
                f"{100 * share:.0f}\u00a0% are."
            )
    return sentences


def _patterns(judged: Judged) -> IntArray:
    """(n,) codes that are equal for labels with equal answers to all questions but free text."""
    pattern = np.zeros(len(judged), dtype=np.int64)
    for answers in judged.answers.values():
        distinct, code = coded(np.nan_to_num(answers, nan=-1.0))
        pattern = coded(pattern * max(len(distinct), 1) + code)[1]
    return pattern


def _rows_of_raters(judged: Judged) -> dict[str, IntArray]:
    order = np.argsort(judged.rater_code, kind="stable")
    ends = np.cumsum(np.bincount(judged.rater_code)).tolist()
    return {
        rater: order[start:end] for rater, start, end in zip(judged.raters, [0, *ends], ends, strict=False)
    }


def _hasty(manner: Manner) -> str:
    if manner.seconds is None or not manner.messages:
        return ""
    if manner.seconds >= FASTEST_MESSAGE_SECONDS * manner.messages:
        return ""
    return f"Talking and answering took {manner.seconds:.1f}\u00a0s for {_messages(manner.messages)}."


def _repeating(manner: Manner) -> str:
    enough = max(FEWEST_SAME_MESSAGES, MOST_SAME_MESSAGES * manner.messages + 1e-9)
    if manner.repeated < enough:
        return ""
    quoted = manner.text if len(manner.text) <= 40 else f"{manner.text[:39]}…"
    return f"{manner.repeated} of {_messages(manner.messages)} are “{quoted}”."


def _crowded(manner: Manner) -> str:
    if manner.at_address <= MOST_AT_AN_ADDRESS:
        return ""
    return f"{manner.at_address} participants of this study came from the same network address."


def _messages(count: int) -> str:
    return "1 message" if count == 1 else f"{count} messages"


Row = Mapping[str, Any]


def manners_of(
    workers: Sequence[Row],
    conversations: Mapping[str, Row] | None = None,
    texts: Mapping[str, Counter[str]] | None = None,
) -> dict[str, Manner]:
    """Compute the behaviour of each worker.

    Args:
        workers: rows of the table `workers`.
        conversations: by id, rows of the table `conversations`.
        texts: by id of a conversation, the texts of its worker with their counts.
    """
    # Older bundles have no such column.
    addresses = Counter(row.get("address") for row in workers)
    of_worker: dict[str, list[Row]] = {}
    for row in (conversations or {}).values():
        if row["ending"] == "complete" and row["bot"] and row["worker"]:
            of_worker.setdefault(row["worker"], []).append(row)
    return {
        row["rater"]: _manner(
            of_worker.get(row["rater"], []), texts or {}, addresses[at] if (at := row.get("address")) else 0
        )
        for row in workers
    }


def _manner(conversations: Iterable[Row], texts_of: Mapping[str, Counter[str]], at_address: int) -> Manner:
    took = [_time(row["ended_at"]) - _time(row["started_at"]) for row in conversations]
    texts: Counter[str] = sum((texts_of[row["dialogue"]] for row in conversations), Counter())
    (text, repeated) = texts.most_common(1)[0] if texts else ("", 0)
    seconds = sum(each.total_seconds() for each in took) if took else None
    return Manner(texts.total(), repeated, text, seconds, at_address)


def _time(written: str) -> datetime:
    return datetime.fromisoformat(written)
