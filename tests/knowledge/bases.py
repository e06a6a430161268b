"""A small base, as a file and stored."""

import json
from typing import Any
from uuid import uuid4

from turnwise.accounts.models import User
from turnwise.knowledge.files import parse
from turnwise.knowledge.models import BaseVersion, KnowledgeBase
from turnwise.knowledge.services import import_version

TOPICS = ("Books", "Music", "Sports", "Movies")


def entity(number: int, *, facts: int = 10, **fields: Any) -> dict[str, Any]:
    name = f"Thing {number}"
    lead = f"{name} is known to all. " + "It is old and it is big. " * 10
    told = [f"{name} has {n} sides." for n in range(facts)]
    return {"name": name, "topic": TOPICS[number % 4], "lead": lead, "facts": told} | fields


def article(number: int, *named: int, **fields: Any) -> dict[str, Any]:
    """An article of 700 words that names these things, the first most often."""
    said = [f"Thing {n} was there." for rank, n in enumerate(named) for _ in range(len(named) - rank)]
    text = " ".join([*said, *["The rest of it says nothing at all."] * 99])
    return {"url": f"https://example.org/{number}", "headline": f"News {number}", "text": text} | fields


def base_file(entities: int = 4, articles: int = 2, **fields: Any) -> dict[str, Any]:
    return {
        "entities": [entity(n) for n in range(1, entities + 1)],
        "articles": [
            article(n, *[(n + step) % entities + 1 for step in range(3)]) for n in range(1, articles + 1)
        ],
    } | fields


def make_base(owner: User | None, found: dict[str, Any] | None = None) -> BaseVersion:
    base = KnowledgeBase.objects.create(
        owner=owner, name=f"b-{uuid4().hex[:8]}", title="Small base", licence="CC0"
    )
    return import_version(base, parse(json.dumps(found or base_file())), origin="test.json")
