"""The part of a stored report that may be public: listed keys only, so that a new figure stays private. Pure.

Nothing in it is about a single person: no texts, no pseudonyms, nobody who was flagged or excluded, no
proposals. Costs and times of replies are no results of the evaluation and stay private, too.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from evaluation.questions import QuestionSet
from evaluation.report.publishing.preregistration import hash_of
from evaluation.report.ranks import ranks_of

_ENDS = ("low", "high", "undefined")
_CELL = ("value", *_ENDS, "method", "rests_on")
_RANK = ("best", "worst")
_ANSWER = (
    "score", "percent", "systems", "noun", "leader", "value", *_ENDS, "next", "difference", "p", "certain",
    "more", "margin", "p_equivalent", "equivalent",
)  # fmt: skip
_COMPARISON = (
    "score", "title", "first", "second", "words", "rests_on", "difference", *_ENDS, "method", "p", "p_holm",
    "odds_ratio", "odds_ratio_low", "odds_ratio_high", "effect", "effect_low", "effect_high",
    "equal_within", "margin", "p_equivalent", "equivalent",
)  # fmt: skip
_AGREEMENT = (
    "question", "key", "choice", "metric", "replies", "labels", "percent", "alpha", *_ENDS, "no_interval",
    "rests_on", "method", "fleiss", "is_low", "gwet_ac1", "icc_2_1",
)  # fmt: skip
_MEETING = (
    "bot", "first", "second", "wins", "losses", "ties", "labels", "lead", *_ENDS, "p", "p_holm", "rests_on",
    "items", "ambiguous", "margin", "p_equivalent", "equivalent",
)  # fmt: skip
_LINKED = ("value", "error", "low", "high")
_SHIFT = (*_LINKED, "anchors", "raters")
_SIZES = ("conversations", "turns", "labels", "workers")
_COLUMN = ("key", "title", "percent", "low", "high")
_ASK = ("question_set", "title", "about", "headline", "level", "margin", "method")
_DAYS = ("first_day", "last_day")


def public_results(result: Mapping[str, Any]) -> dict[str, Any]:
    """Select what may be public of a report's stored result, by its primary analysis.

    Args:
        result: the stored result of a study in which people judged.

    Returns:
        `evaluation`, kind of evaluation; `protocol` with `key`, `title` and `deviations` in sentences;
        `analysis`, the primary one; and `asks`, the figures of each ask, the study's main one first, with
        `anchors` where an ask has some.
    """
    asks = [result, *result.get("beside", ())]
    return {
        "evaluation": result.get("evaluation", "interactive"),
        "protocol": {
            "key": result.get("protocol_key", ""),
            "title": result.get("protocol", ""),
            "deviations": list(result.get("deviations", ())),
        },
        "analysis": result.get("primary", "all"),
        "asks": [_ask(each, result) | _anchors(position, result) for position, each in enumerate(asks)],
    }


def _anchors(position: int, result: Mapping[str, Any]) -> dict[str, Any]:
    """`anchors` of an ask: its pack, and by score the shift and the linked scores; nothing without any.

    Reports of older versions do not say to which ask anchors belong.
    """
    found = [each for each in result.get("anchors", ()) if each.get("position") == position]
    scores = [
        {
            **_listed(score, ("key", "title", "is_percent")),
            "shift": _listed(score["shift"], _SHIFT),
            "systems": [
                {"bot": system["bot"], "linked": _listed(system["linked"], _LINKED)}
                for system in score["systems"]
                if system["linked"]
            ],
        }
        for each in found
        for score in each["scores"]
        if score["shift"]
    ]
    if not scores:
        return {}
    return {
        "anchors": {
            "pack": _listed(found[0]["pack"], ("title", "version", "sha256")),
            **_listed(found[0], ("judged", "level")),
            "scores": scores,
        }
    }


def _ask(figures: Mapping[str, Any], result: Mapping[str, Any]) -> dict[str, Any]:
    """Figures of one ask; what only the main one states holds for all."""
    level = figures.get("level", result.get("level", 0.95))
    raters = figures.get("raters", {})
    answer = figures.get("answer")
    return {
        **_listed(figures, _ASK),
        "level": level,
        "columns": _rows(figures["columns"], _COLUMN),
        "answer": _listed(answer, _ANSWER) if answer else None,
        "sizes": _listed(raters, ("workers", "labels", *_DAYS)),
        "bots": [_bot(bot, ranks) for ranks in [_ranks(figures, level)] for bot in figures["bots"]],
        "comparisons": _rows(figures.get("comparisons", ()), _COMPARISON),
        "agreement": [_agreement(each) for each in figures.get("agreement", ())],
        "preferences": [_preference(each) for each in figures.get("preferences", ())],
    }


def _ranks(figures: Mapping[str, Any], level: float) -> dict[str, dict[str, int]]:
    """Ranks by the main score; computed here, too, as older reports have none."""
    keys = [column["key"] for column in figures["columns"]]
    score = str(figures.get("headline"))
    if score not in keys or not figures.get("comparisons"):
        return {}
    return ranks_of(
        figures["bots"], figures["comparisons"], column=keys.index(score), score=score, level=level
    )


def _bot(bot: Mapping[str, Any], ranks: Mapping[str, Mapping[str, int]]) -> dict[str, Any]:
    rank = ranks.get(bot["bot"])
    return {
        "bot": bot["bot"],
        **_listed(bot, _SIZES),
        "cells": _rows(bot["cells"], _CELL),
        **({"rank": _listed(rank, _RANK)} if rank else {}),
    }


def _agreement(figures: Mapping[str, Any]) -> dict[str, Any]:
    """Agreement of all raters; the figures of every two of them name them."""
    cohen = figures.get("cohen")
    return _listed(figures, _AGREEMENT) | ({"cohen": cohen["value"]} if cohen else {})


def _preference(figures: Mapping[str, Any]) -> dict[str, Any]:
    strengths = figures["strengths"]
    return {
        **_listed(figures, ("key", "question")),
        "meetings": _rows(figures["meetings"], _MEETING),
        "strengths": {
            **_listed(strengths, ("undefined", "tie_tendency", "rests_on")),
            "bots": [
                _listed(bot, ("bot", "value", *_ENDS))
                | ({"rank": _listed(bot["rank"], _RANK)} if "rank" in bot else {})
                for bot in strengths.get("bots", ())
            ],
        },
    }


def _rows(rows: Iterable[Mapping[str, Any]], keys: Sequence[str]) -> list[dict[str, Any]]:
    return [_listed(row, keys) for row in rows]


def _listed(figures: Mapping[str, Any], keys: Sequence[str]) -> dict[str, Any]:
    return {key: figures[key] for key in keys if key in figures}


def public_questions(questions: QuestionSet) -> dict[str, Any]:
    """Wordings and choices of the questions, and the hash of the whole question set."""
    return {
        "key": questions.key,
        "title": questions.title,
        "source": questions.source,
        "sha256": hash_of(questions.to_json()),
        "questions": [
            {
                "key": question.key,
                "wording": question.wording,
                "choices": [choice.label for choice in question.choices],
            }
            for question in questions.questions
        ],
    }
