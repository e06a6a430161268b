"""Uploads: workbooks as JSON Lines, and files between preview and import.

Workbooks are unpacked by a process of their own (`packed_files`). The newest upload of each person is kept
for an hour.
"""

import json
import secrets
from subprocess import SubprocessError
from typing import Any

from django.contrib import messages
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from turnwise.contexts.tables import MAX_BYTES, FileRefusedError
from turnwise.live.subprocesses import run_module


def text_of_workbook(data: bytes) -> str:
    """Rows of a workbook as JSON Lines with the same line numbers, unpacked in a subprocess.

    Raises:
        FileRefusedError: the workbook is too large, damaged, or takes too long.
    """
    if len(data) > MAX_BYTES:
        raise FileRefusedError(
            _("The file has %(bytes)s bytes, more than %(most)s. Split it.")
            % {"bytes": f"{len(data):,}", "most": f"{MAX_BYTES:,}"}
        )
    try:
        result = json.loads(run_module("turnwise.contexts.packed_files", [], data))
    except SubprocessError:
        raise FileRefusedError(_("The workbook could not be unpacked. Save it as CSV.")) from None
    if result["refusal"]:
        raise FileRefusedError(result["refusal"])
    return str(result["text"])


SECONDS = 3600
EXPIRED = gettext_lazy(
    "The preview is older than an hour, has already been imported, or was replaced by a newer one; or "
    "Turnwise was updated meanwhile. Choose the file again."
)


def store_upload(user_id: int, upload: dict[str, Any], *, of: str) -> str:
    """Store an upload, and return the token of its preview.

    Args:
        user_id: key of the user.
        upload: the upload in plain values.
        of: kind and format of the upload; only readers that give the same get it.
    """
    token = secrets.token_urlsafe(16)
    cache.set(_key(user_id), upload | {"token": token, "of": of}, timeout=SECONDS)
    return token


def get_upload(user_id: int, token: str, *, of: str) -> dict[str, Any] | None:
    """The upload of this preview; None if it has expired or has another kind or format."""
    upload: dict[str, Any] | None = cache.get(_key(user_id))
    matches = upload is not None and (upload["token"], upload.get("of")) == (token, of)
    return upload if matches else None


def delete_upload(user_id: int, token: str) -> bool:
    """Delete the upload. True if it was still there; of two concurrent calls one gets True."""
    upload = cache.get(_key(user_id))
    return upload is not None and upload["token"] == token and bool(cache.delete(_key(user_id)))


def record_import(token: str, address: str) -> None:
    """Remember the address of the import, for a second press of the button."""
    cache.set(_imported(token), address, timeout=SECONDS)


def redirect_expired(request: HttpRequest, token: str, otherwise: str) -> HttpResponse:
    """Redirect to the result of the import, or to the page `otherwise` with the reason."""
    if address := cache.get(_imported(token)):
        return redirect(address)
    messages.error(request, EXPIRED)
    return redirect(otherwise)


def _key(user_id: int) -> str:
    return f"contexts.preview.{user_id}"


def _imported(token: str) -> str:
    return f"contexts.imported.{token[:40]}"
