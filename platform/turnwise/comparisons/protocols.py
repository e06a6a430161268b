"""Protocols of compared studies: their differences in words, and the confidence levels of their intervals."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from django.utils.translation import gettext as _

from evaluation.files.writing import percent
from evaluation.protocols import protocol_named
from evaluation.statistics.bootstrap import LEVEL
from turnwise.reports.report_kinds import reported_task
from turnwise.studies.models import Study


@dataclass(frozen=True, slots=True)
class Protocol:
    """Design of a study, each aspect in words.

    Attributes:
        study: name of the study.
        aspects: value of each aspect, such as "Turns"; studies of other tasks have other aspects.
        wordings: long texts by title, such as "Instructions"; pages only say whether they are the same.
    """

    study: str
    aspects: Mapping[str, str]
    wordings: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Difference:
    """An aspect in which studies differ, with the studies of each variant."""

    aspect: str
    ways: Sequence["Variant"]


@dataclass(frozen=True, slots=True)
class Variant:
    """Value of an aspect and the studies that have it."""

    says: str
    studies: Sequence[str]


Aspects: TypeAlias = Sequence[Difference]


def differences(protocols: Sequence[Protocol]) -> Aspects:
    """Aspects in which the studies differ; studies without an aspect do not count."""
    if not protocols:
        return []
    of_any = dict.fromkeys(aspect for each in protocols for aspect in each.aspects)
    aspects = [_difference(aspect, protocols) for aspect in of_any]
    wordings = [_other_wording(text, protocols) for text in protocols[0].wordings]
    return [each for each in (*aspects, *wordings) if len(each.ways) > 1]


def _difference(aspect: str, protocols: Sequence[Protocol]) -> Difference:
    entries = [(each.aspects[aspect], each.study) for each in protocols if aspect in each.aspects]
    return Difference(aspect, _variants(entries))


def _other_wording(text: str, protocols: Sequence[Protocol]) -> Difference:
    """Difference of a long text, which is not shown: equal texts share a number."""
    numbers: dict[str, str] = {}
    entries = []
    for each in protocols:
        words = " ".join(each.wordings[text].split())
        numbers.setdefault(words, f"wording {len(numbers) + 1}" if words else "none")
        entries.append((numbers[words], each.study))
    return Difference(text, _variants(entries))


def _variants(entries: Sequence[tuple[str, str]]) -> list[Variant]:
    studies: dict[str, list[str]] = {}
    for says, study in entries:
        studies.setdefault(says, []).append(study)
    return [Variant(says, names) for says, names in studies.items()]


def study_names(studies: Sequence[Study]) -> dict[int, str]:
    """Names of studies in a comparison, by id: the title, with the code if studies share the title."""
    shared = Counter(study.title for study in studies)
    return {
        study.pk: f"{study.title} ({study.code})" if shared[study.title] > 1 else study.title
        for study in studies
    }


def protocols_of(studies: Sequence[Study]) -> list[Protocol]:
    titles = study_names(studies)
    return [_protocol(study, titles[study.pk]) for study in studies]


def _protocol(study: Study, name: str) -> Protocol:
    consents, task = list(study.consent_versions.all()), reported_task(study)
    return Protocol(
        study=name,
        aspects={
            "Task": task.title,
            "Questions": "; ".join(dict.fromkeys(ask.title for ask in study.work_asks)),
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
    """Confidence level of the study's report."""
    return protocol_named(study.protocol).level


def pooled_level(studies: Iterable[Study]) -> float:
    """Confidence level of a score over several studies: the studies' common level, else 95 %."""
    levels = {level_of(study) for study in studies}
    return levels.pop() if len(levels) == 1 else LEVEL


def levels_by_name(studies: Sequence[Study]) -> dict[str, float]:
    """Confidence levels of these studies, by name."""
    titles = study_names(studies)
    return {titles[study.pk]: level_of(study) for study in studies}


def describe_levels(levels: Mapping[str, float]) -> str:
    """Beginning of a caption that names the intervals' levels; `levels` has them by study."""
    by_level: dict[float, list[str]] = {}
    for study, level in levels.items():
        by_level.setdefault(level, []).append(study)
    if len(by_level) == 1:
        return _("%(level)s intervals") % {"level": percent(next(iter(by_level)))}
    entries = "; ".join(
        f"{percent(level)}: {_named(by_level[level])}" for level in sorted(by_level, reverse=True)
    )
    return _("Intervals of each study's own level (%(told)s)") % {"told": entries}


def _named(studies: Sequence[str]) -> str:
    return ", ".join(f"“{study}”" for study in studies)
