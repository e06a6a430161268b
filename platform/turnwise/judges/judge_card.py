"""A judge card: a run's labels beside those of people. Brings scipy; import it only where it is needed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.files.writing import figure, percent, signed, with_unit
from evaluation.machine_judges.agreement import EVERY_SYSTEM, Agreement, ScoreErrors, agreements, score_errors
from evaluation.machine_judges.calibration import Calibration, calibrations
from evaluation.machine_judges.judged import JudgedItems
from evaluation.machine_judges.orders import OrderBias, order_biases
from evaluation.machine_judges.together import Together, together
from evaluation.questions import FIRST, SECOND, Score
from evaluation.statistics.differences import Difference, format_p
from evaluation.statistics.inference import Estimate, Nouns
from evaluation.statistics.interval import Undefined
from turnwise.judges.card_parts import (
    EstimateRow,
    PreferenceTables,
    agreement_by_property,
    charts_of,
    digits_of,
    interval_ends,
    number,
    preference_tables,
    score_rows,
)
from turnwise.judges.judged_labels import judged_items, noun_of_ask
from turnwise.judges.models import Judge, JudgeRun
from turnwise.judges.queries import runs_of, seen_items

WORDY = 2_000
"""Characters above which an answer is remarked on: a form has a few words."""


@dataclass(frozen=True, slots=True)
class AgreementRow:
    """Agreement about a question over a system's items, in words."""

    question: str
    system: str
    items: int
    percent: str
    alpha: str


@dataclass(frozen=True, slots=True)
class CalibrationTable:
    """Calibration about one question, in words, with its chart."""

    question: str
    items: int
    from_draws: bool
    brier: str
    error: str
    bins: list[tuple[int, str, str]]
    svg: str
    narrow_svg: str


@dataclass(frozen=True, slots=True)
class MemberRow:
    """Agreement of a panel, or of one of its members, about a question."""

    name: str
    agreement: AgreementRow


@dataclass(frozen=True, slots=True)
class AgreementTable:
    """Agreement by one property of the items, such as their length."""

    title: str
    rows: list[AgreementRow]


@dataclass(frozen=True, slots=True)
class SystemRow:
    """A system's mean by the judge and by people, and the judge's error, in words."""

    system: str
    items: int
    judge: str
    people: str
    error: str


@dataclass(frozen=True, slots=True)
class ScoreTables:
    """Tables of one score."""

    title: str
    unit: str
    systems: list[SystemRow]
    favours: list[str]
    estimates: list[EstimateRow]


@dataclass(frozen=True, slots=True)
class OrderRow:
    """Influence of the order of a pair's sides on the answers to one question, in words."""

    question: str
    pairs: int
    flips: str
    for_first_shown: str
    verdict: str


@dataclass(frozen=True, slots=True)
class Card:
    """Figures of a run beside those of people.

    Attributes:
        people_items: number of items that people judged.
        judge_items: number of items that the judge answered.
        constant: sentences about questions that the judge answers alike for every item.
        seen: number of items left out because the prompt had their right answers.
        is_drawn: whether items were drawn for people by a judge's uncertainty.
        orders: of pairs, how far the order of the sides decides.
        remarks: sentences about answers of many pages, and about ties of a panel.
        members: of a panel, agreement of each member with people, after that of the panel.
        calibration: of judges with probabilities or several answers, how often people agree.
        preferences: of pairs, strengths and shares of wins from people alone and with the judge's help.
    """

    people_items: int
    judge_items: int
    agreement: list[AgreementRow] = field(default_factory=list)
    by_property: list[AgreementTable] = field(default_factory=list)
    scores: list[ScoreTables] = field(default_factory=list)
    constant: list[str] = field(default_factory=list)
    orders: list[OrderRow] = field(default_factory=list)
    seen: int = 0
    is_drawn: bool = False
    remarks: list[str] = field(default_factory=list)
    members: list[MemberRow] = field(default_factory=list)
    calibration: list[CalibrationTable] = field(default_factory=list)
    preferences: list[PreferenceTables] = field(default_factory=list)


def card_of(run: JudgeRun) -> Card:
    """Compute the card from the labels of now."""
    judged = judged_items(run)
    nouns = Nouns(cluster=noun_of_ask(run.ask), rater="rater")
    of_people, of_judge = len(np.unique(judged.people.item)), len(np.unique(judged.judge.item))
    if not of_judge:
        remarks = [sentence for sentence in (_wordy(run), _ties(run)) if sentence]
        return Card(of_people, of_judge, seen=seen_items(run), remarks=remarks)
    errors, estimates = score_errors(judged, nouns=nouns), together(judged, nouns=nouns)
    captions = {question.key: question.wording for question in judged.questions.questions}
    return Card(
        of_people,
        of_judge,
        [_agreement_row(each, captions[each.question]) for each in agreements(judged)] if of_people else [],
        [
            AgreementTable(title, [_agreement_row(each, captions[each.question]) for each in rows])
            for title, rows in (agreement_by_property(run, judged) if of_people else [])
        ],
        [_tables(*each, nouns) for each in zip(errors, estimates, strict=True)] if of_people else [],
        [_alike(captions[key], items) for key, items in _constant_questions(judged).items()],
        [_order_row(each, captions[each.question]) for each in order_biases(judged, nouns=nouns)],
        seen_items(run),
        judged.probability is not None,
        [sentence for sentence in (_wordy(run), _ties(run)) if sentence],
        _member_rows(run, captions) if of_people else [],
        [_calibration(each, captions[each.question]) for each in calibrations(judged)],
        preference_tables(judged, nouns) if of_people else [],
    )


def _constant_questions(judged: JudgedItems) -> dict[str, int]:
    """Number of items by question that the judge answers alike for at least two items, never otherwise."""
    found = {}
    for key, values in judged.judge.answers.items():
        is_given = ~np.isnan(values)
        items = len(np.unique(judged.judge.item[is_given]))
        if items > 1 and np.ptp(values[is_given]) == 0:
            found[key] = items
    return found


def _wordy(run: JudgeRun) -> str:
    """How many answers are far longer than any form, if there are any."""
    long = run.labels.filter(characters__gt=WORDY).count() if run.judge.bot_id else 0
    sentence = ngettext(
        "%(n)s answer has more than %(characters)s characters, where a few words would do: the bot argues "
        "instead of answering. Look at what it writes, or choose another.",
        "%(n)s answers have more than %(characters)s characters, where a few words would do: the bot argues "
        "instead of answering. Look at what it writes, or choose another.",
        long,
    )
    return sentence % {"n": f"{long:,}", "characters": f"{WORDY:,}"} if long else ""


def _ties(run: JudgeRun) -> str:
    """How many labels of a panel lack an answer, if there are any."""
    undecided = run.labels.exclude(why="").count() if run.judge.source == Judge.Source.PANEL else 0
    sentence = ngettext(
        "About %(n)s label, the members were tied or lacked an answer. It counts as no answer.",
        "About %(n)s labels, the members were tied or lacked an answer. They count as no answer.",
        undecided,
    )
    return sentence % {"n": f"{undecided:,}"} if undecided else ""


def _member_rows(run: JudgeRun, captions: Mapping[str, str]) -> list[MemberRow]:
    """Agreement of a panel's members with people, beside which the panel's own stands."""
    if run.judge.source != Judge.Source.PANEL:
        return []
    members = runs_of(run.study).filter(panels=run).order_by("pk")
    return [
        MemberRow(each.judge.shown_title, _agreement_row(found, captions[found.question]))
        for each in (run, *members)
        for found in agreements(judged_items(each))
        if found.system == EVERY_SYSTEM
    ]


def _alike(wording: str, items: int) -> str:
    sentence = _(
        "The judge gave the same answer to “%(question)s” about all %(n)s items, so it tells nothing about "
        "them."
    )
    return sentence % {"question": wording, "n": f"{items:,}"}


def _order_row(found: OrderBias, wording: str) -> OrderRow:
    verdicts = {
        FIRST: _("It prefers the side that it reads first."),
        SECOND: _("It prefers the side that it reads second."),
    }
    return OrderRow(
        wording,
        found.pairs,
        _share(found.flips),
        _share(found.for_first_shown),
        verdicts.get(found.prefers, _("No preference for a place is clear.")),
    )


def _calibration(found: Calibration, wording: str) -> CalibrationTable:
    wide, narrow = charts_of(found)
    return CalibrationTable(
        wording,
        found.items,
        found.from_draws,
        figure(found.brier, 3) + interval_ends(found.brier_interval, 1, 3),
        figure(100 * found.error, 1) + interval_ends(found.error_interval, 100, 1),
        [
            (each.items, figure(100 * each.probability, 0), figure(100 * each.agreed, 0))
            for each in found.bins
        ],
        wide,
        narrow,
    )


def _share(found: Estimate | Undefined) -> str:
    """A share in percent with its interval, or the reason why there is none."""
    if isinstance(found, Undefined):
        return found.reason
    return with_unit(figure(100 * found.value, 1), "%") + interval_ends(found.interval, 100, 1)


def _agreement_row(found: Agreement, wording: str) -> AgreementRow:
    system = _("All systems") if found.system == EVERY_SYSTEM else found.system
    alike = found.percent
    share = alike.reason if isinstance(alike, Undefined) else with_unit(figure(alike, 0), "%")
    if isinstance(found.alpha, Undefined):
        return AgreementRow(wording, system, found.items, share, found.alpha.reason)
    return AgreementRow(
        wording,
        system,
        found.items,
        share,
        figure(found.alpha.value, 2) + interval_ends(found.alpha.interval, 1, 2),
    )


def _tables(errors: ScoreErrors, estimates: Together, nouns: Nouns) -> ScoreTables:
    score = errors.score
    return ScoreTables(
        score.title,
        _("percent") if score.is_percent else _("points"),
        [
            SystemRow(
                each.system,
                each.items,
                number(score, each.judge),
                number(score, each.people),
                each.error.reason
                if isinstance(each.error, Undefined)
                else signed(score.factor * each.error.value, digits_of(score))
                + interval_ends(each.error.interval, score.factor, digits_of(score)),
            )
            for each in errors.systems
        ],
        [_favour(score, each) for each in errors.favours],
        score_rows(score, estimates, nouns),
    )


def _favour(score: Score, found: Difference) -> str:
    """Which of two systems the judge favours, compared with people."""
    names = {"first": found.first, "second": found.second}
    if isinstance(found.interval, Undefined) or isinstance(found.p, Undefined):
        return _("Whether the judge favours %(first)s or %(second)s cannot be told.") % names
    if found.difference < 0:
        names = {"first": found.second, "second": found.first}
    sign = 1 if found.difference >= 0 else -1
    ends: Sequence[float] = sorted((sign * found.interval.low, sign * found.interval.high))
    digits = digits_of(score)
    values: dict[str, Any] = {
        **names,
        "by": figure(score.factor * abs(found.difference), digits),
        "level": percent(found.interval.level),
        "low": figure(score.factor * ends[0], digits),
        "high": figure(score.factor * ends[1], digits),
        "p": format_p(found.p_holm if isinstance(found.p_holm, float) else found.p),
    }
    if isinstance(found.p_holm, float) and found.p_holm < 1 - found.interval.level:
        return (
            _(
                "The judge favours %(first)s over %(second)s: compared with people, by %(by)s points more "
                "(%(level)s interval %(low)s to %(high)s, %(p)s)."
            )
            % values
        )
    return (
        _(
            "No favouritism between %(first)s and %(second)s is clear: compared with people, %(by)s points "
            "more for %(first)s (%(level)s interval %(low)s to %(high)s, %(p)s)."
        )
        % values
    )
