"""A base from raw leads and articles, by the rules of the paper; what breaks them is named with its place.

Source of the rules: Gopalakrishnan et al. 2019 (Topical-Chat), section 3.1; docs/topical-chat.md.

Which entities a text names, and how often: whole words, whatever their case.
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
    """The names of entities, each with its aliases, to be found in texts.

    Where several begin at the same word, the longest counts; no word counts twice.
    """

    def __init__(self, names: Mapping[str, Iterable[str]]) -> None:
        """Take the aliases by name."""
        self._named: dict[tuple[str, ...], str] = {}
        lengths: dict[str, set[int]] = {}
        for name, aliases in names.items():
            for each in {tuple(tokens(text)) for text in (name, *aliases)} - {()}:
                self._named.setdefault(each, name)
                lengths.setdefault(each[0], set()).add(len(each))
        self._lengths = {first: sorted(found, reverse=True) for first, found in lengths.items()}

    def counted(self, text: str) -> list[tuple[str, int]]:
        """(name, how often) of those that the text names: the most frequent first, then by first mention."""
        counts: Counter[str] = Counter()
        said = tokens(text)
        at = 0
        while at < len(said):
            length, name = self._at(said, at)
            if name:
                counts[name] += 1
            at += length
        return counts.most_common()  # of equal counts, in the order of their first mention

    def _at(self, said: Sequence[str], at: int) -> tuple[int, str]:
        """How many words the name at a place has, and whose it is; (1, "") if there is none."""
        for length in self._lengths.get(said[at], ()):
            if name := self._named.get(tuple(said[at : at + length])):
                return length, name
        return 1, ""


FACTS = (8, 10)
ARTICLE_WORDS = (600, 1000)


@dataclass(frozen=True, slots=True)
class Finding:
    """Something to say about a part of a file, such as articles[3]."""

    where: str
    say: str


@dataclass(frozen=True, slots=True)
class EntityRow:
    """An entity as a base stores it. Fields as in `turnwise.knowledge.models.Entity`."""

    where: str
    name: str
    topic: str
    aliases: tuple[str, ...]
    shortened: str
    summarized: str
    facts: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ArticleRow:
    """An article as a base stores it; `named` are the names of its three entities, most frequent first."""

    where: str
    key: str
    headline: str
    sections: tuple[str, ...]
    named: tuple[str, ...]


@dataclass(slots=True)
class Built:
    """What a base would hold, what is wrong with it, and what is worth a look but no obstacle."""

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
    """The two versions of a lead: shortened and summarized."""
    return shortened(lead), summarized(lead)


@dataclass
class Articles:
    """Turns raw articles into those of a base that has these entities."""

    entities: Sequence[EntityRow]

    @cached_property
    def _names(self) -> Names:
        return Names({entity.name: entity.aliases for entity in self.entities})

    def built(self, raw: RawArticle) -> ArticleRow | Finding:
        """The article in its sections with its entities; a finding if it has too few of either."""
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
        most = tuple(name for name, _ in counted[:ENTITIES])
        return ArticleRow(raw.where, raw.key, raw.headline, tuple(parts), most)


def facts_wanted(entity: EntityRow, configurations: str) -> Finding | None:
    """What an entity lacks for these configurations."""
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
"""Which of some sentences must not be said."""


def by_the_rules(built: Built, unsafe: Unsafe | None = None) -> Iterator[Finding]:
    """Where a base departs from the paper's rules, which are no conditions of ours."""
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
        said = [sentence for section in article.sections for sentence in sentences(section)]
        if unsafe and (
            found := [each for each, is_unsafe in zip(said, unsafe(said), strict=True) if is_unsafe]
        ):
            yield Finding(
                article.where, f"It may hold profanity, which the paper leaves out: “{found[0][:80]}”"
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
    """How many of `total` entities each topic gets, in proportion to how often it was talked about.

    Fractions are rounded by the largest remainder; of equal ones the topic that comes first is rounded up.

    Raises:
        ValueError: nothing was talked about, or a count is negative.
    """
    if any(count < 0 for count in mentions.values()) or not sum(mentions.values()):
        raise ValueError("Budgets need mentions: no count may be negative, and one must be above 0.")
    exact = {topic: total * count / sum(mentions.values()) for topic, count in mentions.items()}
    found = {topic: int(share) for topic, share in exact.items()}
    rest = sorted(exact, key=lambda topic: found[topic] - exact[topic])
    for topic in rest[: total - sum(found.values())]:
        found[topic] += 1
    return found
