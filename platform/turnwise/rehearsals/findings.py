"""Compare a report with the injected effects and describe each result in a sentence. Pure."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import Any

import numpy as np

from evaluation.questions import Kind, Question, coded_answers, is_same, score_values
from evaluation.report.figures import coded_questions
from evaluation.report.label_columns import Analysis, figures_of, of_all
from evaluation.statistics.interval import Undefined
from evaluation.statistics.pairwise import expected_strengths
from turnwise.rehearsals import expected_results
from turnwise.rehearsals.injected_effects import HONEST, Answers, Plan
from turnwise.rehearsals.simulated_answers import answer_rates, possible_answers
from turnwise.rehearsals.simulated_worker import EVERYBODY, SelfReports
from turnwise.rehearsals.simulation import Work

OUTSIDE = "OUTSIDE"
ENOUGH_FOR_A_BOT = 15
"""Workers of all kinds for each bot: with this many, 1,000 rehearsals left no finding undecided
(docs/rehearsal.md)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One comparison: a sentence, and whether it holds; None if the data are too few to decide.

    For a value that has to lie in an interval, `off` is its distance from the reported value, in units of the
    interval's half on that side: 1 at the interval's end.
    """

    holds: bool | None
    words: str
    off: float | None = None


def findings(plan: Plan, done: Sequence[Work], result: Mapping[str, Any]) -> list[Finding]:
    """Compare every injected effect with the report.

    Args:
        plan: the dealt answers.
        done: the work of each worker.
        result: the stored report.
    """
    columns = result["columns"]
    tables = {name: {row["bot"]: row for row in rows} for name, rows in _tables(result).items()}
    found = [] if plan.alone else [_raters(plan, result)]
    for system in plan.systems:
        row = tables["bots"].get(system)
        if "course" in result:
            found.append(_course(system, done, result))
        found.append(_labels(plan, system, columns, row))
        if system in plan.rare:
            continue
        found += _scores(
            f"{system}, all workers", expected_results.expected_means(plan, system), columns, row
        )
        if "majority" in tables:
            majority = tables["majority"].get(system)
            injected = expected_results.expected_majorities(plan, system)
            found += _scores(f"{system}, by strict majority", injected, columns, majority)
        if "without" in tables:
            without = tables["without"].get(system)
            subject = f"{system}, without the excluded workers"
            found += _scores(subject, expected_results.expected_means(plan, system, HONEST), columns, without)
    everybody = of_all(result)
    return [*found, *_agreement(plan, everybody), *_strengths(plan, everybody)]


def findings_for_all_asks(
    plan: Plan, beside: Sequence[Plan], done: Sequence[Work], result: Mapping[str, Any]
) -> list[Finding]:
    """Compare the report for all asks of a study: the first plan, and the further ones."""
    found = findings(plan, done, result)
    for each, figures in zip(beside, result.get("beside", ()), strict=True):
        found += [
            replace(finding, words=f"{figures['title']}. {finding.words}")
            for finding in findings(each, done, figures)
        ]
    return found


LEVEL = 0.95
"""Confidence level of each interval of a report, and of all findings together."""


def allow_chance_misses(found: Sequence[Finding]) -> list[Finding]:
    """Let findings hold whose value lies outside its interval by no more than chance explains.

    Each interval misses one value in twenty, so a correct report with forty of them would seldom pass. With
    intervals widened to Šidák's (1967) level, all hold together 95 times in 100.
    """
    intervals = sum(finding.off is not None for finding in found)
    if not intervals:
        return list(found)
    widest = _quantile(LEVEL ** (1 / intervals)) / _quantile(LEVEL)
    chance = f"just outside, as one of {intervals} may be by chance"
    return [
        replace(finding, holds=True, words=finding.words.replace(OUTSIDE, chance))
        if finding.off is not None and 1 < finding.off <= widest
        else finding
        for finding in found
    ]


def _quantile(level: float) -> float:
    return NormalDist().inv_cdf((1 + level) / 2)


def _tables(result: Mapping[str, Any]) -> dict[str, Any]:
    """The tables of scores that the report has."""
    without = figures_of(result, Analysis.WITHOUT_EXCLUDED) or {}
    everybody = of_all(result)
    tables = {
        "bots": everybody["bots"],
        "majority": everybody.get("majority") or None,  # none where all scores are means of numbers
        "without": without.get("bots"),
    }
    return {name: rows for name, rows in tables.items() if rows is not None}


# --- counts must be equal: no label is lost or invented -----------------------------------------------------


def _course(system: str, done: Sequence[Work], result: Mapping[str, Any]) -> Finding:
    course = next(each for each in result["course"]["bots"] if each["bot"] == system)
    held: dict[str, list[Work]] = {}
    for work in done:
        if work.system == system:
            held.setdefault(work.work_id, []).append(work)
    finished = sum(any(work.finished for work in of_one) for of_one in held.values())
    failed = sum(any(work.gave_up for work in of_one) for of_one in held.values())
    left = sum(any(work.was_left for work in of_one) for of_one in held.values())
    injected = finished, len(held) - finished - failed - left, failed
    reported = (course["finished"], course["under_way"], course["bot_failed"])
    return Finding(
        injected == reported,
        f"{system}: the report counts {reported[0]} finished, {reported[1]} open and {reported[2]} failed "
        f"conversations; the workers had {injected[0]}, {injected[1]} and {injected[2]}.",
    )


def _raters(plan: Plan, result: Mapping[str, Any]) -> Finding:
    given = Counter(map(len, plan.recorded.values()))
    reported = {row["raters"]: row["items"] for row in result["raters_per_item"]}
    return Finding(
        dict(given) == reported,
        f"The report counts {_items(reported)}; the workers judged {_items(given)}.",
    )


def _items(counts: Mapping[int, int]) -> str:
    each = [f"{counts[raters]} items by {raters}" for raters in sorted(counts, reverse=True)]
    return ", ".join(each) or "none"


def _labels(plan: Plan, system: str, columns: Any, row: Any) -> Finding:
    given, counted = plan.labels(system), row["labels"] if row else 0
    means = _counted(plan, given)
    shown = [cell["value"] for cell in row["cells"]] if row else []
    counts = ", ".join(
        f"{column['title']} {'unknown' if mean is None else f'{mean:.1f}'}"
        for column, mean in zip(columns, means, strict=True)
    )
    return Finding(
        len(given) == counted and (not given or _are_equal(means, shown)),
        f"{system}: the report rests on {counted} labels; {len(given)} were given, and counted one by one "
        f"they say {counts}.",
    )


def _counted(plan: Plan, given: Sequence[Answers]) -> list[float | None]:
    """Each score over these answers, as shown; None if there is no answer."""
    asked = coded_questions(plan.questions)
    columns = {each.key: coded_answers(each, [answers.get(each.key) for answers in given]) for each in asked}
    found = []
    for score in plan.questions.scores:
        values = score_values(plan.questions, score, columns)
        known = values[~np.isnan(values)]
        found.append(score.factor * float(known.mean()) if len(known) else None)
    return found


def _are_equal(means: Sequence[float | None], shown: Sequence[float | None]) -> bool:
    """True if all values are equal up to the last digits, which depend on the order of a sum."""
    return all(
        mean == each if mean is None or each is None else abs(mean - each) < 1e-6
        for mean, each in zip(means, shown, strict=True)
    )


# --- scores and agreement: the injected value must lie in the interval --------------------------------------


def _scores(what: str, injected: Mapping[str, float], columns: Any, row: Any) -> Iterator[Finding]:
    if not injected or row is None:
        yield Finding(None, f"{what}: no labels, so nothing can be recovered.")
        return
    for column, cell in zip(columns, row["cells"], strict=True):
        if column["key"] not in injected:
            continue
        reason = cell.get("undefined", "no interval.")
        yield compare_with_interval(
            f"{column['title']} of {what}", injected[column["key"]], cell["value"], cell, reason, 1
        )


def _agreement(plan: Plan, result: Mapping[str, Any]) -> Iterator[Finding]:
    rows = {(row["key"], row.get("choice", "")): row for row in result["agreement"]}
    for (key, choice), injected in expected_results.expected_alphas(plan).items():
        row = rows[key, choice]
        if not isinstance(injected, Undefined):
            reason = row.get("undefined") or row.get("no_interval", "")
            of = f"“{' '.join(filter(None, (row['question'], choice)))}”"
            yield compare_with_interval(
                f"Krippendorff's alpha of {of}", injected, row.get("alpha"), row, reason, 2
            )


def _strengths(plan: Plan, result: Mapping[str, Any]) -> Iterator[Finding]:
    """For pairs, compare the strengths with those that explain the injected wins, losses and ties."""
    for each in result.get("preferences", ()):
        rows = {bot["bot"]: bot for bot in each["strengths"].get("bots", ())}
        met = {
            (pair["first"], pair["second"]): expected_results.expected_outcomes(
                plan, pair["bot"], each["key"]
            )
            for pair in each["meetings"]
        }
        for bot, injected in expected_strengths(met).items():
            row = rows.get(bot, each["strengths"])
            yield compare_with_interval(
                f"Strength of {bot}, “{each['question']}”", injected, row.get("value"), row,
                row.get("undefined", "no interval."), 2,
            )  # fmt: skip


def compare_with_interval(
    what: str, injected: float, reported: float | None, ends: Mapping[str, Any], reason: str, digits: int
) -> Finding:
    """Check that an injected value lies between `low` and `high`; without an interval, give the reason."""
    if reported is None or "low" not in ends:
        return Finding(None, f"{what}: injected {injected:.{digits}f}, and the report says: {reason}")
    holds = ends["low"] <= injected <= ends["high"]
    gap = injected - reported
    side = ends["high"] - reported if gap > 0 else reported - ends["low"]
    return Finding(
        holds,
        f"{what}: injected {injected:.{digits}f}, reported {reported:.{digits}f} "
        f"({ends['low']:.{digits}f} to {ends['high']:.{digits}f}): {'inside' if holds else OUTSIDE}.",
        off=abs(gap) / side if side > 0 else math.inf if gap else 0.0,
    )


def _advice(plan: Plan | None) -> str:
    """Advice for findings that too few data leave undecided."""
    if plan is None or not plan.alone:
        return "Use more workers, or add items to the study."
    enough = ENOUGH_FOR_A_BOT * len(plan.systems)
    return f"Use more workers; {enough} nearly always suffice, {ENOUGH_FOR_A_BOT} for each chatbot."


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a rehearsal.

    Attributes:
        findings: all comparisons.
        plan: dealt answers of the report's first ask; None if nothing is judged.
        more: advice for undecided findings, if it is not the usual one.
    """

    findings: Sequence[Finding]
    plan: Plan | None
    more: str = ""

    @property
    def holds(self) -> bool:
        """True if the report recovers every injected effect."""
        return all(finding.holds for finding in self.findings)

    @property
    def verdict(self) -> str:
        """The result of the rehearsal in a sentence."""
        wrong = sum(finding.holds is False for finding in self.findings)
        untold = sum(finding.holds is None for finding in self.findings)
        if wrong:
            return f"{wrong} of {len(self.findings)} findings differ from the injected effects."
        if untold:
            return (
                f"{untold} of {len(self.findings)} findings cannot be told. {self.more or _advice(self.plan)}"
            )
        number = len(self.findings)
        if self.plan is None:
            return f"The study shows the injected effects: {number} of {number} findings hold."
        return f"The report recovers the injected effects: {number} of {number} findings hold."

    @property
    def agreement(self) -> str:
        """Reason why the findings lack alpha; empty if they have it."""
        if self.plan is None or not all(
            isinstance(alpha, Undefined) for alpha in expected_results.expected_alphas(self.plan).values()
        ):
            return ""
        if self.plan.alone:
            return (
                "Agreement: each reply was judged by one worker only, who talked, as in the paper, so there "
                "is no alpha to recover in this study."
            )
        return "Agreement: no item was judged by two workers, so there is no alpha to recover in this study."


FAR = 3.3
"""Standard errors from the injected share that one correct report in a thousand exceeds by chance."""


def findings_about(people: SelfReports, result: Mapping[str, Any]) -> list[Finding]:
    """Compare the workers' answers about themselves with the report."""
    found: list[Finding] = []
    for table in result.get("people", ()):
        plan = people.plans[table["question_set"]]
        answers = plan.labels(EVERYBODY)
        found.append(_counts(plan, table, answers, people.left_out[table["question_set"]]))
        if answers:
            found += _shares(plan, table)
    return found


def _counts(plan: Plan, table: Mapping[str, Any], labels: Sequence[Answers], left_out: int) -> Finding:
    """Compare counts, which must be equal: no answer is lost or invented."""
    alike = all(
        _choice_counts(question, labels) == [choice["answers"] for choice in figures.get("choices", ())]
        for question, figures in zip(plan.questions.questions, table["questions"], strict=True)
    )
    how = (
        "each answer as often as the report says" if alike else "NOT each answer as often as the report says"
    )
    return Finding(
        alike and (table["answers"], table["left_out"]) == (len(labels), left_out),
        f"{table['title']}: the report counts {table['answers']} answers, and {table['left_out']} who "
        f"left them out; the workers gave {len(labels)}, {how}, and {left_out} left them out.",
    )


def _choice_counts(question: Question, labels: Sequence[Answers]) -> list[int]:
    """Number of answers with each choice; empty for free text."""
    if question.kind is Kind.TEXT:
        return []
    answers = [each[question.key] for each in labels if question.key in each]
    chosen = [each for answer in answers for each in (answer if isinstance(answer, list) else [answer])]
    return [sum(is_same(choice.value, each) for each in chosen) for choice in question.choices]


def _shares(plan: Plan, table: Mapping[str, Any]) -> Iterator[Finding]:
    """For each required question, check the choice whose share is farthest from the injected one."""
    injected = answer_rates(plan.questions, plan.systems.index(EVERYBODY))
    for question, share, figures in zip(plan.questions.questions, injected, table["questions"], strict=True):
        if question.asked_if or not question.required or question.kind is Kind.TEXT:
            continue
        number = figures["answers"]
        gaps = []
        for choice, of_choice in zip(question.choices, figures["choices"], strict=True):
            wanted = sum(
                chance
                for answer, chance in zip(possible_answers(question), share, strict=True)
                if any(
                    is_same(choice.value, each) for each in (answer if isinstance(answer, list) else [answer])
                )
            )
            error = math.sqrt(wanted * (1 - wanted) / number)
            gaps.append(
                (abs(of_choice["share"] / 100 - wanted) - FAR * error, choice.label, wanted, of_choice)
            )
        over, label, wanted, of_choice = max(gaps, key=lambda gap: gap[0])
        yield Finding(
            over <= 0,
            f"“{label}” to “{figures['question']}”: injected {100 * wanted:.1f}\u00a0%, "
            f"reported {of_choice['share']:.1f}\u00a0%.",
        )
