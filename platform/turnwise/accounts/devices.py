"""Browsers from which a person has signed in before: nobody else's wrong attempts lock them out there."""

import secrets
import unicodedata

from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponseBase

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


def remember(response: HttpResponseBase, name: str) -> None:
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
