"""Of which level the intervals of several studies are: that of the protocol by which each was made."""

from collections.abc import Iterable, Mapping, Sequence

from django.utils.translation import gettext as _

from evaluation.bootstrap import LEVEL
from evaluation.printed import percent
from evaluation.protocols import protocol_named
from turnwise.comparisons import protocols
from turnwise.studies.models import Study


def level_of(study: Study) -> float:
    """That of the study's report."""
    return protocol_named(study.protocol).level


def pooled_level(studies: Iterable[Study]) -> float:
    """Of a score over labels of all of these: theirs, if they have the same; else 95 %."""
    levels = {level_of(study) for study in studies}
    return levels.pop() if len(levels) == 1 else LEVEL


def by_name(studies: Sequence[Study]) -> dict[str, float]:
    """What a comparison calls these studies, with their levels."""
    called = protocols.names(studies)
    return {called[study.pk]: level_of(study) for study in studies}


def in_words(levels: Mapping[str, float]) -> str:
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
