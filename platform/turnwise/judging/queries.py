"""Reads of judging studies: what is judged, of which system, and how the raters voted."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Case, Count, F, Func, IntegerField, Q, QuerySet, Sum, When
from django.db.models.functions import Now

from evaluation.protocols.facts import HUMAN
from evaluation.questions import FIRST, SECOND, Question
from turnwise.judging.models import Batch, Item, JudgingPlan, Slot
from turnwise.labels.models import Label
from turnwise.labels.queries import Vote
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About
from turnwise.studies.models import Ask, Study
from turnwise.studies.queries import number_of
from turnwise.studies.tasks import Rows

# One row per item of a study: whose words it is about, and the context or conversation that it shares with
# others. `system` is what reports call it: a bot, the people of a writing study, whatever filled a file, the
# people who talked with each other; of a pair both, as `evaluation.report.studies.pairs.name_of` has them; of
# a context that is judged itself, its set.
# `first_system` and `second_system` are those of a pair's sides.
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
       coalesce(r.remarks, t.remarks) AS remarks,
       coalesce(c.turns[array_upper(c.turns, 1)],
                (SELECT b.text FROM dialogues_turn AS b
                  WHERE b.dialogue_id = t.dialogue_id AND b.position = t.position - 1), '') AS before,
       sides.one AS first_system, sides.other AS second_system,
       first_of.text AS first_text, second_of.text AS second_text, i.removed_at
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
   AND i.right_answers IS NULL
   AND (i.removed_at IS NULL
        OR EXISTS (SELECT FROM judging_slot AS s WHERE s.item_id = i.id AND s.label_id IS NOT NULL))
"""

EVERY_ITEM = _ITEMS.format(study="%s")
"""The same with gold, for what is not about scores."""


def texts_of(study: Study) -> Iterator[tuple[UUID, str, str]]:
    """Each item's key, what was said last before it, and what is judged; of pairs their first side."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT key, before, coalesce(text, first_text, '') FROM ({EVERY_ITEM}) AS i ORDER BY id",
            [study.pk],
        )
        yield from cursor.fetchall()


def counted_in(study: str) -> str:
    """A condition: the rater of label `l` counts in the primary analysis of the study of this key in SQL."""
    return f"""
NOT EXISTS (SELECT FROM studies_study AS declared
              JOIN crowd_participation AS p ON p.study_id = declared.id
             WHERE declared.id = {study} AND declared.primary_analysis <> 'all'
               AND p.worker_id = l.rater_id AND p.excluded_at IS NOT NULL)
"""


class SystemCount(NamedTuple):
    """How far the judging of one system is.

    Attributes:
        system: what reports call it.
        items: that are in the queue.
        removed: that were taken out of it.
        judged: judgments of both, all of which count.
        wanted: of both, with those that somebody is giving of what was taken out.
    """

    system: str
    items: int
    removed: int
    judged: int
    wanted: int


def system_counts(study: Study) -> list[SystemCount]:
    """By system, its items, the judgments that they have, and those that are wanted."""
    statement = f"""
    SELECT i.system, count(DISTINCT i.id) FILTER (WHERE i.removed_at IS NULL),
           count(DISTINCT i.id) FILTER (WHERE i.removed_at IS NOT NULL), count(s.label_id),
           count(s.id) FILTER (WHERE i.removed_at IS NULL OR s.label_id IS NOT NULL OR s.deck IS NOT NULL
                                  OR s.leased_until >= now())
      FROM ({_ITEMS.format(study="%(study)s")} AND i.right_answers IS NULL) AS i
      LEFT JOIN judging_slot AS s
        ON s.item_id = i.id AND (s.batch_id IS NULL OR s.batch_id <> ALL (%(pilot)s))
     GROUP BY i.system ORDER BY i.system
    """
    pilot = batches_of_pilot_over(study)
    with connection.cursor() as cursor:
        cursor.execute(statement, {"study": study.pk, "pilot": pilot})
        return [SystemCount(*row) for row in cursor.fetchall()]


def batches_of_pilot_over(study: Study) -> list[int]:
    """The batches of people of its pilot, once the study went on from it."""
    if study.pilot_over_at is None:
        return []
    return list(of_pilots_over(Study.objects.filter(pk=study.pk)).values_list("pk", flat=True))


class CardShown(NamedTuple):
    """An item at its position in a battery, and with which questions it is judged there."""

    question_set: str
    position: int
    system: str
    text: str
    occasion: int
    asks_reason: bool

    @property
    def asked(self) -> str:
        """Title of the questions."""
        return question_set(self.question_set).title


def first_deck(study: Study) -> list[CardShown]:
    """What the first worker of a study with batteries gets; empty if none is dealt."""
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
        return [CardShown(*row) for row in cursor.fetchall()]


def items_of(study_parameter: str = "%s", *, ask: str = "") -> str:
    """The items as a statement that takes the study as this parameter; without gold, which counts nowhere.

    What was taken out of the queue is there with the judgments that it has, and not without any. With `ask`,
    the parameter of an ask, it is the items of that one.
    """
    of_ask = f" AND i.ask_id = {ask}" if ask else ""
    return _ITEMS.format(study=study_parameter) + of_ask + _COUNTS


def queued_items_of(study_parameter: str = "%s") -> str:
    """The same without all that was taken out: what is still to be judged, or was to the end."""
    return _ITEMS.format(study=study_parameter) + " AND i.right_answers IS NULL AND i.removed_at IS NULL"


@dataclass(frozen=True, slots=True)
class Voted:
    """An item with the votes on one question.

    Attributes:
        key: of the item.
        system: whose words it is about.
        before: the last thing said before; "" if nothing was.
        text: what is judged; "" for whole conversations, before which nothing was said, and for contexts.
        other: of a pair of responses, the second one; else "".
        votes: by answer, the most frequent first.
        raters: how many answered.
        disagreement: share of the raters who are not with the most frequent answer, in percent.
    """

    key: UUID
    system: str
    before: str
    text: str
    other: str
    votes: list[Vote]
    raters: int
    disagreement: int


class Filter(NamedTuple):
    """Which items are listed: of a system, with an answer as the strict majority's, split or not."""

    question: str
    system: str = ""
    majority: str = ""
    split: bool = False


_VOTED = """
WITH votes AS (
    SELECT s.item_id,
           CASE WHEN s.is_swapped THEN coalesce(%(turned)s::jsonb->>(l.answers->>%(question)s),
                                                l.answers->>%(question)s)
                ELSE l.answers->>%(question)s END AS answer,
           count(*) AS n
      FROM judging_slot AS s JOIN labels_label AS l ON l.id = s.label_id
     WHERE s.study_id = %(study)s AND s.occasion = 1 AND l.answers ? %(question)s
       AND l.study_id = %(study)s  -- as that of the slot; by its index
     GROUP BY 1, 2
), tally AS (
    SELECT item_id, sum(n)::integer AS raters, 1 - max(n) / sum(n) AS disagreement,
           jsonb_object_agg(answer, n) AS votes,
           (array_agg(answer ORDER BY n DESC))[1] AS winner
      FROM votes GROUP BY item_id
)
SELECT i.key, i.system, i.before, coalesce(i.text, i.first_text, ''), coalesce(i.second_text, ''),
       i.first_system, i.second_system, coalesce(tally.votes, '{{}}'), coalesce(tally.raters, 0),
       round(100 * coalesce(tally.disagreement, 0))::integer, count(*) OVER ()
  FROM ({items}) AS i LEFT JOIN tally ON tally.item_id = i.id
 WHERE (%(system)s = '' OR i.system = %(system)s)
   AND (%(majority)s = '' OR (tally.winner = %(majority)s AND tally.disagreement < 0.5))
   AND (NOT %(split)s OR tally.disagreement > 0)
 ORDER BY tally.disagreement DESC NULLS LAST, i.key
 LIMIT %(limit)s OFFSET %(offset)s
"""


def voted(ask: Ask, chosen: Filter, *, limit: int, offset: int) -> tuple[list[Voted], int]:
    """The items of an ask that the filter lets through, the most disputed first, and how many these are."""
    statement = _VOTED.format(items=items_of("%(study)s", ask="%(ask)s"))
    question = question_set(ask.question_set).question(chosen.question)
    turned = json.dumps({FIRST: SECOND, SECOND: FIRST} if question.is_sided else {})
    values: dict[str, Any] = chosen._asdict() | {"turned": turned, "limit": limit, "offset": offset}
    with connection.cursor() as cursor:
        cursor.execute(statement, {"study": ask.study_id, "ask": ask.pk, **values})
        rows = cursor.fetchall()
    captions = captions_of(question)
    found = []
    for key, system, before, *texts, one, other, votes, raters, disagreement, _ in rows:
        text, second = texts if one is None or one < other else texts[::-1]  # in the order of their names
        named = captions | ({FIRST: one, SECOND: other} if question.is_sided else {})
        given = _votes(json.loads(votes), named)
        found.append(Voted(key, system, before, text, second, given, raters, disagreement))
    return found, rows[0][-1] if rows else 0


def captions_of(question: Question) -> dict[str, str]:
    """Captions by the text of the stored value, as PostgreSQL's ->> gives it."""
    return {_as_text(choice.value): choice.label for choice in question.choices}


def majorities_of(question: Question) -> dict[str, str]:
    """The answers that items can be narrowed to; sides of pairs are none: each time they are others."""
    sides = (FIRST, SECOND) if question.is_sided else ()
    return {value: caption for value, caption in captions_of(question).items() if value not in sides}


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _votes(votes: Mapping[str, int], captions: Mapping[str, str]) -> list[Vote]:
    named = [Vote(captions.get(answer, answer), raters) for answer, raters in votes.items()]
    return sorted(named, key=lambda vote: (-vote.raters, vote.answer))


def judged_and_wanted(studies: QuerySet[Study]) -> Rows:
    """Of each judging study its key, the judgments given, and how many all its items want.

    Once a study went on from its pilot, judgments of that are neither.
    """
    counted = Slot.objects.filter(study__in=studies, is_gold=False).exclude(batch__in=of_pilots_over(studies))
    counted = counted.exclude(pk__in=left_over().exclude(leased_until__gte=Now()))
    counts = counted.values_list("study").order_by()
    return counts.annotate(judged=Count("label"), wanted=Count("pk"))


def left_over() -> QuerySet[Slot]:
    """Slots that were leased when their item was taken out of the queue: nobody else gets them.

    Those of a battery that somebody has begun are none: it stays as it was dealt.
    """
    return Slot.objects.filter(item__removed_at__isnull=False, label=None, deck=None)


def shares(studies: QuerySet[Study]) -> Rows:
    """Of each judging study its key, how many items one judges, and by how many each is judged."""
    asks = number_of(Ask.objects.exclude(about=About.PERSON))
    cards = (
        Func(F("battery__targets"), function="cardinality") + F("battery__fillers") + F("battery__repeats")
    )
    has_battery = Q(battery__isnull=False)
    return JudgingPlan.objects.filter(study__in=studies).values_list(
        "study",
        Case(When(has_battery, then=cards * asks), default=F("batch_size"), output_field=IntegerField()),
        # A battery is its worker's own.
        Case(When(has_battery, then=1), default=F("raters_per_item"), output_field=IntegerField()),
    )


def of_pilots_over(studies: QuerySet[Study]) -> QuerySet[Batch]:
    """The batches of people whose study went on from its pilot since."""
    over = studies.filter(pilot_over_at__isnull=False)
    return Batch.objects.filter(study__in=over, assignment__participation__pilot=True)


def judgments_given() -> dict[int, int]:
    """By the key of its study, how many items all its batches have judged so far; absent: none."""
    given = Batch.objects.values_list("study").order_by().annotate(n=Sum("done")).filter(n__gt=0)
    return dict(given)


def judgments_in(study: Study) -> int:
    """The same of one study."""
    given: int = Batch.objects.filter(study=study).aggregate(n=Sum("done"))["n"] or 0
    return given


def labels_of(item: Item) -> list[Label]:
    """The labels that the item's raters gave in its study, oldest first."""
    return list(Label.objects.filter(slot__item=item).select_related("rater", "slot").order_by("pk"))


def shown(item: Item) -> dict[str, Any]:
    """The item as workers see it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT judging_shown(i, false) FROM judging_item AS i WHERE i.id = %s", [item.pk])
        row = cursor.fetchone()
    assert row
    found: dict[str, Any] = json.loads(row[0])
    return found


def remarks_of(item: Item) -> list[str]:
    """What filters, or the service, remarked on what is judged; for staff, not for raters. Of pairs none."""
    said = item.response or item.turn
    remarks = said.remarks if said else None
    return list(remarks["texts"]) if remarks else []


def sides_of(item: Item) -> tuple[str, str]:
    """Of a pair, the systems of its first and its second side; else two empty names."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT first_system, second_system FROM ({EVERY_ITEM}) AS i WHERE i.id = %s",
            [item.study_id, item.pk],
        )
        row = cursor.fetchone()
    assert row
    return row[0] or "", row[1] or ""


def system_of(item: Item) -> str:
    """Whose words the item is about."""
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT system FROM ({EVERY_ITEM}) AS i WHERE i.id = %s", [item.study_id, item.pk])
        row = cursor.fetchone()
    assert row
    return str(row[0])
