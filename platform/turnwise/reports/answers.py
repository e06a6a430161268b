"""What those who talked answered in a study, as the columns that its report computes from.

What the report of a study calls its bots, and the people in it.
"""

import io
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from django.db import connection
from django.db.models import QuerySet

from evaluation.protocols.facts import HUMAN
from evaluation.questions import QuestionSet
from evaluation.report.answers import AskData
from evaluation.report.figures import coded_questions, text_questions
from evaluation.report.label_columns import Judged
from evaluation.statistics.labels import AnyArray, FloatArray, coded
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.queries import of_people
from turnwise.labels.queries import DAY, coded_columns, text_columns
from turnwise.privacy.personal_data import redactor_for
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About
from turnwise.studies.models import Ask, Study

# Two people who talk with each other are one system, with this id.
PEOPLE = 0


def bot_names(study: Study) -> dict[int, str]:
    """By id, what the report calls the study's bots: their titles, with the name where two share one.

    A bot that is called as people are shares its title with them, where people talk with each other.
    """
    return bots_called(study, list(study.study_bots.values_list("bot_id", "bot__title", "bot__name")))


def bots_called(study: Study, bots: Sequence[tuple[int, str, str]]) -> dict[int, str]:
    """The same of the study's bots as already read: of each its id, title and name."""
    shared = Counter(title for _, title, _ in bots)
    if HUMAN in shared and talks_of_people(study).exists():
        shared[HUMAN] += 1
    return {pk: f"{title} ({name})" if shared[title] > 1 else title for pk, title, name in bots}


def talks_of_people(study: Study) -> QuerySet[Dialogue]:
    """Its conversations of two people."""
    return of_people(Study.objects.filter(pk=study.pk))


# Where both who talk are judged, each counted turn is a reply; else every other one.
_OF_TURNS = f"""
SELECT {{bot}}, t.dialogue_id,
       (t.position - d.opening_turns)
           / CASE WHEN d.bot_turns = 0 OR 2 * d.bot_turns > d.turns - d.opening_turns + 1 THEN 1
                  ELSE 2 END + 1,
       l.rater_id, t.latency_ms, l.answer_ms, {DAY}, l.id{{answers}}
  FROM labels_label AS l
  JOIN dialogues_turn AS t ON t.id = l.turn_id
  JOIN dialogues_dialogue AS d ON d.id = t.dialogue_id
{{bots}}
 WHERE d.study_id = %s AND d.ending = 'complete'
   AND (l.ask_id = %s OR l.ask_id IS NULL AND l.question_set = %s{{of}})
"""
# Who judged elsewhere has no seat here; they spoke first, as in neural.chat. Each of two people is judged.
_OF_WHOLES = f"""
SELECT coalesce(heard.bot_id, {PEOPLE}), d.id,
       CASE WHEN heard.bot_id IS NULL THEN heard.number ELSE 0 END + 1,
       l.rater_id, NULL, l.answer_ms, {DAY}, l.id{{answers}}
  FROM labels_label AS l
  JOIN dialogues_dialogue AS d ON d.id = l.dialogue_id
  LEFT JOIN dialogues_seat AS own ON own.dialogue_id = d.id AND own.worker_id = l.rater_id
  JOIN dialogues_seat AS heard ON heard.dialogue_id = d.id AND heard.number <> coalesce(own.number, 0)
   AND (heard.bot_id IS NOT NULL OR own.id IS NOT NULL AND heard.worker_id IS NOT NULL)
 WHERE d.study_id = %s AND d.ending = 'complete'
   AND (l.ask_id = %s OR l.ask_id IS NULL AND l.question_set = %s)
"""
_BY_PARTNER = "  LEFT JOIN bots_botversion AS v ON v.id = t.bot_version_id"
# What came with a file answers no ask: it is taken for the one about the same. Of two people each may have
# judged their own turns by the same questions.
_OF_PARTNER = """
   AND (v.id IS NOT NULL
        OR EXISTS (SELECT FROM dialogues_seat AS own WHERE own.dialogue_id = d.id
                      AND own.worker_id = l.rater_id AND own.number <> t.position %% 2))"""
_BY_RATER = """  JOIN dialogues_seat AS own ON own.dialogue_id = d.id AND own.worker_id = l.rater_id
   AND own.number = t.position %% 2
  JOIN dialogues_seat AS heard ON heard.dialogue_id = d.id AND heard.number <> own.number
   AND (heard.bot_id IS NOT NULL OR heard.worker_id IS NOT NULL)"""


def _of_turns(bot: str, bots: str, of: str = "") -> str:
    named = _OF_TURNS.replace("{bot}", f"coalesce({bot}, {PEOPLE})")
    return named.replace("{bots}", bots).replace("{of}", of)


_STATEMENTS = {
    About.PARTNER_TURN: _of_turns("v.bot_id", _BY_PARTNER, _OF_PARTNER),
    About.OWN_TURN: _of_turns("heard.bot_id", _BY_RATER),
    About.DIALOGUE: _OF_WHOLES,
}


def answered(study: Study, ask: Ask) -> AskData:
    """An ask of those who talk, with their answers in finished conversations."""
    questions = question_set(ask.question_set)
    return AskData(ask.about, ask.required, questions, judged(study, questions, ask))


def judged(study: Study, questions: QuestionSet, ask: Ask) -> Judged:
    """The workers' answers to an ask in finished conversations, all at once."""
    keys = [question.key for question in coded_questions(questions)]
    answers, parameters = coded_columns(questions)
    statement = _STATEMENTS[About(ask.about)].format(answers=answers)
    table = _numbers(statement, [*parameters, study.pk, ask.pk, questions.key], 8 + len(keys))
    return Judged(
        bot=_named(table[0], {**bot_names(study), PEOPLE: HUMAN}),
        dialogue=table[1].astype(np.int64),
        reply=table[2].astype(np.int64),
        rater=_named(table[3], _pseudonyms(study, table[3])),
        latency_ms=table[4],
        answer_ms=table[5],
        answers={key: table[8 + index] for index, key in enumerate(keys)},
        texts=_texts_of(study, questions, table[7].astype(np.int64).tolist()),
        day=table[6],
    )


def _texts_of(study: Study, questions: QuestionSet, labels: list[int]) -> dict[str, AnyArray]:
    """By key of a free-text question, the answers of the labels with these ids, in their order."""
    asked, (columns, keys) = text_questions(questions), text_columns(questions)
    if not asked:
        return {}
    statement = f"SELECT l.id{columns} FROM labels_label AS l WHERE l.id = ANY(%s) AND l.answers ?| %s"
    with connection.cursor() as cursor:
        cursor.execute(statement, [*keys, labels, keys])
        redactor = redactor_for(study)
        found = {pk: [redactor(each) if each else each for each in said] for pk, *said in cursor.fetchall()}
    nothing = [None] * len(asked)
    rows = [found.get(pk, nothing) for pk in labels]
    return {
        question.key: np.array([row[column] for row in rows], dtype=object)
        for column, question in enumerate(asked)
    }


# PostgreSQL's binary COPY: a head and a tail, between them rows of a count and, for each value, its length.
_HEAD_BYTES, _TAIL_BYTES = 19, 2
_VALUE = [("length", ">i4"), ("value", ">f8")]


def _numbers(statement: str, parameters: list[Any], columns: int) -> FloatArray:
    """(columns, n) the rows of a statement whose values are all numbers; NULL becomes NaN.

    Copied as bytes, a million rows take a second; as Python's numbers they take five.
    """
    names = [f"c{index}" for index in range(columns)]
    values = ", ".join(f"coalesce({name}::float8, 'NaN')" for name in names)
    copied = io.BytesIO()
    with connection.cursor() as cursor:
        rows_of = cursor.mogrify(statement, parameters).decode()
        select = f"SELECT {values} FROM ({rows_of}) AS found ({', '.join(names)})"
        cursor.copy_expert(f"COPY ({select}) TO STDOUT (FORMAT binary)", copied)
    row = np.dtype([("values", ">i2"), ("each", _VALUE, (columns,))])
    count = (copied.tell() - _HEAD_BYTES - _TAIL_BYTES) // row.itemsize
    rows = np.frombuffer(copied.getbuffer(), row, count, _HEAD_BYTES)
    return np.ascontiguousarray(rows["each"]["value"].T, dtype=np.float64)


def _named(ids: FloatArray, names: Mapping[int, str]) -> AnyArray:
    """(n,) the names of (n,) ids, every name held once."""
    distinct, codes = coded(ids)
    of_code = np.empty(len(distinct), dtype=object)
    of_code[:] = [names[int(each)] for each in distinct]
    named: AnyArray = of_code[codes]
    return named


def _pseudonyms(study: Study, raters: FloatArray) -> dict[int, str]:
    ids = coded(raters)[0].astype(np.int64).tolist()
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, crowd_pseudonym(id, %s) FROM unnest(%s::bigint[]) AS id", [study.pk, ids])
        return dict(cursor.fetchall())
