from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from accounts.access import visible_to
from accounts.models import User
from studies.models import Study


def studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """The studies that this person may see."""
    return visible_to(user, Study.objects.all(), owner="owner")
