"""A second group of readers that judges a part of a study again, and the comparison of both groups."""

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
from turnwise.judging.queries import counts_in_primary_analysis, items_of, queued_items_of
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.models import Ask, Study

MOST_LABELS = 100_000
RESAMPLES = 2_000
SEED = 20_010_997

# Contexts are grouped by the systems that answered them, conversations by their system. Equally many are
# drawn from each group, as far as there are enough.
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
  JOIN studies_ask AS source_ask ON source_ask.id = i.ask_id
  JOIN studies_ask AS ask ON ask.study_id = %(study)s AND ask.question_set = source_ask.question_set
   AND ask.about = source_ask.about
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
    " AND o.anchor_id IS NULL AND a.anchor_id IS NULL"
)
_OF_ITEMS = """
SELECT o.study_id
  FROM judging_item AS a JOIN judging_item AS o ON o.{subject} = a.{subject} AND o.study_id <> a.study_id
 WHERE a.study_id = %s AND a.right_answers IS NULL AND o.right_answers IS NULL
   AND a.anchor_id IS NULL AND o.anchor_id IS NULL
"""
_OF_CONVERSATIONS = """
SELECT o.study_id
  FROM dialogues_dialogue AS d {turns} JOIN judging_item AS o ON {subject}
 WHERE d.study_id = %s AND o.right_answers IS NULL AND o.anchor_id IS NULL
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
 WHERE {counts_in_primary_analysis("l.study_id")}
 ORDER BY a.id, l.id
 LIMIT {MOST_LABELS}
"""


@transaction.atomic
def add_sample(study: Study, source: Study, *, number: int, seed: int, language: str) -> Added:
    """Add a sample of another study's contexts or conversations, equally many of each system.

    Args:
        study: the judging study of the second group.
        source: a judging study, whose items are added for the asks that both have, or a study of
        conversations,
            whose turns, whole conversations or both are added, as `study` asks about them.
        number: number of contexts or conversations, at least 1.
        seed: determines the sample.
        language: language of the conversations, if `source` is a study of conversations.

    Raises:
        ValidationError: the questions are about something else, or a study does not have the language.
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


# The asks of readers that correspond to asks of chatters.
_ABOUT_FOR_READERS = {
    About.OWN_TURN: About.RESPONSE,
    About.PARTNER_TURN: About.RESPONSE,
    About.DIALOGUE: About.DIALOGUE,
}


def asks_of_second_group(source: Study) -> list[AskSpec]:
    """Asks for a second group: those of the study's readers, and those of its chatters for readers."""
    return list(
        dict.fromkeys(
            AskSpec(ask.question_set, _ABOUT_FOR_READERS.get(About(ask.about), About(ask.about)))
            for ask in source.work_asks
        )
    )


def other_groups_of(study: Study) -> list[int]:
    """Keys of the other studies that judge items or conversations of this study."""
    with connection.cursor() as cursor:
        cursor.execute(" UNION ".join(_GROUPS) + " ORDER BY 1", [study.pk] * len(_GROUPS))
        return [pk for (pk,) in cursor.fetchall()]


@dataclass(frozen=True, slots=True)
class ComparedAsk:
    """Scores of two groups for an ask that both have.

    Attributes:
        number: number of the ask in the first study.
        about: subject of its questions.
        questions: its question set.
        systems: for each system judged by both, `system`, the number of common `items`, and `scores` of
            `compared_groups`.
    """

    number: int
    about: str
    questions: QuestionSet
    systems: list[dict[str, Any]]


def compare_groups(first: Study, second: Study) -> list[ComparedAsk]:
    """Scores of both groups over the items that both judged, by ask and system.

    At most 100,000 labels of each group and ask are read. Asks without common judgments are left out.
    """
    rng = np.random.default_rng(SEED)
    both = [
        ComparedAsk(one.number, one.about, question_set(one.question_set), _systems(one, other, rng))
        for one, other in _matching_asks(first, second)
    ]
    return [each for each in both if each.systems]


def have_common_asks(first: Study, second: Study) -> bool:
    """True if the studies have at least one ask of readers in common."""
    return bool(_matching_asks(first, second))


def _matching_asks(first: Study, second: Study) -> list[tuple[Ask, Ask]]:
    """Pairs of asks of readers, of the first and the second study, with the same question set."""
    asks = product(asks_of_readers(first), asks_of_readers(second))
    return [(one, other) for one, other in asks if one.question_set == other.question_set]


def _systems(one: Ask, other: Ask, rng: Generator) -> list[dict[str, Any]]:
    questions = question_set(one.question_set)
    rows = [_labels(one, other, is_first=is_first) for is_first in (True, False)]
    systems = []
    for system in sorted({row[0] for each in rows for row in each}):
        of_system = [[row for row in each if row[0] == system] for each in rows]
        noun = "context" if any(row[2] < 0 for each in of_system for row in each) else "conversation"
        groups = _coded(questions, of_system)
        items = len(np.intersect1d(groups[0].item, groups[1].item))
        if items:
            scores = compared_groups(questions, *groups, rng, resamples=RESAMPLES, nouns=Nouns(cluster=noun))
            systems.append({"system": system, "items": items, "scores": scores})
    return systems


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


def csv_rows(asks: Sequence[ComparedAsk]) -> Iterator[list[object]]:
    """Yield a header, then a row for each ask, system and score; unknown values are empty."""
    yield list(CSV_COLUMNS)
    for ask in asks:
        for system in ask.systems:
            for score in system["scores"]:
                yield [ask.number, ask.questions.key, system["system"], *_csv_cells(score)]


def _csv_cells(score: Mapping[str, Any]) -> list[object]:
    cells = [score.get(of, {}) for of in ("first", "second", "difference")]
    agreement = score.get("agreement", {})
    agreed = [agreement.get(key) for key in ("items", "agree", "kappa", "low", "high", "undefined")]
    intervals = [cell.get(end) for cell in cells for end in _ENDS]
    return [score["title"], score["items"], *intervals, *agreed]


_Row = tuple[str, int, int, int, str]


def _labels(one: Ask, other: Ask, *, is_first: bool) -> list[_Row]:
    """Labels of one group on the items that both judged, with system names of the first ask's study."""
    values = {
        "first": one.study_id, "first_ask": one.pk, "second": other.study_id, "second_ask": other.pk,
        "is_first": is_first,
    }  # fmt: skip
    with connection.cursor() as cursor:
        cursor.execute(_LABELS, values)
        return list(cursor.fetchall())


def _coded(questions: QuestionSet, groups: Sequence[Sequence[_Row]]) -> tuple[Group, Group]:
    """The rows of both groups as arrays with common codes."""
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
