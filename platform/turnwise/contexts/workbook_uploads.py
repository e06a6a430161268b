"""Uploaded workbooks as JSON Lines, unpacked by a process of their own (`packed_files`)."""

import json
from subprocess import SubprocessError

from django.utils.translation import gettext as _

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
