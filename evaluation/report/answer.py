"""The one thing that a report answers first: which system leads by the main score, and whether it is told."""

from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.questions import QuestionSet
from evaluation.report.intervals import Terms

Row = Mapping[str, Any]


def answer(
    questions: QuestionSet, bots: Sequence[Row], comparisons: Sequence[Row], terms: Terms
) -> dict[str, Any] | None:
    """The leader by the main score and the next best, with their difference; of one system, its score.

    Args:
        questions: what was asked.
        bots: as `figures.bot_scores` gives them.
        comparisons: as `figures.comparisons` gives them.
        terms: level of the intervals, and words.

    Returns:
        `score`, `percent`, `systems`, `noun` and the `leader`; of a single system its `value` with `low` and
        `high`; of several the `next` with `difference`, `low`, `high`, `p`, whether it is `certain`, and, if
        it is not, how many `more` conversations with each would show such a difference, and of a declared
        `margin` what `equivalence` gives. None without a score.
    """
    score = questions.main_score
    if score is None:
        return None
    column = questions.scores.index(score)
    known = sorted(
        (bot for bot in bots if bot["cells"][column]["value"] is not None),
        key=lambda bot: -bot["cells"][column]["value"],
    )
    if not known:
        return None
    told = {
        "score": score.title,
        "percent": score.is_percent,
        "systems": len(known),
        "noun": terms.nouns.cluster,
        "leader": known[0]["bot"],
    }
    if len(known) == 1:
        cell = known[0]["cells"][column]
        return told | {name: cell[name] for name in ("value", "low", "high", "undefined") if name in cell}
    pair = _between(known[0]["bot"], known[1]["bot"], score.key, comparisons)
    return told | {"next": known[1]["bot"], **_lead(pair, known[0]["bot"], terms)}


def _between(one: str, two: str, score: str, comparisons: Sequence[Row]) -> Row:
    pairs = (each for each in comparisons if each["score"] == score)
    return next(each for each in pairs if {each["first"], each["second"]} == {one, two})


def _lead(pair: Row, leader: str, terms: Terms) -> dict[str, Any]:
    """The comparison as seen from the leader."""
    ahead = pair["first"] == leader
    lead = {"difference": abs(pair["difference"]), "p": pair["p_holm"]}
    if "low" in pair:
        low, high = (pair["low"], pair["high"]) if ahead else (-pair["high"], -pair["low"])
        lead |= {"low": low, "high": high}
    certain = pair["p_holm"] is not None and pair["p_holm"] < 1 - terms.level
    told = ("margin", "p_equivalent", "equivalent")
    return lead | {"certain": certain, "more": pair["more"]} | {key: pair[key] for key in told if key in pair}
