"""Reading sets: what the two people of a conversation read. Pure: from article, configuration and seed.

The module also parses reading material that a researcher pastes.

Source: Gopalakrishnan et al. 2019 (Topical-Chat), section 3.2, and the published reading sets for what the
paper leaves open;
docs/topical-chat.md lists the origin of each rule.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _

from evaluation.texts.cleaning import cleaned
from evaluation.texts.lengths import MAX_TURN_CHARS

MOST_SECTIONS = 30
LONGEST_TITLE = 120
LONGEST_TEXT = MAX_TURN_CHARS
LONGEST_PASTED = 100_000

_HEADING = re.compile(r"#{1,6}\s*(.*?)\s*#*")


@dataclass(frozen=True, slots=True)
class Section:
    """One text to read.

    Attributes:
        key: short name in files, such as FS1, unique for one person.
        title: title for the reader, such as Factual Section 1.
        text: the text.
        heading: subject of the text; empty if the title says it.
        points: single facts after the text.
        variant: version of the text if there are several: shortened, summarized.
    """

    key: str
    title: str
    text: str
    heading: str = ""
    points: tuple[str, ...] = ()
    variant: str = ""


def parse_pasted(source: str) -> list[Section]:
    """Sections of a pasted text. A line that begins with # names a section, the lines below are its text.

    A text without such lines is one section.

    Raises:
        ValidationError: names the line, the problem and the cure.
    """
    found: list[tuple[int, str, list[str]]] = []
    above = source[: len(source) - len(source.lstrip())].count("\n")  # leading empty lines count as lines
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
    parse_pasted(source)


ENTITIES = 3
ARTICLE_SECTIONS = 4
SHORTENED, SUMMARIZED = "shortened", "summarized"


class Configuration(StrEnum):
    """Configurations of reading sets: in A and B the two people's sets differ, in C and D they do not."""

    A = "A"
    B = "B"
    C = "C"
    D = "D"


FACTS_NEEDED = {Configuration.A: 8, Configuration.B: 4, Configuration.C: 4, Configuration.D: 4}
"""Facts needed for each entity; in A each seat gets at least four that the other does not have."""


class TooLittleKnownError(ValueError):
    """A reading set cannot be made; the message says what is missing."""


@dataclass(frozen=True, slots=True)
class KnownEntity:
    """The knowledge of a base about one entity."""

    name: str
    shortened: str
    summarized: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadableArticle:
    """An article in four sections, with the three entities that it names most often, in that order."""

    headline: str
    sections: tuple[str, ...]
    entities: tuple[KnownEntity, ...]


ReadingSets = tuple[list[Section], list[Section]]
"""Reading sets of seat 0 and of seat 1."""


def reading_sets(article: ReadableArticle, configuration: Configuration, random: Random) -> ReadingSets:
    """Reading sets of both seats.

    Raises:
        TooLittleKnownError: the article lacks entities or sections, or an entity has too few facts.
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
    """Facts of each seat, in the order of the base."""
    needed = FACTS_NEEDED[configuration]
    if len(entity.facts) < needed:
        raise TooLittleKnownError(
            f"“{entity.name}” has {len(entity.facts)} facts; configuration {configuration} needs {needed}."
        )
    if configuration == Configuration.A:
        number = min(5, len(entity.facts) // 2)
        drawn = random.sample(range(len(entity.facts)), 2 * number)
        halves = [drawn[:number], drawn[number:]]
    else:
        drawn = random.sample(range(len(entity.facts)), min(5, len(entity.facts)))
        halves = [drawn, drawn]
    return [tuple(entity.facts[at] for at in sorted(half)) for half in halves]
