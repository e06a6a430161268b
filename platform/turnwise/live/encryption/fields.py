"""Model fields that encrypt what they store and decrypt what they read.

They cannot be searched: the same text is stored differently each time.
"""

from typing import Any

from django.db import models

from turnwise.live.encryption.ciphers import decrypt, encrypt

SECRET_NAMES = frozenset({"api_key", "key", "token", "secret", "password"})
"""Names of settings whose texts are secrets; tests/accounts/test_stored_secrets.py finds others."""


class EncryptedCharField(models.CharField):  # type: ignore[type-arg]  # of strings, as its base
    """Text whose column holds an encrypted text; `max_length` bounds what people type."""

    def db_type(self, connection: Any) -> str:
        return "text"

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        return None if value is None else decrypt(value)

    def get_prep_value(self, value: Any) -> Any:
        prepared = super().get_prep_value(value)
        return encrypt(prepared) if isinstance(prepared, str) else prepared


class SettingsField(models.JSONField):
    """JSON in which the texts under `SECRET_NAMES` are encrypted, at any depth."""

    def from_db_value(self, value: Any, expression: Any, connection: Any) -> Any:
        return opened(super().from_db_value(value, expression, connection))

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        sealed_value = sealed(value) if isinstance(value, dict) else value
        return super().get_db_prep_value(sealed_value, connection, prepared)


class EncryptedBytesField(models.BinaryField):  # type: ignore[type-arg]  # of bytes, as its base
    """UTF-8 bytes whose column holds an encrypted text."""

    def from_db_value(self, value: Any, *_: Any) -> bytes | None:
        return None if value is None else decrypt(bytes(value).decode()).encode()

    def get_db_prep_value(self, value: Any, connection: Any, prepared: bool = False) -> Any:
        stored = None if value is None else encrypt(bytes(value).decode()).encode()
        return super().get_db_prep_value(stored, connection, prepared)


def sealed(value: Any, *, is_secret: bool = False) -> Any:
    """Copy of a JSON value with its secrets encrypted."""
    if isinstance(value, dict):
        return {key: sealed(inner, is_secret=key in SECRET_NAMES) for key, inner in value.items()}
    if isinstance(value, list):
        return [sealed(inner, is_secret=is_secret) for inner in value]
    return encrypt(value) if is_secret and isinstance(value, str) else value


def opened(value: Any) -> Any:
    """Copy of a JSON value with its secrets decrypted."""
    if isinstance(value, dict):
        return {key: opened(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [opened(inner) for inner in value]
    return decrypt(value) if isinstance(value, str) else value


ENCRYPTED = (EncryptedCharField, SettingsField, EncryptedBytesField)
