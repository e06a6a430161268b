"""Published evaluation protocols: their rules, their level of intervals, and what they found.

Each is one JSON file here. A rule names a fact of a study (a field of `Talks` or `Judging`), what the
protocol asks of it, and the sentence that a report prints where the study departs from it. `published` has
scores by the keys of a question set, as shown: shares in percent, ratings in points.
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
    """What a protocol asks of one fact. Exactly one of the tests is given.

    Attributes:
        fact: its name.
        otherwise: the sentence if the test fails, with {value}, the {name} of what has it if there are
            several, and any other fact in braces.
        otherwise_one: the sentence if the value is 1.
        only_if: facts that must have these values for the rule to count.
        one_of: the values that it may have.
        at_least: the smallest number; of a list, how many it must have.
        at_least_of: by name of what has it, in capitals or not, another smallest number.
        at_most: the largest number; of a list, how many it may have.
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
        """What to say of a study with these facts; nothing if it keeps the rule."""
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
        system: its name there.
        scores: by key of a score, its value as shown.
        measures: by name, measures of the system other than people's, such as its perplexity.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    system: str
    scores: Mapping[str, float]
    measures: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class PublishedAgreement:
    """How far the raters of the publication agreed about one question.

    Attributes:
        percent: agreeing pairs of ratings, in percent, as printed.
        alpha: Krippendorff's alpha, as printed.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    percent: str
    alpha: str


@dataclass(frozen=True, slots=True)
class Spread:
    """How far conversations of one system differ in the score with which a report begins.

    Attributes:
        points: standard deviation between conversations, as the score is shown.
        source: what of the publication says so.
    """

    __pydantic_config__: ClassVar[ConfigDict] = _STRICT

    points: float
    source: str


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a publication evaluated, and what it found.

    Attributes:
        key: of the file.
        title: name for people.
        source: the publication.
        evaluation: what is judged.
        question_sets: keys of the sets that it asked, or that say the same; its published scores are of them.
        asks: what is asked in it.
        level: nominal coverage of its intervals.
        rules: what it asks of a study.
        published: the systems that it scored.
        relations: by other measure, by key of a score, what it published of how the two go together.
        agreement: by key of a question, how far its raters agreed.
        spread: of its score between conversations, by which a study can be planned.
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

    def deviations(self, study: Talks | Judging, asks: Sequence[AskFact]) -> list[str]:
        """Each departure of a study that asks this, in a sentence; none if the study follows it."""
        facts = asdict(study)
        by_rules = [sentence for rule in self.rules for sentence in rule.sentences(facts)]
        names_first = any(rule.fact == "question_set" for rule in self.rules)
        return by_rules + list(
            ask_deviations(self.asks, asks, alike=self.question_sets, names_first=names_first)
        )


def _format_value(value: Fact) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)


@cache
def protocols() -> Mapping[str, Protocol]:
    """By key, every protocol that has a file here; in the order of the keys."""
    adapter = TypeAdapter(Protocol)
    found = [adapter.validate_json(path.read_text()) for path in sorted(_FOLDER.glob("*.json"))]
    return {protocol.key: protocol for protocol in found}


OWN_DESIGN = Protocol("", "", "", Evaluation.INTERACTIVE, (), (), 0.95, ())
"""In place of a protocol, of a study that follows none: nothing is asked of it, nothing was published."""


def protocol_named(key: str) -> Protocol:
    """The protocol with this key; `OWN_DESIGN` of none."""
    return protocols()[key] if key else OWN_DESIGN


def conformance(design: Design, study: Talks | Judging) -> dict[str, Any]:
    """What a report says of the protocol of its study: its key, its title, and each departure from it."""
    protocol = protocol_named(design.protocol)
    deviations = protocol.deviations(study, design.asks) if design.protocol else []
    return {"protocol_key": protocol.key, "protocol": protocol.title, "deviations": deviations}


def spread_of(evaluation: Evaluation, question_set: str) -> tuple[Spread, str] | None:
    """How far conversations differed in a publication that asked the same, and the title of its protocol."""
    for each in protocols().values():
        if each.evaluation == evaluation and question_set in each.question_sets and each.spread:
            return each.spread, each.title
    return None


def protocol_with_scores(key: str, question_set: str) -> Protocol | None:
    """The protocol whose published scores stand beside those of a study made by it; None if it has none.

    Scores of other questions than the protocol's are not comparable with them.
    """
    protocol = protocol_named(key)
    return protocol if protocol.published and question_set in protocol.question_sets else None
