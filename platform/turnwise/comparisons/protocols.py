"""The protocols of studies, as the comparison of studies tells them.

In what the protocols of several studies differ, in words. Pure.

Of which level the intervals of several studies are: that of the protocol by which each was made.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from django.utils.translation import gettext as _

from evaluation.files.writing import percent
from evaluation.protocols import protocol_named
from evaluation.statistics.bootstrap import LEVEL
from turnwise.reports.report_kinds import reported
from turnwise.studies.models import Study


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


def names(studies: Sequence[Study]) -> dict[int, str]:
    """By id, what a comparison calls the studies: their titles, with the code where two share one."""
    shared = Counter(study.title for study in studies)
    return {
        study.pk: f"{study.title} ({study.code})" if shared[study.title] > 1 else study.title
        for study in studies
    }


def protocols_of(studies: Sequence[Study]) -> list[Protocol]:
    called = names(studies)
    return [_protocol(study, called[study.pk]) for study in studies]


def _protocol(study: Study, name: str) -> Protocol:
    consents, task = list(study.consent_versions.all()), reported(study)
    return Protocol(
        study=name,
        aspects={
            "Task": task.title,
            "Questions": "; ".join(dict.fromkeys(ask.title for ask in study.asked)),
            **task.protocol(study),
            "Primary analysis": study.get_primary_analysis_display(),
            "Languages": study.language_names or "not set",
            "Pay": study.pay or "none",
        },
        wordings={
            "Instructions": study.instructions,
            "Debriefing": study.debriefing,
            "Consent text": consents[-1].text if consents else "",
        },
    )


def level_of(study: Study) -> float:
    """That of the study's report."""
    return protocol_named(study.protocol).level


def pooled_level(studies: Iterable[Study]) -> float:
    """Of a score over labels of all of these: theirs, if they have the same; else 95 %."""
    levels = {level_of(study) for study in studies}
    return levels.pop() if len(levels) == 1 else LEVEL


def levels_by_name(studies: Sequence[Study]) -> dict[str, float]:
    """What a comparison calls these studies, with their levels."""
    called = names(studies)
    return {called[study.pk]: level_of(study) for study in studies}


def levels_in_words(levels: Mapping[str, float]) -> str:
    """What the intervals of these studies are, as a caption begins; by name of the study, its level."""
    by_level: dict[float, list[str]] = {}
    for study, level in levels.items():
        by_level.setdefault(level, []).append(study)
    if len(by_level) == 1:
        return _("%(level)s intervals") % {"level": percent(next(iter(by_level)))}
    told = "; ".join(
        f"{percent(level)}: {_named(by_level[level])}" for level in sorted(by_level, reverse=True)
    )
    return _("Intervals of each study's own level (%(told)s)") % {"told": told}


def _named(studies: Sequence[str]) -> str:
    return ", ".join(f"“{study}”" for study in studies)
