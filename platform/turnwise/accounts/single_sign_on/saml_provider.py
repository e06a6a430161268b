"""The provider SAML of allauth with our rules: signature, audience, times and single use of an answer."""

import hashlib
import time
from typing import Any

from allauth.socialaccount import app_settings
from allauth.socialaccount.providers.saml.provider import SAMLProvider
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from turnwise.accounts.single_sign_on.saml_metadata import MetadataError, read_identity_provider

METADATA_SECONDS = 4 * 3600
TRANSIENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:transient"
FIELDS = ("email", "username")


class Provider(SAMLProvider):  # type: ignore[misc]  # allauth has no types
    """An identity provider that speaks SAML, set by TURNWISE_SAML_METADATA and its neighbours."""

    def redirect(
        self, request: HttpRequest, process: str, next_url: str | None = None, data: Any = None, **more: Any
    ) -> HttpResponse:
        """Lead the browser to the provider, and remember the request's id in the person's session.

        Raises:
            MetadataError: the provider's metadata cannot be used.
        """
        from onelogin.saml2.auth import OneLogin_Saml2_Auth

        auth = OneLogin_Saml2_Auth(self.received(request), self.library_settings(request))
        address = auth.login(return_to="")
        self.stash_redirect_state(
            request, process, next_url, data, state_id=auth.get_last_request_id(), **more
        )
        return HttpResponseRedirect(address)

    def received(self, request: HttpRequest) -> dict[str, Any]:
        """Our address to which the provider sends its answers, in parts, as the library compares it."""
        return {
            "https": "on" if request.is_secure() else "off",
            "http_host": request.get_host(),
            "path_info": reverse("saml_acs", args=[self.app.client_id]),
            "script_name": "",
            "get_data": {},
        }

    def library_settings(self, request: HttpRequest, *, with_provider: bool = True) -> Any:
        """Checked settings of python3-saml, with or without the identity provider.

        Raises:
            MetadataError: the provider's metadata cannot be used.
        """
        from onelogin.saml2.errors import OneLogin_Saml2_Error
        from onelogin.saml2.settings import OneLogin_Saml2_Settings

        address = {
            name: request.build_absolute_uri(reverse(f"saml_{name}", args=[self.app.client_id]))
            for name in ("acs", "metadata")
        }
        assert settings.SAML
        ours = {
            "entityId": settings.SAML.entity_id or address["metadata"],
            "assertionConsumerService": {
                "url": address["acs"],
                "binding": "urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST",
            },
        }
        security = {
            "allowSingleLabelDomains": True,  # such as http://server:8000 in a lab
            "requestedAuthnContext": False,
            "wantAttributeStatement": False,
            "wantNameId": False,
            "allowRepeatAttributeName": True,
            "rejectDeprecatedAlgorithm": True,
            "metadataValidUntil": "",
            "metadataCacheDuration": "",
        }
        found: dict[str, Any] = {"strict": True, "security": security, "sp": ours}
        if with_provider:
            found["idp"] = _identity_provider()
        try:
            return OneLogin_Saml2_Settings(found, sp_validation_only=not with_provider)
        except OneLogin_Saml2_Error as error:
            raise MetadataError(
                f"The provider's metadata or our entity id cannot be used: {error}."
            ) from error

    def extract_uid(self, data: Any) -> str:
        """Find the identifier that stays the same at each sign-in; "" if there is none."""
        found = str(self._extract(data).get("uid") or "")
        if not found and data.get_nameid_format() != TRANSIENT:
            found = data.get_nameid() or ""
        if len(found) > app_settings.UID_MAX_LENGTH:
            return hashlib.sha256(found.encode()).hexdigest()
        return found

    def extract_extra_data(self, data: Any) -> dict[str, Any]:
        """Only what names the person under *Your account*; other attributes are not stored."""
        found = self._extract(data)
        return {field: found[field] for field in FIELDS if field in found}


def _identity_provider() -> dict[str, Any]:
    configuration = settings.SAML
    assert configuration  # else the views have answered 404
    key = f"saml-metadata:{configuration.metadata}:{configuration.provider}"
    if "://" not in configuration.metadata:
        return read_identity_provider(configuration)
    found: dict[str, Any] | None = cache.get(key)
    if found is None:
        found = read_identity_provider(configuration)
        cache.set(key, found, METADATA_SECONDS)
    return found


provider_classes = [Provider]


MAX_CHARACTERS = 400_000
CLOCK_SECONDS = 300  # by which the provider's clock may differ, as python3-saml has it


class ResponseError(Exception):
    """The answer is refused; the text says why, for the person who wants to sign in."""


def accepted_response(request: HttpRequest, provider: Provider) -> tuple[Any, str]:
    """Check the answer that a browser brings, and mark it as used.

    Returns:
        The answer, and the id of our request to which its signed part answers.

    Raises:
        ResponseError: the answer is refused.
        MetadataError: the provider's metadata cannot be used.
    """
    from onelogin.saml2.response import OneLogin_Saml2_Response

    given = request.POST.get("SAMLResponse", "")
    if not given or len(given) > MAX_CHARACTERS:
        raise ResponseError(_("There is no answer of an identity provider here."))
    library_settings = provider.library_settings(request)
    try:
        response = OneLogin_Saml2_Response(library_settings, given)
        response.is_valid(provider.received(request), raise_exceptions=True)
        answers = _request_id(response)
        _require_audience(response)
    except ResponseError:
        raise
    except Exception as error:  # the library raises many kinds for what anybody may send
        raise ResponseError(_reason(error)) from error
    _use_once(response)
    return response, answers


def _request_id(response: Any) -> str:
    """Id of our request in the signed assertion: the id in the envelope may not be signed."""
    found = {
        node.get("InResponseTo")
        for node in response._query_assertion(
            "/saml:Subject/saml:SubjectConfirmation/saml:SubjectConfirmationData"
        )
    }
    if len(found) != 1 or None in found:
        raise ResponseError(_("You did not begin to sign in here. Use the button on the sign-in page."))
    return str(found.pop())


def _require_audience(response: Any) -> None:
    """Refuse an assertion for everybody: python3-saml takes one that names no audience."""
    if not response.get_audiences():
        raise ResponseError(
            _("The identity provider's answer does not say that it is meant for this server.")
        )


def _use_once(response: Any) -> None:
    """Refuse an assertion that was brought before, until it has expired."""
    until = response.get_assertion_not_on_or_after()
    if until is None:
        raise ResponseError(_("The identity provider's answer does not say until when it is valid."))
    name = hashlib.sha256(response.get_assertion_id().encode()).hexdigest()
    seconds = max(until - time.time(), 0) + 2 * CLOCK_SECONDS
    if not cache.add(f"saml-assertion:{name}", 1, seconds):
        raise ResponseError(_("This answer of the identity provider was used before. Sign in once more."))


def _reason(error: Exception) -> str:
    from onelogin.saml2.errors import OneLogin_Saml2_ValidationError as Invalid

    code = getattr(error, "code", None) if isinstance(error, Invalid) else None
    if code in (Invalid.INVALID_SIGNATURE, Invalid.NO_SIGNATURE_FOUND):
        return _("The answer is not signed with a key of this installation's identity provider.")
    if code in (Invalid.DEPRECATED_SIGNATURE_METHOD, Invalid.DEPRECATED_DIGEST_METHOD):
        return _("The answer is signed by an outdated method, such as SHA-1.")
    if code in (Invalid.WRONG_AUDIENCE, Invalid.WRONG_DESTINATION):
        return _("The identity provider's answer is meant for another server.")
    if code == Invalid.WRONG_ISSUER:
        return _("The answer comes from another identity provider.")
    if code in (Invalid.ASSERTION_EXPIRED, Invalid.SESSION_EXPIRED, Invalid.WRONG_SUBJECTCONFIRMATION):
        return _(
            "The identity provider's answer has expired, or is meant for another server. Sign in once more."
        )
    if code == Invalid.ASSERTION_TOO_EARLY:
        return _("The identity provider's answer is not valid yet: its clock and this server's differ.")
    if code == Invalid.STATUS_CODE_IS_NOT_SUCCESS:
        return _("The identity provider did not sign you in.")
    return _("The identity provider's answer cannot be read.")
