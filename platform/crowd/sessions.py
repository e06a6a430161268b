"""The worker's session: a signed cookie that says which worker this browser belongs to."""

from collections.abc import Mapping

from django.conf import settings
from django.core import signing
from django.http import HttpResponseBase

COOKIE = "turnwise_worker"
LIFETIME = 60 * 24 * 3600
_SALT = "crowd.worker"


def worker_id_of(cookies: Mapping[str, str]) -> int | None:
    """The worker named by a genuine, unexpired cookie; None for a missing, forged or expired one."""
    try:
        return int(signing.loads(cookies.get(COOKIE, ""), salt=_SALT, max_age=LIFETIME)["worker"])
    except (signing.BadSignature, KeyError, TypeError, ValueError):
        return None


def signed(worker_id: int) -> str:
    return signing.dumps({"worker": worker_id}, salt=_SALT)


def remember(response: HttpResponseBase, worker_id: int) -> None:
    response.set_cookie(
        COOKIE, signed(worker_id), max_age=LIFETIME, httponly=True, samesite="Lax", secure=settings.HTTPS
    )
