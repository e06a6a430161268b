"""Signatures of the Standard Webhooks specification, symmetric version v1: https://www.standardwebhooks.com."""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Iterable

PREFIX = "whsec_"
SECRET_BYTES = 32


def new_secret() -> str:
    """Make a random secret: `whsec_` and 32 bytes in base64."""
    return PREFIX + base64.b64encode(secrets.token_bytes(SECRET_BYTES)).decode()


def signature(secret: str, message_id: str, timestamp: int, body: bytes) -> str:
    """Sign a message: HMAC-SHA256 over id, timestamp and body, joined by dots."""
    key = base64.b64decode(secret.removeprefix(PREFIX))
    signed = f"{message_id}.{timestamp}.".encode() + body
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


def signed_headers(
    signing_secrets: Iterable[str], message_id: str, timestamp: int, body: bytes
) -> dict[str, str]:
    """Headers of a message, with a signature by each secret."""
    signatures = [signature(secret, message_id, timestamp, body) for secret in signing_secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(signatures),
    }
