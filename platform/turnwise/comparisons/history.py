"""One bot over time: scores of its versions in each study. Summaries of several studies of the same bot.

The summaries (`repeated_studies`, `static_minus_interactive`) are pure functions of stored results.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, QuerySet

from evaluation.protocols.facts import Evaluation
from evaluation.statistics.interval import Interval, Undefined, difference_of
from evaluation.statistics.ssa import spread
from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.bots.models import Bot, BotVersion
from turnwise.comparisons import protocols
from turnwise.comparisons.measures import Measured
from turnwise.comparisons.protocols import level_of
from turnwise.comparisons.scores import (
    CACHE_SHAPE,
    Cell,
    Scored,
    conversations,
    result_versions,
    scores_by_key,
)
from turnwise.dialogues.models import Dialogue
from turnwise.judging.models import Item
from turnwise.live.caching import cache_key, cached
from turnwise.reports.report_kinds import ReportedTask, reported_task
from turnwise.studies.models import Study, StudyBot
from turnwise.studies.queries import readable_studies_of

MOST_VERSIONS = 200


@dataclass(frozen=True, slots=True)
class Row:
    """Scores of a version in a study."""

    number: int
    study: Study
    name: str
    version: BotVersion
    scored: Scored
    transcripts: Sequence[UUID]
    titles: Mapping[str, str]

    @property
    def cells(self) -> list[Cell]:
        """The scores, in the page's order."""
        return [self.scored.cells[key] for key in self.titles]

    @property
    def task(self) -> ReportedTask:
        """Task of the study; knows the page that lists everything judged."""
        return reported_task(self.study)


def bots_of(user: User | AnonymousUser) -> QuerySet[Bot]:
    """Bots whose history the user may see: bots of their studies and runs. Admins see all."""
    talked = Bot.objects.filter(study_bots__study__in=readable_studies_of(user))
    return (talked | visible_to(user, Bot.objects.all(), owner="runs__owner")).distinct()


def studies_with(bot: Bot, studies: QuerySet[Study]) -> QuerySet[Study]:
    """Those of the studies in which workers talk with the bot or judge its replies or responses."""
    of_study = {"study": OuterRef("pk")}
    return studies.filter(
        Exists(StudyBot.objects.filter(bot=bot, **of_study))
        | Exists(Item.objects.filter(response__run__bot=bot, **of_study))
        | Exists(Item.objects.filter(turn__bot_version__bot=bot, **of_study))
    )


def versions_of(bot: Bot) -> list[BotVersion]:
    """The newest versions of the bot, oldest first."""
    newest = bot.versions.select_related("perplexity_entered_by").order_by("-first_seen_at", "-pk")
    return list(newest[:MOST_VERSIONS])[::-1]


def rows(bot: Bot, versions: Sequence[BotVersion], studies: Sequence[Study], measured: Measured) -> list[Row]:
    """A row for each version in each study with labels of the scored question set, in order of time.

    Raises:
        scores.TooMuchError: there are more conversations than a page may read.
    """
    by_pk = {version.pk: version for version in versions}
    by_study, names = {study.pk: study for study in studies}, protocols.study_names(studies)
    levels = {study.pk: level_of(study) for study in studies}
    key = cache_key(
        "history",
        CACHE_SHAPE,
        result_versions(studies),
        measured.value,
        bot.pk,
        sorted(by_pk),
        sorted(levels.items()),
    )
    found: dict[tuple[int, int], Scored] = cached(
        key,
        lambda: scores_by_key(
            lambda conversation: (conversation.version, conversation.study),
            (
                each
                for each in conversations(by_study, measured.selection, bot=bot.pk)
                if each.version in by_pk
            ),
            measured.selection,
            lambda of: levels[of[1]],
        ),
    )
    transcripts = _public_ids(found)
    in_time = sorted(found.items(), key=lambda item: (item[1].first_ended, item[0]))
    return [
        Row(
            number,
            by_study[study],
            names[study],
            by_pk[version],
            scored,
            [transcripts[pk] for pk in scored.newest_dialogues],
            measured.titles,
        )
        for number, ((version, study), scored) in enumerate(in_time, 1)
    ]


def _public_ids(by_key: Mapping[Any, Scored]) -> dict[int, UUID]:
    newest = [pk for scored in by_key.values() for pk in scored.newest_dialogues]
    return dict(Dialogue.objects.filter(pk__in=newest).values_list("pk", "public_id"))


def chart_rows(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows as data of their chart."""
    return [
        {
            "number": row.number,
            "study": row.name,
            "version": row.version.name,
            "cells": dict(row.scored.cells),
        }
        for row in rows
    ]


ResultRow: TypeAlias = Mapping[str, Any]

MOST_ROWS = 100
_LIVE = {Evaluation.INTERACTIVE, Evaluation.READ}


def repeated_studies(rows: Sequence[ResultRow]) -> list[dict[str, Any]]:
    """Mean and standard deviation of each score over a bot's studies, if it has at least two of one kind.

    The paper repeated both its interactive evaluation (seven times) and its static one. Each study counts
    once, regardless of its number of conversations.

    Args:
        rows: rows of one of `side_by_side.tables`.
    """
    groups: dict[tuple[str, str], list[ResultRow]] = {}
    for row in rows:
        groups.setdefault((row["bot"], row["kind"]), []).append(row)
    return [
        {
            "bot": bot,
            "kind": kind,
            "studies": len(group),
            "cells": [_spread(cells) for cells in zip(*(row["cells"] for row in group), strict=True)],
        }
        for (bot, kind), group in list(groups.items())[:MOST_ROWS]
        if len(group) > 1
    ]


def _spread(cells: Sequence[ResultRow]) -> dict[str, float | None]:
    defined = [cell["value"] for cell in cells if cell["value"] is not None]
    if len(defined) < 2:
        return {"value": defined[0] if defined else None, "deviation": None}
    of_studies = spread(defined)
    deviation = None if isinstance(of_studies.deviation, Undefined) else of_studies.deviation
    return {"value": of_studies.mean, "deviation": deviation}


def static_minus_interactive(rows: Sequence[ResultRow]) -> list[dict[str, Any]]:
    """Differences between each static and each interactive study of a bot, with intervals.

    Args:
        rows: rows of one of `side_by_side.tables`.
    """
    return [
        {
            "bot": one["bot"],
            "static": one["study"],
            "interactive": other["study"],
            "cells": [
                _cell_difference(*cells, levels={one["level"], other["level"]})
                for cells in zip(one["cells"], other["cells"], strict=True)
            ],
        }
        for one, other in list(_static_and_interactive_pairs(rows))[:MOST_ROWS]
    ]


def _static_and_interactive_pairs(rows: Sequence[ResultRow]) -> Iterator[tuple[ResultRow, ResultRow]]:
    live: dict[str, list[ResultRow]] = {}
    for row in rows:
        if row["kind"] in _LIVE:
            live.setdefault(row["bot"], []).append(row)
    for row in rows:
        if row["kind"] == Evaluation.STATIC:
            yield from ((row, other) for other in live.get(row["bot"], ()))


def _cell_difference(first: ResultRow, second: ResultRow, *, levels: set[float]) -> dict[str, Any]:
    if first["value"] is None or second["value"] is None:
        return {"value": None}
    cell = {"value": first["value"] - second["value"]}
    if "low" not in first or "low" not in second:
        return cell | {"undefined": "One of the two has no interval."}
    if len(levels) > 1:
        return cell | {"undefined": "The intervals of the two are of different levels."}
    (level,) = levels
    ends = [Interval(each["low"], each["high"], level, "") for each in (first, second)]
    compared = difference_of(first["value"], ends[0], second["value"], ends[1])
    return cell | {"low": compared.low, "high": compared.high}
