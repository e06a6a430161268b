"""A small identity provider that speaks SAML: metadata, and assertions signed by a key of its own."""

import base64
import zlib
from datetime import UTC, datetime, timedelta
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

import xmlsec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from lxml import etree

ENTITY_ID = "https://login.example.org/saml"
PERSISTENT = "urn:oasis:names:tc:SAML:2.0:nameid-format:persistent"
MAIL = "urn:oid:0.9.2342.19200300.100.1.3"


class SigningKey:
    """A key of RSA with a certificate that it signed itself."""

    def __init__(self) -> None:
        key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
        name, now = x509.Name([]), datetime.now(UTC)
        made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
        self.certificate = base64.b64encode(
            made.sign(key, hashes.SHA256()).public_bytes(serialization.Encoding.DER)
        ).decode()
        self._pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )

    def sign(self, element: etree._Element) -> None:
        """Put a signature behind the issuer of an element with the attribute ID."""
        reference = xmlsec.template
        node = reference.create(
            element, xmlsec.constants.TransformExclC14N, xmlsec.constants.TransformRsaSha256
        )
        element.insert(1, node)
        of_element = reference.add_reference(
            node, xmlsec.constants.TransformSha256, uri=f"#{element.get('ID')}"
        )
        reference.add_transform(of_element, xmlsec.constants.TransformEnveloped)
        reference.add_transform(of_element, xmlsec.constants.TransformExclC14N)
        xmlsec.tree.add_ids(element, ["ID"])
        context = xmlsec.SignatureContext()
        context.key = xmlsec.Key.from_memory(self._pem, xmlsec.constants.KeyDataFormatPem)
        context.sign(node)


class SamlIdentityProvider:
    """Lets in one person, with these attributes."""

    def __init__(self, name_id: str = "subject-1", **attributes: str) -> None:
        self.name_id, self.name_id_format = name_id, PERSISTENT
        self.attributes = attributes
        self.key = SigningKey()

    def metadata(self, entity_id: str = ENTITY_ID) -> str:
        """Metadata that name the key."""
        return f"""<md:EntityDescriptor xmlns:md="urn:oasis:names:tc:SAML:2.0:metadata"
 entityID="{entity_id}">
<md:IDPSSODescriptor protocolSupportEnumeration="urn:oasis:names:tc:SAML:2.0:protocol">
<md:KeyDescriptor use="signing"><ds:KeyInfo xmlns:ds="http://www.w3.org/2000/09/xmldsig#"><ds:X509Data>
<ds:X509Certificate>{self.key.certificate}</ds:X509Certificate></ds:X509Data></ds:KeyInfo></md:KeyDescriptor>
<md:SingleSignOnService Binding="urn:oasis:names:tc:SAML:2.0:bindings:HTTP-Redirect"
 Location="https://login.example.org/sso"/></md:IDPSSODescriptor></md:EntityDescriptor>"""

    def answer(
        self,
        location: str,
        *,
        key: SigningKey | None = None,
        audience: str | None = None,
        seconds: float = 60,
        answers: str | None = None,
        envelope: str | None = None,
        signs: str = "Assertion",
    ) -> dict[str, str]:
        """Form that the provider's page at `location` sends to Turnwise.

        Args:
            location: address of our request.
            key: another key that signs.
            audience: other than the one who asks; "": none is named.
            seconds: how long the assertion is valid; negative: it has expired.
            answers: id of the request in the assertion, if not the one that was sent; "": none.
            envelope: the same in the response around it, which is not signed.
            signs: "Assertion" or "Response".
        """
        asked = etree.fromstring(zlib.decompress(base64.b64decode(_parameter(location, "SAMLRequest")), -15))
        request_id = asked.get("ID")
        acs = asked.get("AssertionConsumerServiceURL")
        issuer = asked.findtext("{urn:oasis:names:tc:SAML:2.0:assertion}Issuer")
        now = datetime.now(UTC)
        begin, end = (
            f"{at:%Y-%m-%dT%H:%M:%SZ}" for at in (now - timedelta(hours=1), now + timedelta(seconds=seconds))
        )
        to = request_id if answers is None else answers
        to_envelope = to if envelope is None else envelope
        meant_for = issuer if audience is None else audience
        given = "".join(
            f'<saml:Attribute Name="{name}"><saml:AttributeValue>{value}'
            "</saml:AttributeValue></saml:Attribute>"
            for name, value in self.attributes.items()
        )
        audiences = (
            f"<saml:AudienceRestriction><saml:Audience>{meant_for}</saml:Audience></saml:AudienceRestriction>"
        )
        response = etree.fromstring(
            f"""<samlp:Response xmlns:samlp="urn:oasis:names:tc:SAML:2.0:protocol"
 xmlns:saml="urn:oasis:names:tc:SAML:2.0:assertion"
 ID="r{uuid4().hex}" Version="2.0" IssueInstant="{begin}" Destination="{acs}"{_in_response_to(to_envelope)}>
<saml:Issuer>{ENTITY_ID}</saml:Issuer>
<samlp:Status><samlp:StatusCode Value="urn:oasis:names:tc:SAML:2.0:status:Success"/></samlp:Status>
<saml:Assertion ID="a{uuid4().hex}" Version="2.0" IssueInstant="{begin}">
<saml:Issuer>{ENTITY_ID}</saml:Issuer>
<saml:Subject><saml:NameID Format="{self.name_id_format}">{self.name_id}</saml:NameID>
<saml:SubjectConfirmation Method="urn:oasis:names:tc:SAML:2.0:cm:bearer"><saml:SubjectConfirmationData
 NotOnOrAfter="{end}" Recipient="{acs}"{_in_response_to(to)}/></saml:SubjectConfirmation></saml:Subject>
<saml:Conditions NotBefore="{begin}" NotOnOrAfter="{end}">{audiences if meant_for else ""}</saml:Conditions>
<saml:AuthnStatement AuthnInstant="{begin}"><saml:AuthnContext>
<saml:AuthnContextClassRef>urn:oasis:names:tc:SAML:2.0:ac:classes:Password</saml:AuthnContextClassRef>
</saml:AuthnContext></saml:AuthnStatement>
<saml:AttributeStatement>{given}</saml:AttributeStatement></saml:Assertion></samlp:Response>"""
        )
        signed = response if signs == "Response" else response.find("{*}Assertion")
        (key or self.key).sign(signed)
        return {"SAMLResponse": base64.b64encode(etree.tostring(response)).decode(), "RelayState": ""}


def _in_response_to(request_id: str) -> str:
    return f' InResponseTo="{request_id}"' if request_id else ""


def _parameter(location: str, name: str) -> str:
    return parse_qs(urlsplit(location).query)[name][0]
