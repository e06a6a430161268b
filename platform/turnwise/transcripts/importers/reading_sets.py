"""What the two of a conversation of Topical-Chat had to read, from its file of reading sets."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from turnwise.transcripts.importers.formats import Read

FACTUAL = ("FS1", "FS2", "FS3")
ARTICLE = ("AS1", "AS2", "AS3", "AS4")
LEADS = {"shortened": "shortened_wiki_lead_section", "summarized": "summarized_wiki_lead_section"}
"""By the variant here, the name in the files."""
NO_ARTICLE = "C"
"""The configuration in which nobody is shown the article."""

_LONGEST = 20_000
_LONGEST_HEADING = 300


class ReadingSetError(ValueError):
    """It cannot be stored; the message says which part, and why."""


def texts_of(reading_set: Mapping[str, Any], agent: str) -> list[Read]:
    """The sections that this agent was shown, in order.

    Raises:
        ReadingSetError: a section is no such thing.
    """
    found = [*_factual(agent, reading_set.get(agent)), *_of_article(reading_set)]
    if not found:
        raise ReadingSetError(f"{agent} has nothing to read.")
    return found


def _factual(agent: str, sections: object) -> Iterator[Read]:
    if not isinstance(sections, dict):
        raise ReadingSetError(f"{agent} is not an object of factual sections.")
    if strange := sections.keys() - set(FACTUAL):
        raise ReadingSetError(f"{agent} has “{min(strange)[:40]}”. Its sections are {', '.join(FACTUAL)}.")
    for key in FACTUAL:
        if key not in sections:
            continue
        where, section = f"{agent}, {key}", sections[key]
        if not isinstance(section, dict):
            raise ReadingSetError(f"{where} is not an object.")
        variants = [variant for variant, name in LEADS.items() if name in section]
        if len(variants) != 1:
            raise ReadingSetError(
                f"{where} has {len(variants)} leads. Give one of {', '.join(LEADS.values())}."
            )
        lead = _text(f"{where}, lead", section[LEADS[variants[0]]])
        facts = section.get("fun_facts", [])
        if not isinstance(facts, list):
            raise ReadingSetError(f"{where}, fun_facts is not a list.")
        points = [_text(f"{where}, fact {number}", fact) for number, fact in enumerate(facts, start=1)]
        entity = _text(f"{where}, entity", section.get("entity"), longest=_LONGEST_HEADING)
        yield Read(key, f"Factual Section {key[-1]}", entity, lead, points, variants[0])


def _of_article(reading_set: Mapping[str, Any]) -> Iterator[Read]:
    """The sections of the article; its headline stands over the first."""
    article = reading_set.get("article") or {}
    if not isinstance(article, dict):
        raise ReadingSetError("article is not an object.")
    shown: Sequence[str] = [] if reading_set.get("config") == NO_ARTICLE else ARTICLE
    for key in shown:
        if key in article:
            headline = article.get("headline", "") if key == ARTICLE[0] else ""
            heading = headline and _text("headline", headline, longest=_LONGEST_HEADING)
            yield Read(key, f"Article Section {key[-1]}", heading, _text(key, article[key]))


def _text(where: str, value: object, longest: int = _LONGEST) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ReadingSetError(
            f"{where} is not text. Give the reading sets after their build, which puts texts in for numbers."
        )
    if len(value) > longest:
        raise ReadingSetError(f"{where} has {len(value)} characters; {longest} can be stored.")
    if "\x00" in value or value != value.encode(errors="ignore").decode():
        raise ReadingSetError(f"{where} has characters that no text can have (null, or half a character).")
    return value
