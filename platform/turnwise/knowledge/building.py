"""Building a knowledge base from raw leads and articles by the rules of the paper; departures are named.

`Names` finds entities in texts: whole words, case-insensitive.

Source of the rules: Gopalakrishnan et al. 2019 (Topical-Chat), section 3.1; docs/topical-chat.md.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from turnwise.knowledge.reading_sets import ARTICLE_SECTIONS, ENTITIES, FACTS_NEEDED, Configuration
from turnwise.knowledge.texts import LONGEST_SUMMARY, sentences, shortened, similar_parts, summarized, words

_TOKEN = re.compile(r"[^\W_]+")


def tokens(text: str) -> list[str]:
    return [token.lower() for token in _TOKEN.findall(text)]


class Names:
    """Names and aliases of entities, to be found in texts.

    If several names begin at the same word, the longest counts. No word counts twice.
    """

    def __init__(self, names: Mapping[str, Iterable[str]]) -> None:
        """Take the aliases by name."""
        self._named: dict[tuple[str, ...], str] = {}
        lengths: dict[str, set[int]] = {}
        for name, aliases in names.items():
            for each in {tuple(tokens(text)) for text in (name, *aliases)} - {()}:
                self._named.setdefault(each, name)
                lengths.setdefault(each[0], set()).add(len(each))
        self._lengths = {first: sorted(of_first, reverse=True) for first, of_first in lengths.items()}

    def counted(self, text: str) -> list[tuple[str, int]]:
        """Names in the text with their frequency, the most frequent first, ties by first mention."""
        counts: Counter[str] = Counter()
        words_of_text = tokens(text)
        at = 0
        while at < len(words_of_text):
            length, name = self._at(words_of_text, at)
            if name:
                counts[name] += 1
            at += length
        return counts.most_common()  # keeps the order of first mentions among ties

    def _at(self, words_of_text: Sequence[str], at: int) -> tuple[int, str]:
        """Number of words and entity of the name at this position; (1, "") if there is none."""
        for length in self._lengths.get(words_of_text[at], ()):
            if name := self._named.get(tuple(words_of_text[at : at + length])):
                return length, name
        return 1, ""


FACTS = (8, 10)
ARTICLE_WORDS = (600, 1000)


@dataclass(frozen=True, slots=True)
class Finding:
    """A problem or note about a part of a file, such as articles[3]."""

    where: str
    say: str


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity of a base. Fields as in `turnwise.knowledge.models.Entity`."""

    where: str
    name: str
    topic: str
    aliases: tuple[str, ...]
    shortened: str
    summarized: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArticleRow:
    """An article of a base; `named` has the names of its three entities, the most frequent first."""

    where: str
    key: str
    headline: str
    sections: tuple[str, ...]
    named: tuple[str, ...]


@dataclass(slots=True)
class Built:
    """A built base, with problems that forbid the import, and notes that do not."""

    entities: list[EntityRow] = field(default_factory=list)
    articles: list[ArticleRow] = field(default_factory=list)
    configurations: str = "ABCD"
    budgets: dict[str, int] = field(default_factory=dict)
    problems: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)

    @property
    def may_be_imported(self) -> bool:
        return bool(self.entities) and not self.problems


@dataclass(frozen=True, slots=True)
class RawArticle:
    where: str
    key: str
    headline: str
    text: str


def leads(lead: str) -> tuple[str, str]:
    """The shortened and the summarized version of a lead."""
    return shortened(lead), summarized(lead)


@dataclass
class Articles:
    """Builder of the articles of a base with these entities."""

    entities: Sequence[EntityRow]

    @cached_property
    def _names(self) -> Names:
        return Names({entity.name: entity.aliases for entity in self.entities})

    def built(self, raw: RawArticle) -> ArticleRow | Finding:
        """The article with its sections and entities; a finding if it has too few of either."""
        counted = self._names.counted(f"{raw.headline}\n\n{raw.text}")
        if len(counted) < ENTITIES:
            named = ", ".join(f"“{name}”" for name, _ in counted) or "none"
            return Finding(
                raw.where,
                f"“{raw.headline[:60]}” names {len(counted)} of the {ENTITIES} entities that a reading set "
                f"needs ({named}). Take another article, or add entities or aliases.",
            )
        parts = similar_parts(raw.text, ARTICLE_SECTIONS)
        if parts is None:
            return Finding(
                raw.where,
                f"“{raw.headline[:60]}” has fewer than {ARTICLE_SECTIONS} sentences, one for each section.",
            )
        most_frequent = tuple(name for name, _ in counted[:ENTITIES])
        return ArticleRow(raw.where, raw.key, raw.headline, tuple(parts), most_frequent)


def missing_facts(entity: EntityRow, configurations: str) -> Finding | None:
    """A finding if the entity has too few facts for these configurations."""
    for configuration in map(Configuration, configurations):
        needed = FACTS_NEEDED[configuration]
        if len(entity.facts) < needed:
            return Finding(
                f"{entity.where}.facts",
                f"“{entity.name}” has {len(entity.facts)} of the {needed} facts that configuration "
                f"{configuration} needs. Add {needed - len(entity.facts)}, or leave {configuration} out of "
                f"“configurations”.",
            )
    return None


Unsafe = Callable[[Sequence[str]], list[bool]]
"""Function that tells for each sentence whether it is unsafe."""


def departures_from_paper(built: Built, unsafe: Unsafe | None = None) -> Iterator[Finding]:
    """Yield notes on departures from the paper's rules, which do not forbid an import."""
    for entity in built.entities:
        if not FACTS[0] <= len(entity.facts) <= FACTS[1]:
            yield Finding(f"{entity.where}.facts", f"{len(entity.facts)} facts; the paper has {_to(FACTS)}.")
        if (length := len(words(entity.summarized))) > LONGEST_SUMMARY:
            say = f"The summary has {length} words; the paper allows {LONGEST_SUMMARY}."
            yield Finding(f"{entity.where}.summarized_lead", say)
    for article in built.articles:
        length = sum(len(words(section)) for section in article.sections)
        if not ARTICLE_WORDS[0] <= length <= ARTICLE_WORDS[1]:
            yield Finding(
                article.where, f"{length:,} words; the paper takes articles of {_to(ARTICLE_WORDS)}."
            )
        all_sentences = [sentence for section in article.sections for sentence in sentences(section)]
        flags = unsafe(all_sentences) if unsafe else []
        if profane := [each for each, flag in zip(all_sentences, flags, strict=False) if flag]:
            yield Finding(
                article.where, f"It may hold profanity, which the paper leaves out: “{profane[0][:80]}”"
            )
    yield from _topics(built)


def _to(bounds: tuple[int, int]) -> str:
    return f"{bounds[0]:,} to {bounds[1]:,}"


def _topics(built: Built) -> Iterator[Finding]:
    have = Counter(entity.topic for entity in built.entities)
    for topic, budget in built.budgets.items():
        if have[topic] != budget:
            yield Finding(
                f"budgets.{topic}", f"“{topic}” has {have[topic]} entities and a budget of {budget}."
            )
    if not built.articles:
        return
    topic_of = {entity.name: entity.topic for entity in built.entities}
    named = Counter(topic_of[name] for article in built.articles for name in article.named)
    for topic, of in sorted(have.items()):
        expected = ENTITIES * len(built.articles) * of / len(built.entities)
        if named[topic] < expected / 2:
            say = (
                f"Articles name entities of “{topic}” {named[topic]} times; its share of the entities would "
                f"make {expected:.0f}. The paper balances articles over the topics."
            )
            yield Finding("articles", say)


def budgets(mentions: Mapping[str, int], total: int) -> dict[str, int]:
    """Number of entities of each topic, in proportion to its mentions; the sum is `total`.

    Rounding is by largest remainder; among equal remainders, earlier topics are rounded up.

    Raises:
        ValueError: there are no mentions, or a count is negative.
    """
    if any(count < 0 for count in mentions.values()) or not sum(mentions.values()):
        raise ValueError("Budgets need mentions: no count may be negative, and one must be above 0.")
    exact = {topic: total * count / sum(mentions.values()) for topic, count in mentions.items()}
    found = {topic: int(share) for topic, share in exact.items()}
    rest = sorted(exact, key=lambda topic: found[topic] - exact[topic])
    for topic in rest[: total - sum(found.values())]:
        found[topic] += 1
    return found
