"""Requests of programs that may be repeated: a key, the body's hash, and the answer, kept for a day."""

import hashlib
import re
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from turnwise.accounts.models import ApiToken, RepeatableRequest
from turnwise.live.problems import KEY_REUSED, problem

KEEP_FOR = timedelta(days=1)
_KEY = re.compile(r"[!-~]{1,200}")


class KeyRefusedError(Exception):
    """A request with this idempotency key is not carried out; `document` says why."""

    def __init__(self, document: dict[str, Any]) -> None:
        super().__init__(document["detail"])
        self.document = document


def begin(token: ApiToken, key: str, path: str, body: bytes) -> RepeatableRequest:
    """Record a request before it is carried out, or find the answer to an earlier one.

    Returns:
        The request: with a status, it was answered before; without, the caller carries it out.

    Raises:
        KeyRefusedError: the key is no key, belongs to another request, or the first one has no answer yet.
    """
    if not _KEY.fullmatch(key):
        says = "An Idempotency-Key has 1 to 200 visible characters of ASCII, such as a UUID."
        raise KeyRefusedError(problem(422, says))
    digest = hashlib.sha256(f"{path}\n".encode() + body).hexdigest()
    with transaction.atomic():
        RepeatableRequest.objects.filter(created_at__lt=timezone.now() - KEEP_FOR).delete()
        found, is_new = RepeatableRequest.objects.get_or_create(
            token=token, key=key, defaults={"digest": digest}
        )
    if not is_new:
        _refuse_other(found, digest)
    return found


def _refuse_other(found: RepeatableRequest, digest: str) -> None:
    if found.digest != digest:
        says = (
            f"The Idempotency-Key “{found.key}” came with another address or body at "
            f"{found.created_at:%Y-%m-%d %H:%M} UTC. Nothing was done. Use a new key for a new request."
        )
        raise KeyRefusedError(problem(422, says, kind=KEY_REUSED))
    if found.status is None:
        says = (
            f"The first request with the Idempotency-Key “{found.key}” has no answer yet, or was cut off. "
            "Wait a little and repeat it; if this stays, look whether it was carried out, then use a new key."
        )
        raise KeyRefusedError(problem(409, says))


def finish(request: RepeatableRequest, status: int, body: bytes) -> None:
    """Keep the answer of a request that was carried out; forget one that was refused or failed.

    A refused request changed nothing, so it may be repeated with the same key once its cause is gone.
    """
    stored = RepeatableRequest.objects.filter(pk=request.pk)
    if 200 <= status < 300:
        stored.update(status=status, body=body)
    else:
        stored.delete()
