"""What two people who are to talk are given to read: a pure function of an article, a configuration, a seed.

Source: Gopalakrishnan et al. 2019 (Topical-Chat), section 3.2, and the published reading sets where the paper
is silent; docs/topical-chat.md lists which rule is whose.

What somebody reads beside a conversation: texts under names, and how a researcher pastes them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from evaluation.texts.cleaning import cleaned

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


ENTITIES = 3
ARTICLE_SECTIONS = 4
SHORTENED, SUMMARIZED = "shortened", "summarized"


class Configuration(StrEnum):
    """How the reading sets of the two differ: in A and B they do, in C and D they do not."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"


FACTS_NEEDED = {Configuration.A: 8, Configuration.B: 4, Configuration.C: 4, Configuration.D: 4}
"""Of each entity; in A each seat has at least four that the other has not."""


class TooLittleKnownError(ValueError):
    """A reading set cannot be made; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class KnownEntity:
    """What a base knows of one entity."""

    name: str
    shortened: str
    summarized: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ToRead:
    """An article in its four sections, and the three entities that it names most often, in that order."""

    headline: str
    sections: tuple[str, ...]
    entities: tuple[KnownEntity, ...]


ReadingSets = tuple[list[Section], list[Section]]
"""What seat 0 has and what seat 1 has."""


def reading_sets(article: ToRead, configuration: Configuration, random: Random) -> ReadingSets:
    """The reading sets of both seats.

    Raises:
        TooLittleKnownError: there are not three entities and four sections, or an entity has too few facts.
    """
    if len(article.entities) != ENTITIES or len(article.sections) != ARTICLE_SECTIONS:
        raise TooLittleKnownError(
            f"“{article.headline}” has {len(article.entities)} entities and {len(article.sections)} "
            f"sections; a reading set needs {ENTITIES} and {ARTICLE_SECTIONS}."
        )
    variants = [SHORTENED, SHORTENED]
    if configuration == Configuration.B:
        variants[random.randrange(2)] = SUMMARIZED
    seats: ReadingSets = ([], [])
    for rank, entity in enumerate(article.entities, start=1):
        for seat, variant, facts in zip(seats, variants, _facts(entity, configuration, random), strict=True):
            lead = entity.summarized if variant == SUMMARIZED else entity.shortened
            seat.append(Section(f"FS{rank}", f"Factual Section {rank}", lead, entity.name, facts, variant))
    if configuration != Configuration.C:
        for seat in seats:
            seat += article_sections(article.headline, article.sections)
    return seats


def article_sections(headline: str, sections: Sequence[str]) -> list[Section]:
    return [
        Section(f"AS{number}", f"Article Section {number}", text, headline if number == 1 else "")
        for number, text in enumerate(sections, start=1)
    ]


def _facts(entity: KnownEntity, configuration: Configuration, random: Random) -> list[tuple[str, ...]]:
    """The facts of each seat, in the order of the base."""
    needed = FACTS_NEEDED[configuration]
    if len(entity.facts) < needed:
        raise TooLittleKnownError(
            f"“{entity.name}” has {len(entity.facts)} facts; configuration {configuration} needs {needed}."
        )
    if configuration == Configuration.A:
        each = min(5, len(entity.facts) // 2)
        drawn = random.sample(range(len(entity.facts)), 2 * each)
        halves = [drawn[:each], drawn[each:]]
    else:
        drawn = random.sample(range(len(entity.facts)), min(5, len(entity.facts)))
        halves = [drawn, drawn]
    return [tuple(entity.facts[at] for at in sorted(half)) for half in halves]
