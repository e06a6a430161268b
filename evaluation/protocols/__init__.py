"""Evaluation protocols, published ones and ours: rules, level of intervals, and published results.

Each protocol is one JSON file here. A rule names a fact of a study (a field of `Talks` or `Judging`), the
requirement of the protocol, and the sentence that a report prints if the study departs from it. `published`
has scores by the keys of a question set, as shown: shares in percent, ratings in points.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter

from evaluation.protocols.facts import AskFact, Design, Evaluation, Judging, Talks, ask_deviations

Fact = Any
_FOLDER = Path(__file__).parent
_STRICT = ConfigDict(strict=True, extra="forbid")


@dataclass(frozen=True, slots=True)
class Rule:
    """A protocol's requirement for one fact, with exactly one test.

    Attributes:
        fact: name of the fact.
        otherwise: the sentence if the test fails, with {value}, the {name} of the system if the fact has a
            value for each, and any other fact in braces.
        otherwise_one: the sentence if the value is 1.
        only_if: facts that must have these values for the rule to apply.
        one_of: the accepted values.
        at_least: the smallest number; for a list, its smallest length.
        at_least_of: by name of a system, in upper or lower case, another smallest number.
        at_most: the largest number; for a list, its largest length.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    fact: str
    otherwise: str
    otherwise_one: str = ""
    only_if: Mapping[str, bool | int | str] | None = None
    one_of: tuple[bool | int | str, ...] = ()
    at_least: int | None = None
    at_least_of: Mapping[str, int] | None = None
    at_most: int | None = None

    def sentences(self, facts: Mapping[str, Fact]) -> Iterator[str]:
        """Yield a sentence for each departure of a study with these facts from the rule."""
        if any(facts[name] != value for name, value in (self.only_if or {}).items()):
            return
        value = facts[self.fact]
        for name, each in value.items() if isinstance(value, Mapping) else [("", value)]:
            if not self._holds(each, name):
                sentence = self.otherwise_one if each == 1 and self.otherwise_one else self.otherwise
                yield sentence.format(**{**facts, "value": _format_value(each), "name": name})

    def _holds(self, value: Fact, name: str) -> bool:
        number = len(value) if isinstance(value, list | tuple) else value
        if self.one_of:
            return value in self.one_of
        of_names = {each.casefold(): least for each, least in (self.at_least_of or {}).items()}
        least = of_names.get(name.casefold(), self.at_least)
        is_enough = least is None or number >= least
        return is_enough and (self.at_most is None or number <= self.at_most)


@dataclass(frozen=True, slots=True)
class Published:
    """A system of the publication.

    Attributes:
        system: name of the system in the publication.
        scores: by key of a score, its value as shown.
        measures: by name, automatic measures of the system, such as its perplexity.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    system: str
    scores: Mapping[str, float]
    measures: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class PublishedAgreement:
    """Agreement of the publication's raters about one question.

    Attributes:
        percent: agreeing pairs of ratings, in percent, as printed.
        alpha: Krippendorff's alpha, as printed.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    percent: str
    alpha: str


@dataclass(frozen=True, slots=True)
class Spread:
    """Spread between conversations of one system in the first score of a report.

    Attributes:
        points: standard deviation between conversations, as the score is shown.
        source: place in the publication.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    points: float
    source: str


@dataclass(frozen=True, slots=True)
class Protocol:
    """Method and results of a publication.

    Attributes:
        key: name of the file.
        title: name for people.
        source: the publication; of a design of Turnwise, its description.
        evaluation: what is judged.
        question_sets: keys of its question sets, or equivalent ones; the published scores belong to them.
        asks: its asks.
        level: nominal coverage of its intervals.
        rules: requirements for a study.
        published: the systems that it scored.
        relations: by other measure, by key of a score, the published relation of the two.
        agreement: by key of a question, the agreement of its raters.
        spread: spread of its score between conversations, for planning a study.
        is_own: true of a design of Turnwise that no publication has.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    key: str
    title: str
    source: str
    evaluation: Evaluation
    question_sets: tuple[str, ...]
    asks: tuple[AskFact, ...]
    level: float
    rules: tuple[Rule, ...]
    published: tuple[Published, ...] = ()
    relations: Mapping[str, Mapping[str, str]] | None = None
    agreement: Mapping[str, PublishedAgreement] | None = None
    spread: Spread | None = None
    is_own: bool = False

    def deviations(self, study: Talks | Judging, asks: Sequence[AskFact]) -> list[str]:
        """List each departure of a study with these asks, in a sentence; empty if it follows the protocol."""
        facts = asdict(study)
        by_rules = [sentence for rule in self.rules for sentence in rule.sentences(facts)]
        names_first = any(rule.fact == "question_set" for rule in self.rules)
        return by_rules + list(
            ask_deviations(
                self.asks,
                asks,
                alike=self.question_sets,
                names_first=names_first,
                origin="the preset" if self.is_own else "the paper",
            )
        )


def _format_value(value: Fact) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)


@cache
def protocols() -> Mapping[str, Protocol]:
    """All protocols with a file here, by key, in the order of the keys."""
    adapter = TypeAdapter(Protocol)
    all_protocols = [adapter.validate_json(path.read_text()) for path in sorted(_FOLDER.glob("*.json"))]
    return {protocol.key: protocol for protocol in all_protocols}


OWN_DESIGN = Protocol("", "", "", Evaluation.INTERACTIVE, (), (), 0.95, ())
"""Null protocol of a study that follows none: no rules, no published scores."""


def protocol_named(key: str) -> Protocol:
    """The protocol with this key; `OWN_DESIGN` for an empty key."""
    return protocols()[key] if key else OWN_DESIGN


def conformance(design: Design, study: Talks | Judging) -> dict[str, Any]:
    """Part of a report about the study's protocol: its key, its title, and each departure from it."""
    protocol = protocol_named(design.protocol)
    deviations = protocol.deviations(study, design.asks) if design.protocol else []
    return {"protocol_key": protocol.key, "protocol": protocol.title, "deviations": deviations}


def spread_of(evaluation: Evaluation, question_set: str) -> tuple[Spread, str] | None:
    """Spread between conversations in a publication with this question set, and its protocol's title."""
    for each in protocols().values():
        if each.evaluation == evaluation and question_set in each.question_sets and each.spread:
            return each.spread, each.title
    return None


def protocol_with_scores(key: str, question_set: str) -> Protocol | None:
    """The protocol with this key if a report can show its published scores for comparison, else None.

    Scores of other question sets than the protocol's are not comparable.
    """
    protocol = protocol_named(key)
    return protocol if protocol.published and question_set in protocol.question_sets else None
