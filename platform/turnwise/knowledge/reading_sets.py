"""What two people who are to talk are given to read: a pure function of an article, a configuration, a seed.

Source: Gopalakrishnan et al. 2019 (Topical-Chat), section 3.2, and the published reading sets where the paper
is silent; docs/topical-chat.md lists which rule is whose.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from random import Random

from turnwise.knowledge.sections import Section

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
