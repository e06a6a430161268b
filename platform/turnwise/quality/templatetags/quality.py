"""What pages of other apps show of flags."""

from collections import defaultdict
from collections.abc import Iterable

from django import template

from turnwise.crowd.models import Participation
from turnwise.quality.models import Flag
from turnwise.quality.wording import in_words
from turnwise.studies.models import Study

register = template.Library()


@register.simple_tag
def flagged_in(study: Study) -> int:
    """How many workers of a study have flags."""
    return study.participations.filter(flags__isnull=False).distinct().count()


@register.simple_tag
def flags_of(study: Study, rows: Iterable[Participation]) -> dict[int, list[str]]:
    """By worker, their flags in words: they rest on all that somebody did, at whichever of their times."""
    theirs = Flag.objects.filter(
        participation__study=study, participation__worker__in={r.worker_id for r in rows}
    )
    found: dict[int, list[str]] = defaultdict(list)
    for flag in theirs.select_related("participation"):
        found[flag.participation.worker_id].append(in_words(flag.kind, flag.figures))
    return dict(found)


@register.filter
def of_worker(flags: dict[int, list[str]], worker: int) -> list[str]:
    """What `flags_of` found of one."""
    return flags.get(worker, [])
