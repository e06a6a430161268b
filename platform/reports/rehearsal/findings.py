"""Whether a report says what was planted, in words. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from evaluation.interval import Undefined
from reports.rehearsal.planted import HONEST, Plan
from reports.rehearsal.simulated import Work

ENOUGH_FOR_A_BOT = 15
"""Workers who talk, of all kinds: in 1,000 rehearsals with as many nothing could not be told
(docs/rehearsal.md)."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One comparison: a sentence, and whether it came out as it should; None if the data cannot tell."""

    holds: bool | None
    words: str


def findings(plan: Plan, done: Sequence[Work], result: Mapping[str, Any]) -> list[Finding]:
    """Everything that was planted, compared with the report.

    Args:
        plan: what was dealt.
        done: what came of each worker.
        result: the stored report.
    """
    columns = result["columns"]
    tables = {name: {row["bot"]: row for row in rows} for name, rows in _tables(result).items()}
    found = [] if plan.alone else [_raters(plan, result)]
    for system in plan.systems:
        row = tables["bots"].get(system)
        if plan.alone:
            found.append(_course(system, done, result))
        found.append(_labels(plan, system, columns, row))
        found += _scores(f"{system}, all workers", plan.means(system), columns, row)
        if "majority" in tables:
            majority = tables["majority"].get(system)
            found += _scores(f"{system}, by strict majority", plan.majorities(system), columns, majority)
        if "without" in tables:
            without = tables["without"].get(system)
            whose = f"{system}, without the workers set aside"
            found += _scores(whose, plan.means(system, HONEST), columns, without)
    return [*found, *_agreement(plan, result)]


def _tables(result: Mapping[str, Any]) -> dict[str, Any]:
    """The report's tables of scores that are there."""
    without = (result["without"] or {}).get("bots")
    tables = {"bots": result["bots"], "majority": result.get("majority"), "without": without}
    return {name: rows for name, rows in tables.items() if rows is not None}


# --- counts: nothing is lost and nothing is made up, so they are equal, not near ---------------------------


def _course(system: str, done: Sequence[Work], result: Mapping[str, Any]) -> Finding:
    of_bot = [work for work in done if work.system == system]
    course = next(each for each in result["course"]["bots"] if each["bot"] == system)
    open_ = sum(not (work.finished or work.gave_up) for work in of_bot)
    planted = (sum(work.finished for work in of_bot), open_, sum(work.gave_up for work in of_bot))
    reported = (course["finished"], course["under_way"], course["bot_failed"])
    return Finding(
        planted == reported,
        f"{system}: the report counts {reported[0]} finished, {reported[1]} open and {reported[2]} failed "
        f"conversations; the workers had {planted[0]}, {planted[1]} and {planted[2]}.",
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
    yes = {
        question.key: sum(answers.get(question.key) is True for answers in given)
        for question in plan.questions.questions
    }
    shown = {
        column["key"]: round(cell["value"] * counted / 100)
        for column, cell in zip(columns, row["cells"] if row else [], strict=bool(row))
        if column["key"] in yes
    }
    return Finding(
        len(given) == counted and (yes == shown or not given),
        f"{system}: the report rests on {counted} labels; {len(given)} were given, "
        + ", ".join(f"{times} of them {key}" for key, times in yes.items())
        + ".",
    )


# --- scores and agreement: the planted value lies in the interval -------------------------------------------


def _scores(what: str, planted: Mapping[str, float], columns: Any, row: Any) -> Iterator[Finding]:
    if not planted or row is None:
        yield Finding(None, f"{what}: no labels, so nothing can be recovered.")
        return
    for column, cell in zip(columns, row["cells"], strict=True):
        reason = cell.get("undefined", "no interval.")
        yield _inside(f"{column['title']} of {what}", planted[column["key"]], cell["value"], cell, reason, 1)


def _agreement(plan: Plan, result: Mapping[str, Any]) -> Iterator[Finding]:
    for question, row in zip(plan.questions.questions, result["agreement"], strict=True):
        planted = plan.alpha(question.key)
        if not isinstance(planted, Undefined):
            reason = row.get("undefined") or row.get("no_interval", "")
            yield _inside(
                f"Krippendorff's alpha of “{question.wording}”", planted, row.get("alpha"), row, reason, 2
            )


def _inside(
    what: str, planted: float, reported: float | None, ends: Mapping[str, Any], reason: str, digits: int
) -> Finding:
    if reported is None or "low" not in ends:
        return Finding(None, f"{what}: planted {planted:.{digits}f}, and the report says: {reason}")
    holds = ends["low"] <= planted <= ends["high"]
    return Finding(
        holds,
        f"{what}: planted {planted:.{digits}f}, reported {reported:.{digits}f} "
        f"({ends['low']:.{digits}f} to {ends['high']:.{digits}f}): {'inside' if holds else 'OUTSIDE'}.",
    )


def _more(plan: Plan) -> str:
    """What helps where there is too little to tell."""
    if not plan.alone:
        return "Use more workers, or add items to the study."
    enough = ENOUGH_FOR_A_BOT * len(plan.systems)
    return f"Use more workers; {enough} nearly always suffice, {ENOUGH_FOR_A_BOT} for each chatbot."


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rehearsal found."""

    findings: Sequence[Finding]
    plan: Plan

    @property
    def holds(self) -> bool:
        """Whether the report recovers everything that was planted."""
        return all(finding.holds for finding in self.findings)

    @property
    def verdict(self) -> str:
        """What came of the rehearsal, in a sentence."""
        wrong = sum(finding.holds is False for finding in self.findings)
        untold = sum(finding.holds is None for finding in self.findings)
        if wrong:
            return f"{wrong} of {len(self.findings)} findings are not what was planted."
        if untold:
            return f"{untold} of {len(self.findings)} findings cannot be told. {_more(self.plan)}"
        told = len(self.findings)
        return f"The report recovers what was planted: {told} of {told} findings hold."

    @property
    def agreement(self) -> str:
        """Why nothing is said about alpha; empty if it is."""
        alphas = [self.plan.alpha(question.key) for question in self.plan.questions.questions]
        if not all(isinstance(alpha, Undefined) for alpha in alphas):
            return ""
        if self.plan.alone:
            return (
                "Agreement: each reply was judged by the one worker who talked, as in the paper, so there is "
                "no alpha to recover in this study."
            )
        return "Agreement: no item was judged by two workers, so there is no alpha to recover in this study."
