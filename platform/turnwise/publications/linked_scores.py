"""Scores of the studies of a leaderboard that judged the same anchors, on the scale of these anchors."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

import numpy as np

from evaluation.report.ranks import LinkedStudy, halves_of, ranks_of_linked
from evaluation.statistics.inference import z
from turnwise.judging.models.anchors import AnchorPack
from turnwise.live.caching import cache_key, cached
from turnwise.publications.models import PublishedVersion

FEWEST_STUDIES = 2


def linked_boards(versions: Sequence[PublishedVersion]) -> list[dict[str, Any]]:
    """A table for each anchor pack that two studies or more share, best system first.

    Args:
        versions: newest versions of studies with the same protocol and questions.

    Returns:
        For each pack `pack` with its title and version, `score`, `is_percent`, `level`, `studies`, and
        `systems`, each with `version`, `title`, `bot`, `cell`, `is_source` and `rank`, if it is known.
    """
    snapshots = [(version, json.loads(version.snapshot)) for version in versions]
    found: dict[str, list[tuple[PublishedVersion, dict[str, Any]]]] = {}
    for version, snapshot in snapshots:
        anchors = snapshot["results"]["asks"][0].get("anchors")
        if anchors and _score(snapshot, anchors):
            found.setdefault(anchors["pack"]["sha256"], []).append((version, snapshot))
    sources = dict(
        AnchorPack.objects.filter(sha256__in=found, source__isnull=False).values_list("sha256", "source")
    )
    boards = []
    for sha256, linked in found.items():
        of_source = [each for each in snapshots if each[0].publication.study_id == sources.get(sha256, 0)]
        if len(linked) + len(of_source) >= FEWEST_STUDIES:
            boards.append(_board(linked, of_source))
    return boards


def _score(snapshot: Mapping[str, Any], anchors: Mapping[str, Any]) -> dict[str, Any] | None:
    """The main score with its shift and linked scores; None if it was not linked."""
    headline = snapshot["results"]["asks"][0].get("headline")
    return next((score for score in anchors["scores"] if score["key"] == headline), None)


def _board(
    linked: Sequence[tuple[PublishedVersion, dict[str, Any]]],
    of_source: Sequence[tuple[PublishedVersion, dict[str, Any]]],
) -> dict[str, Any]:
    main = linked[0][1]["results"]["asks"][0]
    score = _score(linked[0][1], main["anchors"])
    assert score
    level, factor = main["level"], z(main["level"])
    rows: list[tuple[PublishedVersion, dict[str, Any], dict[str, Any], float]] = []
    for version, snapshot in linked:
        of_study = _score(snapshot, snapshot["results"]["asks"][0]["anchors"])
        assert of_study
        cells = {each["bot"]: each["linked"] for each in of_study["systems"]}
        rows.append((version, snapshot, cells, of_study["shift"]["error"]))
    for version, snapshot in of_source:
        cells = _source_cells(snapshot["results"]["asks"][0], factor)
        rows.append((version, snapshot, cells, 0.0))
    studies = [
        LinkedStudy(
            {bot: cell["value"] for bot, cell in cells.items()},
            {bot: float(np.sqrt(max(cell["error"] ** 2 - error**2, 0.0))) for bot, cell in cells.items()},
            error,
            halves_of(ask["comparisons"], ask["headline"]),
        )
        for ask, cells, error in ((row[1]["results"]["asks"][0], row[2], row[3]) for row in rows)
    ]
    # Anybody may ask for the page, and 60 systems take more than a second.
    key = cache_key("linked ranks", level, [asdict(study) for study in studies])
    ranks = cached(key, partial(ranks_of_linked, studies, level=level))
    systems = [
        {
            "version": version, "title": snapshot["title"], "bot": bot, "cell": cell,
            "is_source": error == 0.0, "rank": of_study.get(bot),
        }
        for (version, snapshot, cells, error), of_study in zip(rows, ranks, strict=True)
        for bot, cell in cells.items()
    ]  # fmt: skip
    return {
        "pack": main["anchors"]["pack"],
        "score": score["title"],
        "is_percent": score["is_percent"],
        "level": level,
        "studies": len(rows),
        "has_source": bool(of_source),
        "has_ranks": any(each["rank"] for each in systems),
        "systems": sorted(systems, key=lambda each: -each["cell"]["value"]),
    }


def _source_cells(ask: Mapping[str, Any], factor: float) -> dict[str, dict[str, Any]]:
    """Scores of the study from which the anchors are, with the error that the interval implies."""
    number = [column["key"] for column in ask["columns"]].index(ask["headline"])
    cells = {bot["bot"]: bot["cells"][number] for bot in ask["bots"]}
    return {
        bot: {**cell, "error": (cell["high"] - cell["low"]) / 2 / factor}
        for bot, cell in cells.items()
        if cell.get("value") is not None and "low" in cell
    }
