"""Knowledge bases as JSON: parsed with problems by place, and written."""

import hashlib
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from chatbots.safety import ProfanityCheck
from turnwise.contexts.reading import ParsedJSON, run_reader
from turnwise.contexts.tables import UNFIT, FileRefusedError, json_fault, text_problem
from turnwise.knowledge.building import (
    ArticleRow,
    Articles,
    Built,
    EntityRow,
    Finding,
    RawArticle,
    Unsafe,
    budgets,
    departures_from_paper,
    leads,
    missing_facts,
)
from turnwise.knowledge.texts import sentences
from turnwise.live.subprocesses import TIMEOUT_SECONDS, shape_of

MAX_BYTES = 20_000_000
MOST_ENTITIES = 2_000
MOST_ARTICLES = 10_000
MOST_FACTS = 50
LONGEST_FACT = 2_000
LONGEST_LEAD = 20_000
LONGEST_ARTICLE = 60_000
MOST_SENTENCES = 400  # of a lead or article; the time grows with the square of their number
MOST_MENTIONS = 10**12

_CONFIGURATIONS = re.compile(r"A?B?C?D?")
_ENTITY = {"name", "topic", "aliases", "lead", "shortened_lead", "summarized_lead", "facts", "mentions"}
_ARTICLE = {"url", "id", "headline", "text"}
_KNOWN = {"about", "configurations", "budgets", "total", "entities", "facts", "articles"}

Where = str


def decoded(data: bytes) -> str:
    """The text of an uploaded file.

    Raises:
        FileRefusedError: the file is too large, or not UTF-8.
    """
    if len(data) > MAX_BYTES:
        raise FileRefusedError(
            _("The file has %(bytes)s bytes, more than %(most)s. Leave articles out.")
            % {"bytes": f"{len(data):,}", "most": f"{MAX_BYTES:,}"}
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise FileRefusedError(
            _("Line %(line)d is not UTF-8 text. Save the file in UTF-8 and choose it again.") % {"line": line}
        ) from None


def parse(text: str) -> Built:
    """Parse a base. Leads are raw or in two versions; facts are inside entities, or separate."""
    built = Built()
    try:
        found = json.loads(text, object_pairs_hook=_members)
    except (ValueError, RecursionError) as error:
        line = f"line {error.lineno}" if isinstance(error, json.JSONDecodeError) else "file"
        built.problems.append(Finding(line, f"This is not JSON: {json_fault(error)}."))
        return built
    if not isinstance(found, dict) or not isinstance(found.get("entities"), list) or not found["entities"]:
        say = "There are no entities. Write {“entities”: [{…}, …], “articles”: [{…}, …]}."
        built.problems.append(Finding("file", say))
        return built
    _Reader(found, built).read()
    if built.may_be_imported:
        built.notes += departures_from_paper(built, _unsafe())
    return built


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Members of a JSON object. Duplicate keys are refused, of which JSON would silently keep the last.

    Raises:
        ValueError: a key appears twice, or cannot be stored or shown.
    """
    found = dict(pairs)
    if len(found) < len(pairs):
        twice, _times = Counter(key for key, _value in pairs).most_common(1)[0]
        raise ValueError(f"{json.dumps(twice)[:60]} appears twice in one object")
    if unfit := next(filter(UNFIT.search, found), ""):
        raise ValueError(f"the name {json.dumps(unfit)[:60]} has a character that no text can have")
    return found


def _unsafe() -> Unsafe | None:
    """The platform's profanity check; None if its library is not installed."""
    try:
        return ProfanityCheck().unsafe
    except ModuleNotFoundError:
        return None


class _Reader:
    """Reader of a file, part by part; collects every problem with its position."""

    def __init__(self, found: Mapping[str, Any], built: Built) -> None:
        self.found, self.built = found, built
        self.mentions: dict[str, int] = {}

    def problem(self, where: Where, say: str) -> None:
        self.built.problems.append(Finding(where, say))

    def read(self) -> None:
        self._unknown("file", self.found, _KNOWN)
        self._configurations()
        self._budgets()
        separate_facts = self._separate_facts()
        self._each("entities", MOST_ENTITIES, lambda where, row: self._entity(where, row, separate_facts))
        for name in (
            separate_facts.keys() - {entity.name for entity in self.built.entities} - self._named_badly()
        ):
            self.problem(
                f"facts.{name[:60]}", f"“{name[:60]}” is not an entity of this base. Add it, or correct it."
            )
        self._choose()
        for entity in self.built.entities:
            if lacks := missing_facts(entity, self.built.configurations):
                self.built.problems.append(lacks)
        articles = Articles(self.built.entities)
        self._each("articles", MOST_ARTICLES, lambda where, row: self._article(where, row, articles))
        self._twice("articles", [(a.where, a.key) for a in self.built.articles], "url or id")
        self._twice("entities", [(e.where, e.name) for e in self.built.entities], "name")

    def _unknown(self, where: Where, row: Mapping[str, Any], known: set[str]) -> None:
        for name in sorted(row.keys() - known):
            self.built.notes.append(Finding(where, f"“{name[:40]}” has no meaning here and is not kept."))

    def _configurations(self) -> None:
        given = self.found.get("configurations", "ABCD")
        if isinstance(given, str) and given and _CONFIGURATIONS.fullmatch(given):
            self.built.configurations = given
        else:
            say = f"{json.dumps(given)[:40]} is none of A, B, C, D in this order, such as “ABCD” or “BCD”."
            self.problem("configurations", say)

    def _budgets(self) -> None:
        given = self.found.get("budgets", {})
        is_whole = isinstance(given, dict) and all(
            type(n) is int and 0 <= n <= MOST_ENTITIES for n in given.values()
        )
        if is_whole:
            self.built.budgets = dict(given)
        else:
            self.problem("budgets", "Write how many entities each topic has, such as {“Books”: 33}.")

    def _separate_facts(self) -> dict[str, Any]:
        facts = self.found.get("facts", {})
        if isinstance(facts, dict):
            return facts
        self.problem("facts", "Write a list of facts for each name, such as {“Venus”: [“…”]}.")
        return {}

    def _each(self, name: str, most: int, take: Callable[[Where, Mapping[str, Any]], None]) -> None:
        rows = self.found.get(name, [])
        if not isinstance(rows, list):
            self.problem(name, "This is not a list.")
            return
        if len(rows) > most:
            self.problem(name, f"{len(rows):,} are more than {most:,}. Leave some out.")
            return
        for number, row in enumerate(rows):
            if isinstance(row, dict):
                take(f"{name}[{number}]", row)
            else:
                self.problem(f"{name}[{number}]", f"{json.dumps(row)[:40]} is not an object. Write {{…}}.")

    def _text(self, where: Where, row: Mapping[str, Any], name: str, limit: int) -> str:
        """A required text; "" with a problem if it cannot be stored."""
        value = row.get(name, "")
        if say := text_problem(value, limit=limit, what=f"“{name}”"):
            self.problem(f"{where}.{name}", say)
            return ""
        return str(value).strip()

    def _sentences(self, where: Where, row: Mapping[str, Any], name: str, limit: int) -> str:
        """A required text with a limited number of sentences."""
        text = self._text(where, row, name, limit)
        if (number := len(sentences(text))) <= MOST_SENTENCES:
            return text
        self.problem(f"{where}.{name}", f"{number:,} sentences are more than {MOST_SENTENCES}. Shorten it.")
        return ""

    def _entity(self, where: Where, row: Mapping[str, Any], separate_facts: Mapping[str, Any]) -> None:
        self._unknown(where, row, _ENTITY)
        before = len(self.built.problems)
        name, topic = self._text(where, row, "name", 120), self._text(where, row, "topic", 60)
        aliases = self._list(f"{where}.aliases", row.get("aliases", []), 20, 120)
        short, summary = self._leads(where, row)
        inline = self._list(f"{where}.facts", row.get("facts", []), MOST_FACTS, LONGEST_FACT)
        separate = self._list(f"facts.{name[:60]}", separate_facts.get(name, []), MOST_FACTS, LONGEST_FACT)
        facts = list(dict.fromkeys([*inline, *separate]))
        if len(facts) < len(inline) + len(separate):
            say = f"{len(inline) + len(separate) - len(facts)} facts of “{name}” appear twice."
            self.problem(f"{where}.facts", say)
        mentions = row.get("mentions", 0)
        if type(mentions) is not int or not 0 <= mentions <= MOST_MENTIONS:
            self.problem(f"{where}.mentions", f"{json.dumps(mentions)[:20]} is not a number from 0 up.")
        if len(self.built.problems) == before:
            self.mentions[name] = mentions
            self.built.entities.append(
                EntityRow(where, name, topic, tuple(aliases), short, summary, tuple(facts))
            )

    def _leads(self, where: Where, row: Mapping[str, Any]) -> tuple[str, str]:
        if "lead" in row:
            lead = self._sentences(where, row, "lead", LONGEST_LEAD)
            return leads(lead) if lead else ("", "")
        short = self._text(where, row, "shortened_lead", LONGEST_LEAD)
        return short, self._text(where, row, "summarized_lead", LONGEST_LEAD)

    def _list(self, where: Where, given: object, most: int, limit: int) -> list[str]:
        if not isinstance(given, list):
            self.problem(where, "This is not a list of texts.")
            return []
        if len(given) > most:
            self.problem(where, f"{len(given)} are more than {most}. Leave some out.")
            return []
        for number, each in enumerate(given):
            if say := text_problem(each, limit=limit, what="It"):
                self.problem(f"{where}[{number}]", say)
        return [str(each).strip() for each in given]

    def _named_badly(self) -> set[str]:
        """Names of entities with problems, whose separate facts need no further problem."""
        rows = [row for row in self.found["entities"] if isinstance(row, dict)]
        return {row["name"] for row in rows if isinstance(row.get("name"), str)}

    def _choose(self) -> None:
        """Keep the entities mentioned most, by the budgets of their topics, if `total` is given."""
        total = self.found.get("total")
        if total is None:
            return
        entities = self.built.entities
        if type(total) is not int or not 1 <= total <= len(entities):
            self.problem(
                "total", f"{json.dumps(total)[:20]} is not a number from 1 to {len(entities)}, the entities."
            )
            return
        mentions_by_topic: dict[str, int] = {}
        for entity in entities:
            before = mentions_by_topic.get(entity.topic, 0)
            mentions_by_topic[entity.topic] = before + self.mentions[entity.name]
        try:
            self.built.budgets = budgets(mentions_by_topic, total)
        except ValueError as error:
            self.problem("total", str(error))
            return
        self.built.entities = [entity for entity in entities if self._is_within_budget(entity)]

    def _is_within_budget(self, entity: EntityRow) -> bool:
        """True if the entity's rank by mentions within its topic is within the topic's budget."""
        same = [each for each in self.built.entities if each.topic == entity.topic]
        ranked = sorted(same, key=lambda each: -self.mentions[each.name])
        return ranked.index(entity) < self.built.budgets[entity.topic]

    def _article(self, where: Where, row: Mapping[str, Any], articles: Articles) -> None:
        self._unknown(where, row, _ARTICLE)
        before = len(self.built.problems)
        key = self._text(where, row, "id" if "id" in row else "url", 500)
        headline = self._text(where, row, "headline", 300)
        text = self._sentences(where, row, "text", LONGEST_ARTICLE)
        if len(self.built.problems) > before:
            return
        article = articles.built(RawArticle(where, key, headline, text))
        if isinstance(article, Finding):
            self.built.problems.append(article)
        else:
            self.built.articles.append(article)

    def _twice(self, name: str, found: Sequence[tuple[Where, str]], what: str) -> None:
        first: dict[str, Where] = {}
        for where, key in found:
            if key in first:
                self.problem(
                    where,
                    f"The {what} “{key[:60]}” is that of {first[key]}, too. Each needs its own.",
                )
            first.setdefault(key, where)


def as_json(built: Built) -> dict[str, Any]:
    """A base as the JSON of its file, which parses to the same base."""
    return {
        "configurations": built.configurations,
        "budgets": built.budgets,
        "entities": [_entity_json(entity) for entity in built.entities],
        "articles": [_article_json(article) for article in built.articles],
    }


def _entity_json(entity: EntityRow) -> dict[str, Any]:
    return {
        "name": entity.name,
        "topic": entity.topic,
        "aliases": list(entity.aliases),
        "shortened_lead": entity.shortened,
        "summarized_lead": entity.summarized,
        "facts": list(entity.facts),
    }


def _article_json(article: ArticleRow) -> dict[str, Any]:
    return {"id": article.key, "headline": article.headline, "text": "\n\n".join(article.sections)}


def content_hash(built: Built) -> str:
    """Hash of the content, independent of the file's form."""
    written = json.dumps(as_json(built), ensure_ascii=False, sort_keys=True)
    return hashlib.sha256(written.encode()).hexdigest()


def parse_in_subprocess(text: str) -> ParsedJSON:
    """Parse a file in another process; a timeout is the file's only problem."""
    parsed = run_reader("turnwise.knowledge.files", [], text.encode())
    if parsed is None:
        say = _("It could not be read within %(n)d\u00a0s. Leave entities or articles out, or shorten them.")
        return asdict(Built(problems=[Finding("file", say % {"n": TIMEOUT_SECONDS})]))
    return parsed


def built_from_json(values: ParsedJSON) -> Built:
    return Built(
        entities=[EntityRow(**_with_tuples(each)) for each in values["entities"]],
        articles=[ArticleRow(**_with_tuples(each)) for each in values["articles"]],
        configurations=values["configurations"],
        budgets=values["budgets"],
        problems=[Finding(**each) for each in values["problems"]],
        notes=[Finding(**each) for each in values["notes"]],
    )


SHAPE = shape_of(Built, EntityRow, ArticleRow, Finding)
"""Fingerprint of the stored format, so that an upload of another version of the code is refused."""


def _with_tuples(row: ParsedJSON) -> ParsedJSON:
    return {key: tuple(value) if isinstance(value, list) else value for key, value in row.items()}


def main() -> None:
    settings.configure(USE_I18N=False)  # no app is needed, and these pages are in English
    json.dump(asdict(parse(sys.stdin.buffer.read().decode())), sys.stdout)


if __name__ == "__main__":
    main()
