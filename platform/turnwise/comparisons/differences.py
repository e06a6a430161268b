"""In what the protocols of several studies differ, in words. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Protocol:
    """How a study was run, each aspect as a reader would say it.

    Attributes:
        study: what the study is called.
        aspects: by aspect, such as "Turns", what holds in this study; studies of another task have others.
        wordings: by long text, such as "Instructions", the text itself; only told as same or different.
    """

    study: str
    aspects: Mapping[str, str]
    wordings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """An aspect in which studies differ, and which studies have which."""

    aspect: str
    ways: Sequence["Way"]


@dataclass(frozen=True, slots=True)
class Way:
    """What holds in these studies."""

    says: str
    studies: Sequence[str]


Aspects: TypeAlias = Sequence[Difference]


def differences(protocols: Sequence[Protocol]) -> Aspects:
    """Every aspect in which not all studies that have it are alike, with what holds where."""
    if not protocols:
        return []
    of_any = dict.fromkeys(aspect for each in protocols for aspect in each.aspects)
    aspects = [_difference(aspect, protocols) for aspect in of_any]
    wordings = [_other_wording(text, protocols) for text in protocols[0].wordings]
    return [each for each in (*aspects, *wordings) if len(each.ways) > 1]


def _difference(aspect: str, protocols: Sequence[Protocol]) -> Difference:
    told = [(each.aspects[aspect], each.study) for each in protocols if aspect in each.aspects]
    return Difference(aspect, _ways(told))


def _other_wording(text: str, protocols: Sequence[Protocol]) -> Difference:
    """Long texts are compared, not shown: those that are alike share a number."""
    numbers: dict[str, str] = {}
    told = []
    for each in protocols:
        words = " ".join(each.wordings[text].split())
        numbers.setdefault(words, f"wording {len(numbers) + 1}" if words else "none")
        told.append((numbers[words], each.study))
    return Difference(text, _ways(told))


def _ways(told: Sequence[tuple[str, str]]) -> list[Way]:
    studies: dict[str, list[str]] = {}
    for says, study in told:
        studies.setdefault(says, []).append(study)
    return [Way(says, names) for says, names in studies.items()]
