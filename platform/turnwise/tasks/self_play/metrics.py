"""Metrics of ended self-play conversations: computed once for each, and stored with it."""

from collections.abc import Generator, Sequence
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import F, Q

from evaluation.conversation.encoders import Encoders, encoders
from evaluation.conversation.exchanges import Conversation, of_bots
from evaluation.conversation.metrics import METRICS, Measures, measured
from evaluation.files.writing import csv_text
from evaluation.report.bundles.tables import MEASURES
from evaluation.report.studies.self_play import SelfPlayData
from turnwise.bots.prices import prices_by_bot
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.reports.conduct import replies_of_bots
from turnwise.studies.models import Study
from turnwise.tasks.self_play.models import SelfPlayed, SelfPlayPlan

# Number of conversations whose texts are encoded together.
AT_ONCE = 200


def encoders_here() -> Encoders:
    """The installed encoders."""
    return encoders()


def measure(plan: SelfPlayPlan) -> None:
    """Measure ended conversations that the installed encoders have not measured yet. Idempotent."""
    by = measured(of_bots([]), encoders_here()).encoders
    ended = plan.played.filter(dialogue__ended_at__isnull=False)
    lacking = ended.filter(Q(measures__isnull=True) | ~Q(measures__by=dict(by)))
    keys = list(lacking.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), AT_ONCE):
        _measure(list(SelfPlayed.objects.filter(pk__in=keys[start : start + AT_ONCE]).order_by("pk")))


def _measure(played: Sequence[SelfPlayed]) -> None:
    talks = _talks(played)
    exchanges = of_bots(talks)
    found = measured(exchanges, encoders_here())
    ends = np.searchsorted(exchanges.conversation, np.arange(len(talks) + 1)).tolist()
    for number, (each, start, stop) in enumerate(zip(played, ends, ends[1:], strict=False)):
        each.measures = {"by": dict(found.encoders), "values": _values(found, number, start, stop, talks)}
    SelfPlayed.objects.bulk_update(played, ["measures"])


def _values(
    found: Measures, number: int, start: int, stop: int, talks: Sequence[Conversation]
) -> dict[str, list[float | None]]:
    """For each metric, a number for each turn except the first, as in the table `measures`."""
    values = {key: _plain(of[start:stop]) for key, of in found.by_exchange.items()}
    if "min_max" in found.by_conversation and len({speaker for speaker, _ in talks[number]}) == 1:
        values["min_max"] = _plain(found.by_conversation["min_max"][number : number + 1])
    return values


def _plain(values: Any) -> list[float | None]:
    return [None if np.isnan(value) else float(value) for value in values]


def _talks(played: Sequence[SelfPlayed]) -> list[Conversation]:
    """(bot, text) of all turns of each conversation, without the opening."""
    numbers = {each.dialogue_id: number for number, each in enumerate(played)}
    talks: list[list[tuple[str, str]]] = [[] for _ in played]
    turns = Turn.objects.filter(dialogue__in=numbers, position__gte=F("dialogue__opening_turns"))
    rows = turns.order_by("dialogue", "position").values_list("dialogue", "bot_version__bot__name", "text")
    for dialogue, bot, text in rows.iterator():
        talks[numbers[dialogue]].append((bot, text))
    return list(talks)


_KEYS = [metric.key for metric in METRICS]
_COLUMNS = ", ".join(
    f"((s.measures->'values'->'{key}')->>(t.position - d.opening_turns - 1)::int)::float8" for key in _KEYS
)
ROWS = f"""
SELECT d.public_id::text, t.position, b.name, {_COLUMNS}
  FROM tasks_selfplayed AS s
  JOIN dialogues_dialogue AS d ON d.id = s.dialogue_id
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id AND t.position > d.opening_turns
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
  JOIN bots_bot AS b ON b.id = v.bot_id
 WHERE d.study_id = %s AND d.ended_at IS NOT NULL AND s.measures IS NOT NULL
 ORDER BY d.id, t.position
"""


def rows(study: Study) -> list[dict[str, Any]]:
    """The rows of the table `measures` of a study."""
    names = [column.name for column in MEASURES.columns]
    with connection.cursor() as cursor:
        cursor.execute(ROWS, [study.pk])
        return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]


def csv_lines(study: Study) -> Generator[str]:
    """The rows of the table `measures` as a CSV file."""
    names = [column.name for column in MEASURES.columns]
    yield csv_text([names])
    for row in rows(study):
        yield csv_text([[row[name] for name in names]])


def measured_by(plan: SelfPlayPlan) -> dict[str, str]:
    """Encoder of each computed metric, by its key."""
    found = plan.played.filter(measures__isnull=False).values_list("measures__by", flat=True).first()
    return found or {}


def self_play_data(plan: SelfPlayPlan) -> SelfPlayData:
    """All data that the report depends on."""
    dialogues = Dialogue.objects.filter(self_played__plan=plan)
    ended = dialogues.filter(ended_at__isnull=False).order_by("pk")
    turns: dict[str, list[tuple[str, str]]] = {
        str(key): [] for key in ended.values_list("public_id", flat=True)
    }
    counted = Turn.objects.filter(dialogue__in=ended, position__gte=F("dialogue__opening_turns"))
    texts = counted.order_by("dialogue", "position")
    for dialogue, bot, text in texts.values_list("dialogue__public_id", "bot_version__bot__name", "text"):
        turns[str(dialogue)].append((bot, text))
    return SelfPlayData(
        names=names_of(plan),
        turns=turns,
        under_way=dialogues.filter(ended_at=None).count(),
        silent=ended.filter(ending=Dialogue.Ending.BOT_FAILED).count(),
        measures=rows(plan.study),
        encoders=measured_by(plan),
        **_replies(plan),
    )


def _replies(plan: SelfPlayPlan) -> dict[str, Any]:
    """Facts about the replies, and the prices of the bots, by bot name."""
    names = {bot.pk: bot.name for bot in (plan.first, plan.second)}
    facts, prices = replies_of_bots(plan.study), prices_by_bot(names)
    return {
        "replies": {names[bot]: replies for bot, replies in facts.items()},
        "prices": {names[bot]: found for bot, found in prices.items()},
    }


def names_of(plan: SelfPlayPlan) -> dict[str, str]:
    """Report names of the plan's bots, by bot name."""
    first, second = plan.first, plan.second
    if first.pk != second.pk and first.title == second.title:
        return {bot.name: f"{bot.title} ({bot.name})" for bot in (first, second)}
    return {bot.name: bot.title for bot in (first, second)}
