"""The subcommand `turnwise papers`: which tables and figures of the papers can be reproduced, and how.

Some figures are computed anew from the package's data, each within seconds.
"""

import argparse
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict

from turnwise.project.papers.declarations import PAPERS, Entry, Paper, State

_RATINGS = {
    "HRED": (55, 49, 55, 56),
    "VHRED": (46, 39, 36, 44),
    "VHCR": (53, 42, 39, 52),
}
"""Ratings by model, as printed in table A.4: baseline and EI on Cornell, baseline and EI on Reddit."""
_ROUNDING = 0.5


def count_parameters() -> str:
    """Size of the largest Meena, counted from its architecture."""
    from chatbots.meena.config import PRESETS
    from chatbots.meena.model import count_parameters as counted

    return f"{counted(PRESETS['meena-2.6b'])['total']:,} parameters (printed: 2.6 billion)"


def check_printed_averages() -> str:
    """Published SSA against the mean of the sensibleness and specificity printed beside it."""
    from evaluation.protocols import protocol_named

    within = total = 0
    for key in ("meena-interactive", "meena-static"):
        for row in protocol_named(key).published:
            scores = row.scores
            total += 1
            within += abs((scores["sensible"] + scores["specific"]) / 2 - scores["ssa"]) <= _ROUNDING
    return f"in {within} of {total} rows SSA is the mean of the two printed percentages"


def answer_generically() -> str:
    """GenericBot's replies to the shipped contexts."""
    from chatbots.base import Context
    from chatbots.registry import create_bot
    from chatbots.replies import Response
    from evaluation.open_mtb import read_open_mtb

    bot = create_bot("generic")
    contexts = [Context.from_texts(context.turns, seed=1) for context in read_open_mtb()]
    responses = [bot.respond([context])[0] for context in contexts]
    counts = Counter(each.text for each in responses if isinstance(each, Response))
    replies = ", ".join(f"“{text}” {count}" for text, count in counts.most_common())
    return f"replies to the {len(contexts):,} contexts of Open MTB: {replies}"


def add_up_ratings() -> str:
    """Ratings of the interactive evaluation, and the degrees of freedom that follow."""
    ratings = [count for counts in _RATINGS.values() for count in counts]
    total = sum(ratings)
    return (
        f"{total} ratings (the paper's text: 565); the error of its analysis of variance over "
        f"{len(ratings)} bots has {total - len(ratings)} degrees of freedom, as printed"
    )


def count_grammar() -> str:
    """Size of the shipped grammar."""
    from chatbots.identity.grammar.notation import load

    grammar = load()
    return f"{len(grammar.rules)} rules, {len(grammar.symbols()):,} symbols (printed: over 150, about 2,000)"


def sum_up_replies() -> str:
    """Groups of the published replies, added up from the printed kinds."""
    from chatbots.identity.audit import PUBLISHED
    from chatbots.identity.replies import GROUPS, Group

    confirmed = {
        system: sum(count for kind, count in counts.items() if GROUPS[kind] is Group.CONFIRMS)
        for system, counts in PUBLISHED.items()
    }
    shares = ", ".join(f"{system} {count}" for system, count in confirmed.items())
    return f"confirmations of 100, added up from the printed kinds: {shares}"


def measure_rules() -> str:
    """Accuracy of the audit's rules on held-back labels."""
    from chatbots.identity.rule_accuracy import held_back_accuracy

    accuracy = held_back_accuracy()
    return (
        f"our rules agree with {accuracy.replies} held-back labels with κ {accuracy.confirms.value:.2f} on "
        f"“confirms” and {accuracy.kinds.value:.2f} on the 13 kinds"
    )


COMPUTATIONS: Mapping[str, Callable[[], str]] = {
    each.__name__: each
    for each in (
        count_parameters,
        check_printed_averages,
        answer_generically,
        add_up_ratings,
        count_grammar,
        sum_up_replies,
        measure_rules,
    )
}


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
