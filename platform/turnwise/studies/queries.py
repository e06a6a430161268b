from django.contrib.auth.models import AnonymousUser
from django.db.models import F, Func, Prefetch, Q, QuerySet

from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.bots.access import visible_bots
from turnwise.bots.models import OUTSIDE, Bot
from turnwise.questions.queries import read_where_used
from turnwise.studies.models import Ask, Share, Study, StudyBot


def real_studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """The studies of people that this person works on: for whatever pools studies."""
    return studies_of(user).filter(rehearsal_of=None)


def studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """The studies that this person works on: their own and those shared to be changed, with rehearsals.

    Pages begin with these. Only what is said to be for readers, too, begins with `readable_studies_of`.
    """
    return _theirs(user, Share.objects.filter(may_change=True))


def readable_studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """The same and those that are shared with this person to be read: without their rehearsals."""
    return _theirs(user, Share.objects.filter(may_change=True)) | _theirs(user, Share.objects.all()).filter(
        rehearsal_of=None
    )


def _theirs(user: User | AnonymousUser, shares: QuerySet[Share]) -> QuerySet[Study]:
    """Their own, those of these shares, and the rehearsals of the latter."""
    if not user.is_authenticated or not user.is_active:
        return Study.objects.none()
    if user.is_superuser:
        return Study.objects.all()
    shared = shares.filter(person=user.pk).values("study")
    return Study.objects.filter(Q(owner=user.pk) | Q(pk__in=shared) | Q(rehearsal_of__in=shared))


def readable_real_studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """The studies of people that this person may read: for lists, and for what compares studies."""
    return readable_studies_of(user).filter(rehearsal_of=None)


def owned_studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """The studies that this person may share: their own; admins may share all."""
    return visible_to(user, Study.objects.filter(rehearsal_of=None), owner="owner")


def choosable_bots(user: User, study: Study | None) -> QuerySet[Bot]:
    """The bots that this person may have in a study: those that they see and that are on, and what it has."""
    of_user = visible_bots(user).filter(active=True).values("pk")
    in_it = StudyBot.objects.filter(study=study).values("bot") if study else ()
    return Bot.objects.filter(Q(pk__in=of_user) | Q(pk__in=in_it)).exclude(adapter=OUTSIDE)


def tags_of(studies: QuerySet[Study]) -> list[str]:
    """The tags that these studies have, in the order of the alphabet."""
    named = studies.order_by().annotate(tag=Func(F("tags"), function="unnest")).values_list("tag", flat=True)
    return sorted(set(named))


def may_change(user: User | AnonymousUser, study: Study) -> bool:
    """Whether this person works on the study, or at most reads it."""
    return study.owner_id == user.pk or studies_of(user).filter(pk=study.pk).exists()


@read_where_used
def keys_asked(user: User | AnonymousUser) -> set[str]:
    """The keys of the question sets of all studies that this person may see."""
    asked = Ask.objects.filter(study__in=readable_studies_of(user)).order_by()
    return set(asked.values_list("question_set", flat=True).distinct())


def with_bots() -> Prefetch[str]:
    """For `prefetch_related`: a study's bots in one query."""
    return Prefetch("study_bots", StudyBot.objects.select_related("bot"))
