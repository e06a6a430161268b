from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from accounts.access import visible_to
from accounts.models import User
from questions.queries import read_where_used
from studies.models import Ask, Study


def real_studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """The studies of people that this person may see: for lists, and for whatever pools studies."""
    return studies_of(user).filter(rehearsal_of=None)


def studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """The studies that this person may see, rehearsals among them."""
    return visible_to(user, Study.objects.all(), owner="owner")


@read_where_used
def keys_asked(user: User | AnonymousUser) -> set[str]:
    """The keys of the question sets of all studies that this person may see."""
    asked = Ask.objects.filter(study__in=studies_of(user)).order_by()
    return set(asked.values_list("question_set", flat=True).distinct())
