"""Tokens of the REST API: made, recognised, taken back."""

import hashlib
import secrets
from datetime import timedelta

from django.utils import timezone

from turnwise.accounts.models import ApiToken, User

# Recognisable in a log or a repository where it has no business.
PREFIX = "turnwise_"
_MINUTE = timedelta(minutes=1)


def make(owner: User, title: str) -> str:
    """A new token of this person. It is stored as a hash: nobody can be told it again."""
    token = PREFIX + secrets.token_urlsafe(32)
    ApiToken.objects.create(owner=owner, title=title.strip()[:80] or "Untitled", digest=_digest(token))
    return token


def owner_of(token: str) -> User | None:
    """Whose token this is; None if nobody's, or of somebody who may no longer sign in."""
    found = ApiToken.objects.select_related("owner").filter(digest=_digest(token)).first()
    if found is None or not found.owner.is_active:
        return None
    now = timezone.now()
    if found.used_at is None or found.used_at < now - _MINUTE:
        ApiToken.objects.filter(pk=found.pk).update(used_at=now)
    return found.owner


def take_back(owner: User, token_id: int) -> bool:
    """End a token of this person at once; False if they have none such."""
    deleted, _ = ApiToken.objects.filter(owner=owner, pk=token_id).delete()
    return bool(deleted)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
