"""Metadata of an identity provider that speaks SAML: its addresses and the keys with which it signs."""

import urllib.request
from pathlib import Path
from typing import Any
from urllib.error import URLError

from turnwise.accounts.single_sign_on.saml_configuration import SamlConfiguration

MAX_BYTES = 20_000_000
TIMEOUT_SECONDS = 10


class MetadataError(Exception):
    """The metadata cannot be fetched or used; the text says why."""


def read_identity_provider(configuration: SamlConfiguration) -> dict[str, Any]:
    """Read the provider's entity id, address and certificates, as python3-saml takes them.

    Raises:
        MetadataError: the metadata cannot be fetched or used.
    """
    from lxml import etree
    from onelogin.saml2.idp_metadata_parser import OneLogin_Saml2_IdPMetadataParser as Parser
    from onelogin.saml2.xml_utils import OneLogin_Saml2_XML

    source = configuration.metadata
    try:
        tree = OneLogin_Saml2_XML.to_etree(_content(source))
    except (etree.XMLSyntaxError, ValueError) as error:
        raise MetadataError(f"What is at {source} is not XML.") from error
    of_providers = OneLogin_Saml2_XML.query(tree, "//md:EntityDescriptor[md:IDPSSODescriptor]/@entityID")
    named = ", ".join(of_providers[:5])
    if not of_providers:
        raise MetadataError(f"The metadata at {source} describe no identity provider.")
    if configuration.provider and configuration.provider not in of_providers:
        raise MetadataError(
            f"The metadata at {source} do not describe {configuration.provider}, but {named}."
        )
    if len(of_providers) > 1 and not configuration.provider:
        raise MetadataError(
            f"The metadata at {source} describe {len(of_providers)} providers, such as {named}."
        )
    provider: dict[str, Any] = Parser.parse(
        tree, entity_id=of_providers[0] if len(of_providers) == 1 else configuration.provider
    )["idp"]
    if "singleSignOnService" not in provider:
        raise MetadataError(f"The metadata at {source} have no address for the binding HTTP-Redirect.")
    if not (provider.get("x509cert") or provider.get("x509certMulti", {}).get("signing")):
        raise MetadataError(f"The metadata at {source} have no certificate for signatures.")
    return provider


def _content(source: str) -> bytes:
    try:
        if "://" not in source:
            return Path(source).read_bytes()
        with urllib.request.urlopen(source, timeout=TIMEOUT_SECONDS) as answer:
            content: bytes = answer.read(MAX_BYTES + 1)
    except (OSError, URLError, ValueError) as error:
        raise MetadataError(f"The metadata at {source} cannot be read: {error}.") from error
    if len(content) > MAX_BYTES:
        raise MetadataError(f"The metadata at {source} are larger than {MAX_BYTES // 1_000_000}\u00a0MB.")
    return content
