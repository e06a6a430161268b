"""The subcommand `turnwise papers`: which tables and figures of the papers can be reproduced, and how."""

import argparse
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import asdict

from turnwise.project.papers.computed_figures import COMPUTATIONS
from turnwise.project.papers.declarations import PAPERS, Entry, Paper, State


def main(arguments: Sequence[str]) -> int:
    """Print the tables and figures as text, Markdown or JSON."""
    options = _parsed(arguments)
    papers = [paper for paper in PAPERS if options.paper in (None, paper.key)]
    if options.json:
        print(json.dumps([_record(paper) for paper in papers], indent=2, ensure_ascii=False))
    elif options.markdown:
        print(markdown(papers), end="")
    else:
        for paper in papers:
            print("\n".join(_lines(paper)), flush=True)
    return 0


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="turnwise papers",
        description="Say which tables and figures of the four papers can be reproduced, and how.",
    )
    keys = [paper.key for paper in PAPERS]
    parser.add_argument("paper", nargs="?", choices=keys, metavar="PAPER", help=f"one of {', '.join(keys)}")
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print JSON for a program")
    form.add_argument("--markdown", action="store_true", help="print the page of the manual")
    return parser.parse_args(arguments)


def _computed(entry: Entry) -> str:
    if not entry.figure:
        return ""
    try:
        return COMPUTATIONS[entry.figure]()
    except ModuleNotFoundError as error:  # an extra that is not installed
        return f"not here, as {error.name} is not installed: pip install 'turnwise[models]'"


def _counts(papers: Sequence[Paper]) -> str:
    counts = Counter(entry.state for paper in papers for entry in paper.entries)
    return ", ".join(f"{counts[state]} {state}" for state in State)


def _record(paper: Paper) -> dict[str, object]:
    entries = [asdict(entry) | {"figure": _computed(entry)} for entry in paper.entries]
    return asdict(paper) | {"entries": entries}


def _lines(paper: Paper) -> Iterator[str]:
    yield paper.title
    yield f"  {_counts([paper])}"
    for entry in paper.entries:
        yield f"  {entry.name}: {entry.title}"
        yield f"    {entry.state}{f': {entry.how}' if entry.how else ''}"
        if computed := _computed(entry):
            yield f"    computed now: {computed}"
        if entry.note:
            yield f"    {entry.note}"
    yield ""


def markdown(papers: Sequence[Paper] = PAPERS) -> str:
    """Page of the manual."""
    lines = [
        "# What can be reproduced of the papers",
        "",
        "Every table and figure of the four papers that Turnwise follows. *Reproduced here*: from what is",
        "shipped. *With your data*: the command or study computes the same from data of yours. *Not",
        "reproducible*: the reason stands beside it. `turnwise papers` prints the same, `turnwise papers",
        "meena` one paper, `--json` the same for a program. What follows “Computed” is computed anew.",
        "",
        f"In all: {_counts(papers)}.",
    ]
    for paper in papers:
        lines += ["", f"## {paper.title}", "", f"In the manual: [{paper.page}]({paper.page}).", ""]
        lines += ["| | shows | can it be reproduced? | notes |", "|---|---|---|---|"]
        lines += [_row(entry) for entry in paper.entries]
    return "\n".join(lines) + "\n"


def _row(entry: Entry) -> str:
    how = "; ".join(
        f"`{part}`" if part.startswith("turnwise ") else part for part in entry.how.split("; ") if part
    )
    computed = _computed(entry)
    notes = " ".join(filter(None, [f"Computed: {computed}." if computed else "", entry.note]))
    state = f"{entry.state}: {how}" if how else entry.state
    return f"| {entry.name} | {entry.title} | {state} | {notes} |"
