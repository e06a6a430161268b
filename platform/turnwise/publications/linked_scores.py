"""Scores of the studies of a leaderboard that judged the same anchors, on the scale of these anchors."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.report.ranks import LinkedStudy, ranks_of_linked
from turnwise.judging.models.anchors import AnchorPack
from turnwise.live.caching import cache_key, cached
from turnwise.publications.board_entries import Entry, Listed, implied_error

FEWEST_STUDIES = 2
MOST_NAMED = 5
"""Largest number of studies that one sentence names."""

Candidates = Sequence[tuple[Listed, Entry]]
Sources = Mapping[str, set[int]]
"""By hash of a pack, the studies from which packs with this content were made."""


def sources_of(entries: Iterable[Entry]) -> Sources:
    """Studies from which the anchors of these entries are."""
    hashes = {entry["pack"]["sha256"] for entry in entries if entry["pack"]}
    found: dict[str, set[int]] = {}
    if hashes:
        packs = AnchorPack.objects.filter(sha256__in=hashes, source__isnull=False)
        for sha256, source in packs.order_by().values_list("sha256", "source"):
            found.setdefault(sha256, set()).add(source)
    return found


def _by_pack(candidates: Candidates, sources: Sources) -> dict[str, tuple[Candidates, Candidates]]:
    """By hash of each pack that links two studies or more: those that judged it, and its source."""
    found: dict[str, tuple[Candidates, Candidates]] = {}
    for sha256 in dict.fromkeys(entry["pack"]["sha256"] for _listed, entry in candidates if entry["linked"]):
        linked = [
            (listed, entry) for listed, entry in candidates
            if entry["linked"] and entry["pack"]["sha256"] == sha256
        ]  # fmt: skip
        of_source = [
            (listed, entry) for listed, entry in candidates
            if listed.study in sources.get(sha256, ()) and entry["unlinked"]
        ]  # fmt: skip
        if len(linked) + len(of_source) >= FEWEST_STUDIES:
            found[sha256] = (linked, of_source)
    return found


def linked_boards(candidates: Candidates, sources: Sources) -> list[dict[str, Any]]:
    """A table for each anchor pack that two studies or more share, best system first.

    Args:
        candidates: newest versions of studies with the same protocol and questions.
        sources: as from `sources_of`.

    Returns:
        For each pack `pack` with its title and version, `score`, `is_percent`, `level`, `studies`, and
        `systems`, each with `slug`, `title`, `bot`, `cell`, `is_source` and `rank`, if it is known.
    """
    return [_board(linked, of_source) for linked, of_source in _by_pack(candidates, sources).values()]


def _board(linked: Candidates, of_source: Candidates) -> dict[str, Any]:
    first = linked[0][1]
    level = first["level"]
    rows = [(listed, entry, entry["linked"]["cells"], entry["linked"]["error"]) for listed, entry in linked]
    rows += [(listed, entry, entry["unlinked"], 0.0) for listed, entry in of_source]
    studies = [
        LinkedStudy(
            {bot: cell["value"] for bot, cell in cells.items()},
            {bot: implied_error(cell, level) for bot, cell in cells.items()},
            error,
            [tuple(half) for half in entry["halves"]],
        )
        for _listed, entry, cells, error in rows
    ]
    # Anybody may ask for the page, and 60 systems take more than a second.
    key = cache_key("linked ranks", level, [asdict(study) for study in studies])
    ranks = cached(key, partial(ranks_of_linked, studies, level=level))
    systems = [
        {
            "slug": listed.slug, "title": entry["title"], "bot": bot, "cell": cell,
            "is_source": error == 0.0, "rank": of_study.get(bot),
        }
        for (listed, entry, cells, error), of_study in zip(rows, ranks, strict=True)
        for bot, cell in cells.items()
    ]  # fmt: skip
    return {
        "pack": first["pack"],
        "score": first["score"],
        "is_percent": first["is_percent"],
        "level": level,
        "studies": len(rows),
        "has_source": bool(of_source),
        "has_ranks": any(each["rank"] for each in systems),
        "systems": sorted(systems, key=lambda each: -each["cell"]["value"]),
    }


def why_not_linked(candidates: Candidates, sources: Sources) -> list[str]:
    """Sentences that say which studies of a board are on no common scale, and why; none if all are."""
    there = {
        listed.pk
        for groups in _by_pack(candidates, sources).values()
        for group in groups
        for listed, _entry in group
    }
    left_out = [entry for listed, entry in candidates if listed.pk not in there]
    if len(candidates) < FEWEST_STUDIES or not left_out:
        return []
    if not there and not any(entry["pack"] for entry in left_out):
        return [_("Scores of these studies are not linked, since none of them judged anchors.")]
    says = [] if there else [_("Scores of these studies are not linked: no two of them share anchors.")]
    if without := [entry["title"] for entry in left_out if not entry["pack"]]:
        says.append(
            ngettext(
                "%(studies)s is not linked: it judged no anchors.",
                "%(studies)s are not linked: they judged no anchors.",
                len(without),
            )
            % {"studies": _named(without)}
        )
    for entry in [entry for entry in left_out if entry["pack"]][:MOST_NAMED]:
        values = {"study": entry["title"], "score": entry["score"], **entry["pack"]}
        if entry["linked"]:
            reason = _(
                "“%(study)s” judged the anchors “%(title)s”, version %(version)s, which no other study here "
                "has."
            )
        else:
            reason = _(
                "“%(study)s” judged the anchors “%(title)s”, version %(version)s, but too few judgments of "
                "them link its %(score)s."
            )
        says.append(reason % values)
    return says


def _named(titles: Sequence[str]) -> str:
    named = ", ".join(f"“{title}”" for title in titles[:MOST_NAMED])
    if (more := len(titles) - MOST_NAMED) <= 0:
        return named
    return _("%(named)s and %(n)s more") % {"named": named, "n": f"{more:,}"}
