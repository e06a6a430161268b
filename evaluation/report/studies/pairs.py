"""Figures of a study of pairs: wins, losses and ties of every two systems, and their strengths. Pure.

Raters see the two sides of a pair in random order. Here each pair has the order of its systems' names, and
"first" is the system whose name comes first.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from evaluation.machine_judges.orders import turned
from evaluation.protocols import conformance, protocol_named
from evaluation.protocols.facts import Design, Evaluation, SideBySide
from evaluation.questions import Question, QuestionSet, side_outcomes
from evaluation.rater_agreement.kappa import median_kappa, pairwise_kappas
from evaluation.rater_agreement.ratings import Ratings
from evaluation.report.answers import check_labels
from evaluation.report.factors import leanings
from evaluation.report.figures import bot_scores, coded_questions, columns_of, texts
from evaluation.report.intervals import Terms, equivalence, method
from evaluation.report.label_columns import AnalysisPlan, Judged
from evaluation.report.leader import Arrivals, batches, lead_of_raters, means_of_raters, raters_in_order
from evaluation.report.raters import agreement, rater_figures
from evaluation.report.studies.judging import raters_per_item
from evaluation.report.studies.majorities import both_bad_shares, majority_scores, split_items
from evaluation.report.studies.pair_strengths import strength_figures, style_figures
from evaluation.report.studies.replies import Price, Replies, judged_reply_figures
from evaluation.statistics.differences import Difference, differences, with_holm
from evaluation.statistics.inference import Nouns, Sample
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import AnyArray, BoolArray, IntArray, coded
from evaluation.statistics.pairwise import Duels
from evaluation.texts.uninformative_contexts import NO_CONTEXTS, Contexts

_MOST_RATERS_FOR_KAPPA = 400
"""With more raters, kappas of all pairs take minutes; alpha then measures agreement."""


@dataclass(frozen=True, eq=False)
class JudgedPairs:
    """The judgments of one ask of a study of pairs, and facts about their items.

    Attributes:
        judged: one row per judgment, with the original answers; `bot` is the system shown first, `dialogue`
            the context or conversation that items share, `reply` the number of the item in it.
        other: (n,) the system shown second.
        given: (n,) numbers that order the judgments of all asks of the study.
        raters_wanted: planned number of raters for each item.
        items_per_worker: number of items in a worker's batch.
        training_tries: number of tries to answer all training questions rightly; 0: no training questions.
        items_of_pairs: by name of two systems (`name_of`), number of their items, judged or not.
        clusters_of_pairs: likewise, number of the contexts or conversations that these items are from.
        languages: codes of the languages of the study.
        noun: noun for `dialogue`.
        contexts: summary of the contexts.
        words: (n, 2) number of words of the side shown first and of the other; None if unknown.
        style: (n, 2, 4) `markdown_style.Style` of what the systems said on both sides; None if unknown.
        design: protocol and asks of the study.
        replies: by system, facts about each of its judged responses, each once.
        prices: prices of the bots that gave them, by name.
    """

    judged: Judged
    other: AnyArray
    given: IntArray
    raters_wanted: int
    items_per_worker: int
    items_of_pairs: Mapping[str, int]
    clusters_of_pairs: Mapping[str, int] = field(default_factory=dict)
    languages: Sequence[str] = ()
    noun: str = "context"
    training_tries: int = 0
    contexts: Contexts = NO_CONTEXTS
    words: IntArray | None = None
    style: IntArray | None = None
    design: Design = field(default_factory=Design)
    replies: Mapping[str, Replies] = field(default_factory=dict)
    prices: Mapping[str, Sequence[Price]] = field(default_factory=dict)


def arrivals_of(asks: Sequence[JudgedPairs]) -> Arrivals:
    """Order in which raters finished their batches, which have pairs of all asks."""
    items = sum(sum(each.items_of_pairs.values()) for each in asks)
    raters = raters_in_order([each.judged.rater for each in asks], [each.given for each in asks])
    return batches(raters, min(asks[0].items_per_worker, items))


def name_of(one: str, other: str) -> str:
    """Name of a pair of systems, independent of their order."""
    return " against ".join(sorted((one, other)))


@dataclass(frozen=True, eq=False)
class _Sides:
    """Judgments with their sides in the order of the systems' names.

    Attributes:
        judged: labels; `bot` names both systems, and answers about sides follow this order.
        first: (n,) the system whose name comes first.
        second: (n,) the other system.
        swapped: (n,) true if the rater saw the second system first.
        words: (n, 2) number of words of each side; None if unknown.
        style: (n, 2, 4) style of each side; None if unknown.
    """

    judged: Judged
    first: AnyArray
    second: AnyArray
    swapped: BoolArray
    words: IntArray | None
    style: IntArray | None

    def where(self, keep: BoolArray | IntArray) -> "_Sides":
        words, style = (None if each is None else each[keep] for each in (self.words, self.style))
        rows = self.first[keep], self.second[keep], self.swapped[keep]
        return _Sides(self.judged.where(keep), *rows, words, style)


@dataclass(frozen=True, eq=False)
class AskOfPairs:
    """One ask about pairs with its judgments."""

    questions: QuestionSet
    found: JudgedPairs


def pair_result(asks: Sequence[AskOfPairs], *, plan: AnalysisPlan | None = None) -> dict[str, Any]:
    """Compute the report of a study of pairs: figures of the first ask, further asks under `further`."""
    first, *others = asks
    arrivals = arrivals_of([each.found for each in asks])
    result = pair_figures(first.questions, first.found, arrivals, plan=plan)
    # A margin is declared for the score with which the report begins.
    without_margin = replace(plan or AnalysisPlan(), margin=None)
    further = [
        pair_figures(each.questions, each.found, arrivals, plan=without_margin)
        | {"about": "pair", "required": True, "title": each.questions.title}
        for each in others
    ]
    return result | ({"beside": further} if further else {})


def pair_figures(
    questions: QuestionSet,
    data: JudgedPairs,
    arrivals: Arrivals | None = None,
    *,
    plan: AnalysisPlan | None = None,
) -> dict[str, Any]:
    """Compute all figures of the judgments of one ask, ready to be stored as JSON.

    Args:
        questions: the question set.
        data: the judgments.
        arrivals: order in which raters finished their batches; None: compute it from these judgments.
        plan: the declared analysis, as in `judging.judging_figures`.

    Returns:
        The applicable keys of `judging.judging_figures`, with a row of `bots` for every two systems,
        `preferences` by question, and `contexts`, the summary of the contexts. `replies` has a row for each
        system; it is absent if bots gave none of the responses.
    """
    terms = Terms(protocol_named(data.design.protocol).level, Nouns(cluster=data.noun))
    check_labels(questions, data.judged)
    arrivals = arrivals or arrivals_of([data])
    plan, sides = plan or AnalysisPlan(), _in_order_of_names(questions, data)
    terms = replace(terms, margin=plan.margin)
    counted = sides.judged.where(plan.counted(sides.judged))

    def scored(rows: BoolArray) -> dict[str, Any]:
        of = sides.where(rows)
        return {
            "answer": None,
            "bots": bot_scores(questions, of.judged, terms),
            "majority": majority_scores(questions, of.judged, terms),
            "preferences": [
                _preference(questions, each, of, terms, arrivals)
                for each in questions.questions
                if each.is_sided
            ],
            "comparisons": [],
            "agreement": agreement(coded_questions(questions), of.judged, terms),
            "raters": rater_figures(questions, of.judged),
        }

    return {
        "evaluation": Evaluation.PAIRWISE.value,
        "question_set": questions.key,
        "columns": columns_of(questions),
        "headline": questions.headline,
        "plane": None,
        **plan.stored(sides.judged, scored),
        "by_reply": [],
        "texts": texts(questions, counted),
        "raters_per_item": raters_per_item(sides.judged),
        **conformance(data.design, _conduct(questions, data, plan)),
        "contexts": asdict(data.contexts) if data.contexts.items else None,
        "method": method(terms),
        "level": terms.level,
        "margin": terms.margin,
        **judged_reply_figures(data.replies, data.prices),
    }


def _in_order_of_names(questions: QuestionSet, data: JudgedPairs) -> _Sides:
    judged, other = data.judged, data.other
    swapped = np.array([a > b for a, b in zip(judged.bot, other, strict=True)], dtype=np.bool_)
    names = [name_of(a, b) for a, b in zip(judged.bot, other, strict=True)]
    answers = {
        question.key: turned(question, judged.answers[question.key], swapped)
        if question.is_sided
        else judged.answers[question.key]
        for question in coded_questions(questions)
    }
    named = replace(judged, bot=np.array(names, dtype=object), answers=answers)
    first, second = np.where(swapped, other, judged.bot), np.where(swapped, judged.bot, other)
    words, style = (_sides_turned(each, swapped) for each in (data.words, data.style))
    return _Sides(named, first, second, swapped, words, style).where(named.order)


def _sides_turned(amounts: IntArray | None, swapped: BoolArray) -> IntArray | None:
    """(n, 2, …) amounts of both sides, exchanged where the sides were shown in the other order."""
    if amounts is None:
        return None
    turned: IntArray = amounts.copy()
    turned[swapped] = amounts[swapped, ::-1]
    return turned


# --- one question ------------------------------------------------------------------------------------


def _preference(
    questions: QuestionSet, question: Question, sides: _Sides, terms: Terms, arrivals: Arrivals
) -> dict[str, Any]:
    """Figures of one question: for every two systems, and for all systems together."""
    answered = sides.where(~np.isnan(sides.judged.answers[question.key]))
    outcome = side_outcomes(question, answered.judged.answers[question.key])
    is_split = split_items(answered.judged.reply_code, outcome)
    agreed = answered.where(~is_split)
    clear, clear_outcome = (
        {row["bot"]: row for row in _records(agreed, outcome[~is_split], terms)},
        outcome[~is_split],
    )
    duels = _duels(answered, outcome)
    strengths = strength_figures(duels, terms, with_ranks=True)
    counts = answered.style  # None: older bundles do not say who speaks
    style = {} if counts is None else {"style": style_figures(duels, counts, strengths, terms)}
    rows, both_bad = [], both_bad_shares(questions, question, answered.judged, terms)
    for row in _records(answered, outcome, terms):
        of_pair = answered.judged.bot == row["bot"]
        items = np.unique(answered.judged.reply_code[of_pair])
        ambiguous = len(np.unique(answered.judged.reply_code[of_pair & is_split]))
        watched = _always_valid_lead(answered.judged, outcome, row["bot"], terms, arrivals)
        counted = {"items": len(items), "ambiguous": ambiguous, "clear": clear.get(row["bot"])}
        rows.append(row | both_bad.get(row["bot"], {}) | counted | {"always_valid": watched})
    return {
        "key": question.key,
        "question": question.wording,
        "meetings": rows,
        "kappa": _kappa(answered.judged, outcome),
        "leanings": leanings(answered.judged, outcome, answered.swapped, answered.words, terms),
        "strengths": strengths,
        "strengths_clear": strength_figures(_duels(agreed, clear_outcome), terms),
        **style,
    }


def _duels(sides: _Sides, outcome: IntArray) -> Duels:
    bots, code = coded(np.concatenate([sides.first, sides.second]))
    first, second = code[: len(outcome)], code[len(outcome) :]
    return Duels(
        bots, first, second, outcome, coded(sides.judged.dialogue)[1], coded(sides.judged.rater_code)[1]
    )


def _always_valid_lead(
    judged: Judged, outcome: IntArray, pair: str, terms: Terms, arrivals: Arrivals
) -> dict[str, Any]:
    """Lead with a sequential (always-valid) interval, for all pairs of systems together (Bonferroni)."""
    values = np.select([outcome == 0, outcome == 1], [1.0, -1.0], 0.0)
    of_raters = means_of_raters(judged, values, judged.bot == pair)
    leads = np.array([of_raters[rater] for rater in arrivals.raters or () if rater in of_raters])
    lead = lead_of_raters(leads, 1 - (1 - terms.level) / len(judged.bots), arrivals)
    if isinstance(lead, str):
        return {"undefined": lead}
    low, high, raters = lead
    return {"low": 100 * low, "high": 100 * high, "units": raters, "unit": "rater", "left_out": 0}


def _records(sides: _Sides, outcome: IntArray, terms: Terms) -> list[dict[str, Any]]:
    """Records of every two systems that met: how often each was preferred, and the lead."""
    judged, records_of_bots = sides.judged, []
    leads = with_holm([_lead(sides, outcome, pair, terms) for pair in judged.bots])
    for pair, lead in zip(judged.bots, leads, strict=True):
        rows = judged.bot == pair
        wins, losses, ties = np.bincount(outcome[rows], minlength=3).tolist()
        records_of_bots.append(
            {
                "bot": pair,
                "first": str(lead.first),
                "second": str(lead.second),
                "wins": wins,
                "losses": losses,
                "ties": ties,
                "labels": wins + losses + ties,
                **_lead_cell(lead, terms),
            }
        )
    return records_of_bots


def _lead(sides: _Sides, outcome: IntArray, pair: str, terms: Terms) -> Difference:
    """Difference of the shares of judgments for the first and for the second system of a pair."""
    rows = sides.judged.bot == pair
    cluster, rater = sides.judged.dialogue[rows], sides.judged.rater_code[rows]
    shares = {
        str(names[rows][0]): Sample((outcome[rows] == preferred).astype(np.float64), coded(cluster)[1], rater)
        for preferred, names in enumerate((sides.first, sides.second))
    }
    return differences(shares, level=terms.level, nouns=terms.nouns)[0]  # type: ignore[arg-type]


def _lead_cell(lead: Difference, terms: Terms) -> dict[str, Any]:
    cell: dict[str, Any] = {
        "lead": 100 * lead.difference,
        "p": None if isinstance(lead.p, Undefined) else lead.p,
        "p_holm": None if isinstance(lead.p_holm, Undefined) else lead.p_holm,
        **equivalence(lead, 100, terms),
    }
    if isinstance(lead.interval, Undefined):
        return cell | {"undefined": lead.interval.reason}
    ends = lead.interval.scaled(100)
    return cell | {"low": ends.low, "high": ends.high, "rests_on": lead.describe_basis(terms.nouns)}


def _kappa(judged: Judged, outcome: IntArray) -> dict[str, Any]:
    """Median of Cohen's kappa over every two raters with common items."""
    if len(judged.raters) > _MOST_RATERS_FOR_KAPPA:
        return {
            "undefined": f"{len(judged.raters)} raters are too many to compare every two of them; see alpha."
        }
    ratings = Ratings.from_columns(judged.reply_code, judged.rater_code, outcome, scale=(0, 1, 2))
    met = pairwise_kappas(ratings)
    median = median_kappa(met)
    if isinstance(median, Undefined):
        return {"undefined": median.reason}
    defined = sum(not isinstance(each.kappa, Undefined) for each in met)
    return {"value": median, "pairs": defined, "of": len(met)}


def _conduct(questions: QuestionSet, data: JudgedPairs, plan: AnalysisPlan) -> SideBySide:
    items = sum(data.items_of_pairs.values())
    full = sum(r["items"] for r in raters_per_item(data.judged) if r["raters"] >= data.raters_wanted)
    return SideBySide(
        question_set=questions.key,
        question_set_title=questions.title,
        raters_wanted=data.raters_wanted,
        items=items,
        items_lacking_raters=items - full,
        languages=data.languages,
        items_per_worker=data.items_per_worker,
        # Several votes on one conversation are one comparison.
        items_of_pairs=data.clusters_of_pairs if data.noun == "conversation" else data.items_of_pairs,
        training_tries=data.training_tries,
        short_contexts=data.contexts.short,
        unknown_contexts=data.contexts.unknown,
        primary=plan.primary.value,
        margin=plan.margin or 0,
    )
