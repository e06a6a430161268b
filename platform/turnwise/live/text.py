"""How long a text may be that somebody wrote; `evaluation.text` cleans it. What files are that hold none."""

from django.utils.translation import gettext as _

MAX_TEXT = 4000
"""Characters of a turn or a response."""

_PACKED = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_WIDE = (b"\xff\xfe", b"\xfe\xff")


def why_no_text(data: bytes) -> str:
    """What a file is that spreadsheets save and that is no UTF-8, and what to do; empty: nothing of that."""
    if data.startswith(_PACKED):
        return _(
            "This is a workbook (.xlsx, .xls) or another packed file, whatever its name says. Open it in a "
            "spreadsheet program, save it as “CSV UTF-8”, and choose that file."
        )
    if data.startswith(_WIDE):
        return _("The text is in UTF-16, not in UTF-8. Save it as “CSV UTF-8”, and choose that file.")
    return ""
