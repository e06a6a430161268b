"""The tables of a report for a paper, in LaTeX that needs no package."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

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


def tables(result: Result) -> dict[str, str]:
    """By name, the tables that the result has data for."""
    made = {"scores": _scores, "comparisons": _comparisons, "agreement": _agreement, "course": _course}
    there = [name for name in made if result["bots"] and (name != "course" or name in result)]
    return {name: made[name](result) for name in there}


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


def _scores(result: Result) -> str:
    titles = [escaped(column["title"]) for column in result["columns"]]
    counted = ["Contexts", "Items"] if result.get("task") == "judging" else ["Conversations", "Replies"]
    head = ["Bot", *titles, *counted, "Labels", "Workers"]
    rows = [
        [
            escaped(bot["bot"]),
            *map(_cell, bot["cells"]),
            *(str(bot[key]) for key in ("conversations", "turns", "labels", "workers")),
        ]
        for bot in result["bots"]
    ]
    notes = f"Shares in percent, ratings as means; in brackets {result['method']}, seed {result['seed']}."
    return _table("l" + "r" * (len(head) - 1), head, rows, notes)


def _cell(cell: Cell) -> str:
    if cell["value"] is None:
        return _UNKNOWN
    return f"{cell['value']:.1f}" + (f" [{cell['low']:.1f}, {cell['high']:.1f}]" if "low" in cell else "")


def _comparisons(result: Result) -> str:
    rows = [
        [
            escaped(pair["first"]),
            escaped(pair["second"]),
            _UNKNOWN if pair["difference"] is None else _cell(pair | {"value": pair["difference"]}),
            _UNKNOWN if pair["p_holm"] is None else f"{pair['p_holm']:.4f}",
        ]
        for pair in result["comparisons"]
    ]
    notes = "Differences in points of percent with 95 % intervals of each pair alone; p corrected after Holm."
    return _table("llrr", ["Bot", "Compared with", "Difference", "$p$"], rows, notes)


def _agreement(result: Result) -> str:
    rows = [
        [
            escaped(row["question"]),
            str(row["replies"]),
            str(row["labels"]),
            f"{row['percent']:.1f}" if row.get("percent") is not None else _UNKNOWN,
            _alpha(row),
        ]
        for row in result["agreement"]
    ]
    notes = "Over replies with labels of two workers or more; Krippendorff's alpha with its 95 % interval."
    return _table("lrrrr", ["Question", "Replies", "Labels", r"Agreement, \%", r"$\alpha$"], rows, notes)


def _alpha(row: Cell) -> str:
    if "alpha" not in row:
        return _UNKNOWN
    return f"{row['alpha']:.2f}" + (f" [{row['low']:.2f}, {row['high']:.2f}]" if "low" in row else "")


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
    counts = ["Bot", "Finished", "Under way", "Failed", "Faults"]
    head = [*counts, "Median, ms", r"95\,\%, ms", r"Repeating, \%", "Fallbacks"]
    return _table("l" + "r" * 8, head, rows, result["course"]["repetition_rule"])
