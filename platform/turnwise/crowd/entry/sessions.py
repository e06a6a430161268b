"""Worker sessions: a signed cookie with the worker and the participations that the browser may enter.

A panel ID also identifies a worker across studies, but it is no secret: it opens a new participation, never
one that was started in another browser. So the cookie lists each participation that was started or resumed
in this browser.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from django.conf import settings
from django.core import signing
from django.http import HttpResponseBase

from turnwise.crowd.models import Participation

COOKIE = "turnwise_worker"
LIFETIME = 60 * 24 * 3600
# Keeps the cookie far below the limit of 4 KB.
MOST_PARTICIPATIONS = 100
_SALT = "crowd.worker"


@dataclass(frozen=True, slots=True)
class Session:
    """Worker of a browser, and the participations that it may enter."""

    worker_id: int
    participations: frozenset[int]


def session_of(cookies: Mapping[str, str]) -> Session | None:
    """Read the session cookie; None if it is missing, forged or expired."""
    try:
        content = signing.loads(cookies.get(COOKIE, ""), salt=_SALT, max_age=LIFETIME)
        return Session(int(content["worker"]), frozenset(map(int, content["in"])))
    except (signing.BadSignature, KeyError, TypeError, ValueError):
        return None


def signed(participation: Participation, *, known: Session | None = None) -> str:
    """Value of the cookie for this participation and those in the worker's earlier session."""
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
