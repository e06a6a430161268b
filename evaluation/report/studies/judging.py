"""Figures of a judging study: scores of systems by mean and by majority of several raters per item. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np

from evaluation.open_mtb import last_turns
from evaluation.protocols import conformance, protocol_named
from evaluation.protocols.facts import Design, Evaluation, Judging
from evaluation.questions import QuestionSet, score_values
from evaluation.report.adjudication import Decisions, adjudication_figures
from evaluation.report.answers import check_labels
from evaluation.report.conduct import Manner, signs
from evaluation.report.figures import (
    coded_questions,
    columns_of,
    plane_of,
    scored_figures,
    scores_without_flagged,
    texts,
)
from evaluation.report.intervals import Terms, method
from evaluation.report.item_draws import DrawFacts
from evaluation.report.label_columns import AnalysisPlan, Judged
from evaluation.report.leader import Arrivals, batches, raters_in_order
from evaluation.report.rater_models import rater_models
from evaluation.report.studies.battery import AskOfBattery, Battery, battery_figures, proposals
from evaluation.report.studies.contexts import ContextFacts, breakdown
from evaluation.report.studies.majorities import majority_scores
from evaluation.report.studies.replies import Price, Replies, judged_reply_figures, percent_of
from evaluation.statistics.inference import NOUNS as TALKS
from evaluation.statistics.inference import Nouns
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray
from evaluation.statistics.ssa import spread

NOUNS = Nouns(cluster="context")
WEIGHED = "; each label counts by 1 / the probability with which its item was drawn for people"
UNEQUAL = (
    "Items were drawn for people with unequal probabilities, for which there is no sequential comparison."
)


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """The judgments of one ask of a study, and facts about their items.

    Attributes:
        judged: one row per judgment; `bot` is the system, `dialogue` the context or conversation that items
            share, `reply` the number of the item in its context.
        repetition: (n,) number of the system's run that the item is from, from 1.
        occasion: (n,) 2 if the worker has judged the item before.
        given: (n,) numbers that order the judgments of all asks of the study.
        raters_wanted: planned number of raters for each item.
        items: number of items, judged or not.
        battery: composition of each worker's battery; None: items come from the queue.
        languages: codes of the languages of the study.
        replies: by system, facts about each of its judged replies, each once.
        prices: prices of the bots that gave them, by name.
        contexts: contexts of responses, by the number in `judged.dialogue`.
        contexts_of: by system, number of contexts with its response, judged or not.
        conversations_of: by system, number of its conversations with an item, judged or not.
        design: protocol and asks of the study.
        items_per_worker: number of items in a worker's batch from the queue.
        third_rater: true if items on which raters differ are judged again.
        decisions: decisions of adjudicators; None: the study has no adjudication.
        drawn: how items were drawn for people, with the weights of `judged`; None: they were not.
        anchors: number of anchors in the queue, which are in no other figure.
        anchors_judged: by rater, the number of these that they judged.
    """

    judged: Judged
    repetition: IntArray
    occasion: IntArray
    given: IntArray
    raters_wanted: int
    items: int
    battery: Battery | None = None
    languages: Sequence[str] = ()
    replies: Mapping[str, Replies] = field(default_factory=dict)
    prices: Mapping[str, Sequence[Price]] = field(default_factory=dict)
    contexts: Mapping[int, ContextFacts] = field(default_factory=dict)
    contexts_of: Mapping[str, int] = field(default_factory=dict)
    conversations_of: Mapping[str, int] = field(default_factory=dict)
    design: Design = field(default_factory=Design)
    items_per_worker: int = 0
    third_rater: bool = False
    decisions: Decisions | None = None
    drawn: DrawFacts | None = None
    anchors: int = 0
    anchors_judged: Mapping[str, int] = field(default_factory=dict)

    @property
    def evaluation(self) -> Evaluation:
        """Kind of evaluation: READ if all items are from conversations, else STATIC."""
        of_talks = any(self.conversations_of.values()) and not any(self.contexts_of.values())
        return Evaluation.READ if of_talks else Evaluation.STATIC

    @property
    def about(self) -> str:
        """Subject of the first ask."""
        return self.design.asks[0].about if self.design.asks else "response"

    @property
    def noun(self) -> Nouns:
        """Nouns for the cluster of items and for raters."""
        return TALKS if self.evaluation is Evaluation.READ else NOUNS

    def in_order(self) -> "JudgedItems":
        """Sort the judgments as in `Judged.in_order`."""
        return self.where(self.judged.order)

    def judged_once(self) -> "JudgedItems":
        """Sort the judgments and drop repeated ones of the same worker."""
        ordered = self.in_order()
        return ordered.where(ordered.occasion == 1)

    def where(self, keep: BoolArray | IntArray) -> "JudgedItems":
        """Select judgments by a mask (n,) or by indices."""
        return replace(
            self,
            judged=self.judged.where(keep),
            repetition=self.repetition[keep],
            occasion=self.occasion[keep],
            given=self.given[keep],
            decisions=self.decisions and self.decisions.where(keep),
        )


def arrivals_of(asks: Sequence[JudgedItems]) -> Arrivals:
    """Order in which raters finished their batches, which have items of all asks."""
    first, items = asks[0], sum(each.items + each.anchors for each in asks)
    beside: Counter[str] = sum((Counter(each.anchors_judged) for each in asks), Counter())
    size = len(asks) * first.battery.size if first.battery else min(first.items_per_worker, items)
    raters = raters_in_order([each.judged.rater for each in asks], [each.given for each in asks])
    return batches(raters, size, third_rater=first.third_rater, beside=beside)


@dataclass(frozen=True, eq=False)
class AskOfItems:
    """One ask of readers with its judgments.

    Attributes:
        about: `response`, `dialogue` or `context`.
        required: always true for asks of readers.
        questions: the question set.
        found: the judgments.
    """

    about: str
    required: bool
    questions: QuestionSet
    found: JudgedItems


def judging_result(
    asks: Sequence[AskOfItems],
    *,
    plan: AnalysisPlan | None = None,
    manners: Mapping[str, Manner] | None = None,
) -> dict[str, Any]:
    """Compute the report of a judging study: figures of the first ask, and of further asks under `further`.

    With batteries, `proposed` has the exclusions that the declared rules propose.
    """
    first, *others = asks
    arrivals = arrivals_of([each.found for each in asks])
    flagged = signs([each.found.judged_once().judged for each in asks], manners)
    result = judging_figures(first.questions, first.found, arrivals, flagged, plan=plan)
    # A margin is declared for the score with which the report begins.
    without_margin = replace(plan or AnalysisPlan(), margin=None)
    further = [
        judging_figures(each.questions, each.found, arrivals, flagged, plan=without_margin)
        | {"about": each.about, "required": each.required, "title": each.questions.title}
        for each in others
    ]
    return result | _proposed(asks) | ({"beside": further} if further else {})


def judging_figures(
    questions: QuestionSet,
    data: JudgedItems,
    arrivals: Arrivals | None = None,
    flagged: Mapping[str, str] | None = None,
    *,
    plan: AnalysisPlan | None = None,
) -> dict[str, Any]:
    """Compute all figures of the judgments of one ask, ready to be stored as JSON.

    Args:
        questions: the question set.
        data: the judgments.
        arrivals: order in which raters finished their batches; None: compute it from these judgments.
        plan: the declared analysis, as in `figures.study_figures`. `raters_per_item` and `deviations`, which
            describe the conduct of the study, count all judgments.
        flagged: by worker with signs of carelessness or fraud, the signs.

    Returns:
        The applicable keys of `figures.study_figures`, and `majority`, `repetitions`, `breakdown`,
        `raters_per_item`, `deviations`, and `replies` if there are any; with batteries `battery`. Of repeated
        judgments only the first counts. If items were drawn for people, `drawn` has the `DrawFacts`, and each
        label counts 1 / the probability of its item in scores, differences, majorities and breakdowns.
    """
    terms = Terms(protocol_named(data.design.protocol).level, data.noun)
    check_labels(questions, data.judged, data.occasion)
    arrivals = arrivals or arrivals_of([data])
    arrivals = replace(arrivals, raters=(), why_not=UNEQUAL) if data.drawn else arrivals
    plan, everything, ordered = plan or AnalysisPlan(), data.in_order(), data.judged_once()
    terms, judged = replace(terms, margin=plan.margin), ordered.judged
    replies = judged_reply_figures(data.replies, data.prices)
    refused = {row["bot"]: percent_of(row, "refused") for row in replies.get("replies", ())}

    def scored(rows: BoolArray) -> dict[str, Any]:
        of = judged.where(rows)
        scores = scored_figures(questions, of, terms, arrivals)
        for row in scores["bots"] if refused else ():
            row["refused"] = refused.get(row["bot"])
        return {
            **scores,
            "majority": majority_scores(questions, of, terms),
            "repetitions": repetitions(questions, ordered.where(rows)),
            "breakdown": breakdown(questions, of, data.contexts, terms),
            **_battery(questions, everything, of.raters, terms),
            **adjudication_figures(questions, of, ordered.where(rows).decisions, terms),
            "rater_models": rater_models(coded_questions(questions), of, terms),
        }

    return {
        "evaluation": data.evaluation.value,
        "about": data.about,
        "question_set": questions.key,
        "columns": columns_of(questions),
        "headline": questions.headline,
        "plane": plane_of(questions),
        **plan.stored(judged, scored),
        "by_reply": [],
        "texts": texts(questions, judged.where(plan.counted(judged))),
        "raters_per_item": raters_per_item(judged),
        "flagged": scores_without_flagged(questions, judged, flagged or {}, terms),
        **conformance(data.design, _conduct(questions, data, plan)),
        "method": method(terms) + (WEIGHED if data.drawn else ""),
        "level": terms.level,
        "margin": terms.margin,
        **replies,
        # Absent without a draw, as in the results of earlier versions.
        **({"drawn": asdict(data.drawn)} if data.drawn else {}),
    }


def _battery(
    questions: QuestionSet, data: JudgedItems, raters: Sequence[str], terms: Terms
) -> dict[str, Any]:
    """Figures of batteries, for these raters; empty if items come from the queue."""
    if data.battery is None:
        return {}
    selected = data.where(data.judged.by(raters))
    return {"battery": battery_figures(questions, data.battery, selected.judged, selected.occasion, terms)}


def _proposed(asks: Sequence[AskOfItems]) -> dict[str, Any]:
    """Exclusions that the rules of a study with batteries propose, over all asks; empty without batteries."""
    battery = asks[0].found.battery
    if battery is None:
        return {}
    ordered = [(ask.questions, ask.found.in_order()) for ask in asks]
    judgments = [AskOfBattery(questions, data.judged, data.occasion) for questions, data in ordered]
    return {"proposed": proposals(battery, judgments)}


def repetitions(questions: QuestionSet, data: JudgedItems) -> list[dict[str, Any]]:
    """Compute mean and standard deviation of each score over runs, for systems with several runs."""
    several = []
    for bot in data.judged.bots:
        mine = data.judged.bot == bot
        numbers = np.unique(data.repetition[mine]).tolist()
        if len(numbers) < 2:
            continue
        runs = [
            _scores(questions, data.judged.where(mine & (data.repetition == number))) for number in numbers
        ]
        spreads = [_spread([run[index] for run in runs]) for index in range(len(questions.scores))]
        several.append({"bot": bot, "runs": len(numbers), "cells": spreads})
    return several


def _scores(questions: QuestionSet, judged: Judged) -> list[float]:
    """Each score over judgments of one system, as shown; NaN without answers."""
    of_labels = [score_values(questions, score, judged.answers) for score in questions.scores]
    means = [_mean(values, judged.weight) for values in of_labels]
    return [score.factor * mean for score, mean in zip(questions.scores, means, strict=True)]


def _mean(values: FloatArray, weight: FloatArray | None) -> float:
    there = ~np.isnan(values)
    if not there.any():
        return float("nan")
    return float(np.average(values[there], weights=None if weight is None else weight[there]))


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    defined = [value for value in values if not np.isnan(value)]
    if not defined:
        return {"value": None, "deviation": None}
    of_runs = spread(defined)
    is_known = not isinstance(of_runs.deviation, Undefined)
    return {"value": of_runs.mean, "deviation": of_runs.deviation if is_known else None}  # type: ignore[dict-item]


def raters_per_item(judged: Judged) -> list[dict[str, int]]:
    """Count items by number of raters, most raters first; items without judgments are left out."""
    _, raters = np.unique(judged.reply_code, return_counts=True)
    counts = Counter(raters.tolist())
    return [{"raters": number, "items": counts[number]} for number in sorted(counts, reverse=True)]


def _conduct(questions: QuestionSet, data: JudgedItems, plan: AnalysisPlan) -> Judging:
    judged, battery = data.where(data.occasion == 1).judged, data.battery
    full = sum(r["items"] for r in raters_per_item(judged) if r["raters"] >= data.raters_wanted)
    return Judging(
        question_set=questions.key,
        question_set_title=questions.title,
        raters_wanted=data.raters_wanted,
        items=data.items,
        items_lacking_raters=0 if battery else (data.drawn.drawn if data.drawn else data.items) - full,
        languages=data.languages,
        primary=plan.primary.value,
        margin=plan.margin or 0,
        adjudication_steps=data.decisions.steps if data.decisions else 0,
        conversations={system: n for system, n in sorted(data.conversations_of.items()) if n},
        **_of_contexts(data),
        **(_facts(questions, data, battery) if battery else {}),
    )


def _of_contexts(data: JudgedItems) -> dict[str, Any]:
    """Facts about the contexts of judged responses, for the rules of a protocol."""
    there = data.contexts.values()
    lengths = Counter(each.turns for each in there)
    last = last_turns()
    are_open = [each.last in last.get(each.name, ()) for each in there]
    every, some = "of Open MTB", "others, some of them of Open MTB"
    return {
        "contexts": len(data.contexts),
        "context_lengths": ", ".join(f"{n} turn{'s' * (n > 1)}: {lengths[n]}" for n in sorted(lengths)),
        "contexts_of_several_turns": sum(n for turns, n in lengths.items() if turns > 1),
        "context_set": (every if all(are_open) else some) if any(are_open) else "others",
        "contexts_lacking": {
            system: len(data.contexts) - number
            for system, number in sorted(data.contexts_of.items())
            if number
        },
    }


def _facts(questions: QuestionSet, data: JudgedItems, battery: Battery) -> dict[str, Any]:
    """Facts about batteries, for the rules of a protocol."""
    whole = [n for n in data.judged.labels_of_raters.values() if n >= battery.size]
    return {
        "has_batteries": True,
        "targets": len(battery.targets),
        "fillers": battery.fillers,
        "repeats": battery.repeats,
        "reasons": battery.reasons,
        "workers": len(whole),
        "exclusion_rules": len(battery.rules.sentences([questions])),
    }
