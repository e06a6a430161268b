"""Which question set's scores are put beside other measures and followed over time.

What was published of scores beside perplexity and human-likeness: systems, and how well a line fits.

How the scores of bots go with another measure of them: points, line and correlations. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from django.contrib.auth.models import AnonymousUser
from django.utils.translation import gettext as _

from evaluation.protocols import protocols
from evaluation.questions import HUMAN_LIKENESS, QuestionSet, Score
from evaluation.report.figures import columns_of
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.regression import Correlation, Line, kendall, line, pearson, spearman
from turnwise.accounts.models import User
from turnwise.comparisons.scores import Asked
from turnwise.comparisons.side_by_side import Choice, by_scale, picked
from turnwise.questions.question_sets import question_set, question_sets, titled
from turnwise.studies.asks import About
from turnwise.studies.models import Ask, Study
from turnwise.studies.queries import readable_real_studies_of

PAPER = {name: protocols()[f"meena-{name}"] for name in ("interactive", "static")}
PUBLISHED = PAPER["interactive"].question_sets[0]
"""The set whose scores a paper put beside perplexity and human-likeness."""

MOST_SETS = 200
# What one bot said is judged; votes on pairs say nothing of one alone.
_OF_REPLIES = (About.PARTNER_TURN, About.RESPONSE)
_WHOLE = ".dialogue"


@dataclass(frozen=True, slots=True)
class Measured:
    """A question set by whose scores bots are compared, as asked about their replies or whole conversations.

    Attributes:
        questions: the set.
        whole: whether it was asked about whole conversations.
        wanted: keys of the scores that somebody chose to see; none: a few.
    """

    questions: QuestionSet
    whole: bool = False
    wanted: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Of the questions."""
        return self.questions.key

    @property
    def value(self) -> str:
        """What the address says of it."""
        return self.key + _WHOLE * self.whole

    @property
    def title(self) -> str:
        title = titled(self.questions)
        return _("%(title)s, of whole conversations") % {"title": title} if self.whole else title

    @property
    def asked(self) -> Asked:
        return Asked(self.questions, self.whole)

    @property
    def about(self) -> tuple[About, ...]:
        """What studies ask it about."""
        return (About.DIALOGUE,) if self.whole else _OF_REPLIES

    @property
    def main(self) -> Score:
        main = self.questions.main_score
        assert main  # sets without a score are not offered
        return main

    @property
    def titles(self) -> Mapping[str, str]:
        """By key, the titles of the scores that are shown, the main one first."""
        ordered = sorted(self.questions.scores, key=lambda each: each != self.main)
        titles = {score.key: score.title for score in ordered}
        return {key: titles[key] for key in picked([*titles], self.wanted)}

    @property
    def leading(self) -> str:
        """The key of the first score that is shown."""
        return next(iter(self.titles))

    @property
    def choices(self) -> list[Choice]:
        """All its scores, to tick."""
        return [Choice(each.key, each.title, each.key in self.titles) for each in self.questions.scores]

    @property
    def charts(self) -> list[Mapping[str, str]]:
        """By key, the titles of the scores of each chart, in their own order: those that share an axis."""
        shown = self.titles
        keys = [score.key for score in self.questions.scores if score.key in shown]
        scales = {key: (self.is_percent(key), *self.ends(key)) for key in keys}
        found = by_scale(sorted(keys, key=lambda key: scales[key] != scales[self.leading]), scales)
        return [{key: shown[key] for key in keys} for keys in found]

    @property
    def query(self) -> list[tuple[str, str]]:
        """What an address says of it and of what is chosen."""
        return [("questions", self.value), *(("score", key) for key in self.wanted)]

    def ends(self, score: str) -> tuple[float, float]:
        """The lowest and the highest that a score can be, as shown."""
        column = next(each for each in columns_of(self.questions) if each["key"] == score)
        return column["low"], column["high"]

    def is_percent(self, score: str) -> bool:
        return self.questions.score(score).is_percent


HUMAN_LIKE = Measured(HUMAN_LIKENESS)


def offered_to(user: User | AnonymousUser, *, studies: Sequence[Study] | None = None) -> list[Measured]:
    """The sets by which this person can compare: those of their studies that judge one bot at a time.

    Args:
        user: who looks.
        studies: only of these.
    """
    opened = readable_real_studies_of(user).exclude(state=Study.State.DRAFT)
    asks = Ask.objects.filter(
        about__in=(*_OF_REPLIES, About.DIALOGUE), study__in=opened if studies is None else studies
    )
    found = asks.order_by("question_set").values_list("question_set", "about").distinct()
    pairs = list(dict.fromkeys((key, about == About.DIALOGUE) for key, about in found))
    sets = {each.key: each for each in question_sets({key for key, _whole in pairs})}
    offered = sorted(
        (Measured(sets[key], whole) for key, whole in pairs if sets[key].main_score),
        key=lambda each: (each.key != PUBLISHED, each.title),
    )
    return offered[:MOST_SETS]


def chosen(offered: Sequence[Measured], value: str, wanted: Sequence[str] = ()) -> Measured:
    """The one that an address names; else the first on offer, or the published one if there is none.

    Args:
        offered: what there is to choose from.
        value: as `Measured.value` has it; a key alone means replies, if they were judged by these questions.
        wanted: the scores to be seen.
    """
    exactly = [each for each in offered if each.value == value]
    by_key = [each for each in offered if each.key == value]
    found = next(iter([*exactly, *by_key, *offered]), Measured(question_set(PUBLISHED)))
    return replace(found, wanted=tuple(each.key for each in found.questions.scores if each.key in {*wanted}))


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


Cell: TypeAlias = Mapping[str, Any]

_BAND_POINTS = 41
_CORRELATIONS = {"Pearson": pearson, "Spearman": spearman, "Kendall (tau-b)": kendall}


@dataclass(frozen=True, slots=True)
class Point:
    """A bot, a version of one, or another system.

    Attributes:
        name: what it is called.
        bot: name of the bot in addresses; "" for a system that is no bot.
        x: cell of the measure on the horizontal axis: "value", perhaps "low" and "high".
        scores: by score, its cell in percent.
        conversations: how many conversations or contexts the scores rest on.
        labels: how many labels.
    """

    name: str
    bot: str
    x: Cell
    scores: Mapping[str, Cell]
    conversations: int
    labels: int


def relation_figures(x_title: str, points: Sequence[Point], measured: Measured) -> dict[str, Any]:
    """The points, and for each score its line and correlations with x; ready for JSON.

    Args:
        x_title: what x is, with its unit, in the words of an axis.
        points: one for each bot or version; what the data cannot tell is told with its reason.
        measured: whose scores the points have.
    """
    return {
        "x": x_title,
        "points": [
            {
                "number": number,
                "name": point.name,
                "bot": point.bot,
                "x": dict(point.x),
                "scores": {key: dict(point.scores[key]) for key in measured.titles},
                "conversations": point.conversations,
                "labels": point.labels,
            }
            for number, point in enumerate(points, 1)
        ],
        "relations": [_relation(key, title, points) for key, title in measured.titles.items()],
    }


def _relation(key: str, title: str, points: Sequence[Point]) -> dict[str, Any]:
    known = [(point.x["value"], point.scores[key]["value"]) for point in points]
    x, y = ([float(pair[axis]) for pair in known if pair[1] is not None] for axis in (0, 1))
    return {
        "key": key,
        "title": title,
        "line": _line(line(x, y), x),
        "correlations": [
            {"name": name, **_correlation(correlation(x, y))} for name, correlation in _CORRELATIONS.items()
        ],
    }


def _line(found: Line | Undefined, x: Sequence[float]) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"undefined": found.reason}
    at = np.linspace(min(x), max(x), _BAND_POINTS)
    low, high = found.band(at)
    return {
        "slope": _with_interval(found.slope, found.slope_interval),
        "intercept": _with_interval(found.intercept, found.intercept_interval),
        "r_squared": _with_interval(found.r_squared, found.r_squared_interval),
        "at": at.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }


def _correlation(found: Correlation | Undefined) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"value": None, "undefined": found.reason}
    return _with_interval(found.value, found.interval)


def _with_interval(value: float, interval: Interval | Undefined) -> dict[str, Any]:
    if isinstance(interval, Undefined):
        return {"value": value, "undefined": interval.reason}
    return {"value": value, "low": interval.low, "high": interval.high}
