"""Uploads between their preview and their import, kept for an hour for whoever uploaded them."""

import secrets
from typing import Any

from django.core.cache import cache

SECONDS = 3600
EXPIRED = "The preview is older than an hour, or was imported already. Choose the file once more."


def keep(user_id: int, upload: dict[str, Any]) -> str:
    token = secrets.token_urlsafe(16)
    cache.set(_key(user_id, token), upload, timeout=SECONDS)
    return token


def kept(user_id: int, token: str) -> dict[str, Any] | None:
    found: dict[str, Any] | None = cache.get(_key(user_id, token))
    return found


def forget(user_id: int, token: str) -> bool:
    """Whether it was still there; of two that forget it at once, one learns that it was."""
    return bool(cache.delete(_key(user_id, token)))


def _key(user_id: int, token: str) -> str:
    return f"preview.{user_id}.{token}"
