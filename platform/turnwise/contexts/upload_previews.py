"""An upload between its preview and its import. Each person's newest is kept, for an hour."""

import secrets
from typing import Any

from django.contrib import messages
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext_lazy as _

SECONDS = 3600
EXPIRED = _(
    "The preview is older than an hour, has already been imported, or was replaced by a newer one; or "
    "Turnwise was updated meanwhile. Choose the file again."
)


def keep(user_id: int, upload: dict[str, Any], *, of: str) -> str:
    """Keep an upload, and return the token of its preview.

    Args:
        user_id: whose.
        upload: in plain values.
        of: what it is of, and what that looks like: nobody gets it who asks for anything else.
    """
    token = secrets.token_urlsafe(16)
    cache.set(_key(user_id), upload | {"token": token, "of": of}, timeout=SECONDS)
    return token


def kept(user_id: int, token: str, *, of: str) -> dict[str, Any] | None:
    """The upload of this preview; None if it is not kept any more, or not as this version reads it."""
    found: dict[str, Any] | None = cache.get(_key(user_id))
    is_it = found is not None and (found["token"], found.get("of")) == (token, of)
    return found if is_it else None


def forget(user_id: int, token: str) -> bool:
    """Whether it was still there; of two that forget it at once, one learns that it was."""
    found = cache.get(_key(user_id))
    return found is not None and found["token"] == token and bool(cache.delete(_key(user_id)))


def led_to(token: str, address: str) -> None:
    """Remember what a preview was imported as, for a second press of its button."""
    cache.set(_imported(token), address, timeout=SECONDS)


def gone(request: HttpRequest, token: str, otherwise: str) -> HttpResponse:
    """To what the preview was imported as; if that is not known, to this page, with the reason."""
    if address := cache.get(_imported(token)):
        return redirect(address)
    messages.error(request, EXPIRED)
    return redirect(otherwise)


def _key(user_id: int) -> str:
    return f"contexts.preview.{user_id}"


def _imported(token: str) -> str:
    return f"contexts.imported.{token[:40]}"
