"""The metrics of conversations with people, reply by reply: worked out once for each, and kept with it."""

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
from evaluation.report.studies.conversations import Exchanged
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.reports.models import MeasuredTalk
from turnwise.studies.asks import About
from turnwise.studies.models import Study

T = TypeVar("T")

# Conversations whose texts are encoded together.
AT_ONCE = 200
_BOT, _PERSON = "bot", "person"


def encoders_here() -> Encoders:
    """Those that are installed, but for sentences: no figure by turn needs these, and they are slow."""
    return replace(encoders(), sentences=None)


def is_measured(study: Study) -> bool:
    """Whether the report shows how conversations change from turn to turn: where the whole is judged."""
    return any(ask.about == About.DIALOGUE for ask in study.asked)


def measure(study: Study) -> None:
    """Measure the finished conversations that the encoders that are here did not measure. Safe to repeat."""
    if not is_measured(study):
        return
    found = encoders_here()
    by = _of_shown(measured(with_bot([], _BOT), found).encoders)
    lacking = _finished(study).exclude(pk__in=MeasuredTalk.objects.filter(by=by).values("dialogue"))
    keys = list(lacking.order_by("pk").values_list("pk", flat=True))
    for start in range(0, len(keys), AT_ONCE):
        _measure(keys[start : start + AT_ONCE], found, by)


def _of_shown(of: Mapping[str, T]) -> dict[str, T]:
    return {key: of[key] for key in BY_TURN if key in of}


def _finished(study: Study) -> QuerySet[Dialogue]:
    """Finished conversations of one bot with a person."""
    complete = Dialogue.objects.filter(study=study, ending=Dialogue.Ending.COMPLETE)
    return complete.annotate(bots=Count("seats", filter=Q(seats__bot__isnull=False))).filter(bots=1)


def _measure(keys: Sequence[int], found: Encoders, by: Mapping[str, str]) -> None:
    exchanges = with_bot(_talks(keys), _BOT)
    replied = exchanges.reply != NONE
    values = _of_shown(measured(exchanges, found).by_exchange)
    stored = []
    for number, dialogue in enumerate(keys):
        own = replied & (exchanges.conversation == number)
        told = {key: [None if np.isnan(v) else v for v in of[own].tolist()] for key, of in values.items()}
        stored.append(MeasuredTalk(dialogue_id=dialogue, by=dict(by), values=told))
    MeasuredTalk.objects.bulk_create(
        stored, update_conflicts=True, update_fields=["by", "values"], unique_fields=["dialogue"]
    )


def _talks(keys: Sequence[int]) -> list[Conversation]:
    """Who said what in each of them, the opening too: a reply to it is one."""
    talks: dict[int, list[tuple[str, str]]] = {key: [] for key in keys}
    turns = Turn.objects.filter(dialogue__in=keys, dialogue__seats__number=F("position") % 2)
    said = turns.order_by("dialogue", "position").values_list("dialogue", "dialogue__seats__bot", "text")
    for dialogue, bot, text in said.iterator():
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


def exchanged(study: Study) -> Exchanged | None:
    """What was measured, as the report reads it; None of a study whose report does not show it."""
    if not is_measured(study):
        return None
    with connection.cursor() as cursor:
        cursor.execute(ROWS, [study.pk])
        names = [column.name for column in EXCHANGES.columns]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    begun = {
        str(public_id): (pk, opening)
        for public_id, pk, opening in _finished(study).values_list("public_id", "pk", "opening_turns")
    }
    return Exchanged.of(rows, begun, measured_by(study))


def measured_by(study: Study) -> dict[str, str]:
    """By key of a metric that could be computed, its encoder; empty if it needs none."""
    talks = MeasuredTalk.objects.filter(dialogue__study=study).order_by("pk")
    return talks.values_list("by", flat=True).first() or {}
