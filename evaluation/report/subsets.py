"""Scores of a part of the data, beside those of all: replies without greetings, and each scenario. Pure.

Greetings: Adiwardana et al. 2020, arXiv:2001.09977, section 4.2: with at least 14 turns, many "may be
greetings and goodbyes", to which some chatbots answer well that do so less elsewhere. The rule is that of
`evaluation.texts.greetings`; the publication has none.
"""

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.questions import QuestionSet, Score
from evaluation.report.figures import bot_scores
from evaluation.report.intervals import Terms, score_cells
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


Scenarios = Mapping[int, str]
"""By conversation, as in `Judged.dialogue`, the name of its row."""


def scenario_figures(
    questions: QuestionSet, judged: Judged, scenarios: Scenarios, terms: Terms
) -> dict[str, Any] | None:
    """Compute means by scenario, over all bots and for each bot; None if no labelled conversation has one.

    Args:
        questions: the question set.
        judged: the labels that count.
        scenarios: names of the rows by conversation; conversations without one are left out.
        terms: level and nouns of the intervals.

    Returns:
        `bots`, their names; `names`, for each scenario its `name` and its number of labelled
        `conversations`; `scores`, for each score its rows of cells: all bots together, then each bot.
    """
    of_row = np.array([scenarios.get(dialogue, "") for dialogue in judged.dialogue.tolist()], dtype=object)
    dealt, row = judged.where(of_row != ""), of_row[of_row != ""]
    names = sorted(set(row.tolist()))
    if not names:
        return None
    return {
        "bots": dealt.bots,
        "names": [
            {"name": name, "conversations": len(set(dealt.dialogue[row == name].tolist()))} for name in names
        ],
        "scores": [
            {
                "key": score.key,
                "title": score.title,
                "rows": _rows(questions, score, dealt, names, row, terms),
            }
            for score in questions.scores
        ],
    }


def _rows(
    questions: QuestionSet, score: Score, dealt: Judged, names: list[str], row: Any, terms: Terms
) -> list[dict[str, Any]]:
    columns = [_by_name(questions, score, dealt, row, np.ones(len(row), dtype=bool), terms)]
    columns += [_by_name(questions, score, dealt, row, dealt.bot == bot, terms) for bot in dealt.bots]
    return [{"name": name, "cells": [each.get(name, {"value": None}) for each in columns]} for name in names]


def _by_name(
    questions: QuestionSet, score: Score, dealt: Judged, row: Any, selected: Any, terms: Terms
) -> dict[str, dict[str, Any]]:
    """A score of the selected labels by scenario, with intervals as of bots."""
    return score_cells(questions, score, replace(dealt.where(selected), bot=row[selected]), terms)
