"""How far studies are."""

from collections.abc import Collection
from typing import Any

from django.utils.translation import ngettext

from live.remembered import key_of, remembered
from studies.models import Study
from studies.planned import Unit
from studies.tasks import StudyTask, task_of

KEPT_SECONDS = 10


def counts_of(studies: Collection[Study]) -> dict[int, tuple[int, int]]:
    """Of each, by its key: how much is done, and how much is wanted."""
    keys = [study.pk for study in studies]
    alike: dict[Any, list[StudyTask]] = {}  # tasks that count in the same way are counted together
    for task in {task_of(study) for study in studies}:
        alike.setdefault(type(task).finished_and_wanted, []).append(task)
    found: dict[int, tuple[int, int]] = {}
    for first, *others in alike.values():
        tasks = [first.key, *(other.key for other in others)]
        found |= first.finished_and_wanted(Study.objects.filter(pk__in=keys, task__in=tasks))
    return found


def how_far(study: Study) -> tuple[int, int]:
    """The same of one study, for what every page of it tells; of a study that runs some seconds old.

    Results raise the study's version; what is wanted may change without that.
    """

    def counted() -> tuple[int, int]:
        return counts_of([study]).get(study.pk, (0, 0))

    if study.state == Study.State.DRAFT:
        return counted()
    key = key_of("how far", study.pk, study.state, study.results_version)
    finished, wanted = remembered(key, counted, seconds=KEPT_SECONDS)
    return finished, wanted


def in_words(study: Study, finished: int, wanted: int) -> str:
    """How much of what a study wants is done, with what is counted."""
    unit = task_of(study).unit
    if unit == Unit.RESPONSE:
        said = ngettext(
            "%(done)s of %(all)s response written", "%(done)s of %(all)s responses written", wanted
        )
    elif unit == Unit.CONVERSATION:
        said = ngettext(
            "%(done)s of %(all)s conversation finished",
            "%(done)s of %(all)s conversations finished",
            wanted,
        )
    else:
        said = ngettext("%(done)s of %(all)s judgment given", "%(done)s of %(all)s judgments given", wanted)
    return said % {"done": f"{finished:,}", "all": f"{wanted:,}"}
