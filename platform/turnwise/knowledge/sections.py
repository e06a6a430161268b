"""What somebody reads beside a conversation: texts under names, and how a researcher pastes them."""

import re
from dataclasses import dataclass

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from evaluation.text import cleaned

MOST_SECTIONS = 30
LONGEST_TITLE = 120
LONGEST_TEXT = 20_000
LONGEST_PASTED = 100_000

_HEADING = re.compile(r"#{1,6}\s*(.*?)\s*#*")


@dataclass(frozen=True, slots=True)
class Section:
    """One text.

    Attributes:
        key: short name in files, unique among those that one person reads: FS1.
        title: what the reader knows it by: Factual Section 1.
        text: what is read.
        heading: what it is about; empty if the title says so.
        points: single facts after the text.
        variant: which version of a text that has several: shortened, summarized.
    """

    key: str
    title: str
    text: str
    heading: str = ""
    points: tuple[str, ...] = ()
    variant: str = ""


def pasted(source: str) -> list[Section]:
    """The sections of a pasted text: a line that begins with # names one, what follows is its text.

    A text without such a line is one section.

    Raises:
        ValidationError: names the line, what is wrong with it, and the cure.
    """
    found: list[tuple[int, str, list[str]]] = []
    above = source[: len(source) - len(source.lstrip())].count("\n")  # empty lines, which count, too
    for number, line in enumerate(cleaned(source, LONGEST_PASTED).split("\n"), start=1 + above):
        if line.startswith("#"):
            match = _HEADING.fullmatch(line)
            found.append((number, match[1] if match else "", []))
        elif found:
            found[-1][2].append(line)
        elif line.strip():
            found.append((number, _("To read"), [line]))
    if len(found) > MOST_SECTIONS:
        raise ValidationError(
            _("Line %(line)d begins section %(number)d, and there is room for %(most)d. Join some.")
            % {"line": found[MOST_SECTIONS][0], "number": MOST_SECTIONS + 1, "most": MOST_SECTIONS}
        )
    return [
        _section(number, line, title, "\n".join(lines).strip())
        for number, (line, title, lines) in enumerate(found, start=1)
    ]


def _section(number: int, line: int, title: str, text: str) -> Section:
    if not title:
        raise ValidationError(_("Line %(line)d: a # without a name. Write one after it.") % {"line": line})
    if len(title) > LONGEST_TITLE:
        raise ValidationError(
            _("Line %(line)d: the name has %(length)d characters, more than %(most)d. Shorten it.")
            % {"line": line, "length": len(title), "most": LONGEST_TITLE}
        )
    if not text:
        raise ValidationError(
            _("Line %(line)d: there is no text under “%(title)s”. Write it below the name.")
            % {"line": line, "title": title}
        )
    if len(text) > LONGEST_TEXT:
        raise ValidationError(
            _("Line %(line)d: “%(title)s” has %(length)s characters, more than %(most)s. Divide it.")
            % {"line": line, "title": title, "length": f"{len(text):,}", "most": f"{LONGEST_TEXT:,}"}
        )
    return Section(f"S{number}", title, text)


def refuse_unreadable(source: str) -> None:
    """Validate a pasted text."""
    pasted(source)
