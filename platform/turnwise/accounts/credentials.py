"""What a password must have besides what Django's own validators ask.

Whoever has a password that an admin made chooses their own before they do anything else.

Browsers from which a person has signed in before: nobody else's wrong attempts lock them out there.

Tokens of the REST API: made, recognised, taken back.
"""

import hashlib
import secrets
import unicodedata
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from turnwise.accounts.models import ApiToken, User


class DistinctCharactersValidator:
    """Refuses passwords of few different characters, such as aaaaaaaaaaaa."""

    def __init__(self, fewest: int = 5) -> None:
        self._fewest = fewest

    def validate(self, password: str, user: User | None = None) -> None:
        if len(set(password)) < self._fewest:
            raise ValidationError(
                _("This password has %(n)s different characters. Use %(fewest)s or more.")
                % {"n": len(set(password)), "fewest": self._fewest},
                code="password_too_uniform",
            )

    def get_help_text(self) -> str:
        return f"Your password must have {self._fewest} or more different characters."


OPEN_TO_THEM = frozenset({"accounts:password", "accounts:sign_out", "accounts:sign_in"})
# These answer while nobody can be looked up.
OF_NOBODY = frozenset({"healthz", "readyz"})


class FirstPasswordMiddleware(MiddlewareMixin):
    """Leads them to the page where they do."""

    def process_view(self, request: HttpRequest, *_view: object) -> HttpResponse | None:
        name = request.resolver_match.view_name if request.resolver_match else ""
        if name in OF_NOBODY or not getattr(request.user, "has_first_password", False):
            return None
        if name in OPEN_TO_THEM:
            return None
        return redirect("accounts:password")


COOKIE = "turnwise_device"
LIFETIME = 365 * 24 * 3600
_SALT = "accounts.device"


def canonical(name: str) -> str:
    """A user name as the sign-in form reads it, whichever way it was written."""
    return unicodedata.normalize("NFKC", name.strip()).strip().casefold()


def device_of(request: HttpRequest, name: str) -> str:
    """What tells this browser from others of this person; empty if they never signed in here."""
    try:
        known = signing.loads(request.COOKIES.get(COOKIE, ""), salt=_SALT, max_age=LIFETIME)
        return str(known["device"]) if known["name"] == canonical(name) else ""
    except (signing.BadSignature, KeyError, TypeError):
        return ""


def remember_device(response: HttpResponseBase, name: str) -> None:
    """Note in this browser that this person has signed in here."""
    known = {"name": canonical(name), "device": secrets.token_urlsafe(9)}
    response.set_cookie(
        COOKIE,
        signing.dumps(known, salt=_SALT),
        max_age=LIFETIME,
        httponly=True,
        samesite="Lax",
        secure=settings.HTTPS,
    )


# Recognisable in a log or a repository where it has no business.
PREFIX = "turnwise_"
_MINUTE = timedelta(minutes=1)


def create_token(owner: User, title: str) -> str:
    """A new token of this person. It is stored as a hash: nobody can be told it again."""
    token = PREFIX + secrets.token_urlsafe(32)
    ApiToken.objects.create(owner=owner, title=title.strip()[:80] or "Untitled", digest=_digest(token))
    return token


def token_owner(token: str) -> User | None:
    """Whose token this is; None if nobody's, or of somebody who may no longer sign in."""
    found = ApiToken.objects.select_related("owner").filter(digest=_digest(token)).first()
    if found is None or not found.owner.is_active:
        return None
    now = timezone.now()
    if found.used_at is None or found.used_at < now - _MINUTE:
        ApiToken.objects.filter(pk=found.pk).update(used_at=now)
    return found.owner


def revoke_token(owner: User, token_id: int) -> bool:
    """End a token of this person at once; False if they have none such."""
    deleted, _ = ApiToken.objects.filter(owner=owner, pk=token_id).delete()
    return bool(deleted)


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
