"""Reads of judging studies: items with their systems, votes, and progress."""

import json
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Case, F, Func, IntegerField, Q, QuerySet, Sum, When
from django.db.models.functions import Now

from evaluation.protocols.facts import HUMAN
from turnwise.bots.generation import Generation
from turnwise.judging.models import Batch, Item, JudgingPlan, Slot
from turnwise.labels.models import Label
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About
from turnwise.studies.models import Ask, Study
from turnwise.studies.queries import count_expression
from turnwise.studies.tasks import Rows

# One row per item of a study. `system` is its name in reports: a bot, the authors of a writing study, the
# source of a file, or the people who talked with each other; of a pair both, as
# `evaluation.report.studies.pairs.name_of` joins them; of a judged context, its set. `cluster` numbers the
# context or conversation that items share. `first_system` and `second_system` belong to the sides of a pair.
_ITEMS = f"""
SELECT i.id, i.key, i.ask_id,
       coalesce(run.system, bots.titles,
                least(sides.one, sides.other) || ' against ' || greatest(sides.one, sides.other),
                CASE WHEN d.id IS NOT NULL THEN '{HUMAN}' END,
                contexts.title || ', version ' || version.number, 'unknown') AS system,
       coalesce(-c.id, d.id, pair.first_dialogue_id) AS cluster, coalesce(r.repetition, 1) AS repetition,
       coalesce(r.latency_ms, t.latency_ms) AS latency_ms,
       coalesce(r.text, t.text) AS text, t.dialogue_id, t.position,
       coalesce(r.bot_version_id, t.bot_version_id) AS bot_version_id, run.sweep_id,
       coalesce(r.generation, t.generation) AS generation,
       coalesce(r.created_at, t.created_at) AS given_at,
       coalesce(c.turns[array_upper(c.turns, 1)],
                (SELECT b.text FROM dialogues_turn AS b
                  WHERE b.dialogue_id = t.dialogue_id AND b.position = t.position - 1), '') AS before,
       sides.one AS first_system, sides.other AS second_system,
       first_of.text AS first_text, second_of.text AS second_text, pair.turns AS judged_turns, i.removed_at
  FROM judging_item AS i
  LEFT JOIN responses_response AS r ON r.id = i.response_id
  LEFT JOIN responses_responserun AS run ON run.id = r.run_id
  LEFT JOIN dialogues_turn AS t ON t.id = i.turn_id
  LEFT JOIN dialogues_dialogue AS d ON d.id = coalesce(t.dialogue_id, i.dialogue_id)
  LEFT JOIN labels_pair AS pair ON pair.id = i.pair_id
  LEFT JOIN responses_response AS first_of ON first_of.id = pair.first_response_id
  LEFT JOIN responses_response AS second_of ON second_of.id = pair.second_response_id
  LEFT JOIN contexts_context AS c ON c.id = coalesce(r.context_id, first_of.context_id, i.context_id)
  LEFT JOIN contexts_contextsetversion AS version ON i.context_id IS NOT NULL AND version.id = c.version_id
  LEFT JOIN contexts_contextset AS contexts ON contexts.id = version.context_set_id
  LEFT JOIN LATERAL (
       SELECT CASE WHEN pair.id IS NOT NULL  -- a WHERE would not keep it from being called for every item
                   THEN judging_system(pair.first_response_id, pair.first_dialogue_id) END COLLATE "C" AS one,
              CASE WHEN pair.id IS NOT NULL
                   THEN judging_system(pair.second_response_id, pair.second_dialogue_id) END COLLATE "C"
              AS other) AS sides ON true
  LEFT JOIN LATERAL (
       SELECT string_agg(b.title, ' and ' ORDER BY p.number) AS titles
         FROM dialogues_seat AS p JOIN bots_bot AS b ON b.id = p.bot_id
        WHERE p.dialogue_id = d.id AND (t.id IS NULL OR p.number = t.position %% 2)) AS bots ON true
 WHERE i.study_id = {{study}}
"""


_COUNTS = """
   AND i.right_answers IS NULL AND i.anchor_id IS NULL
   AND (i.removed_at IS NULL
        OR EXISTS (SELECT FROM judging_slot AS s WHERE s.item_id = i.id AND s.label_id IS NOT NULL))
"""

EVERY_ITEM = _ITEMS.format(study="%s")
"""All items including gold and anchors, for reads that are not about scores."""


def texts_of(study: Study) -> Iterator[tuple[UUID, str, str]]:
    """Yield each item's key, the last text before it, and its text (of a pair: of its first side)."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT key, before, coalesce(text, first_text, '') FROM ({EVERY_ITEM}) AS i ORDER BY id",
            [study.pk],
        )
        yield from cursor.fetchall()


def counts_in_primary_analysis(study: str) -> str:
    """SQL condition: the rater of label `l` counts in the primary analysis of the study with this key."""
    return f"""
NOT EXISTS (SELECT FROM studies_study AS declared
              JOIN crowd_participation AS p ON p.study_id = declared.id
             WHERE declared.id = {study} AND declared.primary_analysis <> 'all'
               AND p.worker_id = l.rater_id AND p.excluded_at IS NOT NULL)
"""


class SystemCount(NamedTuple):
    """Progress of the judging of one system.

    Attributes:
        system: name in reports.
        items: items in the queue.
        removed: items taken out of it.
        judged: judgments of both; all of them count.
        wanted: wanted judgments of both, including leased ones of removed items.
    """

    system: str
    items: int
    removed: int
    judged: int
    wanted: int


def system_counts(study: Study) -> list[SystemCount]:
    """The items of each system, their judgments, and the wanted judgments."""
    statement = f"""
    SELECT i.system, count(DISTINCT i.id) FILTER (WHERE i.removed_at IS NULL),
           count(DISTINCT i.id) FILTER (WHERE i.removed_at IS NOT NULL), count(s.label_id),
           count(s.id) FILTER (WHERE i.removed_at IS NULL OR s.label_id IS NOT NULL OR s.deck IS NOT NULL
                                  OR s.leased_until >= now())
      FROM ({_ITEMS.format(study="%(study)s")} AND i.right_answers IS NULL AND i.anchor_id IS NULL) AS i
      LEFT JOIN judging_slot AS s
        ON s.item_id = i.id AND (s.batch_id IS NULL OR s.batch_id <> ALL (%(pilot)s))
     GROUP BY i.system ORDER BY i.system
    """
    pilot = finished_pilot_batch_ids(study)
    with connection.cursor() as cursor:
        cursor.execute(statement, {"study": study.pk, "pilot": pilot})
        return [SystemCount(*row) for row in cursor.fetchall()]


def finished_pilot_batch_ids(study: Study) -> list[int]:
    """Batches of the study's pilot, once the study went on after it; else none."""
    if study.pilot_over_at is None:
        return []
    return list(finished_pilot_batches(Study.objects.filter(pk=study.pk)).values_list("pk", flat=True))


class DeckCard(NamedTuple):
    """An item at its position in a battery, with the question set of that position."""

    question_set: str
    position: int
    system: str
    text: str
    occasion: int
    asks_reason: bool

    @property
    def title(self) -> str:
        """Title of the question set."""
        return question_set(self.question_set).title


def first_deck(study: Study) -> list[DeckCard]:
    """The cards of the first worker of a study with batteries; empty if none are dealt."""
    statement = f"""
    SELECT ask.question_set, s.position, i.system, coalesce(i.text, ''), s.occasion, s.asks_reason
      FROM ({items_of("%(study)s")}) AS i JOIN judging_slot AS s ON s.item_id = i.id
      JOIN studies_ask AS ask ON ask.id = i.ask_id
     WHERE s.study_id = %(study)s
       AND s.deck = (SELECT min(deck) FROM judging_slot WHERE study_id = %(study)s)
     ORDER BY s.position
    """
    with connection.cursor() as cursor:
        cursor.execute(statement, {"study": study.pk})
        return [DeckCard(*row) for row in cursor.fetchall()]


def all_items_of(study_parameter: str = "%s") -> str:
    """SQL of a study's items, with gold, anchors and removed items; the study is given by this parameter."""
    return _ITEMS.format(study=study_parameter)


def items_of(study_parameter: str = "%s", *, ask: str = "") -> str:
    """SQL of a study's items without gold and anchors; the study is given by this parameter.

    Removed items are included if they have judgments. `ask` is the parameter of an ask; its items alone are
    selected.
    """
    of_ask = f" AND i.ask_id = {ask}" if ask else ""
    return _ITEMS.format(study=study_parameter) + of_ask + _COUNTS


def queued_items_of(study_parameter: str = "%s") -> str:
    """SQL of a study's items without gold, anchors and removed items."""
    return _ITEMS.format(study=study_parameter) + (
        " AND i.right_answers IS NULL AND i.anchor_id IS NULL AND i.removed_at IS NULL"
    )


def judgment_counts(studies: QuerySet[Study]) -> Rows:
    """For each judging study its key, the judgments given, and the judgments wanted.

    Judgments of a pilot are not counted once the study went on after it. Judged and open slots are counted
    apart: each through its own partial index, however many slots other studies have
    (docs/decisions/slots-and-leases.md).
    """
    counted = Slot.objects.filter(is_gold=False).exclude(batch__in=finished_pilot_batches(studies))
    removed = Item.objects.filter(study__in=studies, removed_at__isnull=False)
    is_still_wanted = ~Q(item__in=removed) | Q(deck__isnull=False) | Q(leased_until__gte=Now())
    judged = count_expression(counted.filter(label__isnull=False))
    unjudged = count_expression(counted.filter(is_still_wanted, label=None))
    return JudgingPlan.objects.filter(study__in=studies).values_list("study", judged, judged + unjudged)


def abandoned_slots() -> QuerySet[Slot]:
    """Slots that were leased when their item was removed. Nobody else gets them.

    Slots of a battery in progress are not among them: it stays as it was dealt.
    """
    return Slot.objects.filter(item__removed_at__isnull=False, label=None, deck=None)


def workloads(studies: QuerySet[Study]) -> Rows:
    """For each judging study its key, the items of each worker, and the raters of each item."""
    asks = count_expression(Ask.objects.exclude(about=About.PERSON))
    cards = (
        Func(F("battery__targets"), function="cardinality") + F("battery__fillers") + F("battery__repeats")
    )
    has_battery = Q(battery__isnull=False)
    return JudgingPlan.objects.filter(study__in=studies).values_list(
        "study",
        Case(When(has_battery, then=cards * asks), default=F("batch_size"), output_field=IntegerField()),
        # Each battery is judged by one worker.
        Case(When(has_battery, then=1), default=F("raters_per_item"), output_field=IntegerField()),
    )


def finished_pilot_batches(studies: QuerySet[Study]) -> QuerySet[Batch]:
    """Batches of the pilots of studies that went on after their pilot."""
    over = studies.filter(pilot_over_at__isnull=False)
    return Batch.objects.filter(study__in=over, assignment__participation__pilot=True)


def judgments_by_study() -> dict[int, int]:
    """Number of judged items of each study, by its key; studies without any are left out."""
    given = Batch.objects.values_list("study").order_by().annotate(n=Sum("done")).filter(n__gt=0)
    return dict(given)


def judgments_in(study: Study) -> int:
    """Number of judged items of one study."""
    given: int = Batch.objects.filter(study=study).aggregate(n=Sum("done"))["n"] or 0
    return given


def labels_of(item: Item) -> list[Label]:
    """The labels of an item in its study, oldest first."""
    return list(Label.objects.filter(slot__item=item).select_related("rater", "slot").order_by("pk"))


def item_for_raters(item: Item) -> dict[str, Any]:
    """An item in the format of the judging page."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT judging_shown(i, false) FROM judging_item AS i WHERE i.id = %s", [item.pk])
        row = cursor.fetchone()
    assert row
    found: dict[str, Any] = json.loads(row[0])
    return found


def generation_of(item: Item) -> Generation | None:
    """Record of how the judged text was generated, for staff only; None for pairs and whole conversations."""
    judged = item.response or item.turn
    return judged.how if judged else None


def sides_of(item: Item) -> tuple[str, str]:
    """The systems of the two sides of a pair; of other items two empty names."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT first_system, second_system FROM ({EVERY_ITEM}) AS i WHERE i.id = %s",
            [item.study_id, item.pk],
        )
        row = cursor.fetchone()
    assert row
    return row[0] or "", row[1] or ""


def system_of(item: Item) -> str:
    """Name of the item's system in reports."""
    return systems_of(item.study_id, [item.pk])[item.pk]


def systems_of(study_id: int, items: Sequence[int]) -> dict[int, str]:
    """Names of the systems in reports, by key of the item."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT id, system FROM ({EVERY_ITEM}) AS i WHERE i.id = ANY(%s)", [study_id, [*items]]
        )
        return {item: str(system) for item, system in cursor.fetchall()}
