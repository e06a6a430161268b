"""Which question set's scores are put beside other measures, and what was published of that."""

from collections.abc import Mapping
from dataclasses import dataclass

from comparisons.scores import Asked
from evaluation.protocols import protocols
from evaluation.questions import HUMAN_LIKENESS, QUESTION_SETS

_PAPER = {name: protocols()[f"meena-{name}"] for name in ("interactive", "static")}

SCORED = QUESTION_SETS[_PAPER["interactive"].question_sets[0]]
"""The set whose scores the paper puts beside perplexity and human-likeness."""

ASKED_SCORED, ASKED_HUMAN_LIKENESS = Asked(SCORED), Asked(HUMAN_LIKENESS)

TITLES: Mapping[str, str] = {
    score.key: score.title for score in sorted(SCORED.scores, key=lambda each: each != SCORED.main_score)
}
"""By key, the titles of its scores, the main one first."""


@dataclass(frozen=True, slots=True)
class Mark:
    """A published system: perplexity, and scores as shown."""

    system: str
    perplexity: float
    scores: Mapping[str, float]


MARKS = [
    Mark(f"{each.system}, paper", each.measures["perplexity"], each.scores)
    for each in _PAPER["interactive"].published
    if each.measures and "perplexity" in each.measures
]

LINES = [each for each in _PAPER["interactive"].published if not each.measures]
"""Published systems without a perplexity: lines across the chart, as in the paper's figure 1."""


def published_r_squared(measure: str, score: str) -> str:
    """R² of the line of a score over another measure, of each evaluation of the paper that gives it."""
    found = [
        f"{protocol.relations[measure][score]} {name}"
        for name, protocol in _PAPER.items()
        if protocol.relations and score in protocol.relations.get(measure, {})
    ]
    return ", ".join(found)
