"""Settings of SAML, read from the environment when a program starts."""

import importlib.util
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Names of attributes, by what they are used for; TURNWISE_SAML_ATTRIBUTES replaces some.
ATTRIBUTES = {
    "uid": [
        "urn:oasis:names:tc:SAML:attribute:subject-id",
        "urn:oasis:names:tc:SAML:attribute:pairwise-id",
    ],
    "email": [
        "urn:oid:0.9.2342.19200300.100.1.3",
        "http://schemas.xmlsoap.org/ws/2005/05/identity/claims/emailaddress",
    ],
    "email_verified": ["http://schemas.auth0.com/email_verified"],
    "username": ["urn:oid:0.9.2342.19200300.100.1.1", "http://schemas.auth0.com/nickname"],
}
MODULES = ("onelogin", "xmlsec")  # of the extra `saml`
_SAFE_ADDRESS = re.compile(r"https://[^/\s]+|http://(localhost|127\.0\.0\.1|\[::1\])[:/]")
_DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")


@dataclass(frozen=True, slots=True)
class SamlConfiguration:
    """An identity provider that speaks SAML.

    Attributes:
        metadata: address or file of the provider's metadata.
        provider: entity id of the provider in metadata that describe several; "": they describe one.
        entity_id: our entity id; "": the address of our own metadata.
        name: what the button on the sign-in page calls the provider.
        admits_new_people: makes an account for everybody whom the provider lets in.
        mail_domains: domains whose addresses the provider has always confirmed.
        attributes: names of attributes, by what they are used for.
    """

    metadata: str
    provider: str
    entity_id: str
    name: str
    admits_new_people: bool
    mail_domains: tuple[str, ...]
    attributes: dict[str, list[str]]
    slug = "sso"  # in our addresses

    def app(self) -> dict[str, Any]:
        """Entry of allauth's list of apps."""
        given = {"attribute_mapping": self.attributes, "verified_email": list(self.mail_domains)}
        return {"provider_id": "saml", "name": self.name, "client_id": self.slug, "settings": given}


def read_saml_configuration(*, admits_new_people: bool) -> SamlConfiguration | None:
    """Read the configuration; None: SAML is off.

    Raises:
        SystemExit: a value cannot be used, or the extra `saml` is not installed.
    """
    metadata = os.environ.get("TURNWISE_SAML_METADATA", "").strip()
    if not metadata:
        return None
    if not all(importlib.util.find_spec(module) for module in MODULES):
        raise SystemExit(
            "TURNWISE_SAML_METADATA is set, but SAML's library is not installed. Install it with "
            "pip install 'turnwise[saml]', or unset the variable."
        )
    if "://" in metadata and not _SAFE_ADDRESS.match(metadata):
        raise SystemExit(
            f"TURNWISE_SAML_METADATA={metadata!r} is not an https address, so the provider's keys could be "
            "exchanged on the way. Use an https address, or the path of a file."
        )
    if "://" not in metadata and not Path(metadata).is_file():
        raise SystemExit(
            f"TURNWISE_SAML_METADATA={metadata!r} is neither an address nor a file. Set it to the https "
            "address or the file of the identity provider's metadata."
        )
    return SamlConfiguration(
        metadata=metadata,
        provider=_entity_id("TURNWISE_SAML_PROVIDER", os.environ.get("TURNWISE_SAML_PROVIDER", "")),
        entity_id=_entity_id("TURNWISE_SAML_ENTITY_ID", os.environ.get("TURNWISE_SAML_ENTITY_ID", "")),
        name=os.environ.get("TURNWISE_SAML_NAME", "").strip()[:80] or "single sign-on",
        admits_new_people=admits_new_people,
        mail_domains=_mail_domains(),
        attributes=ATTRIBUTES | _attributes(),
    )


def _entity_id(name: str, value: str) -> str:
    value = value.strip()
    if re.search(r"['\"<>\s]", value):
        raise SystemExit(
            f"{name}={value!r} is not an entity id. Write it as in the metadata, such as "
            "https://login.example.org/saml, without quotes and spaces."
        )
    return value


def _mail_domains() -> tuple[str, ...]:
    domains = tuple(_words(os.environ.get("TURNWISE_SAML_MAIL_DOMAINS", "").lower()))
    for domain in domains:
        if not _DOMAIN.fullmatch(domain):
            raise SystemExit(
                f"TURNWISE_SAML_MAIL_DOMAINS names {domain!r}, which is not a domain. Write domains such as "
                "example.org, separated by commas."
            )
    return domains


def _attributes() -> dict[str, list[str]]:
    chosen: dict[str, list[str]] = {}
    for pair in _words(os.environ.get("TURNWISE_SAML_ATTRIBUTES", "")):
        use, _, attribute = pair.partition("=")
        if use not in ATTRIBUTES or not attribute:
            raise SystemExit(
                f"TURNWISE_SAML_ATTRIBUTES has {pair!r}, which cannot be read. Write pairs such as "
                f"email=mail, separated by commas; before the sign stands one of: {', '.join(ATTRIBUTES)}."
            )
        chosen.setdefault(use, []).append(attribute)
    return chosen


def _words(text: str) -> list[str]:
    return re.split(r"[\s,]+", text.strip(" ,")) if text.strip(" ,") else []
