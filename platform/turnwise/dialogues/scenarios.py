"""Dealing rows of a study's table of scenarios to its conversations, in balance."""

import random
from typing import cast

from django.db import connection
from django.db.models import Count, Q
from django.utils import timezone

from turnwise.bots.models import Bot
from turnwise.crowd.models import Outcome
from turnwise.crowd.places.reservation import current_phase_assignments, holding
from turnwise.dialogues.models import Seat
from turnwise.live.jobs import SCENARIOS
from turnwise.studies.conditions.factors import Condition, names_in
from turnwise.studies.models import Study
from turnwise.studies.scenarios.tables import Scenario


def deal(study: Study, bot: Bot | None, condition: Condition) -> Scenario | None:
    """Choose the row of a conversation that begins in this transaction; None if the study has no table.

    It is the row that the fewest conversations with the same bot have, of equals a random one; in a study
    with factors, of those in the same condition. Those count that count towards the study's targets: complete
    ones and those that hold a place. Until the transaction ends, other conversations of the study that begin
    wait.

    Args:
        study: the study.
        bot: the bot in the conversation, if there is one.
        condition: the condition of the person who talks; empty in a study without factors.
    """
    allowed = names_in(study.factors, condition, "scenarios")
    rows = [
        row for row in cast("list[Scenario]", study.scenarios) if allowed is None or row["name"] in allowed
    ]
    if not rows:
        return None
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [SCENARIOS, study.pk])
    counted = current_phase_assignments(Study.objects.filter(pk=study.pk)).filter(
        Q(outcome=Outcome.COMPLETE) | holding(timezone.now()), study_bot__bot=bot
    )
    if condition:
        counted = counted.filter(participation__condition=condition)
    dealt = Seat.objects.filter(assignment__in=counted).values_list("dialogue__scenario__name")
    counts = dict(dealt.annotate(Count("pk")))
    fewest = min(counts.get(row["name"], 0) for row in rows)
    return random.choice([row for row in rows if counts.get(row["name"], 0) == fewest])
