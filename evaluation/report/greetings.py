"""Scores without greetings and goodbyes, beside the scores of all replies. Pure.

Adiwardana et al. 2020, arXiv:2001.09977, section 4.2: with at least 14 turns, many "may be greetings and
goodbyes", to which some chatbots answer well that do so less elsewhere. The rule is that of
`evaluation.texts.greetings`; the publication has none.
"""

from collections.abc import Collection
from typing import Any

import numpy as np

from evaluation.questions import QuestionSet
from evaluation.report.figures import bot_scores
from evaluation.report.intervals import Terms
from evaluation.report.label_columns import Judged
from evaluation.statistics.labels import BoolArray


def figures_without_greetings(
    questions: QuestionSet, judged: Judged, replies: Collection[tuple[int, int]], terms: Terms
) -> dict[str, Any] | None:
    """Compute the scores of each bot without some replies; None if none of those has a label.

    Args:
        questions: the question set.
        judged: the labels that count, about single replies.
        replies: conversation and number of each reply to leave out, as in `Judged`.
        terms: level and nouns of the intervals.

    Returns:
        `bots`, as in `bot_scores`, without bots of which nothing is left; and `left_out`, by bot, the
        number of labelled replies left out.
    """
    labelled = zip(judged.dialogue.tolist(), judged.reply.tolist(), strict=True)
    left_out: BoolArray = np.array([reply in replies for reply in labelled], dtype=np.bool_)
    if not left_out.any():
        return None
    greetings = judged.where(left_out)
    return {
        "bots": bot_scores(questions, judged.where(~left_out), terms),
        "left_out": [
            {"bot": bot, "replies": len(set(greetings.of_bot(bot).reply_code.tolist()))}
            for bot in greetings.bots
        ],
    }
