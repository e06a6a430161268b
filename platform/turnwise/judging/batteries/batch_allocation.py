"""Slots of a study's items: one for each wanted rater, or the decks of its batteries."""

from typing import Any

from django.db import connection

from evaluation.questions import Kind, QuestionSet
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.batteries.battery_rules import battery_of, recipes_of, why_unfit
from turnwise.judging.batteries.battery_sampling import Card, compose
from turnwise.judging.models import Battery, JudgingPlan
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Study

# Judgments of a pilot do not count once the study went on after it, so others judge the items again.
_PILOT_BATCHES = """
SELECT b.id FROM judging_batch AS b
  JOIN studies_study AS of ON of.id = b.study_id
  JOIN crowd_assignment AS a ON a.id = b.assignment_id
  JOIN crowd_participation AS p ON p.id = a.participation_id
 WHERE b.study_id = %(study)s AND p.pilot AND of.pilot_over_at IS NOT NULL
"""
# Moves them behind the number of a third rater, as judging_requeue_slot does, also after more raters are
# wanted.
_MOVE_PILOT_SLOTS = f"""
UPDATE judging_slot AS s SET number = behind.number
  FROM (SELECT o.id,
               greatest(%(raters)s + 1, (SELECT max(number) FROM judging_slot WHERE item_id = o.item_id))
               + row_number() OVER (PARTITION BY o.item_id ORDER BY o.id) AS number
          FROM judging_slot AS o
         WHERE o.study_id = %(study)s AND o.deck IS NULL AND NOT o.is_gold AND o.label_id IS NOT NULL
           AND o.number <= %(raters)s + 1 AND o.batch_id IN ({_PILOT_BATCHES})) AS behind
 WHERE s.id = behind.id
"""
# All items, unless some were drawn for people: then anchors, and those that the newest draw of their ask has
# as drawn.
_IS_FOR_PEOPLE = """
(i.anchor_id IS NOT NULL
 OR NOT EXISTS (SELECT FROM judging_itemdraw AS d WHERE d.ask_id = i.ask_id)
 OR EXISTS (SELECT FROM judging_drawnitem AS w JOIN judging_itemdraw AS d ON d.id = w.draw_id
             WHERE w.item_id = i.id AND w.is_drawn AND d.ask_id = i.ask_id
               AND d.number = (SELECT max(number) FROM judging_itemdraw WHERE ask_id = i.ask_id)))
"""
# An item has one slot for each wanted rater, or more if more have begun already. Every other slot of a pair
# shows the second side first; the item's random key decides which.
_FILL = f"""
INSERT INTO judging_slot (item_id, number, study_id, key, language, is_swapped, occasion, asks_reason)
SELECT i.id, missing.n, i.study_id, i.key, i.language,
       i.pair_id IS NOT NULL AND (missing.n + get_byte(uuid_send(i.key), 15)) %% 2 = 1, 1, false
  FROM judging_item AS i
 CROSS JOIN LATERAL (
       SELECT n FROM generate_series(1, %(raters)s) AS n
        WHERE NOT EXISTS (SELECT FROM judging_slot AS s WHERE s.item_id = i.id AND s.number = n)
        LIMIT greatest(%(raters)s - (SELECT count(*) FROM judging_slot AS s
                                      WHERE s.item_id = i.id
                                        AND (s.label_id IS NULL OR s.batch_id IS NULL
                                             OR s.batch_id NOT IN ({_PILOT_BATCHES}))), 0)
       ) AS missing
 WHERE i.study_id = %(study)s AND i.right_answers IS NULL AND i.removed_at IS NULL AND {_IS_FOR_PEOPLE}
"""
_SHRINK = f"""
DELETE FROM judging_slot
 WHERE batch_id IS NULL
   AND id IN (SELECT id FROM (
                  SELECT id, row_number() OVER (PARTITION BY item_id ORDER BY batch_id IS NULL, id) AS nth
                    FROM judging_slot
                   WHERE study_id = %(study)s
                     AND (label_id IS NULL OR batch_id IS NULL OR batch_id NOT IN ({_PILOT_BATCHES}))) AS s
               WHERE nth > %(raters)s)
"""
_THIRD = """
SELECT judging_third(id, %(compared)s) FROM judging_item
 WHERE study_id = %(study)s AND ask_id = %(ask)s AND right_answers IS NULL ORDER BY id
"""
# Slots that nobody has begun: single ones that a battery replaces, and decks that are dealt again.
_CLEAR = """
DELETE FROM judging_slot AS s
 WHERE s.study_id = %(study)s AND s.batch_id IS NULL
   AND NOT EXISTS (SELECT FROM judging_slot AS o
                    WHERE o.study_id = s.study_id AND o.deck = s.deck AND o.batch_id IS NOT NULL)
"""
# Whole decks only: the judged cards of a deck that a worker left are not counted.
_BEGUN = """
SELECT count(*) FILTER (WHERE language = %(language)s AND cards >= %(size)s), coalesce(max(deck), 0)
  FROM (SELECT deck, min(language) AS language, count(*) AS cards
          FROM judging_slot WHERE study_id = %(study)s AND deck IS NOT NULL GROUP BY deck) AS dealt
"""
_DEAL = """
INSERT INTO judging_slot (item_id, number, study_id, key, language, is_swapped, deck, position, occasion,
                          asks_reason)
SELECT i.id,
       coalesce((SELECT max(o.number) FROM judging_slot AS o WHERE o.item_id = i.id), 0)
       + row_number() OVER (PARTITION BY i.id ORDER BY card.deck, card.position),
       i.study_id, judging_key(ask.number), i.language, false, card.deck, card.position, card.occasion,
       card.asks_reason
  FROM unnest(%(item)s::bigint[], %(deck)s::integer[], %(position)s::integer[], %(occasion)s::integer[],
              %(asks_reason)s::boolean[]) AS card (item, deck, position, occasion, asks_reason)
  JOIN judging_item AS i ON i.id = card.item
  JOIN studies_ask AS ask ON ask.id = i.ask_id
"""  # constant text without values


def fill_slots(plan: JudgingPlan) -> None:
    """Give the study's items the slots of its plan. Call it in a transaction with the plan locked.

    Slots in progress stay. A battery that cannot be filled gets no slots; `why_unfit` says why.
    """
    battery, study = battery_of(plan.study), plan.study_id
    if battery is None:
        execute(_CLEAR + " AND s.deck IS NOT NULL", study=study)
        execute(_MOVE_PILOT_SLOTS, study=study, raters=plan.raters_per_item)
        execute(_SHRINK, study=study, raters=plan.raters_per_item)
        execute(_FILL, study=study, raters=plan.raters_per_item)
        if plan.third_rater:
            for ask in asks_of_readers(plan.study):
                execute(
                    _THIRD,
                    study=study,
                    ask=ask.pk,
                    compared=comparable_questions(question_set(ask.question_set)),
                )
        return
    _redeal_batteries(battery)


def _redeal_batteries(battery: Battery) -> None:
    """Replace the decks and slots that nobody has begun."""
    study = battery.plan.study
    execute(_CLEAR, study=study.pk)
    if not why_unfit(battery):
        for language in study.languages:
            _deal(battery, language)


# Only for drafts, whose slots no batch holds.
_RENUMBER_ITEMS = """
UPDATE judging_item AS i SET key = encode(set_byte(uuid_send(i.key), 0, ask.number), 'hex')::uuid
  FROM studies_ask AS ask
 WHERE i.study_id = %(study)s AND ask.id = i.ask_id AND get_byte(uuid_send(i.key), 0) <> ask.number
"""
_RENUMBER_SLOTS = """
UPDATE judging_slot AS s SET key = i.key FROM judging_item AS i
 WHERE s.study_id = %(study)s AND i.id = s.item_id AND s.deck IS NULL AND s.key <> i.key
"""


def renumber_items(study: Study) -> None:
    """Put the current numbers of a draft's asks into the keys of its items, and deal batteries again."""
    execute(_RENUMBER_ITEMS, study=study.pk)
    execute(_RENUMBER_SLOTS, study=study.pk)
    if battery := battery_of(study):
        battery.plan.study = study
        _redeal_batteries(battery)


def comparable_questions(questions: QuestionSet) -> list[str]:
    """Questions whose differing answers call for a third rater: all except free text."""
    return [question.key for question in questions.questions if question.kind is not Kind.TEXT]


def _deal(battery: Battery, language: str) -> None:
    """Deal the decks that are still wanted in this language."""
    study = battery.plan.study
    (begun, last) = _row(_BEGUN, study=study.pk, language=language, size=battery.size)
    seed = f"{battery.seed} {study.code} {language} {last}"
    decks = compose(recipes_of(battery, language), max(0, battery.workers - begun), seed=seed)
    cards = [
        (deck, position, card)
        for deck, cards in enumerate(decks, last + 1)
        for position, card in enumerate(cards, 1)
    ]
    execute(
        _DEAL,
        deck=[deck for deck, _, _ in cards],
        position=[position for _, position, _ in cards],
        **{name: [getattr(card, name) for _, _, card in cards] for name in Card._fields},
    )


def execute(statement: str, **values: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.rowcount)


def _row(statement: str, **values: Any) -> tuple[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        row: tuple[int, int] = cursor.fetchone()
    return row
