"""A part of a study judged again by a second group of people, and both groups beside each other."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from django.db import connection, transaction

from evaluation.inference import Nouns
from evaluation.questions import QuestionSet, Subject, coded_answers
from evaluation.report.figures import coded_questions
from evaluation.report.groups import Group, compared_groups
from judging.asks import subjects_asked
from judging.queries import counted_in, items_of, queued_items_of
from judging.subjects import Added, add_dialogues, add_turns, insert
from questions.resolving import question_set
from studies.models import Study

MOST_LABELS = 100_000
RESAMPLES = 2_000
SEED = 20_010_997

# Contexts that the same systems answered are alike, as are conversations of one system: of every kind as many
# are drawn as of any other, as far as there are so many.
_DRAWN = f"""
WITH found AS ({queued_items_of("%(source)s")} AND i.ask_id = %(ask)s), clusters AS (
    SELECT cluster, array_agg(DISTINCT system ORDER BY system) AS systems FROM found GROUP BY cluster
), drawn AS (
    SELECT cluster FROM (
        SELECT cluster, row_number() OVER (PARTITION BY systems ORDER BY md5(cluster || %(seed)s)) AS number
          FROM clusters) AS numbered
     ORDER BY number, md5(cluster || %(seed)s)
     LIMIT %(sample)s
)
INSERT INTO judging_item (study_id, ask_id, turn_id, response_id, dialogue_id, context_id, key, language)
SELECT %(study)s, ask.id, i.turn_id, i.response_id, i.dialogue_id, i.context_id, judging_key(ask.number),
       i.language
  FROM found JOIN drawn ON drawn.cluster = found.cluster JOIN judging_item AS i ON i.id = found.id
  JOIN studies_ask AS ask ON ask.study_id = %(study)s AND ask.number = 0
 WHERE i.pair_id IS NULL
 ORDER BY i.id
    ON CONFLICT DO NOTHING
"""
_SAME = (
    "coalesce(o.turn_id, 0) = coalesce(a.turn_id, 0)"
    " AND coalesce(o.response_id, 0) = coalesce(a.response_id, 0)"
    " AND coalesce(o.dialogue_id, 0) = coalesce(a.dialogue_id, 0)"
    " AND coalesce(o.context_id, 0) = coalesce(a.context_id, 0)"
    " AND o.pair_id IS NULL AND a.pair_id IS NULL AND o.right_answers IS NULL AND a.right_answers IS NULL"
)
_OF_ITEMS = """
SELECT o.study_id
  FROM judging_item AS a JOIN judging_item AS o ON o.{subject} = a.{subject} AND o.study_id <> a.study_id
 WHERE a.study_id = %s AND a.right_answers IS NULL AND o.right_answers IS NULL
"""
_OF_CONVERSATIONS = """
SELECT o.study_id
  FROM dialogues_dialogue AS d {turns} JOIN judging_item AS o ON {subject}
 WHERE d.study_id = %s AND o.right_answers IS NULL
"""
_GROUPS = (
    *(_OF_ITEMS.format(subject=f"{subject}_id") for subject in ("turn", "response", "dialogue", "context")),
    _OF_CONVERSATIONS.format(
        turns="JOIN dialogues_turn AS t ON t.dialogue_id = d.id", subject="o.turn_id = t.id"
    ),
    _OF_CONVERSATIONS.format(turns="", subject="o.dialogue_id = d.id"),
)
_LABELS = f"""
SELECT found.system, a.id, found.cluster, l.rater_id, l.answers
  FROM ({items_of("%(first)s", ask="%(first_ask)s")}) AS found
  JOIN judging_item AS a ON a.id = found.id
  JOIN judging_item AS o ON o.study_id = %(second)s AND o.ask_id = %(second_ask)s AND {_SAME}
  JOIN judging_slot AS slot ON slot.item_id = CASE WHEN %(is_first)s THEN a.id ELSE o.id END
   AND slot.occasion = 1
  JOIN labels_label AS l ON l.id = slot.label_id
 WHERE {counted_in("l.study_id")}
 ORDER BY a.id, l.id
 LIMIT {MOST_LABELS}
"""


@transaction.atomic
def add_drawn(study: Study, source: Study, *, number: int, seed: int, language: str) -> Added:
    """Have a part of another study judged: so many contexts or conversations, as many of each system.

    Args:
        study: where they are judged; a judging study.
        source: a judging study, of whose contexts or conversations all items are taken that have the
            questions of its report's beginning, or one of conversations, of which the turns or the wholes
            are, as the questions of `study` are about.
        number: how many contexts or conversations, at least 1.
        seed: another number draws others; the same one always the same.
        language: of the conversations of a study of conversations.

    Raises:
        ValidationError: the questions are about something else, or the language is not of both.
    """
    if source.items.exists():
        asked = source.asked[0].pk
        return Added(insert(study, _DRAWN, source=source.pk, ask=asked, sample=number, seed=str(seed)))
    of_turns = Subject.TURN in subjects_asked(study)
    add = add_turns if of_turns else add_dialogues
    return add(study, source, language=language, conversations=number, seed=str(seed))


def groups_of(study: Study) -> list[int]:
    """The keys of the other studies in which items or conversations of this one are judged."""
    with connection.cursor() as cursor:
        cursor.execute(" UNION ".join(_GROUPS) + " ORDER BY 1", [study.pk] * len(_GROUPS))
        return [pk for (pk,) in cursor.fetchall()]


def beside_each_other(first: Study, second: Study) -> list[dict[str, Any]]:
    """By system, each score of both groups over the items that both judged; at most 100,000 labels each.

    Returns:
        For each system `system`, `items` that both have, and `scores` of `compared_groups`.
    """
    questions = question_set(first.question_set)
    rows = [_labels(first, second, is_first=is_first) for is_first in (True, False)]
    rng = np.random.default_rng(SEED)
    found = []
    for system in sorted({row[0] for each in rows for row in each}):
        of_system = [[row for row in each if row[0] == system] for each in rows]
        noun = "context" if any(row[2] < 0 for each in of_system for row in each) else "conversation"
        groups = _coded(questions, of_system)
        scores = compared_groups(questions, *groups, rng, resamples=RESAMPLES, nouns=Nouns(cluster=noun))
        items = len(np.intersect1d(groups[0].item, groups[1].item))
        found.append({"system": system, "items": items, "scores": scores})
    return found


_ENDS = ("value", "low", "high", "undefined")
CSV_COLUMNS = (
    "system", "score", "items",
    *(
        f"{of}{end}"
        for of in ("first", "second", "difference")
        for end in ("", "_low", "_high", "_no_interval")
    ),
    "majorities", "majorities_agree_percent", "kappa", "kappa_low", "kappa_high", "no_kappa",
)  # fmt: skip


def csv_rows(systems: Sequence[Mapping[str, Any]]) -> Iterator[list[object]]:
    """A header, then a row for each system and score of `beside_each_other`; what is unknown is empty."""
    yield list(CSV_COLUMNS)
    for system in systems:
        for score in system["scores"]:
            cells = [score.get(of, {}) for of in ("first", "second", "difference")]
            found = score.get("agreement", {})
            agreed = [found.get(key) for key in ("items", "agree", "kappa", "low", "high", "undefined")]
            shown = [cell.get(end) for cell in cells for end in _ENDS]
            yield [system["system"], score["title"], score["items"], *shown, *agreed]


_Row = tuple[str, int, int, int, str]


def _labels(first: Study, second: Study, *, is_first: bool) -> list[_Row]:
    """Of what both reports begin with."""
    asks = {"first_ask": first.asked[0].pk, "second_ask": second.asked[0].pk}
    with connection.cursor() as cursor:
        cursor.execute(_LABELS, {"first": first.pk, "second": second.pk, "is_first": is_first, **asks})
        return list(cursor.fetchall())


def _coded(questions: QuestionSet, groups: Sequence[Sequence[_Row]]) -> tuple[Group, Group]:
    """The rows of both groups as arrays, whose codes are the same in both."""
    split = len(groups[0])
    rows = [row for group in groups for row in group]
    item, cluster, rater = (
        np.unique([row[column] for row in rows], return_inverse=True)[1].astype(np.int64)
        for column in (1, 2, 3)
    )
    given = [json.loads(row[4]) for row in rows]
    answers = {
        each.key: coded_answers(each, [one.get(each.key) for one in given])
        for each in coded_questions(questions)
    }
    first, second = (
        Group(item[part], cluster[part], rater[part], {key: of[part] for key, of in answers.items()})
        for part in (slice(None, split), slice(split, None))
    )
    return first, second
