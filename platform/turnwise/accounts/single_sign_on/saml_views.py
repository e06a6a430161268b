"""Addresses of SAML: to the identity provider, back from it, and our own metadata.

The library is an extra, so it is imported only where SAML is on.
"""

import logging
from typing import Any

from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import complete_social_login, render_authentication_error
from allauth.socialaccount.models import SocialLogin
from allauth.socialaccount.sessions import LoginSession
from django.conf import settings
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_GET, require_POST

from turnwise.accounts.limits import guessed_too_often, too_many
from turnwise.accounts.single_sign_on.saml_metadata import MetadataError
from turnwise.accounts.single_sign_on.saml_provider import Provider, ResponseError, accepted_response

log = logging.getLogger(__name__)


@never_cache
@require_GET
def login(request: HttpRequest, organization_slug: str) -> HttpResponse:
    """Lead to the identity provider."""
    provider = _provider(request, organization_slug)
    try:
        answer: HttpResponse = provider.redirect_from_request(request)
    except MetadataError as error:
        return _unusable_metadata(request, provider, error)
    return answer


@csrf_exempt  # the provider's page sends the form
@require_POST
def acs(request: HttpRequest, organization_slug: str) -> HttpResponse:
    """Take the provider's answer. The browser sends no cookie of ours with it, so `finish` goes on."""
    provider = _provider(request, organization_slug)
    if guessed_too_often(request, "saml", rate="60/m"):
        return too_many(request)
    try:
        response, answers = accepted_response(request, provider)
        if not provider.extract_uid(response):
            raise ResponseError(
                _("The identity provider does not say who you are by a name that stays the same.")
            )
    except MetadataError as error:
        return _unusable_metadata(request, provider, error)
    except ResponseError as error:
        log.warning("An answer of the identity provider was refused: %s", error.__cause__ or error)
        return _refused(request, provider, str(error))
    signing_in = provider.sociallogin_from_response(request, response)
    onward = redirect("saml_finish_acs", organization_slug=organization_slug)
    session = LoginSession(request, "saml_session", "saml-session")
    session.store.cycle_key()
    session.store.update({"signing_in": signing_in.serialize(), "answers": answers})
    session.save(onward)
    return onward


@never_cache
@require_GET
def finish(request: HttpRequest, organization_slug: str) -> HttpResponse:
    """Sign in the person whose browser asked for the answer."""
    provider = _provider(request, organization_slug)
    session = LoginSession(request, "saml_session", "saml-session")
    found: dict[str, Any] = dict(session.store.items())
    session.delete()
    try:
        state = provider.unstash_redirect_state(request, found["answers"])
    except (KeyError, PermissionDenied):
        return _refused(
            request, provider, _("You did not begin to sign in here. Use the button on the sign-in page.")
        )
    signing_in = SocialLogin.deserialize(found["signing_in"])
    signing_in.state = state
    answer: HttpResponse = complete_social_login(request, signing_in)
    return answer


@require_GET
def metadata(request: HttpRequest, organization_slug: str) -> HttpResponse:
    """Our metadata, which the identity provider reads."""
    provider = _provider(request, organization_slug)
    try:
        found = provider.library_settings(request, with_provider=False).get_sp_metadata()
    except MetadataError as error:
        return _unusable_metadata(request, provider, error)
    return HttpResponse(found, content_type="application/samlmetadata+xml")


def _provider(request: HttpRequest, slug: str) -> Provider:
    if not settings.SAML or slug != settings.SAML.slug:
        raise Http404
    return Provider(request, app=get_adapter().get_app(request, provider="saml", client_id=slug))


def _refused(request: HttpRequest, provider: Provider, reason: str) -> HttpResponse:
    answer: HttpResponse = render_authentication_error(request, provider, extra_context={"reason": reason})
    return answer


def _unusable_metadata(request: HttpRequest, provider: Provider, error: MetadataError) -> HttpResponse:
    log.error("SAML: %s", error)
    reason = _("The identity provider cannot be reached, or its metadata cannot be used.")
    return _refused(request, provider, reason)
