"""How values lie in the cache: signed, so that who can write to Redis cannot have us run what they wrote."""

import hashlib
import hmac
import logging
from typing import Any

from django.conf import settings
from django.core.cache.backends.redis import RedisSerializer
from typing_extensions import override

log = logging.getLogger(__name__)

_MAC_BYTES = hashlib.sha256().digest_size


class SignedSerializer(RedisSerializer):
    """Django's pickles behind a keyed hash. Whole numbers stay as they are: Redis itself counts with them."""

    @override
    def dumps(self, obj: Any) -> Any:
        plain = super().dumps(obj)
        return plain if isinstance(plain, int) else _mac(plain) + plain

    @override
    def loads(self, data: Any) -> Any:
        """The value; None, as if it were not there, for what this installation did not write."""
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
