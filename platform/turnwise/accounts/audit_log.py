"""The audit log: who did what, and when. Entries are only added.

A middleware records every successful change by a signed-in user, on pages and over the API, so no view has to
do it. Workers' actions are not recorded: their conversations and labels show them.
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
# Previews and trials, which change nothing that others see.
LEFT_OUT = frozenset(
    {
        "bots:try_reply",
        "api-1:reply",
        "api-1:greet_bots",
        "api-1:preview_publication",
        "studies:opening",
        "questions:preview",
        "conversation:preview_upload",
        "account_reauthenticate",
        "mfa_reauthenticate",
        "mfa_reauthenticate_webauthn",
    }
)
# Django's own views: only a redirect shows success, as an invalid form is answered with 200.
# The browser comes back from the identity provider.
DONE_BY_READING = frozenset({"openid_connect_callback", "saml_finish_acs"})
DONE_ONCE_IT_LEADS_ON = frozenset(
    {
        "accounts:password",
        "accounts:sign_in",
        "account_reset_password_from_key",
        "account_email",
        "mfa_authenticate",
        "mfa_activate_totp",
        "mfa_deactivate_totp",
        "mfa_generate_recovery_codes",
        "mfa_add_webauthn",
        "mfa_edit_webauthn",
        "mfa_remove_webauthn",
        "mfa_login_webauthn",
        "socialaccount_connections",
        "usersessions_list",
        "openid_connect_callback",
        "saml_finish_acs",
    }
)


class AuditLogMiddleware(MiddlewareMixin):
    """Middleware that records successful changes; refused requests and invalid forms are not recorded."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        match = request.resolver_match
        is_read = request.method in READING and (match is None or match.view_name not in DONE_BY_READING)
        if is_read or response.status_code >= 400 or match is None:
            return response
        if getattr(request, "changes_nothing", False):
            return response
        action = str(getattr(request, "api_operation", match.view_name))  # of several at one address
        if action in LEFT_OUT or (response.status_code < 300 and match.view_name in DONE_ONCE_IT_LEADS_ON):
            return response
        person = _signed_in_user(request)
        if person is not None:
            record(person, action, request.path, token=_token_title(request))
        return response


def _signed_in_user(request: HttpRequest) -> User | None:
    """User of a request, by session or token; None for workers."""
    for person in (getattr(request, "auth", None), getattr(request, "user", None)):
        if isinstance(person, User) or getattr(person, "is_authenticated", False):
            return person
    return None


def _token_title(request: HttpRequest) -> str:
    """Title of the token with which a program sent the request; empty for a browser."""
    token = getattr(request, "api_token", None)
    return token.title if token else ""


def record(person: User, action: str, path: str, *, token: str = "") -> None:
    """Add an entry. If that fails, the change itself stays."""
    try:
        with transaction.atomic():
            Event.objects.create(
                at=timezone.now(),
                person=person.pk,
                name=person.get_username(),
                action=action,
                path=path[:500],
                token=token,
            )
    except Error:
        log.exception("%s did %s at %s, which could not be noted.", person, action, path)


def find_events(*, name: str = "", about: str = "") -> QuerySet[Event]:
    """Find entries by user name and by a part of the address, newest first."""
    events = Event.objects.all()
    if name:
        events = events.filter(name=name)
    return events.filter(path__contains=about) if about else events
