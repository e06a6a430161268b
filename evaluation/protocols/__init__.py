"""Published evaluation protocols: their rules, their level of intervals, and what they found.

Each is one JSON file here. A rule names a fact of a study (a field of `Talks` or `Judging`), what the
protocol asks of it, and the sentence that a report prints where the study departs from it. `published` has
scores by the keys of a question set, as shown: shares in percent, ratings in points.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from pydantic import ConfigDict, TypeAdapter

from evaluation.protocols.facts import Evaluation, Judging, Talks

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
                yield sentence.format(**{**facts, "value": _shown(each), "name": name})

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
        question_sets: keys of the sets that it asked; a study with one of them is measured against it.
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
    level: float
    rules: tuple[Rule, ...]
    published: tuple[Published, ...] = ()
    relations: Mapping[str, Mapping[str, str]] | None = None
    agreement: Mapping[str, PublishedAgreement] | None = None
    spread: Spread | None = None

    def deviations(self, study: Talks | Judging) -> list[str]:
        """Each departure of a study from it in a sentence; none if the study follows it."""
        facts = asdict(study)
        return [sentence for rule in self.rules for sentence in rule.sentences(facts)]


def _shown(value: Fact) -> str:
    if isinstance(value, list | tuple):
        return ", ".join(map(str, value)) or "none"
    return str(value)


@cache
def protocols() -> Mapping[str, Protocol]:
    """By key, every protocol that has a file here; in the order of the keys."""
    adapter = TypeAdapter(Protocol)
    found = [adapter.validate_json(path.read_text()) for path in sorted(_FOLDER.glob("*.json"))]
    return {protocol.key: protocol for protocol in found}


def protocol_for(evaluation: Evaluation | str, question_set: str) -> Protocol:
    """The protocol to measure a study against: of its kind and questions, or the first of the kind."""
    alike = [each for each in protocols().values() if each.evaluation == evaluation]
    return next((each for each in alike if question_set in each.question_sets), alike[0])


def compared_with(result: Mapping[str, Any], evaluation: Evaluation | str = Evaluation.INTERACTIVE) -> str:
    """The kind of evaluation whose published scores stand beside a result.

    As the result says, if that is another than its own; else its own, else that of its study's task.
    """
    return str(result.get("compared_with") or result.get("evaluation", evaluation))


def published_beside(evaluation: Evaluation | str, question_set: str) -> Protocol | None:
    """The protocol whose published scores stand beside a study's own; None if none asked the same."""
    protocol = protocol_for(evaluation, question_set)
    return protocol if protocol.published and question_set in protocol.question_sets else None
