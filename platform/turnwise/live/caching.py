"""Cached results of expensive computations for pages, keyed by everything that they depend on."""

import hashlib
import json
import logging
from collections.abc import Callable
from typing import Any

from django.core.cache import cache
from redis.exceptions import RedisError

CACHE_SECONDS = 3600
log = logging.getLogger(__name__)


def cache_key(*parts: Any) -> str:
    """Cache key for these JSON-serialisable values."""
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return "remembered." + hashlib.sha256(canonical.encode()).hexdigest()


def cached(key: str, compute: Callable[[], Any], *, seconds: int = CACHE_SECONDS) -> Any:
    """Return the cached value of a key, or compute and store it. Without Redis it is computed every time.

    Pass a shorter time in `seconds` when the key does not cover every dependency.
    """
    try:
        value = cache.get(key)
    except RedisError as error:
        log.warning("The cache does not answer, so %s is computed: %s", key, error)
        return compute()
    if value is None:
        value = compute()
        try:
            cache.set(key, value, timeout=seconds)
        except RedisError as error:
            log.warning("The cache does not take %s: %s", key, error)
    return value
