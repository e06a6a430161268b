"""The one cleaner of texts that others wrote: bots' replies, workers' answers, researchers' declarations."""

import re

# C0 and C1 controls except tab and newline, bidirectional overrides and isolates, line and paragraph
# separators, lone surrogates (no database can encode them), noncharacters of the first plane.
_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028\u2029\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]"
)

WITHDRAWN = "[withdrawn]"
"""Stands for what somebody said who has taken it back; no figure counts it."""


def cleaned(text: str, most: int) -> str:
    """Make an untrusted text safe to store and to show: no control characters, bounded length.

    Removes control characters except tab and newline, bidirectional overrides, lone surrogates and outer
    white space; turns every kind of line break into a newline; cuts after `most`. HTML is left as it came:
    templates escape it.

    Returns:
        At most `most` code points that UTF-8 and PostgreSQL can hold; maybe empty.
    """
    # Bounded first, so that a text of gigabytes costs no more than a long one.
    shortened = text.lstrip()[: 4 * most]
    lines = re.sub("\r\n?|[\u2028\u2029\x85]", "\n", shortened)
    return _UNSAFE.sub("", lines).strip()[:most].rstrip()
