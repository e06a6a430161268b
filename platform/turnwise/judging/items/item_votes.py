"""The list of a judging study's items with their votes: filtered, ordered, a page at a time."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.utils.translation import gettext_lazy as _

from evaluation.questions import FIRST, SECOND, Question
from turnwise.judging.queries import all_items_of, items_of
from turnwise.labels.queries import Vote
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Ask


@dataclass(frozen=True, slots=True)
class ItemVotes:
    """An item with the votes on one question.

    Attributes:
        key: of the item.
        system: name of the system.
        before: the last turn before it; "" if there is none.
        text: the judged text; "" for whole conversations and for contexts.
        other: the second response of a pair; else "".
        turns: number of turns of each conversation of a pair that are judged; None: all.
        votes: by answer, the most frequent first.
        raters: number of raters who answered.
        disagreement: percentage of raters who did not give the most frequent answer.
        is_removed: True if it was taken out of the queue.
    """

    key: UUID
    system: str
    before: str
    text: str
    other: str
    turns: int | None
    votes: list[Vote]
    raters: int
    disagreement: int
    is_removed: bool


class Filter(NamedTuple):
    """Filters and order of the list of items: system, answer of the strict majority, state."""

    question: str
    system: str = ""
    majority: str = ""
    state: str = ""
    sort: str = "disputed"


STATES = {
    "split": (_("Raters disagree"), "tally.disagreement > 0"),
    "undecided": (_("No majority"), "tally.disagreement >= 0.5"),
    "unjudged": (_("No votes"), "tally.item_id IS NULL"),
    "removed": (_("Taken out of the queue"), "i.removed_at IS NOT NULL"),
    "gold": (_("Gold"), "true"),
    "anchor": (_("Anchors"), "true"),
}
"""Filters of the list by key: title and SQL condition."""

SORTS = {
    "disputed": (_("Most disputed first"), "tally.disagreement DESC NULLS LAST"),
    "most": (_("Most judgments first"), "coalesce(tally.raters, 0) DESC"),
    "fewest": (_("Fewest judgments first"), "coalesce(tally.raters, 0)"),
    "system": (_("By system"), "i.system"),
    "key": (_("By key"), "i.key"),
}
"""Orders of the list by key: title and SQL columns."""


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
       i.first_system, i.second_system, i.judged_turns, i.removed_at IS NOT NULL,
       coalesce(tally.votes, '{{}}'), coalesce(tally.raters, 0),
       round(100 * coalesce(tally.disagreement, 0))::integer, count(*) OVER ()
  FROM ({items}) AS i LEFT JOIN tally ON tally.item_id = i.id
 WHERE (%(system)s = '' OR i.system = %(system)s)
   AND (%(majority)s = '' OR (tally.winner = %(majority)s AND tally.disagreement < 0.5))
   AND {condition}
 ORDER BY {order}, i.key
 LIMIT %(limit)s OFFSET %(offset)s
"""


def items_with_votes(ask: Ask, by: Filter, *, limit: int, offset: int) -> tuple[list[ItemVotes], int]:
    """A page of the filtered items of an ask, in the chosen order, and the total number."""
    statement = _VOTED.format(
        items=_candidates(by.state),
        condition=STATES[by.state][1] if by.state else "true",
        order=SORTS[by.sort][1],
    )
    question = question_set(ask.question_set).question(by.question)
    turned = json.dumps({FIRST: SECOND, SECOND: FIRST} if question.is_sided else {})
    values: dict[str, Any] = by._asdict() | {"turned": turned, "limit": limit, "offset": offset}
    with connection.cursor() as cursor:
        cursor.execute(statement, {"study": ask.study_id, "ask": ask.pk, **values})
        rows = cursor.fetchall()
    captions = captions_of(question)
    found = []
    for key, system, before, *texts, one, other, turns, removed, votes, raters, disagreement, _total in rows:
        text, second = texts if one is None or one < other else texts[::-1]  # in the order of their names
        named = captions | ({FIRST: one, SECOND: other} if question.is_sided else {})
        given = _votes(json.loads(votes), named)
        found.append(
            ItemVotes(key, system, before, text, second, turns, given, raters, disagreement, removed)
        )
    return found, rows[0][-1] if rows else 0


def _candidates(state: str) -> str:
    """SQL of the items that a state selects from. Gold and anchors are listed only by the states so named."""
    if state == "anchor":
        return f"{all_items_of('%(study)s')} AND i.ask_id = %(ask)s AND i.anchor_id IS NOT NULL"
    if state not in ("gold", "removed"):
        return items_of("%(study)s", ask="%(ask)s")
    gold = "IS NOT NULL" if state == "gold" else "IS NULL"
    return f"{all_items_of('%(study)s')} AND i.ask_id = %(ask)s AND i.right_answers {gold}"


def captions_of(question: Question) -> dict[str, str]:
    """Captions of a question's answers by their stored value, as text as PostgreSQL's ->> gives it."""
    return {_as_text(choice.value): choice.label for choice in question.choices}


def majorities_of(question: Question) -> dict[str, str]:
    """Answers that the list can be filtered by; not the sides of pairs, which differ from pair to pair."""
    sides = (FIRST, SECOND) if question.is_sided else ()
    return {value: caption for value, caption in captions_of(question).items() if value not in sides}


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _votes(votes: Mapping[str, int], captions: Mapping[str, str]) -> list[Vote]:
    named = [Vote(captions.get(answer, answer), raters) for answer, raters in votes.items()]
    return sorted(named, key=lambda vote: (-vote.raters, vote.answer))
