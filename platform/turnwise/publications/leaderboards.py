"""Leaderboards: newest versions of publications that share protocol and questions, side by side.

Ranks are those within one study. Between studies workers, languages and months differ, so no order of systems
of different studies is claimed, except where studies judged the same anchors (`linked_scores`).

Studies of different kinds, such as responses to contexts and conversations, are never joined. Anchors correct
for raters, but these scores also differ in what the systems had to answer.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any

from django.core.paginator import Paginator
from django.db.models import Exists, OuterRef
from django.utils.translation import gettext as _

from evaluation.protocols.facts import Evaluation
from turnwise.publications.board_entries import Entry, Listed, entries_of
from turnwise.publications.linked_scores import linked_boards, sources_of, why_not_linked
from turnwise.publications.models import PublishedVersion

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
