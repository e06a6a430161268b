"""What hosting leaves of a response that a bot gave."""

import unicodedata
from dataclasses import replace

from chatbots.base import Response
from evaluation.text import cleaned

MAX_RESPONSE_CHARS = 4_000
"""Longest response, in code points, that hosting lets through; the rest is cut off."""

MAX_CANDIDATES = 400
"""Most candidates that one response may carry: the largest number of samples of the Meena paper."""

MAX_REMARKS = 16
MAX_REMARK_CHARS = 500
"""So many remarks, each of so many code points, are kept of a response."""

_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})


def clean_text(text: str) -> str:
    """A bot's untrusted output as `evaluation.text.cleaned` leaves it, at most `MAX_RESPONSE_CHARS` long."""
    return cleaned(text, MAX_RESPONSE_CHARS)


def is_blank(text: str) -> bool:
    """Whether nothing of a text can be seen: only spaces, controls and formatting characters, or nothing."""
    return all(unicodedata.category(character) in _INVISIBLE for character in text)


def clean_response(response: Response) -> Response:
    """The same response, its texts cleaned by `clean_text`; candidates and remarks as many as may be kept.

    That it was cut is the last remark.
    """
    candidates = tuple(
        replace(candidate, text=clean_text(candidate.text))
        for candidate in response.candidates[:MAX_CANDIDATES]
    )
    cut = _cut(response.text)
    told = (*response.remarks[: MAX_REMARKS - len(cut)], *cut)
    remarks = tuple(clean_text(remark)[:MAX_REMARK_CHARS] for remark in told)
    return replace(response, text=clean_text(response.text), candidates=candidates, remarks=remarks)


def _cut(text: str) -> tuple[str, ...]:
    """What readers should know of a text that is too long; nothing of any other."""
    if len(text) <= MAX_RESPONSE_CHARS:
        return ()
    kept = f"{MAX_RESPONSE_CHARS:,}"
    return (f"The reply had {len(text):,} characters; what follows the first {kept} was cut off.",)
