"""How far studies are."""

from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Any

from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import ngettext

from turnwise.live.remembered import key_of, remembered
from turnwise.studies.models import Study
from turnwise.studies.planned import Unit
from turnwise.studies.tasks import Rows, StudyTask, task_named, task_of

KEPT_SECONDS = 10


def counts_of(studies: Collection[Study]) -> dict[int, tuple[int, int]]:
    """Of each, by its key: how much is done, and how much is wanted."""
    rows = read_together(studies, lambda task, own: task.finished_and_wanted(own))
    return {study: (finished, wanted) for study, finished, wanted in rows}


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


def read_together(
    studies: Collection[Study], rows: Callable[[StudyTask, QuerySet[Study]], Rows]
) -> Collection[Any]:
    """What the tasks of these studies say of them: rows of one statement, however many tasks there are."""
    keys: defaultdict[str, list[int]] = defaultdict(list)
    for study in studies:
        keys[study.task].append(study.pk)
    each = [rows(task_named(task), Study.objects.filter(pk__in=own)) for task, own in keys.items()]
    return each[0].union(*each[1:], all=True) if each else ()


def number_of(rows: QuerySet[Any], study: str = "study") -> Coalesce:
    """How many of these a row's own study has, as an expression of the row; `study` is the path from them."""
    own = rows.filter(**{study: OuterRef("study")}).order_by().values(study)
    return Coalesce(Subquery(own.annotate(n=Count("*")).values("n")), 0)


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


def still_filling(study: Study, finished: int, wanted: int) -> str:
    """How far a study is that takes people and is not full, in words; empty of any other.

    What it tells may change with every further result, and whoever looks often finds more of it by chance.
    """
    takes = study.state in (Study.State.OPEN, Study.State.PAUSED)
    return in_words(study, finished, wanted) if takes and finished < wanted else ""
