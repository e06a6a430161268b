"""How far one study is, for what every page of it tells."""

from live.remembered import key_of, remembered
from studies.models import Study
from studies.tasks import task_of

KEPT_SECONDS = 10


def how_far(study: Study) -> tuple[int, int]:
    """How much is done of what the study wants, and how much that is; of a study that runs some seconds old.

    Results raise the study's version; what is wanted may change without that.
    """

    def counted() -> tuple[int, int]:
        return task_of(study).finished_and_wanted(Study.objects.filter(pk=study.pk)).get(study.pk, (0, 0))

    if study.state == Study.State.DRAFT:
        return counted()
    key = key_of("how far", study.pk, study.state, study.results_version)
    finished, wanted = remembered(key, counted, seconds=KEPT_SECONDS)
    return finished, wanted
