"""Cached results of expensive computations for pages, keyed by everything that they depend on."""

import hashlib
import json
import logging
from collections.abc import Callable, Mapping, Sequence
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


def cached_many(keys: Sequence[str], compute: Callable[[Sequence[str]], Mapping[str, Any]]) -> dict[str, Any]:
    """Bulk version of `cached`: one question to Redis, and one call for all keys that it lacks.

    Args:
        keys: from `cache_key`; each must cover every dependency of its value.
        compute: values of these keys; a key that it leaves out is left out of the result.
    """
    try:
        found: dict[str, Any] = cache.get_many(keys)
    except RedisError as error:
        log.warning("The cache does not answer, so %s values are computed: %s", len(keys), error)
        return dict(compute(keys))
    if missing := [key for key in keys if key not in found]:
        computed = compute(missing)
        try:
            cache.set_many(dict(computed), timeout=CACHE_SECONDS)
        except RedisError as error:
            log.warning("The cache does not take %s values: %s", len(computed), error)
        found |= computed
    return found
