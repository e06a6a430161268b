"""Whether a report says what was planted, in words. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from reports.rehearsal.planted import HONEST, Kind, Plan, in_report
from reports.rehearsal.simulated import Work

FINISHING = tuple(kind for kind in Kind if kind is not Kind.LEAVING)


@dataclass(frozen=True, slots=True)
class Finding:
    """One comparison: a sentence, and whether it came out as it should; None if the data cannot tell."""

    holds: bool | None
    words: str


def findings(
    plan: Plan, done: Sequence[Work], result: Mapping[str, Any], names: Mapping[str, str]
) -> list[Finding]:
    """Everything that was planted, compared with the report.

    Args:
        plan: what was dealt.
        done: what came of each worker.
        result: the stored report.
        names: by name of a bot, what the report calls it.
    """
    without = {row["bot"]: row for row in (result["without"] or {"bots": []})["bots"]}
    rows = {row["bot"]: row for row in result["bots"]}
    columns = result["columns"]
    found: list[Finding] = []
    for bot in plan.bots:
        name = names[bot]
        found += _counts(plan, bot, name, done, result, rows.get(name))
        found += _scores(plan, bot, name, FINISHING, columns, rows.get(name), "all workers")
        if without:
            found += _scores(
                plan, bot, name, HONEST, columns, without.get(name), "careful workers, the others set aside"
            )
    return found


def _counts(
    plan: Plan, bot: str, name: str, done: Sequence[Work], result: Mapping[str, Any], row: Any
) -> Iterator[Finding]:
    """Nothing is lost and nothing is made up: counts are equal, not near."""
    of_bot = [work for work in done if work.bot == bot]
    course = next(each for each in result["course"]["bots"] if each["bot"] == name)
    open_ = sum(not (work.finished or work.gave_up) for work in of_bot)
    planted = (sum(work.finished for work in of_bot), open_, sum(work.gave_up for work in of_bot))
    reported = (course["finished"], course["under_way"], course["bot_failed"])
    yield Finding(
        planted == reported,
        f"{name}: the report counts {reported[0]} finished, {reported[1]} open and {reported[2]} failed "
        f"conversations; the workers had {planted[0]}, {planted[1]} and {planted[2]}.",
    )
    given, counted = plan.labels(bot, FINISHING), row["labels"] if row else 0
    yes = {question.key: plan.recorded(bot, question.key) for question in plan.questions.questions}
    shown = {
        column["key"]: round(cell["value"] * counted / 100)
        for column, cell in zip(result["columns"], row["cells"] if row else [], strict=bool(row))
        if column["key"] in yes
    }
    yield Finding(
        given == counted and (yes == shown or not given),
        f"{name}: the report rests on {counted} labels; {given} were given, "
        + ", ".join(f"{times} of them {key}" for key, times in yes.items())
        + ".",
    )


def _scores(
    plan: Plan, bot: str, name: str, kinds: Sequence[Kind], columns: Any, row: Any, whose: str
) -> Iterator[Finding]:
    planted = in_report(plan.questions, plan.planted(bot, kinds))
    if not planted or row is None:
        yield Finding(None, f"{name}, {whose}: no labels, so nothing can be recovered. Use more workers.")
        return
    for column, cell in zip(columns, row["cells"], strict=True):
        yield _score(f"{name}, {column['title']}, {whose}", planted[column["key"]], cell)


def _score(what: str, planted: float, cell: Mapping[str, Any]) -> Finding:
    if "low" not in cell:
        return Finding(None, f"{what}: {cell.get('undefined', 'no interval')} Use more workers.")
    holds = cell["low"] <= planted <= cell["high"]
    verb = "holds" if holds else "does not hold"
    interval = f"the interval {cell['low']:.1f} to {cell['high']:.1f}"
    return Finding(holds, f"{what}: {interval} {verb} the planted {planted:.1f}.")


def agreement_in_words(result: Mapping[str, Any]) -> str:
    """What a rehearsal can say about alpha."""
    if any(row["replies"] for row in result["agreement"]):
        return "Agreement: replies have labels of several workers, which was not planted here."
    return (
        "Agreement: each reply was judged by the one worker who talked, as in the paper, so there is no "
        "alpha to recover in this study."
    )


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a rehearsal found, and what it has to say about agreement."""

    findings: Sequence[Finding]
    agreement: str

    def verdict(self) -> str:
        """Why the rehearsal did not come out, in a sentence; empty if it did."""
        wrong = sum(finding.holds is False for finding in self.findings)
        untold = sum(finding.holds is None for finding in self.findings)
        if wrong:
            return f"{wrong} of {len(self.findings)} findings are not what was planted."
        if untold:
            return f"{untold} of {len(self.findings)} findings cannot be told. Use more workers."
        return ""
