"""The worker's session: a signed cookie that says whose browser this is, and what it may enter.

A worker is recognised across studies by their panel's id too, but that id is no secret: it opens a new
participation, never one that another browser began. So the cookie names each participation that this
browser consented to or resumed.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.core import signing
from django.http import HttpResponseBase

from turnwise.crowd.models import Participation

COOKIE = "turnwise_worker"
LIFETIME = 60 * 24 * 3600
# Keeps the cookie far below the 4 KB that browsers take.
MOST_PARTICIPATIONS = 100
_SALT = "crowd.worker"


@dataclass(frozen=True, slots=True)
class Session:
    """A worker, and those of their participations that this browser may enter."""

    worker_id: int
    participations: frozenset[int]


def session_of(cookies: Mapping[str, str]) -> Session | None:
    """The session of a genuine, unexpired cookie; None for a missing, forged or expired one."""
    try:
        named = signing.loads(cookies.get(COOKIE, ""), salt=_SALT, max_age=LIFETIME)
        return Session(int(named["worker"]), frozenset(map(int, named["in"])))
    except (signing.BadSignature, KeyError, TypeError, ValueError):
        return None


def signed(participation: Participation, *, known: Session | None = None) -> str:
    """A cookie for this participation, and for those that a session of the same worker had already."""
    entered = {participation.pk}
    if known and known.worker_id == participation.worker_id:
        entered |= known.participations
    newest = sorted(entered)[-MOST_PARTICIPATIONS:]
    return signing.dumps({"worker": participation.worker_id, "in": newest}, salt=_SALT)


def remember(response: HttpResponseBase, participation: Participation, *, known: Session | None) -> None:
    response.set_cookie(
        COOKIE,
        signed(participation, known=known),
        max_age=LIFETIME,
        httponly=True,
        samesite="Lax",
        secure=settings.HTTPS,
    )
