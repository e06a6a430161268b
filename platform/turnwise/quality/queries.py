"""Reads of qualifications."""

from django.contrib.auth.models import AnonymousUser
from django.db.models import QuerySet

from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.quality.models import Qualification


def qualifications_of(user: User | AnonymousUser) -> QuerySet[Qualification]:
    """Those of this person; admins see all."""
    return visible_to(user, Qualification.objects.all(), owner="owner")
