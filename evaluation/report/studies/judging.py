"""The numbers of a judging study: systems by mean and majority of several raters per item. Pure."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from evaluation.open_mtb import last_turns
from evaluation.protocols import conformance, protocol_named
from evaluation.protocols.facts import Design, Evaluation, Judging
from evaluation.questions import Combine, QuestionSet, Score, score_values, term_values
from evaluation.report.answers import check_labels
from evaluation.report.conduct import Manner, signs
from evaluation.report.figures import (
    columns_of,
    plane_of,
    scored_figures,
    scores_without_flagged,
    texts,
)
from evaluation.report.intervals import TERMS, Terms, cells, method, of_bots
from evaluation.report.label_columns import AnalysisPlan, Judged
from evaluation.report.leader import Arrivals, batches, raters_in_order
from evaluation.report.studies.battery import AskOfBattery, Battery, battery_figures, proposals
from evaluation.report.studies.contexts import ContextFacts, breakdown
from evaluation.statistics.inference import NOUNS as TALKS
from evaluation.statistics.inference import Nouns
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray
from evaluation.statistics.ssa import spread

NOUNS = Nouns(cluster="context")


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """The judgments of a study, and what they are of.

    Attributes:
        judged: one row per judgment; `bot` is the system, `dialogue` the context or conversation that items
            share, `reply` tells the items of one context apart.
        repetition: (n,) which of a system's repeated runs the item is from, counted from 1.
        occasion: (n,) 2 where the same worker has judged the same item before.
        given: (n,) numbers in the order in which the judgments of all that the study asks were given.
        raters_wanted: raters that the plan wants for each item.
        items: items of the study, judged or not.
        battery: how the items of each worker are composed; None: as they come in the queue.
        languages: codes of the languages of the study.
        remarked: by system, items with a judgment and with remarks, as of a filter that changed them.
        fallbacks: by system, those of them that are a prepared sentence of a filter.
        contexts: by number, as `judged.dialogue` has it, the contexts of responses.
        contexts_of: by system, to how many contexts it has a response, judged or not.
        conversations_of: by system, how many of its conversations have an item, judged or not.
        design: which protocol the study was made by, and what it asks.
        items_per_worker: items in a worker's batch, in the queue.
        third_rater: whether items on which raters differ are judged again.
    """

    judged: Judged
    repetition: IntArray
    occasion: IntArray
    given: IntArray
    raters_wanted: int
    items: int
    battery: Battery | None = None
    languages: Sequence[str] = ()
    remarked: Mapping[str, int] = field(default_factory=dict)
    fallbacks: Mapping[str, int] = field(default_factory=dict)
    contexts: Mapping[int, ContextFacts] = field(default_factory=dict)
    contexts_of: Mapping[str, int] = field(default_factory=dict)
    conversations_of: Mapping[str, int] = field(default_factory=dict)
    design: Design = field(default_factory=Design)
    items_per_worker: int = 0
    third_rater: bool = False

    @property
    def evaluation(self) -> Evaluation:
        """Whether nothing but conversations of others is read."""
        of_talks = any(self.conversations_of.values()) and not any(self.contexts_of.values())
        return Evaluation.READ if of_talks else Evaluation.STATIC

    @property
    def about(self) -> str:
        """What its questions are about, as asks have it."""
        return self.design.asks[0].about if self.design.asks else "response"

    @property
    def noun(self) -> Nouns:
        """What items share."""
        return TALKS if self.evaluation is Evaluation.READ else NOUNS

    def in_order(self) -> "JudgedItems":
        """The same judgments in the order of `Judged.in_order`."""
        return self.where(self.judged.order)

    def judged_once(self) -> "JudgedItems":
        """These in that order, without what the same worker judged a second time."""
        ordered = self.in_order()
        return ordered.where(ordered.occasion == 1)

    def where(self, keep: BoolArray | IntArray) -> "JudgedItems":
        """The judgments at which `keep` (n,) is true, or those at these indices."""
        return replace(
            self,
            judged=self.judged.where(keep),
            repetition=self.repetition[keep],
            occasion=self.occasion[keep],
            given=self.given[keep],
        )


def arrivals_of(asks: Sequence[JudgedItems]) -> Arrivals:
    """In which order raters finished their batches, which have items of all that a study asks."""
    first, items = asks[0], sum(each.items for each in asks)
    size = len(asks) * first.battery.size if first.battery else min(first.items_per_worker, items)
    raters = raters_in_order([each.judged.rater for each in asks], [each.given for each in asks])
    return batches(raters, size, third_rater=first.third_rater)


@dataclass(frozen=True, eq=False)
class AskOfItems:
    """One ask of readers with its judgments.

    Attributes:
        about: `response`, `dialogue` or `context`.
        required: as all asks of readers are.
        questions: what was asked.
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
    """Every number of a judging study's report: those of its first ask, and `beside` them those of others.

    Of batteries also whom the declared rules propose to exclude, as `proposed`.
    """
    first, *others = asks
    arrivals = arrivals_of([each.found for each in asks])
    found = signs([each.found.judged_once().judged for each in asks], manners)
    result = judging_figures(first.questions, first.found, arrivals, found, plan=plan)
    # A margin is declared for the score with which the report begins.
    without_margin = replace(plan or AnalysisPlan(), margin=None)
    beside = [
        judging_figures(each.questions, each.found, arrivals, found, plan=without_margin)
        | {"about": each.about, "required": each.required, "title": each.questions.title}
        for each in others
    ]
    return result | _proposed(asks) | ({"beside": beside} if beside else {})


def judging_figures(
    questions: QuestionSet,
    found: JudgedItems,
    arrivals: Arrivals | None = None,
    flagged: Mapping[str, str] | None = None,
    *,
    plan: AnalysisPlan | None = None,
) -> dict[str, Any]:
    """Everything that the judgments tell, ready to be stored as JSON.

    Args:
        questions: what was asked.
        found: the judgments.
        arrivals: in which order raters finished their batches; None: these are all judgments of the study.
        plan: which analysis every number is of, as in `figures.study_figures`. What is said of how the study
            was run, `raters_per_item` and `deviations`, counts all judgments.
        flagged: by worker who shows signs of carelessness or fraud, these.

    Returns:
        The keys of `figures.study_figures` that make sense here, and `majority`, `repetitions`,
        `breakdown`, `raters_per_item`, `deviations`, and `remarks` if there are any; of batteries
        `battery`. What a worker judged twice counts once, as they judged it first.
    """
    terms = Terms(protocol_named(found.design.protocol).level, found.noun)
    check_labels(questions, found.judged, found.occasion)
    arrivals = arrivals or arrivals_of([found])
    plan, everything, ordered = plan or AnalysisPlan(), found.in_order(), found.judged_once()
    terms, judged = replace(terms, margin=plan.margin), ordered.judged

    def scored(kept: BoolArray) -> dict[str, Any]:
        of = judged.where(kept)
        return {
            **scored_figures(questions, of, terms, arrivals),
            "majority": majority_scores(questions, of, terms),
            "repetitions": repetitions(questions, ordered.where(kept)),
            "breakdown": breakdown(questions, of, found.contexts, terms),
            **_battery(questions, everything, of.raters, terms),
        }

    return {
        "evaluation": found.evaluation.value,
        "about": found.about,
        "question_set": questions.key,
        "columns": columns_of(questions),
        "headline": questions.headline,
        "plane": plane_of(questions),
        **plan.stored(judged, scored),
        "by_reply": [],
        "texts": texts(questions, judged.where(plan.counted(judged))),
        "raters_per_item": raters_per_item(judged),
        "flagged": scores_without_flagged(questions, judged, flagged or {}, terms),
        **conformance(found.design, _conduct(questions, found, plan)),
        "method": method(terms),
        "level": terms.level,
        "margin": terms.margin,
        **_remarks(found),
    }


def _battery(
    questions: QuestionSet, found: JudgedItems, raters: Sequence[str], terms: Terms
) -> dict[str, Any]:
    """What is particular to batteries, of these raters; nothing where items come from the queue."""
    if found.battery is None:
        return {}
    kept = found.where(found.judged.by(raters))
    return {"battery": battery_figures(questions, found.battery, kept.judged, kept.occasion, terms)}


def _proposed(asks: Sequence[AskOfItems]) -> dict[str, Any]:
    """Whom the rules of a study with batteries propose to exclude, by all that it asks."""
    battery = asks[0].found.battery
    if battery is None:
        return {}
    ordered = [(ask.questions, ask.found.in_order()) for ask in asks]
    given = [AskOfBattery(questions, found.judged, found.occasion) for questions, found in ordered]
    return {"proposed": proposals(battery, given)}


def _remarks(found: JudgedItems) -> dict[str, Any]:
    """How often a system's judged items were remarked on; nothing of a study in which none was."""
    rows = [
        {"bot": system, "items": found.remarked[system], "fallbacks": found.fallbacks.get(system, 0)}
        for system in sorted(found.remarked)
    ]
    return {"remarks": rows} if rows else {}


def majority_scores(questions: QuestionSet, judged: Judged, terms: Terms = TERMS) -> list[dict[str, Any]]:
    """By system, the share of items of which more than half of the raters say so, in percent.

    None where a score is a mean of numbers: there is no majority between yes and no then.
    """
    if not all(score.is_percent for score in questions.scores):
        return []
    columns = [_majority_cells(questions, score, judged, terms) for score in questions.scores]
    return [
        {"bot": bot, "cells": [of_bots.get(bot, {"value": None}) for of_bots in columns]}
        for bot in judged.bots
    ]


def _majority_cells(
    questions: QuestionSet, score: Score, judged: Judged, terms: Terms
) -> dict[str, dict[str, Any]]:
    """By system, the score where each item counts once, with what most of its raters say."""
    _, first, item = np.unique(judged.reply_code, return_index=True, return_inverse=True)
    votes = [_votes(values, item, len(first)) for values in term_values(questions, score, judged.answers)]
    total: FloatArray = np.sum([np.where(np.isnan(share), np.nan, share > 0.5) for share in votes], axis=0)
    values = total / len(votes) if score.combine is Combine.MEAN else total
    items = judged.where(first)
    return cells(questions, score, of_bots(items, values, single_raters=False), terms)


def _votes(values: FloatArray, item: IntArray, items: int) -> FloatArray:
    """(items,) share of yes among the answers to each; NaN without any."""
    answered = ~np.isnan(values)
    counts = np.bincount(item[answered], minlength=items)
    yes = np.bincount(item[answered], values[answered], items)
    shares: FloatArray = np.divide(yes, counts, out=np.full(items, np.nan), where=counts > 0)
    return shares


def repetitions(questions: QuestionSet, found: JudgedItems) -> list[dict[str, Any]]:
    """By system with several runs over the contexts, mean and standard deviation of each score."""
    several = []
    for bot in found.judged.bots:
        mine = found.judged.bot == bot
        numbers = np.unique(found.repetition[mine]).tolist()
        if len(numbers) < 2:
            continue
        runs = [
            _scores(questions, found.judged.where(mine & (found.repetition == number))) for number in numbers
        ]
        spreads = [_spread([run[index] for run in runs]) for index in range(len(questions.scores))]
        several.append({"bot": bot, "runs": len(numbers), "cells": spreads})
    return several


def _scores(questions: QuestionSet, judged: Judged) -> list[float]:
    """Each score over these judgments of one system, as shown; NaN where nothing was answered."""
    of_labels = [score_values(questions, score, judged.answers) for score in questions.scores]
    known = [values[~np.isnan(values)] for values in of_labels]
    return [
        score.factor * float(values.mean()) if len(values) else float("nan")
        for score, values in zip(questions.scores, known, strict=True)
    ]


def _spread(values: Sequence[float]) -> dict[str, float | None]:
    known = [value for value in values if not np.isnan(value)]
    if not known:
        return {"value": None, "deviation": None}
    of_runs = spread(known)
    is_known = not isinstance(of_runs.deviation, Undefined)
    return {"value": of_runs.mean, "deviation": of_runs.deviation if is_known else None}  # type: ignore[dict-item]


def raters_per_item(judged: Judged) -> list[dict[str, int]]:
    """How many items have how many raters, most raters first; items that nobody judged are not here."""
    _, raters = np.unique(judged.reply_code, return_counts=True)
    counts = Counter(raters.tolist())
    return [{"raters": number, "items": counts[number]} for number in sorted(counts, reverse=True)]


def _conduct(questions: QuestionSet, found: JudgedItems, plan: AnalysisPlan) -> Judging:
    judged, battery = found.where(found.occasion == 1).judged, found.battery
    full = sum(r["items"] for r in raters_per_item(judged) if r["raters"] >= found.raters_wanted)
    return Judging(
        question_set=questions.key,
        question_set_title=questions.title,
        raters_wanted=found.raters_wanted,
        items=found.items,
        items_lacking_raters=0 if battery else found.items - full,
        languages=found.languages,
        primary=plan.primary.value,
        margin=plan.margin or 0,
        conversations={system: n for system, n in sorted(found.conversations_of.items()) if n},
        **_of_contexts(found),
        **(_facts(questions, found, battery) if battery else {}),
    )


def _of_contexts(found: JudgedItems) -> dict[str, Any]:
    """What a protocol may ask of the contexts whose responses are judged."""
    there = found.contexts.values()
    lengths = Counter(each.turns for each in there)
    known = last_turns()
    are_open = [each.last in known.get(each.name, ()) for each in there]
    every, some = "of Open MTB", "others, some of them of Open MTB"
    return {
        "contexts": len(found.contexts),
        "context_lengths": ", ".join(f"{n} turn{'s' * (n > 1)}: {lengths[n]}" for n in sorted(lengths)),
        "context_set": (every if all(are_open) else some) if any(are_open) else "others",
        "contexts_lacking": {
            system: len(found.contexts) - number
            for system, number in sorted(found.contexts_of.items())
            if number
        },
    }


def _facts(questions: QuestionSet, found: JudgedItems, battery: Battery) -> dict[str, Any]:
    """What a protocol may ask of batteries."""
    whole = [n for n in found.judged.labels_of_raters.values() if n >= battery.size]
    return {
        "has_batteries": True,
        "targets": len(battery.targets),
        "fillers": battery.fillers,
        "repeats": battery.repeats,
        "reasons": battery.reasons,
        "workers": len(whole),
        "exclusion_rules": len(battery.rules.sentences([questions])),
    }
