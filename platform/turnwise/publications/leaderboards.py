"""Leaderboards: newest versions of publications that share protocol and questions, side by side.

Ranks are those within one study. Between studies workers, languages and months differ, so no order of systems
of different studies is claimed, except where studies judged the same anchors (`LinkedStudy`).

Studies of different kinds, such as responses to contexts and conversations, are never joined. Anchors correct
for raters, but these scores also differ in what the systems had to answer.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from itertools import groupby
from typing import Any, NamedTuple

from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.protocols.facts import Evaluation
from evaluation.report.ranks import LinkedStudy, halves_of, ranks_of_linked
from evaluation.statistics.inference import z
from turnwise.judging.models.anchors import AnchorPack
from turnwise.live.caching import cache_key, cached, cached_many
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


PER_PAGE = 30
MOST_LINKED = 60
"""Largest number of studies of a board among which common anchors are sought, the newest."""


def listed_versions() -> list[Listed]:
    """Newest versions of available publications in leaderboards; those that may be compared are adjacent.

    All of them, without their snapshots: every listing is a person's decision, so there are hundreds at most.
    """
    newer = PublishedVersion.objects.filter(
        publication=OuterRef("publication"), number__gt=OuterRef("number")
    )
    found = (
        PublishedVersion.objects.filter(
            publication__in_leaderboard=True,
            publication__revoked_at=None,
            publication__study__isnull=False,
        )
        .exclude(comparable="")
        .filter(~Exists(newer))
        .order_by("comparable", "-published_at", "-pk")
        .values_list("pk", "sha256", "comparable", "publication__slug", "publication__study")
    )
    return [Listed(*row) for row in found]


def leaderboard_page(number: str) -> dict[str, Any]:
    """A page of leaderboards: for each protocol with its questions, a block for each study, newest first.

    The number of queries is the same for any number of boards and studies.
    """
    listed = listed_versions()
    page = Paginator(listed, PER_PAGE).get_page(number)
    shown = {
        key: list(versions) for key, versions in groupby(page.object_list, key=lambda each: each.comparable)
    }
    # Links are sought among all studies of a board, since the page may have only some of them.
    comparable = {key: [each for each in listed if each.comparable == key][:MOST_LINKED] for key in shown}
    newest = {each.comparable: each for each in reversed(listed)}  # boards of other pages have headings, too
    wanted = (*shown.values(), *comparable.values(), newest.values())
    entries = entries_of({each for versions in wanted for each in versions})
    heads = {key: entries[each.pk] for key, each in newest.items() if each.pk in entries}
    details = _question_details(heads)
    sources = sources_of(entries.values())
    boards = []
    for key, versions in shown.items():
        blocks = [_block(each, entries[each.pk]) for each in versions if each.pk in entries]
        candidates = [(each, entries[each.pk]) for each in comparable[key] if each.pk in entries]
        if blocks:
            boards.append(
                {
                    "protocol": blocks[0]["protocol"],
                    "questions": blocks[0]["questions"]["title"],
                    "question_details": details.get(key, ""),
                    "kind": _kind(blocks[0]["evaluation"]),
                    "blocks": blocks,
                    "linked": linked_boards(candidates, sources),
                    "not_linked": why_not_linked(candidates, sources),
                    "other_kinds": _other_kinds(blocks[0], heads.values()),
                }
            )
    return {"boards": boards, "page": page}


def _other_kinds(board: Entry, boards: Iterable[Entry]) -> list[str]:
    """Kinds of evaluation of other boards that share this one's protocol and questions, in words."""
    same = (board["protocol"], board["questions"]["sha256"])
    kinds = {each["evaluation"] for each in boards if (each["protocol"], each["questions"]["sha256"]) == same}
    return [_kind(kind) for kind in sorted(kinds - {board["evaluation"]})]


def _kind(evaluation: str) -> str:
    return {
        Evaluation.STATIC.value: _("responses to contexts"),
        Evaluation.READ.value: _("conversations judged by readers"),
        Evaluation.PAIRWISE.value: _("pairs, side by side"),
    }.get(evaluation, _("conversations judged by those who had them"))


def _question_details(boards: Mapping[str, Entry]) -> dict[str, str]:
    """Versions of the question sets of boards that would otherwise have the same heading, by board.

    A version is the key of the question set, such as `kindness-v2`; with its hash where keys are the same,
    too, as after a release that changed a set.
    """
    headed = defaultdict[tuple[str, ...], list[str]](list)
    for board, entry in boards.items():
        headed[entry["protocol"], entry["evaluation"], entry["questions"]["title"]].append(board)
    details = {}
    for alike in headed.values():
        keys = Counter(boards[board]["questions"]["key"] for board in alike)
        for board in alike if len(alike) > 1 else ():
            key, sha256 = boards[board]["questions"]["key"], boards[board]["questions"]["sha256"]
            details[board] = key if keys[key] == 1 else f"{key}, {sha256[:8]}"
    return details


def _block(version: Listed, entry: Entry) -> dict[str, Any]:
    return {**entry, "slug": version.slug}
