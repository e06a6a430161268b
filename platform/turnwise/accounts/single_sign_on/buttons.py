"""Identity providers of this installation, as the buttons of the sign-in page."""

from dataclasses import dataclass

from django.conf import settings
from django.urls import reverse


@dataclass(frozen=True, slots=True)
class Button:
    """Name of an identity provider, and the address at which a person begins to sign in with it."""

    name: str
    address: str


def sign_on_buttons() -> list[Button]:
    """List the providers that are set: OpenID Connect first, then SAML."""
    found = []
    if settings.OIDC_ISSUER:
        address = reverse("openid_connect_login", args=[settings.OIDC_PROVIDER_ID])
        found.append(Button(settings.OIDC_NAME, address))
    if settings.SAML:
        found.append(Button(settings.SAML.name, reverse("saml_login", args=[settings.SAML.slug])))
    return found
