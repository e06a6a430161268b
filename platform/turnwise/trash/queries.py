from django.db.models import Q, QuerySet
from django.utils import timezone

from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.studies.queries import studies_of
from turnwise.trash.models import KEPT_FOR, Deletion


def deletions_of(user: User) -> QuerySet[Deletion]:
    """What this person deleted within a day and may still put back, the newest first; admins see all."""
    recent = Deletion.objects.filter(at__gte=timezone.now() - KEPT_FOR)
    still_theirs = Q(study=None) | Q(study__in=studies_of(user).values("pk"))
    return visible_to(user, recent, owner="by").filter(still_theirs).select_related("study").defer("content")
