"""Methods paragraph for a paper: how a study was done and analysed, in English. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date
from typing import Any

from evaluation.files.writing import escaped, figure
from evaluation.protocols.facts import Evaluation
from evaluation.questions import QuestionSet
from evaluation.report.label_columns import PILOT, Analysis

Result = Mapping[str, Any]
_CITED = {"turnwise": "(version {version})", "cameron2011": "(Cameron, Gelbach and Miller, 2011)"}
_MARK = re.compile(rf"\[@({'|'.join(_CITED)})\]")
_BIBTEX = """\
@software{{turnwise,
  title = {{Turnwise: human evaluation of open-domain chatbots}},
  author = {{{{The Turnwise maintainers}}}},
  version = {{{version}}},
}}
@article{{cameron2011,
  title = {{Robust Inference with Multiway Clustering}},
  author = {{Cameron, A. Colin and Gelbach, Jonah B. and Miller, Douglas L.}},
  journal = {{Journal of Business \\& Economic Statistics}},
  volume = {{29}}, number = {{2}}, year = {{2011}},
}}
"""


@dataclass(frozen=True, slots=True)
class Method:
    """The paragraph as plain text and as LaTeX, with its references as BibTeX."""

    text: str
    latex: str
    bibtex: str


def method(
    result: Result, *, task: str, questions: QuestionSet, protocol: Mapping[str, str], of: str
) -> Method:
    """Write the methods paragraph of a study.

    Args:
        result: the stored report.
        task: the workers' task, in a few words.
        questions: the first question set of the report.
        protocol: settings of the study, by aspect.
        of: the version of Turnwise.
    """
    text = " ".join([*_conducted(result, task, questions, protocol), *_analysed(result)])
    parts = _MARK.split(text)  # every second part is the key of a reference
    plain = [_CITED[part].format(version=of) if n % 2 else part for n, part in enumerate(parts)]
    latex = [rf"\cite{{{part}}}" if n % 2 else escaped(part) for n, part in enumerate(parts)]
    return Method("".join(plain), "".join(latex), _BIBTEX.format(version=of))


def _conducted(result: Result, task: str, questions: QuestionSet, protocol: Mapping[str, str]) -> list[str]:
    raters, bots = result["raters"], result["bots"]
    of = f"{len(bots):,} {_kind(result, len(bots))} ({', '.join(_line(bot['bot']) for bot in bots)})"
    how = "; ".join(f"{aspect.lower()}: {_line(says)}" for aspect, says in protocol.items())
    source = f" ({_line(questions.source)})" if questions.source else ""
    return [
        f"The study was run on Turnwise [@turnwise]; its task was: {task.lower()}.",
        f"{_counted(raters['workers'], 'worker')} gave {_counted(raters['labels'], 'label')} of {of}.",
        *_dated(raters),
        *_judged_of_each(result),
        f"They answered the questions “{_line(questions.title)}”{source}.",
        *[_further_questions(each) for each in result.get("beside", ()) if each["bots"]],
        *([f"Protocol: {how}."] if how else []),
        *_contexts(result.get("contexts")),
    ]


def _dated(raters: Result) -> list[str]:
    """State the days of the first and the last label; empty if unknown."""
    if "first_day" not in raters:
        return []
    first, last = (_day(raters[key]) for key in ("first_day", "last_day"))
    when = f"on {first}" if first == last else f"from {first} to {last}"
    undated = f", but for {_counted(raters['undated'], 'label')} from files" if raters["undated"] else ""
    return [f"The labels were given {when} (days in UTC){undated}."]


def _day(iso: str) -> str:
    day = date.fromisoformat(iso)
    return f"{day.day} {day:%B %Y}"


def _judged_of_each(result: Result) -> list[str]:
    """State the number of scored conversations or contexts of each system; empty if there is none."""
    counts = {bot["bot"]: bot.get("conversations") for bot in result["bots"]}
    if result.get("about") == "context" or not all(counts.values()):
        return []
    of_each = "; ".join(f"{_line(name)}, {count:,}" for name, count in counts.items())
    return [f"{_several(result).capitalize()} scored: {of_each}."]


def _further_questions(result: Result) -> str:
    """State a further question set with its numbers of workers and labels."""
    raters, labels = result["raters"], _counted(result["raters"]["labels"], "label")
    sentence = f"{_counted(raters['workers'], 'worker')} gave {labels}"
    return f"Asked beside were the questions “{_line(result['title'])}”, to which {sentence}."


def _contexts(counts: Mapping[str, int] | None) -> list[str]:
    """Describe the contexts of pairs."""
    if not counts:
        return []
    unknown, items = counts["unknown"], counts["items"]
    marked = (
        f"{unknown:,} of {items:,} items have one with unknown words" if unknown else "none has unknown words"
    )
    return [f"Contexts have at least {_counted(counts['fewest_words'], 'word')}, and {marked}."]


def _line(text: str) -> str:
    """Reduce untrusted text to one line without citation marks."""
    return " ".join(text.split()).replace("[@", "[ @")


def _drawn(result: Result) -> list[str]:
    """How items were drawn for people, if they were."""
    drawn = result.get("drawn")
    if not drawn:
        return []
    return [
        f"Of {drawn['items']:,} items, {drawn['drawn']:,} were drawn for people with known probabilities "
        f"that rise with the uncertainty of the machine judge “{drawn['judge']}”; each item counts by 1 / "
        f"its probability."
    ]


def _analysed(result: Result) -> list[str]:
    sentences = [
        *_drawn(result),
        _primary(result),
        f"Scores are means over labels with {result['method']} [@cameron2011].",
    ]
    if result["comparisons"]:
        sentences.append(
            f"{_kind(result, 2).capitalize()} were compared by t tests of the difference, which take out "
            "what both share, with Holm's correction over the pairs of a score; effect sizes are Cohen's d "
            f"between {_several(result)}."
        )
    if result["margin"] is not None:
        of = f" of {_line(result['answer']['score'])}" if result["answer"] else ""
        sentences.append(
            f"Equivalence was tested by two one-sided t tests within a margin of {result['margin']:g} "
            f"points{of}, declared before the study opened."
        )
    alphas = [row for row in result["agreement"] if "alpha" in row]
    if alphas:
        listed = ", ".join(f"{figure(row['alpha'], 2)} ({_line(row['question'])})" for row in alphas)
        sentences.append(f"Krippendorff's alpha was {listed}.")
    return sentences


def _primary(result: Result) -> str:
    excluded = _counted(len(result["excluded"]), "worker")
    if of_pilot := sum(row["reason"] == PILOT for row in result["excluded"]):
        excluded += f" (of these, {of_pilot:,} of its pilot, the first to take part)"
    rules = f" by these rules: {_line(result['rules']).rstrip('.')}" if result["rules"] else ""
    if result["primary"] == Analysis.ALL:
        exclusions = f"; {excluded} were excluded{rules} in a second analysis" if result["excluded"] else ""
        return f"The primary analysis, declared before the study opened, counts all workers{exclusions}."
    return (
        f"The primary analysis, declared before the study opened, leaves out the workers who were excluded"
        f"{rules}; {excluded} were."
    )


def _several(result: Result) -> str:
    """Plural noun for the clusters of scores."""
    return "contexts" if result.get("evaluation") == Evaluation.STATIC else "conversations"


def _kind(result: Result, number: int) -> str:
    """Noun for the judged things: systems, or sets of contexts."""
    if result.get("about") == "context":
        return "set of contexts" if number == 1 else "sets of contexts"
    return "system" if number == 1 else "systems"


def _counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
