"""The provider SAML of allauth, with our rules."""

import hashlib
from typing import Any

from allauth.socialaccount import app_settings
from allauth.socialaccount.providers.saml.provider import SAMLProvider
from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

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
