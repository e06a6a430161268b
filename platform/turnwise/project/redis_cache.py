"""Cache in Redis that fails fast and signs its values.

Values are pickles: the signature keeps anyone who can write to Redis from running code here.
"""

import hashlib
import hmac
import logging
import math
import time
from typing import Any, ClassVar

from django.conf import settings
from django.core.cache.backends.redis import RedisCache, RedisCacheClient, RedisSerializer
from redis import Redis
from redis.exceptions import TimeoutError as RedisTimeoutError
from typing_extensions import override

log = logging.getLogger(__name__)

# A page may ask the cache ten times. It waits once for a Redis that hangs, not every time.
SILENT_SECONDS = 3.0
_MAC_BYTES = hashlib.sha256().digest_size


class FailFastRedis(Redis):
    """A client that gives up at once for a while after Redis did not answer in time."""

    _silent_until: ClassVar[float] = -math.inf

    @override
    def execute_command(self, *args: Any, **options: Any) -> Any:
        if time.monotonic() < FailFastRedis._silent_until:
            raise RedisTimeoutError("Redis did not answer a moment ago.")
        try:
            return super().execute_command(*args, **options)  # type: ignore[no-untyped-call]
        except RedisTimeoutError:
            FailFastRedis._silent_until = time.monotonic() + SILENT_SECONDS
            raise


class _Client(RedisCacheClient):
    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._client = FailFastRedis


class Cache(RedisCache):
    """Django's cache in Redis over that client."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        """Create the cache with the client that fails fast."""
        super().__init__(server, params)
        self._class = _Client


class SignedSerializer(RedisSerializer):
    """Django's pickles behind a keyed hash. Whole numbers stay as they are: Redis itself counts with them."""

    @override
    def dumps(self, obj: Any) -> Any:
        plain = super().dumps(obj)
        return plain if isinstance(plain, int) else _mac(plain) + plain

    @override
    def loads(self, data: Any) -> Any:
        """Decode a value; None, as if it were missing, if the signature is invalid."""
        try:
            return int(data)
        except ValueError:
            mac, plain = data[:_MAC_BYTES], data[_MAC_BYTES:]
        if not hmac.compare_digest(mac, _mac(plain)):
            log.warning("A value in the cache has no valid signature. It is not used.")
            return None
        return super().loads(plain)


def _mac(plain: bytes) -> bytes:
    return hmac.digest(f"cache:{settings.SECRET_KEY}".encode(), plain, "sha256")
