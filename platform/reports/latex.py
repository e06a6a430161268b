"""The tables of a report for a paper, in LaTeX that needs no package."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.protocols.facts import Evaluation
from evaluation.report.analysis import Analysis
from evaluation.report.intervals import percent

Result = Mapping[str, Any]
Cell = Mapping[str, Any]

_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
    "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "`": r"\`{}",
    # After the end of a row these would be its options.
    "[": "{[}", "*": "{*}",
}  # fmt: skip
_UNKNOWN = "--"
_PAIR = ("Score", "System", "Compared with")
_BESIDE_ALPHA = {"gwet_ac1": "AC1", "icc_2_1": "ICC(2,1)", "fleiss": r"Fleiss' $\kappa$"}


def tables(result: Result) -> dict[str, str]:
    """By name, the tables that the result has data for."""
    if "headline" not in result:
        return {"measures": _measures(result)} if result["bots"] else {}
    compared = (
        {"preferences": _preferences, "strengths": _strengths}
        if "preferences" in result
        else {"comparisons": _comparisons}
    )
    made = {"scores": _scores, **compared, "agreement": _agreement}
    found = {name: make(result, result, result["primary"]) for name, make in made.items() if result["bots"]}
    if "course" in result and result["bots"]:
        found["course"] = _course(result)
    beside = result["other"]
    if beside and beside["bots"]:
        found |= {
            f"{name}-{beside['analysis'].replace('_', '-')}": make(beside, result, beside["analysis"])
            for name, make in made.items()
        }
    return found


def _named(analysis: str) -> str:
    whose = "all workers" if analysis == Analysis.ALL else "without the excluded workers"
    return f"Analysis: {whose}."


def escaped(text: str) -> str:
    """Text of others as LaTeX prints it: no command of theirs runs, no line of theirs begins a new one."""
    plain = re.sub(r"[\x00-\x1f\x7f\u2028\u2029]+", " ", text)
    return "".join(_SPECIAL.get(character, character) for character in plain)


def _table(alignment: str, head: Sequence[str], rows: Sequence[Sequence[str]], notes: str) -> str:
    lines = [" & ".join(row) + r" \\" for row in rows]
    return "\n".join(
        [
            f"% {' '.join(notes.split())}",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\hline",
            " & ".join(head) + r" \\",
            r"\hline",
            *lines,
            r"\hline",
            r"\end{tabular}",
            "",
        ]
    )


def _scores(part: Result, result: Result, analysis: str) -> str:
    titles = [escaped(column["title"]) for column in result["columns"]]
    counted = (
        ["Contexts", "Items"]
        if result.get("evaluation", Evaluation.INTERACTIVE) != Evaluation.INTERACTIVE
        else ["Conversations", "Replies"]
    )
    head = ["System", *titles, *counted, "Labels", "Workers"]
    rows = [
        [
            escaped(bot["bot"]),
            *map(_cell, bot["cells"]),
            *(str(bot[key]) for key in ("conversations", "turns", "labels", "workers")),
        ]
        for bot in part["bots"]
    ]
    notes = f"{_named(analysis)} Shares in percent, ratings as means; in brackets {result['method']}."
    return _table("l" + "r" * (len(head) - 1), head, rows, notes)


def _cell(cell: Cell) -> str:
    if cell["value"] is None:
        return _UNKNOWN
    interval = f" [{number(cell['low'])}, {number(cell['high'])}]" if "low" in cell else ""
    return number(cell["value"]) + interval


def number(value: float, digits: int = 1) -> str:
    """With a minus sign, not a hyphen, and no minus before zero."""
    shown = f"{round(value, digits) + 0.0:.{digits}f}"
    return f"$-${shown[1:]}" if shown.startswith("-") else shown


def _measures(result: Result) -> str:
    """Metrics of bots that talk with each other: a row for each metric, a column for each bot."""
    rows = [
        [escaped(each["title"]), escaped(each["encoder"] or _UNKNOWN), *map(_fine, each["cells"])]
        for each in result["columns"]
    ]
    head = ["Metric", "Encoder", *(escaped(bot["bot"]) for bot in result["bots"])]
    return _table("ll" + "r" * len(result["bots"]), head, rows, f"In brackets {result['method']}.")


def _fine(cell: Cell) -> str:
    if cell["value"] is None:
        return _UNKNOWN
    return number(cell["value"], 3) + (f" [{cell['low']:.3f}, {cell['high']:.3f}]" if "low" in cell else "")


def _comparisons(part: Result, result: Result, analysis: str) -> str:
    rows = [
        [
            escaped(pair["title"]),
            escaped(pair["first"]),
            escaped(pair["second"]),
            _UNKNOWN if pair["difference"] is None else _cell(pair | {"value": pair["difference"]}),
            _UNKNOWN if pair["effect"] is None else number(pair["effect"], 2),
            _in_digits(pair["odds_ratio"]),
            _odds(pair["mixed"]),
            _UNKNOWN if pair["p_holm"] is None else _p(pair["p_holm"]),
            _in_digits(pair["equal_within"], 1),
        ]
        for pair in part["comparisons"]
    ]
    notes = (
        f"{_named(analysis)} Differences in points with {percent(result['level'])} intervals of each pair "
        f"alone; d in standard deviations between conversations; odds ratios as counted, and by a logistic "
        f"mixed model; p corrected after Holm over the pairs of a score; equal within: the smallest margin "
        f"at which the two systems count as equivalent."
    )
    head = [*_PAIR, "Difference", "$d$", "Odds ratio", "Mixed model", "$p$", "Equal within"]
    return _table("lllrrrrrr", head, rows, notes)


def _in_digits(value: float | None, digits: int = 2) -> str:
    return _UNKNOWN if value is None else number(value, digits)


def _odds(found: Cell) -> str:
    if "odds_ratio" not in found:
        return _UNKNOWN
    return f"{number(found['odds_ratio'], 2)} [{number(found['low'], 2)}, {number(found['high'], 2)}]"


def _p(p: float) -> str:
    return "$<$ 0.001" if p < 0.001 else f"{p:.3f}"


def _preferences(part: Result, result: Result, analysis: str) -> str:
    rows = [
        [
            escaped(each["key"].capitalize()),
            escaped(row["first"]),
            escaped(row["second"]),
            *(str(row[key]) for key in ("wins", "losses", "ties")),
            _cell(row | {"value": row["lead"]}),
            _UNKNOWN if row["p_holm"] is None else _p(row["p_holm"]),
            f"{row['ambiguous']} of {row['items']}",
            _UNKNOWN if row["clear"] is None else _cell(row["clear"] | {"value": row["clear"]["lead"]}),
        ]
        for each in part["preferences"]
        for row in each["meetings"]
    ]
    notes = (
        f"{_named(analysis)} Judgments for the first system, for the second, and ties; lead: wins less "
        f"losses in points with its {percent(result['level'])} interval; p corrected after Holm over the "
        f"pairs of systems; ambiguous: as many raters for the one as for the other, ties aside; the lead "
        f"without these."
    )
    head = [
        "Question",
        "System",
        "Compared with",
        "Wins",
        "Losses",
        "Ties",
        "Lead",
        "$p$",
        "Ambiguous",
        "Without",
    ]
    return _table("lllrrrrrrr", head, rows, notes)


def _strengths(part: Result, result: Result, analysis: str) -> str:
    rows = [
        [escaped(each["key"].capitalize()), escaped(bot["bot"]), _strength(bot)]
        for each in part["preferences"]
        for bot in each["strengths"].get("bots", ())
    ]
    notes = (
        f"{_named(analysis)} Bradley-Terry strengths with ties after Davidson: log-odds that sum to 0, with "
        f"{percent(result['level'])} intervals."
    )
    return _table("llr", ["Question", "System", "Strength"], rows, notes)


def _strength(bot: Cell) -> str:
    ends = f" [{number(bot['low'], 2)}, {number(bot['high'], 2)}]" if "low" in bot else ""
    return number(bot["value"], 2) + ends


def _agreement(part: Result, result: Result, analysis: str) -> str:
    beside = [key for key in _BESIDE_ALPHA if any(row.get(key) is not None for row in part["agreement"])]
    rows = [
        [
            escaped(" ".join(filter(None, (row["question"], row.get("choice"))))),
            str(row["replies"]),
            str(row["labels"]),
            f"{row['percent']:.1f}" if row.get("percent") is not None else _UNKNOWN,
            _alpha(row),
            *(_in_digits(row.get(key)) for key in beside),
        ]
        for row in part["agreement"]
    ]
    notes = (
        f"{_named(analysis)} Over replies with labels of two workers or more; Krippendorff's alpha with its "
        f"{percent(result['level'])} interval."
    )
    head = ["Question", "Replies", "Labels", r"Agreement, \%", r"$\alpha$"]
    head += [_BESIDE_ALPHA[key] for key in beside]
    return _table("l" + "r" * (len(head) - 1), head, rows, notes)


def _alpha(row: Cell) -> str:
    if "alpha" not in row:
        return _UNKNOWN
    interval = f" [{number(row['low'], 2)}, {number(row['high'], 2)}]" if "low" in row else ""
    return number(row["alpha"], 2) + interval


def _course(result: Result) -> str:
    rows = [
        [
            escaped(bot["bot"]),
            *(str(bot[key]) for key in ("finished", "under_way", "bot_failed")),
            str(sum(fault["times"] for fault in bot["faults"])),
            *((str(bot["latency"][key]) if bot["latency"] else _UNKNOWN) for key in ("median_ms", "p95_ms")),
            _cell(bot["repetition"]) if "value" in bot["repetition"] else _UNKNOWN,
            str(bot.get("remarks", {}).get("fallbacks", 0)),
        ]
        for bot in result["course"]["bots"]
    ]
    counts = ["System", "Finished", "Under way", "Failed", "Faults"]
    head = [*counts, "Median, ms", r"95\,\%, ms", r"Repeating, \%", "Fallbacks"]
    return _table("l" + "r" * 8, head, rows, result["course"]["repetition_rule"])
