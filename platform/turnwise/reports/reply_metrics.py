"""Metrics of conversations with people, reply by reply: computed once per conversation and stored."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np
from django.db import connection
from django.db.models import Count, F, Q, QuerySet

from evaluation.conversation.encoders import Encoders, encoders
from evaluation.conversation.exchanges import NONE, Conversation, with_bot
from evaluation.conversation.figures import BY_TURN
from evaluation.conversation.metrics import measured
from evaluation.report.bundles.tables import EXCHANGES
from evaluation.report.studies.conversations import ExchangeMeasures
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.reports.models import MeasuredTalk
from turnwise.studies.asks import About
from turnwise.studies.models import Study

T = TypeVar("T")

# Number of conversations encoded together.
BATCH_SIZE = 200
_BOT, _PERSON = "bot", "person"


def encoders_here() -> Encoders:
    """The installed encoders except the sentence encoder, which is slow and unused by figures by turn."""
    return replace(encoders(), sentences=None)


def has_turn_metrics(study: Study) -> bool:
    """Return whether the report shows metrics by turn: if whole conversations are judged."""
    return any(ask.about == About.DIALOGUE for ask in study.work_asks)


def measure(study: Study) -> None:
    """Measure finished conversations that these encoders have not measured yet. Idempotent."""
    if not has_turn_metrics(study):
        return
    found = encoders_here()
    by = _metrics_by_turn(measured(with_bot([], _BOT), found).encoders)
    lacking = _finished_conversations(study).exclude(
        pk__in=MeasuredTalk.objects.filter(by=by).values("dialogue")
    )
    keys = list(lacking.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), BATCH_SIZE):
        _measure(keys[start : start + BATCH_SIZE], found, by)


def _metrics_by_turn(of: Mapping[str, T]) -> dict[str, T]:
    return {key: of[key] for key in BY_TURN if key in of}


def _finished_conversations(study: Study) -> QuerySet[Dialogue]:
    """Finished conversations of one bot with a person."""
    complete = Dialogue.objects.filter(study=study, ending=Dialogue.Ending.COMPLETE)
    return complete.annotate(bots=Count("seats", filter=Q(seats__bot__isnull=False))).filter(bots=1)


def _measure(keys: Sequence[int], found: Encoders, by: Mapping[str, str]) -> None:
    exchanges = with_bot(_talks(keys), _BOT)
    replied = exchanges.reply != NONE
    values = _metrics_by_turn(measured(exchanges, found).by_exchange)
    stored = []
    for number, dialogue in enumerate(keys):
        in_dialogue = replied & (exchanges.conversation == number)
        metrics = {
            key: [None if np.isnan(v) else v for v in of[in_dialogue].tolist()] for key, of in values.items()
        }
        stored.append(MeasuredTalk(dialogue_id=dialogue, by=dict(by), values=metrics))
    MeasuredTalk.objects.bulk_create(
        stored, update_conflicts=True, update_fields=["by", "values"], unique_fields=["dialogue"]
    )


def _talks(keys: Sequence[int]) -> list[Conversation]:
    """Speaker and text of every turn of these conversations, including openings."""
    talks: dict[int, list[tuple[str, str]]] = {key: [] for key in keys}
    turns = Turn.objects.filter(dialogue__in=keys, dialogue__seats__number=F("position") % 2)
    turn_rows = turns.order_by("dialogue", "position").values_list("dialogue", "dialogue__seats__bot", "text")
    for dialogue, bot, text in turn_rows.iterator():
        talks[dialogue].append((_PERSON if bot is None else _BOT, text))
    return list(talks.values())


# A conversation that the bot opens has its first exchange at position 1.
_COLUMNS = ", ".join(f"((m.values->'{key}')->>((t.position - 1) / 2)::int)::float8" for key in BY_TURN)
ROWS = f"""
SELECT d.public_id::text, t.position, {_COLUMNS}
  FROM reports_measuredtalk AS m
  JOIN dialogues_dialogue AS d ON d.id = m.dialogue_id
  JOIN dialogues_seat AS s ON s.dialogue_id = d.id AND s.bot_id IS NOT NULL
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id AND t.position %% 2 = s.number AND t.position > 0
 WHERE d.study_id = %s AND d.ending = 'complete'
 ORDER BY d.id, t.position
"""


def exchange_measures(study: Study) -> ExchangeMeasures | None:
    """Stored measures as the report reads them; None if the study's report does not show them."""
    if not has_turn_metrics(study):
        return None
    with connection.cursor() as cursor:
        cursor.execute(ROWS, [study.pk])
        names = [column.name for column in EXCHANGES.columns]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    begun = {
        str(public_id): (pk, opening)
        for public_id, pk, opening in _finished_conversations(study).values_list(
            "public_id", "pk", "opening_turns"
        )
    }
    return ExchangeMeasures.of(rows, begun, metric_encoders(study))


def metric_encoders(study: Study) -> dict[str, str]:
    """Encoder of each metric that could be computed, by metric; "" if it needs none."""
    talks = MeasuredTalk.objects.filter(dialogue__study=study).order_by("pk")
    return talks.values_list("by", flat=True).first() or {}
