"""Encrypt and decrypt secrets: stored with a mark, by keys from the environment.

The newest key encrypts; all keys decrypt. A value that no key reads stays as it is stored, so that it can be
read again once its key is back.
"""

import base64
import hashlib
import logging
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

log = logging.getLogger(__name__)

MARK = "encrypted:1:"
"""Begins each encrypted value, so that values of earlier versions are told from it."""


@lru_cache(maxsize=8)
def _cipher(keys: tuple[str, ...]) -> MultiFernet:
    derived = (hashlib.sha256(b"turnwise.secrets." + key.encode()).digest() for key in keys)
    return MultiFernet([Fernet(base64.urlsafe_b64encode(key)) for key in derived])


def _keys() -> tuple[str, ...]:
    """Keys in their order: those of the environment, then the one that was used without them."""
    return (*settings.SECRET_KEYS, settings.SECRET_KEY)


def is_encrypted(value: object) -> bool:
    """True if this is a value as it is stored, not as it is used."""
    return isinstance(value, str) and value.startswith(MARK)


def encrypt(text: str) -> str:
    """Encrypt a text; an empty or an encrypted one stays as it is."""
    if not text or is_encrypted(text):
        return text
    return MARK + _cipher(_keys()).encrypt(text.encode()).decode()


def decrypt(stored: str) -> str:
    """Decrypt a stored value.

    A text that is not encrypted is returned as it is, and so is one that no key reads, with an error in the
    log.
    """
    if not is_encrypted(stored):
        return stored
    try:
        return _cipher(_keys()).decrypt(stored.removeprefix(MARK).encode()).decode()
    except InvalidToken:
        log.error(
            "A stored secret cannot be read with the keys of this installation. Put the key that was used "
            "into TURNWISE_SECRET_KEYS (docs/settings.md), or type the secret again."
        )
        return stored


def renewed(stored: str) -> str:
    """The stored value encrypted with the newest key; one that no key reads stays as it is."""
    text = decrypt(stored)
    return stored if is_encrypted(text) else encrypt(text)
