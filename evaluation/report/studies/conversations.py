"""Figures of a study of conversations, also by turn for all, the best and the worst conversations.

By-turn figures follow Ghandeharioun et al. 2019, arXiv:1906.09308, figure 3: votes, words, sentiment and
coherence by turn of the 100 conversations with the highest and the 100 with the lowest ratings. Pure.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from evaluation.conversation.encoders import EXTRA
from evaluation.conversation.figures import BOUNDS, BY_TURN, best_and_worst, trajectory
from evaluation.conversation.figures import CURVE_LEVEL as LEVEL
from evaluation.conversation.metrics import METRICS
from evaluation.protocols import conformance, protocol_named
from evaluation.protocols.facts import Design, Talks
from evaluation.questions import QuestionSet, bounds, score_values
from evaluation.report.answers import WHOLE, AskData, ask_figures, check_labels
from evaluation.report.conditions import Conditions, condition_figures
from evaluation.report.conduct import Manner, signs
from evaluation.report.factors import Facets, facet_figures, normalised_figures
from evaluation.report.figures import SEED, scores_without_flagged
from evaluation.report.intervals import Terms
from evaluation.report.label_columns import Analysis, AnalysisPlan, Judged
from evaluation.report.stopping import StoppingRule, stopping_figures
from evaluation.report.studies.course import Course, course_figures, with_refusals
from evaluation.report.subsets import Scenarios, figures_without_greetings, scenario_figures
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray

REPLIES = "partner_turn"
"""Subject of an ask about the chatbot's replies."""


@dataclass(frozen=True, eq=False)
class ExchangeMeasures:
    """Measures of the replies in finished conversations, a row for each reply.

    Attributes:
        dialogue: (n,) the conversation, as in `Judged`.
        reply: (n,) number of the reply in its conversation, from 1, as in `Judged`.
        values: by key of a metric, (n,) values; NaN for none.
        encoders: by key of a metric that could be computed, its encoder; empty if it needs none.
    """

    dialogue: IntArray
    reply: IntArray
    values: Mapping[str, FloatArray]
    encoders: Mapping[str, str]

    @classmethod
    def of(
        cls,
        rows: Iterable[Mapping[str, Any]],
        begun: Mapping[str, tuple[int, int]],
        encoders: Mapping[str, str],
    ) -> "ExchangeMeasures":
        """Build the measures from rows of the table `exchanges`.

        Args:
            rows: rows of the table.
            begun: by public id of a conversation, its number in `Judged`, and its number of opening turns.
            encoders: by key of a metric that could be computed, its encoder.
        """
        selected = [row for row in rows if row["dialogue"] in begun]
        dialogues = [begun[row["dialogue"]] for row in selected]
        return cls(
            np.array([dialogue for dialogue, _ in dialogues], dtype=np.int64),
            np.array(
                [
                    (row["turn"] - opening) // 2 + 1
                    for row, (_, opening) in zip(selected, dialogues, strict=True)
                ],
                dtype=np.int64,
            ),
            {
                key: np.array(
                    [np.nan if row[key] is None else row[key] for row in selected], dtype=np.float64
                )
                for key in BY_TURN
            },
            encoders,
        )


def by_turn_figures(
    asks: Sequence[AskData], plan: AnalysisPlan, exchanged: ExchangeMeasures | None, level: float = LEVEL
) -> dict[str, Any]:
    """Compute `by_turn`, a panel with lines for each figure, and `courses`, a description of the lines.

    `level` is the coverage of the bands. Both are empty for studies without asks about whole conversations.
    """
    if exchanged is None or not len(exchanged.dialogue):
        return {"by_turn": [], "courses": None}
    groups, of = _groups(asks, plan, exchanged)
    votes = [ask for ask in asks if ask.about == REPLIES and ask.questions.main_score]
    figures = [*(_voted(ask, plan, exchanged) for ask in votes), *_measured(exchanged)]
    return {
        "by_turn": [
            {
                "title": figure.title,
                "bots": [
                    {"bot": name, "points": _points(exchanged.reply, figure, selected, level)}
                    for name, selected in groups.items()
                ],
            }
            for figure in figures
            if not np.isnan(figure.values).all()
        ],
        "courses": {
            "of": of,
            "level": level,
            "encoders": sorted({name for name in exchanged.encoders.values() if name}),
            "missing": "" if any(exchanged.encoders.values()) else f"No encoder is installed: {EXTRA}.",
        },
    }


class _Figure(NamedTuple):
    """A figure by reply: its title, its (n,) values, and the ends of its scale."""

    title: str
    values: FloatArray
    ends: tuple[float, float]


def _measured(exchanged: ExchangeMeasures) -> list[_Figure]:
    titles = {metric.key: metric.title for metric in METRICS}
    return [
        _Figure(titles[key], exchanged.values[key], BOUNDS[key])
        for key in BY_TURN
        if key in exchanged.encoders
    ]


def _groups(
    asks: Sequence[AskData], plan: AnalysisPlan, exchanged: ExchangeMeasures
) -> tuple[dict[str, BoolArray], str]:
    """Masks of all, the best and the worst conversations, by the first rating of the whole; and its title."""
    dialogues = np.unique(exchanged.dialogue)
    groups = {f"All {len(dialogues)}": np.ones(len(exchanged.dialogue), dtype=bool)}
    rated = next((ask for ask in asks if ask.about == WHOLE and ask.questions.main_score), None)
    if rated is None:
        return groups, ""
    score = rated.questions.main_score
    assert score
    means = _means(rated.questions, plan, rated.judged)
    values = np.array([means.get((dialogue, 1), np.nan) for dialogue in dialogues.tolist()])
    best, worst = best_and_worst(values)
    if not len(best):
        return groups, ""
    for name, members in (("Best", best), ("Worst", worst)):
        groups[f"{name} {len(members)}"] = np.isin(exchanged.dialogue, dialogues[members])
    return groups, score.title


def _voted(ask: AskData, plan: AnalysisPlan, exchanged: ExchangeMeasures) -> _Figure:
    """Figure of the answers about single replies, in percent if they are a share."""
    score = ask.questions.main_score
    assert score
    means = _means(ask.questions, plan, ask.judged)
    rows = zip(exchanged.dialogue.tolist(), exchanged.reply.tolist(), strict=True)
    values = np.array([means.get(row, np.nan) for row in rows])
    low, high = (score.factor * end for end in bounds(ask.questions, score))
    return _Figure(f"{score.title}, %" if score.is_percent else score.title, values, (low, high))


def _means(questions: QuestionSet, plan: AnalysisPlan, judged: Judged) -> dict[tuple[int, int], float]:
    """By conversation and reply, the mean over raters of the set's main score, as shown."""
    counted = judged.where(plan.counted(judged))
    score = questions.main_score
    assert score
    values = score.factor * score_values(questions, score, counted.answers)
    defined = ~np.isnan(values)
    rows = np.stack([counted.dialogue[defined], counted.reply[defined]], axis=1)
    which, group = np.unique(rows, axis=0, return_inverse=True)
    means = np.bincount(group.ravel(), values[defined], len(which)) / np.bincount(group.ravel())
    return {
        (dialogue, reply): mean
        for (dialogue, reply), mean in zip(which.tolist(), means.tolist(), strict=True)
    }


def _points(reply: IntArray, figure: _Figure, selected: BoolArray, level: float) -> list[dict[str, Any]]:
    """Points by reply, with bands cut at the ends of the scale."""
    least, most = figure.ends
    return [
        {
            "turn": p.position,
            "value": p.mean,
            "low": None if p.low is None else max(p.low, least),
            "high": None if p.high is None else min(p.high, most),
            "values": p.values,
            "going_on": p.going_on,
        }
        for p in trajectory(reply - 1, figure.values, selected, level)
    ]


@dataclass(frozen=True, eq=False)
class StudyData:
    """All input of a study's report.

    Attributes:
        asks: all asks, in the order of the report.
        courses: by bot, the course of its conversations, in the order of the bots' names.
        plan: the declared analysis and the excluded workers.
        conduct: facts of the study for the rules of its protocol.
        design: protocol and asks of the study.
        scenarios: by conversation, the name of its row of the study's table of scenarios.
        greetings: replies that belong to greetings and goodbyes, as `greeting_replies` finds them.
        manners: by worker, their behaviour; None: look for no signs.
        facets: by bot, the facets that the researcher declared.
        exchanged: measures of each reply; None if the report does not show them.
        stopping: the study's stopping rule; None: it has none, or has not opened.
        conditions: the study's between-subject factors, and the condition of each participant.
    """

    asks: Sequence[AskData]
    courses: Mapping[str, Course]
    plan: AnalysisPlan
    conduct: Talks
    manners: Mapping[str, Manner] | None = None
    facets: Facets = field(default_factory=dict)
    exchanged: ExchangeMeasures | None = None
    design: Design = field(default_factory=Design)
    scenarios: Scenarios = field(default_factory=dict)
    stopping: StoppingRule | None = None
    greetings: frozenset[tuple[int, int]] = frozenset()
    conditions: Conditions = field(default_factory=Conditions)


def study_result(study: StudyData) -> dict[str, Any]:
    """Compute every number and sentence of the report, ready to be stored as JSON; deterministic.

    Raises:
        LabelsError: invalid labels; names the row and the column.
    """
    study = _in_order(study)
    first, *others = study.asks
    level = protocol_named(study.design.protocol).level
    terms, result = Terms(level), ask_figures(first, study.plan, Terms(level, margin=study.plan.margin))
    for part, counted in study.plan.parts(result, first.judged):
        part["normalised"] = normalised_figures(first.questions, counted, terms)
        part["facets"] = facet_figures(first.questions, counted, study.facets, terms)
        plan = replace(study.plan, primary=Analysis(part.get("analysis", study.plan.primary)))
        part |= by_turn_figures(study.asks, plan, study.exchanged, level)
    result["beside"] = [ask_figures(each, study.plan, terms) for each in others]
    course = course_figures(study.courses, _timed(study.asks), SEED, level)
    flagged = signs([ask.judged for ask in study.asks], study.manners)
    for ask, figures in zip(study.asks, [result, *result["beside"]], strict=True):
        figures["flagged"] = scores_without_flagged(ask.questions, ask.judged, flagged, terms)
        for part, counted in study.plan.parts(figures, ask.judged):
            with_refusals(part, course)
            if by_scenario := scenario_figures(ask.questions, counted, study.scenarios, terms):
                part["scenarios"] = by_scenario
            if by_condition := condition_figures(ask.questions, counted, study.conditions, terms):
                part["conditions"] = by_condition
            if ask.about == REPLIES and (
                ungreeted := figures_without_greetings(ask.questions, counted, study.greetings, terms)
            ):
                part["without_greetings"] = ungreeted
    if study.stopping:
        counted = first.judged.where(study.plan.counted(first.judged))
        result["stopping"] = stopping_figures(study.stopping, first.questions, counted, level)
    result["course"] = course
    return result | conformance(study.design, study.conduct)


def _in_order(study: StudyData) -> StudyData:
    """Check the labels, then sort them; so an error names the original row."""
    for ask in study.asks:
        check_labels(ask.questions, ask.judged)
    return replace(study, asks=[replace(ask, judged=ask.judged.in_order()) for ask in study.asks])


def _timed(asks: Sequence[AskData]) -> Judged:
    """Labels with reply times: those about single replies if there are any, else those of the first ask."""
    return next((ask.judged for ask in asks if ask.about == "partner_turn"), asks[0].judged)
