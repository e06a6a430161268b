"""The audit trail: who did what, and when. It is only ever added to.

Whatever somebody who signs in sends to be done, on a page or over the API, is noted once it is done, so that
no view has to think of it. What workers do stands in their conversations and labels.
"""

import logging

from django.db import Error, transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.deprecation import MiddlewareMixin

from turnwise.accounts.models import Event, User

log = logging.getLogger(__name__)

READING = frozenset({"GET", "HEAD", "OPTIONS"})
# What changes nothing that others see: tries of one's own, and previews.
LEFT_OUT = frozenset({"bots:try_reply", "api-1:reply", "studies:opening", "questions:preview"})
# Of Django: a form that was refused is answered with 200.
DONE_ONCE_IT_LEADS_ON = frozenset({"accounts:password", "accounts:sign_in"})


class AuditLogMiddleware(MiddlewareMixin):
    """Notes what was done. What was refused, or answered with its form again, is not."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        match = request.resolver_match
        if request.method in READING or response.status_code >= 400 or match is None:
            return response
        if match.view_name in LEFT_OUT or (
            response.status_code < 300 and match.view_name in DONE_ONCE_IT_LEADS_ON
        ):
            return response
        person = _signed_in_user(request)
        if person is not None:
            _record(person, match.view_name, request.path)
        return response


def _signed_in_user(request: HttpRequest) -> User | None:
    """Whoever signed in, on pages or by a token; nobody for workers."""
    for person in (getattr(request, "auth", None), getattr(request, "user", None)):
        if isinstance(person, User) or getattr(person, "is_authenticated", False):
            return person
    return None


def _record(person: User, action: str, path: str) -> None:
    """Add to the trail. What was done stays done if that cannot be."""
    try:
        with transaction.atomic():
            Event.objects.create(
                at=timezone.now(),
                person=person.pk,
                name=person.get_username(),
                action=action,
                path=path[:500],
            )
    except Error:
        log.exception("%s did %s at %s, which could not be noted.", person, action, path)


def find_events(*, name: str = "", about: str = "") -> QuerySet[Event]:
    """What a person of this name did, or what was done at addresses with these letters; newest first."""
    events = Event.objects.all()
    if name:
        events = events.filter(name=name)
    return events.filter(path__contains=about) if about else events
