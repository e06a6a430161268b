"""Course of a study's conversations: endings, faults, time to reply, repetition. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluation.conversation.figures import Repetition, repetition
from evaluation.files.writing import percent
from evaluation.report.label_columns import Judged
from evaluation.report.studies.replies import Price, Replies, percent_of, reply_figures
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.interval import Undefined
from evaluation.texts.repetition import MIN_SHARE, MIN_WORDS

# Comparing every turn with all earlier ones takes time; the paper's number of conversations is enough.
READ_FOR_REPETITION = 100


@dataclass(frozen=True, slots=True)
class Course:
    """Course of one bot's conversations, labelled or not.

    Attributes:
        finished: number of conversations that reached their end.
        under_way: number of open conversations.
        bot_failed: number of conversations that ended because the bot could not answer.
        faults: by kind, number of replies that the bot failed to give.
        replies: facts about each of its replies.
        prices: prices of its tokens, in the order in which they apply.
        texts: the first finished conversations, each as (spoken by the bot?, text), oldest first.
    """

    finished: int = 0
    under_way: int = 0
    bot_failed: int = 0
    faults: Mapping[str, int] = field(default_factory=dict)
    replies: Replies = ()
    prices: Sequence[Price] = ()
    texts: Sequence[Sequence[tuple[bool, str]]] = ()


def course_figures(
    courses: Mapping[str, Course], judged: Judged, seed: int, level: float = LEVEL
) -> dict[str, Any]:
    """Compute the figures of the course of each bot's conversations.

    Args:
        courses: courses by bot.
        judged: the labels, for the time to reply.
        seed: seed of the resamples of conversations, for the intervals.
        level: coverage of these intervals.

    Returns:
        By bot, in the order of `courses`: endings, faults by kind, time to reply in ms, repetition, and
        `replies` as in `reply_figures` if there are any.
    """
    rng = np.random.default_rng(seed)
    repeated = repetition({bot: course.texts for bot, course in courses.items()}, rng, level=level)
    return {
        "bots": [
            {
                "bot": bot,
                "finished": course.finished,
                "under_way": course.under_way,
                "bot_failed": course.bot_failed,
                "faults": [{"kind": kind, "times": course.faults[kind]} for kind in sorted(course.faults)],
                "latency": latency(judged.of_bot(bot)),
                "repetition": _stored(repeated[bot]),
                **_replies(course),
            }
            for bot, course in courses.items()
        ],
        "repetition_rule": (
            f"A reply repeats an earlier turn of its conversation if both have at least {MIN_WORDS} words "
            f"in common, in the same order, and these are at least {percent(MIN_SHARE)} of the shorter one; "
            f"counted in the first {READ_FOR_REPETITION} finished conversations of each bot. "
            f"{percent(level)} intervals over conversations."
        ),
    }


def _replies(course: Course) -> dict[str, Any]:
    """Figures of the replies; empty for people, and for systems that gave no reply here."""
    return {"replies": reply_figures(course.replies, course.prices)} if len(course.replies) else {}


def with_refusals(result: dict[str, Any], course: Mapping[str, Any]) -> None:
    """Set `refused` beside the scores of each bot: the percentage of its replies that are refusals, or None.

    Raters judge refusals like any other reply, so that the scores count them. Nothing is set if no bot has
    replies here.

    Args:
        result: figures of one ask.
        course: result of `course_figures`.
    """
    replied = {row["bot"]: row["replies"] for row in course["bots"] if "replies" in row}
    for row in result["bots"] if replied else ():
        figures = replied.get(row["bot"])
        row["refused"] = figures and percent_of(figures, "refused")


def latency(judged: Judged) -> dict[str, int] | None:
    """Compute median and 95th percentile of the time to reply in ms; None if it was never measured.

    A reply with several labels counts once.
    """
    _, first = np.unique(judged.reply_code, return_index=True)
    times = judged.latency_ms[first]
    times = times[~np.isnan(times)]
    if not len(times):
        return None
    median, slow = np.quantile(times, [0.5, 0.95])
    return {"median_ms": round(float(median)), "p95_ms": round(float(slow)), "replies": len(times)}


def _stored(repetition: Repetition | Undefined) -> dict[str, Any]:
    if isinstance(repetition, Undefined):
        return {"undefined": repetition.reason}
    stored: dict[str, Any] = {
        "value": 100 * repetition.share,
        "conversations": 100 * repetition.dialogues_affected,
        "replies": repetition.turns,
    }
    if isinstance(repetition.interval, Undefined):
        return stored | {"undefined": repetition.interval.reason}
    return stored | {"low": 100 * repetition.interval.low, "high": 100 * repetition.interval.high}
