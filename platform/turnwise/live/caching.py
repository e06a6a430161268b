"""What was computed for a page and will be asked for again, kept in the cache by everything it depends on."""

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
    """A name for these values, which JSON can hold; another for any others."""
    canonical = json.dumps(parts, sort_keys=True, separators=(",", ":"))
    return "remembered." + hashlib.sha256(canonical.encode()).hexdigest()


def cached(key: str, compute: Callable[[], Any], *, seconds: int = CACHE_SECONDS) -> Any:
    """The value computed for this key before, or now; without Redis it is computed every time.

    Fewer `seconds` are for what the key does not tell all of.
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
