"""Studies that a person may see, and their progress."""

import re
from collections import defaultdict
from collections.abc import Callable, Collection
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.db.models import Count, F, Func, OuterRef, Prefetch, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.utils.translation import ngettext

from turnwise.accounts.models import User
from turnwise.bots.composition import visible_bots
from turnwise.bots.models import OUTSIDE, Bot
from turnwise.live.caching import cache_key, cached
from turnwise.questions.queries import read_where_used
from turnwise.studies.models import Ask, Study, StudyBot
from turnwise.studies.outlook import Unit
from turnwise.studies.sharing.permissions import Permission, accessible_studies
from turnwise.studies.tasks import Rows, StudyTask, task_named, task_of

REFERENCE_HELP = "the study: its number, its code, or a link to one of its pages"
_LINK = re.compile(r"(?:.*/)?(?:studies/(?P<number>\d+)|s/(?P<code>[\w-]+))(?:[/?#].*)?", re.DOTALL)


class UnknownStudyError(LookupError):
    """No study has this number, code or link; the message says what may be given."""


def study_named(reference: str) -> Study:
    """Find the study that a person names on the command line.

    Args:
        reference: its number, its code, or a link for workers or to a page of researchers.

    Raises:
        UnknownStudyError: there is none.
    """
    reference = reference.strip()
    link = _LINK.fullmatch(reference)
    number = link["number"] if link else reference
    code = link["code"] if link else reference
    found = Study.objects.filter(code=code).first() if code else None
    if found is None and number and number.isdecimal() and len(number) < 10:
        found = Study.objects.filter(pk=number).first()
    if found is None:
        raise UnknownStudyError(
            f"There is no study '{reference}'. Give its number or code, or a link to one of its pages."
        )
    return found


def real_studies_of(
    user: User | AnonymousUser, permission: Permission = Permission.CHANGE
) -> QuerySet[Study]:
    """Studies without rehearsals on which this person has the permission, for pages that pool studies."""
    return studies_of(user, permission).filter(rehearsal_of=None)


def studies_of(user: User | AnonymousUser, permission: Permission = Permission.CHANGE) -> QuerySet[Study]:
    """Studies on which this person has the permission, with rehearsals.

    Every view, call and socket finds its studies here. Without a permission: those that the person works on.
    """
    return accessible_studies(user, permission)


def readable_studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """Studies that this person may read: of those that they only read, without rehearsals."""
    return studies_of(user, Permission.READ)


def readable_real_studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """Studies without rehearsals that this person may read, for lists and comparisons."""
    return readable_studies_of(user).filter(rehearsal_of=None)


def choosable_bots(user: User, study: Study | None) -> QuerySet[Bot]:
    """Bots that this person may use in a study: visible active ones, and those already in the study."""
    of_user = visible_bots(user).filter(active=True).values("pk")
    in_it = StudyBot.objects.filter(study=study).values("bot") if study else ()
    return Bot.objects.filter(Q(pk__in=of_user) | Q(pk__in=in_it)).exclude(adapter=OUTSIDE)


def search_studies(studies: QuerySet[Study], sought: str) -> QuerySet[Study]:
    """Narrow studies to those with this part of a title, this code, or an owner of this name."""
    if not sought:
        return studies
    return studies.filter(Q(title__icontains=sought) | Q(code=sought) | Q(owner__username=sought))


def tags_of(studies: QuerySet[Study]) -> list[str]:
    """Tags of these studies, sorted."""
    named = studies.order_by().annotate(tag=Func(F("tags"), function="unnest")).values_list("tag", flat=True)
    return sorted(set(named))


@read_where_used
def question_set_keys_of(user: User | AnonymousUser) -> set[str]:
    """The keys of the question sets of all studies that this person may see."""
    asked = Ask.objects.filter(study__in=readable_studies_of(user)).order_by()
    return set(asked.values_list("question_set", flat=True).distinct())


def with_bots() -> Prefetch[str]:
    """Prefetch for a study's bots in one query."""
    return Prefetch("study_bots", StudyBot.objects.select_related("bot"))


CACHE_SECONDS = 10


def counts_of(studies: Collection[Study]) -> dict[int, tuple[int, int]]:
    """Completed and planned units of each study, by its key."""
    rows = union_of_tasks(studies, lambda task, own: task.completed_and_planned(own))
    return {study: (finished, wanted) for study, finished, wanted in rows}


def progress_of(study: Study) -> tuple[int, int]:
    """Completed and planned units of a study; cached for some seconds once it is open.

    New results change the cache key through the study's version; new targets do not.
    """

    def counted() -> tuple[int, int]:
        return counts_of([study]).get(study.pk, (0, 0))

    if study.state == Study.State.DRAFT:
        return counted()
    key = cache_key("how far", study.pk, study.state, study.results_version)
    finished, wanted = cached(key, counted, seconds=CACHE_SECONDS)
    return finished, wanted


def union_of_tasks(
    studies: Collection[Study], rows: Callable[[StudyTask, QuerySet[Study]], Rows]
) -> Collection[Any]:
    """Union of the tasks' rows about these studies, in one statement."""
    keys: defaultdict[str, list[int]] = defaultdict(list)
    for study in studies:
        keys[study.task].append(study.pk)
    each = [
        rows(task_named(task), Study.objects.filter(pk__in=study_keys)) for task, study_keys in keys.items()
    ]
    return each[0].union(*each[1:], all=True) if each else ()


def active_bots_of(study: Study) -> QuerySet[StudyBot]:
    """Active bots with a target, which workers of the study talk with."""
    return study.study_bots.filter(bot__active=True, target__gt=0).select_related("bot")


def count_expression(rows: QuerySet[Any], study: str = "study") -> Coalesce:
    """Expression that counts these rows by the outer row's study; `study` is their path to it."""
    of_study = rows.filter(**{study: OuterRef("study")}).order_by().values(study)
    return Coalesce(Subquery(of_study.annotate(n=Count("*")).values("n")), 0)


def progress_sentence(study: Study, finished: int, wanted: int) -> str:
    """Progress of a study in words, such as "3 of 10 conversations finished"."""
    unit = task_of(study).unit
    if unit == Unit.RESPONSE:
        sentence = ngettext(
            "%(done)s of %(all)s response written", "%(done)s of %(all)s responses written", wanted
        )
    elif unit == Unit.CONVERSATION:
        sentence = ngettext(
            "%(done)s of %(all)s conversation finished",
            "%(done)s of %(all)s conversations finished",
            wanted,
        )
    else:
        sentence = ngettext(
            "%(done)s of %(all)s judgment given", "%(done)s of %(all)s judgments given", wanted
        )
    return sentence % {"done": f"{finished:,}", "all": f"{wanted:,}"}


def incomplete_progress(study: Study, finished: int, wanted: int) -> str:
    """Progress in words of an open study that is not full; empty for any other.

    Pages warn with it that results may still change: repeated looks find more by chance.
    """
    takes = study.state in (Study.State.OPEN, Study.State.PAUSED)
    return progress_sentence(study, finished, wanted) if takes and finished < wanted else ""
