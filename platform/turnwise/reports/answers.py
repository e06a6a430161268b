"""The workers' answers in a study as the columns of its report, and the names of its bots and raters."""

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
from turnwise.dialogues.queries import dialogues_between_people
from turnwise.labels.queries import DAY, coded_columns, text_columns
from turnwise.privacy.personal_data import redactor_for
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About
from turnwise.studies.models import Ask, Study

# Id of the system that stands for all conversations of two people.
PEOPLE = 0


def bot_names(study: Study) -> dict[int, str]:
    """Names of the study's bots in its report, by bot id: their titles, made unique by the bot's name.

    If the study also has conversations of two people, a bot titled like them counts as sharing a title.
    """
    return unique_bot_names(study, list(study.study_bots.values_list("bot_id", "bot__title", "bot__name")))


def unique_bot_names(study: Study, bots: Sequence[tuple[int, str, str]]) -> dict[int, str]:
    """`bot_names` for bots that are already read: (id, title, name) of each."""
    shared = Counter(title for _, title, _ in bots)
    if HUMAN in shared and conversations_of_people(study).exists():
        shared[HUMAN] += 1
    return {pk: f"{title} ({name})" if shared[title] > 1 else title for pk, title, name in bots}


def conversations_of_people(study: Study) -> QuerySet[Dialogue]:
    """The study's conversations of two people."""
    return dialogues_between_people(Study.objects.filter(pk=study.pk))


# If both speakers are judged, every counted turn is a reply; else every second one.
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
# A rater of an imported file has no seat and counts as the first speaker, as in neural.chat. In a
# conversation of two people, both are judged.
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
# Imported labels have no ask: they count for the ask with the same subject. Two people may each have judged
# their own turns by the same questions.
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


def load_ask_data(study: Study, ask: Ask) -> AskData:
    """An ask of the chatters, with their answers in finished conversations."""
    questions = question_set(ask.question_set)
    return AskData(ask.about, ask.required, questions, load_answers(study, questions, ask))


def load_answers(study: Study, questions: QuestionSet, ask: Ask) -> Judged:
    """The workers' answers to an ask in finished conversations, as columns."""
    keys = [question.key for question in coded_questions(questions)]
    answers, parameters = coded_columns(questions)
    statement = _STATEMENTS[About(ask.about)].format(answers=answers)
    table = numbers_of(statement, [*parameters, study.pk, ask.pk, questions.key], 8 + len(keys))
    return Judged(
        bot=_names_of_ids(table[0], {**bot_names(study), PEOPLE: HUMAN}),
        dialogue=table[1].astype(np.int64),
        reply=table[2].astype(np.int64),
        rater=_names_of_ids(table[3], _pseudonyms(study, table[3])),
        latency_ms=table[4],
        answer_ms=table[5],
        answers={key: table[8 + index] for index, key in enumerate(keys)},
        texts=_texts_of(study, questions, table[7].astype(np.int64).tolist()),
        day=table[6],
    )


def _texts_of(study: Study, questions: QuestionSet, labels: list[int]) -> dict[str, AnyArray]:
    """Answers to each free-text question, by its key, in the order of these label ids."""
    asked, (columns, keys) = text_questions(questions), text_columns(questions)
    if not asked:
        return {}
    statement = f"SELECT l.id{columns} FROM labels_label AS l WHERE l.id = ANY(%s) AND l.answers ?| %s"
    with connection.cursor() as cursor:
        cursor.execute(statement, [*keys, labels, keys])
        redactor = redactor_for(study)
        found = {pk: [redactor(each) if each else each for each in texts] for pk, *texts in cursor.fetchall()}
    nothing = [None] * len(asked)
    rows = [found.get(pk, nothing) for pk in labels]
    return {
        question.key: np.array([row[column] for row in rows], dtype=object)
        for column, question in enumerate(asked)
    }


# PostgreSQL's binary COPY: a header, rows (a count, then length and value of each column) and a trailer.
_HEAD_BYTES, _TAIL_BYTES = 19, 2
_VALUE = [("length", ">i4"), ("value", ">f8")]


def numbers_of(statement: str, parameters: list[Any] | dict[str, Any], columns: int) -> FloatArray:
    """Rows of a statement whose values are all numbers, as (columns, n); NULL becomes NaN.

    A binary COPY of a million rows takes one second; fetching Python numbers takes five.
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


def _names_of_ids(ids: FloatArray, names: Mapping[int, str]) -> AnyArray:
    """Names of (n,) ids as (n,); each name is one shared object."""
    distinct, codes = coded(ids)
    of_code = np.empty(len(distinct), dtype=object)
    of_code[:] = [names[int(each)] for each in distinct]
    named: AnyArray = of_code[codes]
    return named


# The function crowd_pseudonym gives the same; for a hundred thousand raters it takes three times as long.
_PSEUDONYMS = """
SELECT w.id, coalesce(p.pseudonym, w.pseudonym)
  FROM crowd_worker AS w
  LEFT JOIN crowd_participation AS p ON p.worker_id = w.id AND p.study_id = %s AND p.number = 1
 WHERE w.id = ANY(%s)
"""


def _pseudonyms(study: Study, raters: FloatArray) -> dict[int, str]:
    ids = coded(raters)[0].astype(np.int64).tolist()
    with connection.cursor() as cursor:
        cursor.execute(_PSEUDONYMS, [study.pk, ids])
        return dict(cursor.fetchall())
