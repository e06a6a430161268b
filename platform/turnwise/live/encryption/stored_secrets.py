"""Encrypt all stored secrets with the newest key: once in migrations, and whenever keys are rotated."""

from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.db import models, transaction

from turnwise.live.encryption.ciphers import is_encrypted, renewed
from turnwise.live.encryption.fields import ENCRYPTED

ROWS_AT_ONCE = 200


def encrypted_fields() -> dict[type[models.Model], list[str]]:
    """Names of the encrypted fields of each model."""
    found = {
        model: [field.name for field in model._meta.local_concrete_fields if isinstance(field, ENCRYPTED)]
        for model in apps.get_models()
    }
    return {model: names for model, names in found.items() if names}


def renew_all() -> int:
    """Encrypt all stored secrets with the newest key; returns the number of rows.

    Rows are locked some at a time, so nothing that is written meanwhile is lost.
    """
    rows = sum(encrypt_rows(model, *names) for model, names in encrypted_fields().items())
    return rows + _renew_second_factors()


def encrypt_rows(model: type[Any], *names: str) -> int:
    """Write these fields of all rows again, which encrypts them with the newest key."""
    count = 0
    for rows in _locked(model):
        count += len(rows)
        model._default_manager.bulk_update(rows, names)
    return count


def _renew_second_factors() -> int:
    """Renew the keys that allauth stores as JSON, encrypted by `accounts.adapters`."""
    model = apps.get_model("mfa", "Authenticator")
    count = 0
    for rows in _locked(model):
        count += len(rows)
        for row in rows:
            row.data = _renewed_json(row.data)
        model._default_manager.bulk_update(rows, ["data"])
    return count


def _renewed_json(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _renewed_json(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_renewed_json(inner) for inner in value]
    return renewed(value) if is_encrypted(value) else value


def _locked(model: type[Any]) -> Iterator[list[Any]]:
    """All rows, some at a time, each time locked in a transaction of its own."""
    last = 0
    while True:
        with transaction.atomic():
            found = model._default_manager.filter(pk__gt=last).order_by("pk")
            rows = list(found.select_for_update(of=("self",))[:ROWS_AT_ONCE])
            if not rows:
                return
            yield rows
            last = rows[-1].pk
