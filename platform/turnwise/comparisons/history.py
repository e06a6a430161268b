"""One bot over time: its versions, and their scores in the studies that this person may see."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Exists, OuterRef, QuerySet

from turnwise.accounts.access import visible_to
from turnwise.accounts.models import User
from turnwise.bots.models import Bot, BotVersion
from turnwise.comparisons import protocols
from turnwise.comparisons.levels import level_of
from turnwise.comparisons.measured import Measured
from turnwise.comparisons.scores import SHAPE, Cell, Scored, conversations, scored_by, seen
from turnwise.dialogues.models import Dialogue
from turnwise.judging.models import Item
from turnwise.live.remembered import key_of, remembered
from turnwise.reports.reported import ReportedTask, reported
from turnwise.studies.models import Study, StudyBot
from turnwise.studies.queries import readable_studies_of

MOST_VERSIONS = 200


@dataclass(frozen=True, slots=True)
class Row:
    """The scores of a version in a study."""

    number: int
    study: Study
    name: str
    version: BotVersion
    scored: Scored
    transcripts: Sequence[UUID]
    titles: Mapping[str, str]

    @property
    def cells(self) -> list[Cell]:
        """The scores in the order of the page."""
        return [self.scored.cells[key] for key in self.titles]

    @property
    def task(self) -> ReportedTask:
        """The study's, which says where all that was judged can be read."""
        return reported(self.study)


def bots_of(user: User | AnonymousUser) -> QuerySet[Bot]:
    """The bots whose history this person may see: those of their studies and runs; admins see all."""
    talked = Bot.objects.filter(study_bots__study__in=readable_studies_of(user))
    return (talked | visible_to(user, Bot.objects.all(), owner="runs__owner")).distinct()


def studies_with(bot: Bot, studies: QuerySet[Study]) -> QuerySet[Study]:
    """Those in which workers talk with the bot, or judge what it said."""
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
    """A row for each version in each study where it has labels of the set that is scored, in order of time.

    Raises:
        scores.TooMuchError: there are more conversations than a page may read.
    """
    by_pk = {version.pk: version for version in versions}
    by_study, names = {study.pk: study for study in studies}, protocols.names(studies)
    levels = {study.pk: level_of(study) for study in studies}
    key = key_of(
        "history", SHAPE, seen(studies), measured.value, bot.pk, sorted(by_pk), sorted(levels.items())
    )
    found: dict[tuple[int, int], Scored] = remembered(
        key,
        lambda: scored_by(
            lambda conversation: (conversation.version, conversation.study),
            (each for each in conversations(by_study, measured.asked, bot=bot.pk) if each.version in by_pk),
            measured.asked,
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


def _public_ids(found: Mapping[Any, Scored]) -> dict[int, UUID]:
    newest = [pk for scored in found.values() for pk in scored.newest_dialogues]
    return dict(Dialogue.objects.filter(pk__in=newest).values_list("pk", "public_id"))


def drawn(rows: Sequence[Row]) -> list[dict[str, Any]]:
    """The rows as their chart takes them."""
    return [
        {
            "number": row.number,
            "study": row.name,
            "version": row.version.name,
            "cells": dict(row.scored.cells),
        }
        for row in rows
    ]
