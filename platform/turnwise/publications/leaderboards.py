"""Leaderboards: newest versions of publications that share protocol and questions, side by side.

Ranks are those within one study. Between studies workers, languages and months differ, so no order of systems
of different studies is claimed, except where studies judged the same anchors (`linked_scores`).
"""

import json
from itertools import groupby
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef, QuerySet

from turnwise.publications.linked_scores import linked_boards
from turnwise.publications.models import PublishedVersion

PER_PAGE = 30
MOST_LINKED = 60
"""Largest number of studies of a board among which common anchors are sought, the newest."""


def listed_versions() -> QuerySet[PublishedVersion]:
    """Newest versions of available publications in leaderboards; those that may be compared are adjacent."""
    newer = PublishedVersion.objects.filter(
        publication=OuterRef("publication"), number__gt=OuterRef("number")
    )
    return (
        PublishedVersion.objects.filter(
            publication__in_leaderboard=True,
            publication__revoked_at=None,
            publication__study__isnull=False,
        )
        .exclude(comparable="")
        .filter(~Exists(newer))
        .select_related("publication")
        .defer("charts")
        .order_by("comparable", "-published_at", "-pk")
    )


def leaderboard_page(number: str) -> dict[str, Any]:
    """A page of leaderboards: for each protocol with its questions, a block for each study, newest first."""
    page = Paginator(listed_versions(), PER_PAGE).get_page(number)
    boards = []
    for key, versions in groupby(page.object_list, key=lambda version: version.comparable):
        blocks = [_block(version) for version in versions]
        # All studies of the board, since the page may have only some of them.
        comparable = listed_versions().filter(comparable=key)[:MOST_LINKED]
        linked = linked_boards(list(comparable))
        boards.append({"snapshot": blocks[0]["snapshot"], "blocks": blocks, "linked": linked})
    return {"boards": boards, "page": page}


def _block(version: PublishedVersion) -> dict[str, Any]:
    """One study's systems, best first; for studies of pairs, their strengths by each question."""
    snapshot = json.loads(version.snapshot)
    main = snapshot["results"]["asks"][0]
    keys = [column["key"] for column in main["columns"]]
    column = (
        keys.index(main["headline"]) if main.get("headline") in keys and not main["preferences"] else None
    )
    systems = [
        {"bot": bot["bot"], "cell": bot["cells"][column], "rank": bot.get("rank"), "labels": bot["labels"]}
        for bot in (main["bots"] if column is not None else ())
        if bot["cells"][column].get("value") is not None
    ]
    return {
        "version": version,
        "snapshot": snapshot,
        "level": main["level"],
        "score": main["columns"][column]["title"] if column is not None else "",
        "is_percent": column is not None and main["columns"][column]["percent"],
        "systems": sorted(systems, key=lambda each: -each["cell"]["value"]),
        "has_ranks": any(each["rank"] for each in systems),
        "preferences": [_by_strength(each) for each in main["preferences"]],
    }


def _by_strength(preference: dict[str, Any]) -> dict[str, Any]:
    """A question about pairs with its systems, the strongest first."""
    bots = sorted(preference["strengths"].get("bots", ()), key=lambda bot: -bot["value"])
    return preference | {"strengths": preference["strengths"] | {"bots": bots}}
