"""A part of a study judged again by a second group of people, and both groups beside each other."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from django.db import connection, transaction
from numpy.random import Generator

from evaluation.questions import QuestionSet, coded_answers
from evaluation.report.figures import coded_questions
from evaluation.report.studies.rater_groups import Group, compared_groups
from evaluation.statistics.inference import Nouns
from turnwise.judging.asks import asks_of_readers
from turnwise.judging.items.subjects import Added, add_dialogues, add_turns, insert
from turnwise.judging.queries import counted_in, items_of, queued_items_of
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About, Asked
from turnwise.studies.models import Ask, Study

MOST_LABELS = 100_000
RESAMPLES = 2_000
SEED = 20_010_997

# Contexts that the same systems answered are alike, as are conversations of one system: of every kind as many
# are drawn as of any other, as far as there are so many.
_DRAWN = f"""
WITH found AS ({queued_items_of("%(source)s")}), clusters AS (
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
  JOIN studies_ask AS theirs ON theirs.id = i.ask_id
  JOIN studies_ask AS ask ON ask.study_id = %(study)s AND ask.question_set = theirs.question_set
   AND ask.about = theirs.about
 WHERE i.pair_id IS NULL
 ORDER BY ask.number, i.id
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
        source: a judging study, of whose contexts or conversations all items are taken that `study` asks
            the same about, or one of conversations, of which the turns are, the wholes, or both, as `study`
            asks about them.
        number: how many contexts or conversations, at least 1.
        seed: another number draws others; the same one always the same.
        language: of the conversations of a study of conversations.

    Raises:
        ValidationError: the questions are about something else, or the language is not of both.
    """
    if source.items.exists():
        return Added(insert(study, _DRAWN, source=source.pk, sample=number, seed=str(seed)))
    about = {ask.about for ask in asks_of_readers(study)}
    added = [
        add(study, source, language=language, conversations=number, seed=str(seed)).items
        for kind, add in ((About.RESPONSE, add_turns), (About.DIALOGUE, add_dialogues))
        if kind in about
    ]
    return Added(sum(added))


# As what readers judge what those who talked were asked about.
_READ_AS = {
    About.OWN_TURN: About.RESPONSE,
    About.PARTNER_TURN: About.RESPONSE,
    About.DIALOGUE: About.DIALOGUE,
}


def asked_again(source: Study) -> list[Asked]:
    """What a second group is asked: all that the study asks readers, or that readers can be asked of it."""
    return list(
        dict.fromkeys(
            Asked(ask.question_set, _READ_AS.get(About(ask.about), About(ask.about))) for ask in source.asked
        )
    )


def groups_of(study: Study) -> list[int]:
    """The keys of the other studies in which items or conversations of this one are judged."""
    with connection.cursor() as cursor:
        cursor.execute(" UNION ".join(_GROUPS) + " ORDER BY 1", [study.pk] * len(_GROUPS))
        return [pk for (pk,) in cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class AskOfBoth:
    """What two groups say of what both were asked.

    Attributes:
        number: of the ask in the first study.
        about: what its questions are about.
        questions: what was asked.
        systems: for each system of which both judged something `system`, `items` that both have, and
            `scores` of `compared_groups`.
    """

    number: int
    about: str
    questions: QuestionSet
    systems: list[dict[str, Any]]


def beside_each_other(first: Study, second: Study) -> list[AskOfBoth]:
    """By ask and system, each score of both groups over the items that both judged.

    At most 100,000 labels of each group and ask. An ask of which no item has judgments of both is left out.
    """
    rng = np.random.default_rng(SEED)
    both = [
        AskOfBoth(one.number, one.about, question_set(one.question_set), _systems(one, other, rng))
        for one, other in _alike(first, second)
    ]
    return [each for each in both if each.systems]


def ask_alike(first: Study, second: Study) -> bool:
    """Whether both ask readers the same at least once."""
    return bool(_alike(first, second))


def _alike(first: Study, second: Study) -> list[tuple[Ask, Ask]]:
    """What the first asks with what the second asks by the same questions, of whatever both have."""
    asks = product(asks_of_readers(first), asks_of_readers(second))
    return [(one, other) for one, other in asks if one.question_set == other.question_set]


def _systems(one: Ask, other: Ask, rng: Generator) -> list[dict[str, Any]]:
    questions = question_set(one.question_set)
    rows = [_labels(one, other, is_first=is_first) for is_first in (True, False)]
    found = []
    for system in sorted({row[0] for each in rows for row in each}):
        of_system = [[row for row in each if row[0] == system] for each in rows]
        noun = "context" if any(row[2] < 0 for each in of_system for row in each) else "conversation"
        groups = _coded(questions, of_system)
        items = len(np.intersect1d(groups[0].item, groups[1].item))
        if items:
            scores = compared_groups(questions, *groups, rng, resamples=RESAMPLES, nouns=Nouns(cluster=noun))
            found.append({"system": system, "items": items, "scores": scores})
    return found


_ENDS = ("value", "low", "high", "undefined")
CSV_COLUMNS = (
    "ask", "question_set", "system", "score", "items",
    *(
        f"{of}{end}"
        for of in ("first", "second", "difference")
        for end in ("", "_low", "_high", "_no_interval")
    ),
    "majorities", "majorities_agree_percent", "kappa", "kappa_low", "kappa_high", "no_kappa",
)  # fmt: skip


def csv_rows(asks: Sequence[AskOfBoth]) -> Iterator[list[object]]:
    """A header, then a row for each ask, system and score; what is unknown is empty."""
    yield list(CSV_COLUMNS)
    for ask in asks:
        for system in ask.systems:
            for score in system["scores"]:
                yield [ask.number, ask.questions.key, system["system"], *_csv_cells(score)]


def _csv_cells(score: Mapping[str, Any]) -> list[object]:
    cells = [score.get(of, {}) for of in ("first", "second", "difference")]
    found = score.get("agreement", {})
    agreed = [found.get(key) for key in ("items", "agree", "kappa", "low", "high", "undefined")]
    shown = [cell.get(end) for cell in cells for end in _ENDS]
    return [score["title"], score["items"], *shown, *agreed]


_Row = tuple[str, int, int, int, str]


def _labels(one: Ask, other: Ask, *, is_first: bool) -> list[_Row]:
    """Of what both groups judged, as the study of the first ask calls its systems."""
    values = {
        "first": one.study_id, "first_ask": one.pk, "second": other.study_id, "second_ask": other.pk,
        "is_first": is_first,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_LABELS, values)
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
