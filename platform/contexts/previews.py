"""An upload between its preview and its import. Each person's newest is kept, for an hour."""

import secrets
from typing import Any

from django.core.cache import cache

SECONDS = 3600
EXPIRED = (
    "The preview is older than an hour, has already been imported, or was replaced by a newer one. Choose "
    "the file again."
)


def keep(user_id: int, upload: dict[str, Any]) -> str:
    """Keep an upload, and return the token of its preview."""
    token = secrets.token_urlsafe(16)
    cache.set(_key(user_id), upload | {"token": token}, timeout=SECONDS)
    return token


def kept(user_id: int, token: str) -> dict[str, Any] | None:
    found: dict[str, Any] | None = cache.get(_key(user_id))
    return found if found and found["token"] == token else None


def forget(user_id: int, token: str) -> bool:
    """Whether it was still there; of two that forget it at once, one learns that it was."""
    return kept(user_id, token) is not None and bool(cache.delete(_key(user_id)))


def _key(user_id: int) -> str:
    return f"contexts.preview.{user_id}"
