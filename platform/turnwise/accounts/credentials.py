"""Credentials: password rules, initial passwords, known browsers, and tokens of the REST API.

Users with an initial password must choose their own first. In a browser from which a user has signed in
before, other people's wrong attempts do not lock them out.
"""

import hashlib
import secrets
import unicodedata
from collections.abc import Collection
from datetime import datetime, timedelta

from django.conf import settings
from django.core import signing
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin
from django.utils.translation import gettext as _

from turnwise.accounts.models import ApiToken, Scope, User

PEOPLE, PAYMENTS, STUDIES = ({"x-scope": str(each)} for each in (Scope.PEOPLE, Scope.PAYMENTS, Scope.STUDIES))
"""For `openapi_extra` of a call of the API: its token's scope, where method and subject do not say it."""


class DistinctCharactersValidator:
    """Validator that refuses passwords of few different characters, such as aaaaaaaaaaaa."""

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
# These pages work without the user table.
OF_NOBODY = frozenset({"healthz", "readyz"})


class FirstPasswordMiddleware(MiddlewareMixin):
    """Redirects users with an initial password to the page where they choose their own."""

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
    """Normalise a user name: spaces, Unicode form and case."""
    return unicodedata.normalize("NFKC", name.strip()).strip().casefold()


def device_of(request: HttpRequest, name: str) -> str:
    """ID of this browser for a user; empty if the user has not signed in here before."""
    try:
        stored = signing.loads(request.COOKIES.get(COOKIE, ""), salt=_SALT, max_age=LIFETIME)
        return str(stored["device"]) if stored["name"] == canonical(name) else ""
    except (signing.BadSignature, KeyError, TypeError):
        return ""


def remember_device(response: HttpResponseBase, name: str) -> None:
    """Set a cookie that marks this browser as known for the user."""
    stored = {"name": canonical(name), "device": secrets.token_urlsafe(9)}
    response.set_cookie(
        COOKIE,
        signing.dumps(stored, salt=_SALT),
        max_age=LIFETIME,
        httponly=True,
        samesite="Lax",
        secure=settings.HTTPS,
    )


# Makes a leaked token recognisable in logs and repositories.
PREFIX = "turnwise_"
_MINUTE = timedelta(minutes=1)


def create_token(
    owner: User,
    title: str,
    *,
    scopes: Collection[str] | None = None,
    expires_at: datetime | None = None,
) -> str:
    """Create a token of this user, of which only a hash is stored.

    Args:
        owner: the user.
        title: what it is for.
        scopes: what it may be used for; None: everything.
        expires_at: from when it is refused; None: never.
    """
    token = PREFIX + secrets.token_urlsafe(32)
    wanted = [str(scope.value) for scope in Scope if scopes is None or scope in scopes]
    ApiToken.objects.create(
        owner=owner,
        title=title.strip()[:80] or "Untitled",
        digest=_digest(token),
        scopes=wanted,
        expires_at=expires_at,
    )
    return token


def valid_token(token: str) -> ApiToken | None:
    """Find a token with its owner; None if it is unknown, expired or revoked, or its owner has no access."""
    stored = ApiToken.objects.select_related("owner").filter(digest=_digest(token)).first()
    if stored is None or not stored.is_valid or not stored.owner.is_active:
        return None
    now = timezone.now()
    if stored.used_at is None or stored.used_at < now - _MINUTE:
        ApiToken.objects.filter(pk=stored.pk).update(used_at=now)
    return stored


def revoke_token(owner: User, token_id: int) -> bool:
    """Revoke a token of this user immediately; False if the user has no such token in use."""
    found = ApiToken.objects.filter(owner=owner, pk=token_id, revoked_at=None)
    return bool(found.update(revoked_at=timezone.now()))


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
