"""How far studies are."""

from collections.abc import Collection

from live.remembered import key_of, remembered
from studies.models import Study
from studies.tasks import task_of

KEPT_SECONDS = 10


def counts_of(studies: Collection[Study]) -> dict[int, tuple[int, int]]:
    """Of each, by its key: how much is done, and how much is wanted."""
    keys = [study.pk for study in studies]
    found: dict[int, tuple[int, int]] = {}
    for task in {task_of(study) for study in studies}:
        found |= task.finished_and_wanted(Study.objects.filter(pk__in=keys, task=task.key))
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
