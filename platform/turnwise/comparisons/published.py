"""What was published of scores beside perplexity and human-likeness: systems, and how well a line fits."""

from collections.abc import Mapping
from dataclasses import dataclass

from turnwise.comparisons.measured import PAPER, PUBLISHED, Measured


@dataclass(frozen=True, slots=True)
class Mark:
    """A published system: perplexity, and scores as shown."""

    system: str
    perplexity: float
    scores: Mapping[str, float]


_MARKS = [
    Mark(f"{each.system}, paper", each.measures["perplexity"], each.scores)
    for each in PAPER["interactive"].published
    if each.measures and "perplexity" in each.measures
]


def marks_of(measured: Measured) -> list[Mark]:
    """Published systems with a perplexity and these scores."""
    return _MARKS if measured.key == PUBLISHED else []


def lines_of(measured: Measured, score: str) -> list[tuple[str, float]]:
    """Published systems without a perplexity: lines across the chart, as in the paper's figure 1."""
    published = PAPER["interactive"].published if measured.key == PUBLISHED else ()
    return [
        (each.system, each.scores[score]) for each in published if not each.measures and score in each.scores
    ]


def published_r_squared(measured: Measured, measure: str, score: str) -> str:
    """R² of the line of a score over another measure, of each evaluation of the paper that gives it."""
    found = [
        f"{protocol.relations[measure][score]} {name}"
        for name, protocol in PAPER.items()
        if measured.key == PUBLISHED and protocol.relations and score in protocol.relations.get(measure, {})
    ]
    return ", ".join(found)
