"""The figures of a study's report, from its labels and the scores of its question set. Pure."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from evaluation.questions import Kind, Question, QuestionSet, Term, bounds
from evaluation.report.intervals import TERMS, Terms, compared, method, score_cells
from evaluation.report.label_columns import AnalysisPlan, Judged
from evaluation.report.leader import CONVERSATIONS, Arrivals, always_valid, find_leader
from evaluation.report.ranks import ranks_of
from evaluation.report.raters import agreement, rater_figures
from evaluation.statistics.labels import BoolArray

# A fixed seed, so that the same conversations always give the same intervals of repetition.
SEED = 20_010_997
MOST_TEXTS = 500


def coded_questions(questions: QuestionSet) -> list[Question]:
    """Questions whose answers are numbers in a report: all but free text."""
    return [question for question in questions.questions if question.kind is not Kind.TEXT]


def text_questions(questions: QuestionSet) -> list[Question]:
    """Questions with free text, whose answers a report lists."""
    return [question for question in questions.questions if question.kind is Kind.TEXT]


def columns_of(questions: QuestionSet) -> list[dict[str, Any]]:
    """Describe the declared scores, as stored: key, title, percent or not, shown ends of the scale."""
    return [
        {
            "key": score.key,
            "title": score.title,
            "percent": score.is_percent,
            "low": score.factor * bounds(questions, score)[0],
            "high": score.factor * bounds(questions, score)[1],
        }
        for score in questions.scores
    ]


def plane_of(questions: QuestionSet) -> dict[str, Any] | None:
    """Find two scores for a plane chart: a yes-or-no question that is asked only after a yes to another.

    The columns `x` and `y` are returned; x is at most y.
    """
    shares = {score.terms: column for column, score in enumerate(questions.scores)}
    for question in questions.questions:
        condition = question.asked_if
        if condition and condition.any_of == (True,) and question.otherwise is False:
            x, y = ((Term(key, choice=True),) for key in (question.key, condition.question))
            if x in shares and y in shares:
                first, second = (questions.scores[shares[each]].title for each in (y, x))
                return {"x": shares[x], "y": shares[y], "title": f"{first} and {second.lower()}"}
    return None


def study_figures(
    questions: QuestionSet,
    judged: Judged,
    *,
    plan: AnalysisPlan | None = None,
    terms: Terms = TERMS,
) -> dict[str, Any]:
    """Compute all figures of the labels, ready to be stored as JSON.

    Args:
        questions: the question set.
        judged: labels of finished conversations, in order (`Judged.in_order`), on which the last digit of
            sums depends.
        plan: the primary analysis and the excluded workers; None: all workers count. The other analysis is
            added under `other`.
        terms: level of the intervals, and nouns.
    """
    plan = plan or AnalysisPlan()
    counted = judged.where(plan.counted(judged))

    def scored(rows: BoolArray) -> dict[str, Any]:
        of = judged.where(rows)
        by_reply = scores_by_reply(questions, of, terms)
        return {**scored_figures(questions, of, terms), "by_reply": by_reply}

    return {
        "question_set": questions.key,
        "columns": columns_of(questions),
        "headline": questions.headline,
        "plane": plane_of(questions),
        **plan.stored(judged, scored),
        "texts": texts(questions, counted),
        "method": method(terms),
        "level": terms.level,
        "margin": terms.margin,
        "seed": SEED,
    }


def scored_figures(
    questions: QuestionSet, judged: Judged, terms: Terms = TERMS, arrivals: Arrivals = CONVERSATIONS
) -> dict[str, Any]:
    """Figures that both analyses have: the answer, scores, differences, agreement, influence of raters."""
    bots, compared_bots = bot_scores(questions, judged, terms), comparisons(questions, judged, terms)
    _add_ranks(questions, bots, compared_bots, terms)
    leader = find_leader(questions, bots, compared_bots, terms)
    return {
        "answer": leader,
        "always_valid": always_valid(questions, judged, leader, terms, arrivals),
        "bots": bots,
        "comparisons": compared_bots,
        "agreement": agreement(coded_questions(questions), judged, terms),
        "raters": rater_figures(questions, judged),
    }


def _add_ranks(
    questions: QuestionSet,
    bots: Sequence[dict[str, Any]],
    compared_bots: Sequence[dict[str, Any]],
    terms: Terms,
) -> None:
    """Add `rank` to the rows of systems: `best` and `worst` by the main score, None without a score."""
    if questions.main_score is None:
        return
    column = questions.scores.index(questions.main_score)
    ranks = ranks_of(bots, compared_bots, column=column, score=questions.main_score.key, level=terms.level)
    for bot in bots if ranks else ():
        bot["rank"] = ranks.get(bot["bot"])


def bot_scores(questions: QuestionSet, judged: Judged, terms: Terms = TERMS) -> list[dict[str, Any]]:
    """Scores of each bot, in the order of their names, with the numbers of labels behind them."""
    cells = _cells(questions, judged, terms)
    return [_what_it_rests_on(bot, judged.of_bot(bot)) | {"cells": cells[bot]} for bot in judged.bots]


def _what_it_rests_on(bot: str, judged: Judged) -> dict[str, Any]:
    return {
        "bot": bot,
        "conversations": len(np.unique(judged.dialogue)),
        "turns": judged.replies,
        "labels": len(judged),
        "workers": len(judged.labels_of_raters),
    }


def _cells(questions: QuestionSet, judged: Judged, terms: Terms) -> dict[str, list[dict[str, Any]]]:
    """By bot, a cell for each score; the value is None without answers."""
    of_scores = [score_cells(questions, score, judged, terms) for score in questions.scores]
    return {bot: [of_bots.get(bot, {"value": None}) for of_bots in of_scores] for bot in judged.bots}


def comparisons(questions: QuestionSet, judged: Judged, terms: Terms = TERMS) -> list[dict[str, Any]]:
    """Compare every two bots by every score; for each score the widest difference first."""
    return [each for score in questions.scores for each in compared(questions, score, judged, terms)]


def scores_by_reply(questions: QuestionSet, judged: Judged, terms: Terms = TERMS) -> list[dict[str, Any]]:
    """By bot, the scores of the first replies of all conversations, of the second replies, and so on."""
    by_bot: dict[str, list[dict[str, Any]]] = {bot: [] for bot in judged.bots}
    for reply in np.unique(judged.reply).tolist():
        there = judged.where(judged.reply == reply)
        for bot, cells in _cells(questions, there, terms).items():
            labels = there.labels_of_bots[bot]
            by_bot[bot].append({"reply": reply, "labels": labels, "cells": cells})
    return [{"bot": bot, "replies": replies} for bot, replies in by_bot.items()]


def texts(questions: QuestionSet, judged: Judged) -> list[dict[str, Any]]:
    """For each free-text question, the number of answers, and the first answers."""
    return [_texts(question, judged, judged.texts[question.key]) for question in text_questions(questions)]


def _texts(question: Question, judged: Judged, texts: np.ndarray[Any, np.dtype[Any]]) -> dict[str, Any]:
    rows = [row for row, text in enumerate(texts.tolist()) if text is not None]
    return {
        "question": question.wording,
        "answers": len(rows),
        "first": [
            {"bot": str(judged.bot[row]), "rater": str(judged.rater[row]), "text": texts[row]}
            for row in rows[:MOST_TEXTS]
        ],
    }


def scores_without_flagged(
    questions: QuestionSet, judged: Judged, flagged: Mapping[str, str], terms: Terms = TERMS
) -> dict[str, Any] | None:
    """Compute the scores of an ask without workers with signs of carelessness or fraud, and list the signs.

    None if there are no such workers. All other figures include their labels.

    Args:
        questions: the question set.
        judged: the labels.
        flagged: by worker, their signs in all asks of the study, from `signs`.
        terms: level of the intervals, and nouns.
    """
    if not flagged:
        return None
    unflagged = judged.where(~judged.by(flagged))
    labels = judged.labels_of_raters
    return {
        "workers": [
            {"worker": worker, "reason": reason, "labels": labels.get(worker, 0)}
            for worker, reason in flagged.items()
        ],
        "bots": bot_scores(questions, unflagged, terms),
    }
