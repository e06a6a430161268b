"""Scores of a question set against another measure (perplexity, human-likeness): choice, published data, fit.

`Measured` is the chosen question set; `relation_figures` computes points, line and correlations (pure).
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
from evaluation.statistics.linear_models.regression import Correlation, Line, kendall, line, pearson, spearman
from turnwise.accounts.models import User
from turnwise.comparisons.scores import LabelSelection
from turnwise.comparisons.side_by_side import Choice, group_by_scale, selected_scores
from turnwise.questions.question_sets import question_set, question_sets, titled
from turnwise.studies.asks import About
from turnwise.studies.models import Ask, Study
from turnwise.studies.queries import readable_real_studies_of

PAPER = {name: protocols()[f"meena-{name}"] for name in ("interactive", "static")}
PUBLISHED = PAPER["interactive"].question_sets[0]
"""Question set whose scores a paper compares with perplexity and human-likeness."""

MOST_SETS = 200
# Subjects that judge one bot. Votes on pairs give no score of a single bot.
_OF_REPLIES = (About.PARTNER_TURN, About.RESPONSE)
_WHOLE = ".dialogue"


@dataclass(frozen=True, slots=True)
class Measured:
    """A question set whose scores compare bots, asked about replies or about whole conversations.

    Attributes:
        questions: the question set.
        whole: whether it was asked about whole conversations.
        wanted: keys of the scores that the user chose; empty for a default choice.
    """

    questions: QuestionSet
    whole: bool = False
    wanted: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """Key of the question set."""
        return self.questions.key

    @property
    def value(self) -> str:
        """Value of the query parameter that selects it."""
        return self.key + _WHOLE * self.whole

    @property
    def title(self) -> str:
        title = titled(self.questions)
        return _("%(title)s, of whole conversations") % {"title": title} if self.whole else title

    @property
    def selection(self) -> LabelSelection:
        return LabelSelection(self.questions, self.whole)

    @property
    def about(self) -> tuple[About, ...]:
        """Subjects of the asks that count."""
        return (About.DIALOGUE,) if self.whole else _OF_REPLIES

    @property
    def main(self) -> Score:
        main = self.questions.main_score
        assert main  # sets without a score are not offered
        return main

    @property
    def titles(self) -> Mapping[str, str]:
        """Titles of the shown scores, by key, the main one first."""
        ordered = sorted(self.questions.scores, key=lambda each: each != self.main)
        titles = {score.key: score.title for score in ordered}
        return {key: titles[key] for key in selected_scores([*titles], self.wanted)}

    @property
    def leading(self) -> str:
        """Key of the first shown score."""
        return next(iter(self.titles))

    @property
    def choices(self) -> list[Choice]:
        """All scores, to tick."""
        return [Choice(each.key, each.title, each.key in self.titles) for each in self.questions.scores]

    @property
    def charts(self) -> list[Mapping[str, str]]:
        """Titles of the scores of each chart, by key, in the set's order; a chart has one axis."""
        titles = self.titles
        keys = [score.key for score in self.questions.scores if score.key in titles]
        scales = {key: (self.is_percent(key), *self.ends(key)) for key in keys}
        groups = group_by_scale(sorted(keys, key=lambda key: scales[key] != scales[self.leading]), scales)
        return [{key: titles[key] for key in keys} for keys in groups]

    @property
    def query(self) -> list[tuple[str, str]]:
        """Query parameters of the set and the chosen scores."""
        return [("questions", self.value), *(("score", key) for key in self.wanted)]

    def ends(self, score: str) -> tuple[float, float]:
        """Lowest and highest possible value of a score, in the unit shown."""
        column = next(each for each in columns_of(self.questions) if each["key"] == score)
        return column["low"], column["high"]

    def is_percent(self, score: str) -> bool:
        return self.questions.score(score).is_percent


HUMAN_LIKE = Measured(HUMAN_LIKENESS)


def offered_to(user: User | AnonymousUser, *, studies: Sequence[Study] | None = None) -> list[Measured]:
    """Question sets that the user can compare: those of readable studies, if they judge one bot at a time.

    Args:
        user: the user who sees the page.
        studies: consider only these studies.
    """
    opened = readable_real_studies_of(user).exclude(state=Study.State.DRAFT)
    asks = Ask.objects.filter(
        about__in=(*_OF_REPLIES, About.DIALOGUE), study__in=opened if studies is None else studies
    )
    rows = asks.order_by("question_set").values_list("question_set", "about").distinct()
    pairs = list(dict.fromkeys((key, about == About.DIALOGUE) for key, about in rows))
    sets = {each.key: each for each in question_sets({key for key, _whole in pairs})}
    offered = sorted(
        (Measured(sets[key], whole) for key, whole in pairs if sets[key].main_score),
        key=lambda each: (each.key != PUBLISHED, each.title),
    )
    return offered[:MOST_SETS]


def choose_measured(offered: Sequence[Measured], value: str, wanted: Sequence[str] = ()) -> Measured:
    """The set named by a query parameter; else the first one offered, or the published one if none is.

    Args:
        offered: the sets to choose from.
        value: a `Measured.value`; a key alone means replies, if they were judged by these questions.
        wanted: keys of the scores to show.
    """
    exactly = [each for each in offered if each.value == value]
    by_key = [each for each in offered if each.key == value]
    match = next(iter([*exactly, *by_key, *offered]), Measured(question_set(PUBLISHED)))
    return replace(match, wanted=tuple(each.key for each in match.questions.scores if each.key in {*wanted}))


@dataclass(frozen=True, slots=True)
class Mark:
    """A published system: perplexity, and scores in the unit shown."""

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
    """Published R² of a score against another measure, for each evaluation of the paper that gives it."""
    sentences = [
        f"{protocol.relations[measure][score]} {name}"
        for name, protocol in PAPER.items()
        if measured.key == PUBLISHED and protocol.relations and score in protocol.relations.get(measure, {})
    ]
    return ", ".join(sentences)


Cell: TypeAlias = Mapping[str, Any]

_BAND_POINTS = 41
_CORRELATIONS = {"Pearson": pearson, "Spearman": spearman, "Kendall (tau-b)": kendall}


@dataclass(frozen=True, slots=True)
class Point:
    """A bot, a version of one, or another system.

    Attributes:
        name: its name on the page.
        bot: name of the bot in addresses; "" for a system that is no bot.
        x: cell of the measure on the horizontal axis: "value", perhaps "low" and "high".
        scores: cell of each score, in percent.
        conversations: number of conversations or contexts that the scores rest on.
        labels: number of labels.
    """

    name: str
    bot: str
    x: Cell
    scores: Mapping[str, Cell]
    conversations: int
    labels: int


def relation_figures(x_title: str, points: Sequence[Point], measured: Measured) -> dict[str, Any]:
    """The points, and line and correlations of each score with x; ready for JSON.

    Undefined values come with their reason.

    Args:
        x_title: title of the horizontal axis, with its unit.
        points: one for each bot or version.
        measured: the question set of the points' scores.
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
    pairs = [(point.x["value"], point.scores[key]["value"]) for point in points]
    x, y = ([float(pair[axis]) for pair in pairs if pair[1] is not None] for axis in (0, 1))
    return {
        "key": key,
        "title": title,
        "line": _line(line(x, y), x),
        "correlations": [
            {"name": name, **_correlation(correlation(x, y))} for name, correlation in _CORRELATIONS.items()
        ],
    }


def _line(line: Line | Undefined, x: Sequence[float]) -> dict[str, Any]:
    if isinstance(line, Undefined):
        return {"undefined": line.reason}
    at = np.linspace(min(x), max(x), _BAND_POINTS)
    low, high = line.band(at)
    return {
        "slope": _with_interval(line.slope, line.slope_interval),
        "intercept": _with_interval(line.intercept, line.intercept_interval),
        "r_squared": _with_interval(line.r_squared, line.r_squared_interval),
        "at": at.tolist(),
        "low": low.tolist(),
        "high": high.tolist(),
    }


def _correlation(correlation: Correlation | Undefined) -> dict[str, Any]:
    if isinstance(correlation, Undefined):
        return {"value": None, "undefined": correlation.reason}
    return _with_interval(correlation.value, correlation.interval)


def _with_interval(value: float, interval: Interval | Undefined) -> dict[str, Any]:
    if isinstance(interval, Undefined):
        return {"value": value, "undefined": interval.reason}
    return {"value": value, "low": interval.low, "high": interval.high}
