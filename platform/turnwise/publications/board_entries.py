"""What a leaderboard shows of a published version, cached: a snapshot is long, and never changes."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from evaluation.report.ranks import halves_of
from evaluation.statistics.inference import z
from turnwise.live.caching import cache_key, cached_many
from turnwise.publications.models import PublishedVersion

LAYOUT = 3
"""Raise it when entries change, so that those cached by an older version are not read."""

Entry = Mapping[str, Any]


class Listed(NamedTuple):
    """A listed version without its snapshot."""

    pk: int
    sha256: str
    comparable: str
    slug: str
    study: int


def entries_of(versions: Iterable[Listed]) -> dict[int, Entry]:
    """By key of the version, its entry. Reads from the database only snapshots that are not cached."""
    # Neither a version's snapshot nor its hash ever changes.
    keys = {cache_key("board entry", LAYOUT, each.pk, each.sha256): each.pk for each in versions}

    def read(missing: Sequence[str]) -> dict[str, Entry]:
        wanted = {keys[key]: key for key in missing}
        found = PublishedVersion.objects.filter(pk__in=wanted).values_list("pk", "snapshot")
        return {wanted[pk]: entry_of(json.loads(snapshot)) for pk, snapshot in found.iterator()}

    return {keys[key]: entry for key, entry in cached_many(list(keys), read).items()}


def entry_of(snapshot: Mapping[str, Any]) -> Entry:
    """One study's systems, best first; for studies of pairs, their strengths by each question.

    Returns:
        Facts of the study; `questions`, its main question set; `systems` with `cell` and `rank`;
        `preferences`; `pack`, the anchors that it judged, or None; and for linking by its main score:
        `linked`, its linked scores with the error of the shift, or None; `unlinked`, its own scores; and
        `halves`, half intervals of differences.
    """
    results = snapshot["results"]
    main = results["asks"][0]
    keys = [column["key"] for column in main["columns"]]
    has_score = main.get("headline") in keys and not main["preferences"]
    column = main["columns"][keys.index(main["headline"])] if has_score else {"title": "", "percent": False}
    cells = {bot["bot"]: bot["cells"][keys.index(main["headline"])] for bot in main["bots"] if has_score}
    systems = [
        {"bot": bot["bot"], "cell": _numbers(cells[bot["bot"]]), "rank": bot.get("rank")}
        for bot in main["bots"]
        if cells.get(bot["bot"], {}).get("value") is not None
    ]
    anchors = main.get("anchors")
    return {
        "protocol": results["protocol"]["title"],
        "deviations": len(results["protocol"]["deviations"]),
        "evaluation": results["evaluation"],
        "questions": {key: snapshot["question_sets"][0][key] for key in ("key", "title", "sha256")},
        **{key: snapshot[key] for key in ("title", "authors", "published_on", "languages")},
        "level": main["level"],
        "score": column["title"],
        "is_percent": column["percent"],
        "systems": sorted(systems, key=lambda each: -each["cell"]["value"]),
        "has_ranks": any(each["rank"] for each in systems),
        "preferences": [_by_strength(each) for each in main["preferences"]],
        "pack": anchors["pack"] if anchors else None,
        "linked": _linked(main["headline"], anchors) if anchors and has_score else None,
        "unlinked": _with_intervals(systems),
        "halves": halves_of(main["comparisons"], main["headline"]) if has_score else [],
    }


def _numbers(cell: Mapping[str, Any]) -> dict[str, Any]:
    return {key: cell[key] for key in ("value", "low", "high") if key in cell}


def _by_strength(preference: Mapping[str, Any]) -> dict[str, Any]:
    """A question about pairs with its systems, the strongest first."""
    bots = sorted(preference["strengths"].get("bots", ()), key=lambda bot: -bot["value"])
    return {"question": preference["question"], "strengths": {"bots": bots}}


def _linked(headline: str, anchors: Mapping[str, Any]) -> dict[str, Any] | None:
    """Linked main scores and the error of the shift; None if the main score was not linked."""
    for score in anchors["scores"]:
        if score["key"] == headline:
            cells = {each["bot"]: each["linked"] for each in score["systems"]}
            return {"cells": cells, "error": implied_error(score["shift"], anchors["level"])}
    return None


def _with_intervals(systems: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Scores by system that have an interval."""
    return {each["bot"]: each["cell"] for each in systems if each["cell"].get("low") is not None}


def implied_error(cell: Mapping[str, Any], level: float) -> float:
    """Standard error of the normal distribution whose interval is as wide, so that few raters count.

    Args:
        cell: with `low` and `high`.
        level: nominal coverage of this interval, in (0, 1).
    """
    return float((cell["high"] - cell["low"]) / 2 / z(level))
