"""Reads for reports and exports. One row per labelled bot turn."""

import io
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef, Q

from crowd.models import Participation
from crowd.queries import progress
from dialogues.models import Dialogue, Fault, Turn
from evaluation.labels import AnyArray, FloatArray, coded
from evaluation.questions import QuestionSet, question_set
from evaluation.report.conformance import Conduct
from evaluation.report.course import READ_FOR_REPETITION, Course
from evaluation.report.figures import scored
from evaluation.report.judged import Judged
from evaluation.report.study import StudyData
from labels.item_queries import items_of
from labels.models import Label
from labels.queries import OF_PEOPLE
from reports.models import Report
from studies.models import Speaker, Study, Task


class LabelledTurn(NamedTuple):
    """A labelled bot turn, as reports count it and exports show it. docs/exports.md describes each column."""

    study: str
    bot: str
    bot_version: str | None
    dialogue: str
    dialogue_ending: str
    turn: int
    context: str
    response: str
    rater: str
    sensible: bool | None
    specific: bool | None
    answers: str
    latency_ms: int | None
    labelled_at: str
    label_changes: int
    rater_set_aside: bool
    origin: str
    remarks: str | None
    fallback: bool | None


# What readers say of the same turns in a judging study belongs to that study (labels_slot).
# The speaker of the turn before a reply is its partner; together they say what was judged.
_LABELLED_TURNS = """
SELECT s.code, b.name, left(v.fingerprint, 12), d.public_id::text, d.ending, t.position,
       (SELECT p.text FROM dialogues_turn AS p WHERE p.dialogue_id = d.id AND p.position = t.position - 1),
       t.text, w.pseudonym,
       (l.answers->>'sensible')::boolean, (l.answers->>'specific')::boolean, l.answers::text,
       t.latency_ms, to_char(l.changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), l.changes,
       coalesce(p.set_aside_at IS NOT NULL, false), d.origin,
       (t.remarks->'texts')::text, coalesce((t.remarks->'fallback')::boolean, false)
  FROM labels_label AS l
  JOIN dialogues_turn AS t ON t.id = l.turn_id
  JOIN dialogues_dialogue AS d ON d.id = t.dialogue_id
  JOIN studies_study AS s ON s.id = d.study_id
  JOIN crowd_worker AS w ON w.id = l.rater_id
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
  JOIN bots_bot AS b ON b.id = v.bot_id
  LEFT JOIN crowd_participation AS p ON p.worker_id = l.rater_id AND p.study_id = d.study_id
 WHERE d.study_id = %s
   AND NOT EXISTS (SELECT FROM labels_slot AS slot WHERE slot.label_id = l.id)
 ORDER BY d.id, t.position, l.id
"""


# The same of a judging study: `bot` is the system, `dialogue` a conversation or the key of a context, and
# `turn` the position in the one or the repetition of the other.
_JUDGMENTS = f"""
SELECT s.code, i.system, left(v.fingerprint, 12), coalesce(d.public_id::text, c.key), coalesce(d.ending, ''),
       coalesce(i.position, i.repetition), i.before, coalesce(i.text, ''), w.pseudonym,
       (l.answers->>'sensible')::boolean, (l.answers->>'specific')::boolean, l.answers::text,
       i.latency_ms, to_char(l.changed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), l.changes,
       coalesce(p.set_aside_at IS NOT NULL, false), coalesce(d.origin, ''),
       (i.remarks->'texts')::text,
       CASE WHEN i.bot_version_id IS NOT NULL THEN coalesce((i.remarks->'fallback')::boolean, false) END
  FROM ({items_of()}) AS i
  JOIN labels_slot AS slot ON slot.item_id = i.id
  JOIN labels_label AS l ON l.id = slot.label_id
  JOIN studies_study AS s ON s.id = slot.study_id
  JOIN crowd_worker AS w ON w.id = l.rater_id
  LEFT JOIN dialogues_dialogue AS d ON d.id = coalesce(i.dialogue_id, l.dialogue_id)
  LEFT JOIN responses_response AS r ON r.id = l.response_id
  LEFT JOIN contexts_context AS c ON c.id = r.context_id
  LEFT JOIN bots_botversion AS v ON v.id = i.bot_version_id
  LEFT JOIN crowd_participation AS p ON p.worker_id = l.rater_id AND p.study_id = slot.study_id
 ORDER BY i.id, l.id
"""


def labelled_turns(study: Study, *, batch: int = 2000) -> Iterator[list[LabelledTurn]]:
    """The study's labelled turns, or judgments, in batches: a server-side cursor keeps memory flat."""
    with transaction.atomic():
        connection.ensure_connection()
        with connection.connection.cursor(name="labelled_turns") as cursor:
            cursor.itersize = batch
            cursor.execute(_JUDGMENTS if study.task == Task.JUDGING else _LABELLED_TURNS, [study.pk])
            while rows := cursor.fetchmany(batch):
                yield [LabelledTurn(*row) for row in rows]


def newest_report(study: Study) -> Report | None:
    return study.reports.first()


def newest_result(study: Study) -> Report | None:
    return study.reports.filter(state=Report.State.READY).first()


# Where both who talk are judged, each counted turn is a reply; else every other one.
_JUDGED = """
SELECT v.bot_id, t.dialogue_id,
       (t.position - d.opening_turns)
           / CASE WHEN 2 * d.bot_turns > d.turns - d.opening_turns + 1 THEN 1 ELSE 2 END + 1,
       l.rater_id, t.latency_ms{answers}
  FROM labels_label AS l
  JOIN dialogues_turn AS t ON t.id = l.turn_id
  JOIN dialogues_dialogue AS d ON d.id = t.dialogue_id
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
 WHERE d.study_id = %s AND d.ending = 'complete' AND l.question_set = %s
   AND NOT EXISTS (SELECT FROM labels_slot AS s WHERE s.label_id = l.id)
"""
# Booleans have no cast to numbers in one step; jsonb has.
_ANSWER = ", CASE l.answers->>%s WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE (l.answers->>%s)::float8 END"


def judged(study: Study, questions: QuestionSet, keys: list[str]) -> Judged:
    """The workers' answers to these questions in finished conversations, all at once."""
    statement = _JUDGED.format(answers=_ANSWER * len(keys))
    parameters = [*(key for key in keys for _ in range(2)), study.pk, questions.key]
    table = _numbers(statement, parameters, 5 + len(keys))
    return Judged(
        bot=_named(table[0], bot_names(study)),
        dialogue=table[1].astype(np.int64),
        reply=table[2].astype(np.int64),
        rater=_named(table[3], _pseudonyms(table[3])),
        latency_ms=table[4],
        answers={key: table[5 + index] for index, key in enumerate(keys)},
    )


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


def bot_names(study: Study) -> dict[int, str]:
    """By id, what the report calls the study's bots: their titles, with the name where two share one."""
    bots = list(study.study_bots.values_list("bot_id", "bot__title", "bot__name"))
    shared = Counter(title for _, title, _ in bots)
    return {pk: f"{title} ({name})" if shared[title] > 1 else title for pk, title, name in bots}


def _pseudonyms(raters: FloatArray) -> dict[int, str]:
    ids = coded(raters)[0].astype(np.int64).tolist()
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, pseudonym FROM crowd_worker WHERE id = ANY(%s)", [ids])
        return dict(cursor.fetchall())


def set_aside(study: Study) -> dict[str, str]:
    """By pseudonym, why a worker was set aside."""
    aside = Participation.objects.filter(study=study, set_aside_at__isnull=False)
    return dict(aside.values_list("worker__pseudonym", "set_aside_reason"))


def courses(study: Study) -> dict[str, Course]:
    """How the conversations of each bot of the study went, in the order of the bots' names."""
    by_ending = Counter(
        {
            (bot, ending): times
            for bot, ending, times in Dialogue.objects.filter(study=study, participants__bot__isnull=False)
            .values_list("participants__bot_id", "ending")
            .annotate(times=Count("pk", distinct=True))
        }
    )
    faults: dict[int, dict[str, int]] = {}
    for bot, kind, times in (
        Fault.objects.filter(dialogue__study=study)
        .values_list("dialogue__assignment__study_bot__bot_id", "kind")
        .annotate(times=Count("pk"))
    ):
        faults.setdefault(bot, {})[kind] = times
    texts, remarked = _texts(study), _remarked(study)
    return {
        name: Course(
            finished=by_ending[pk, Dialogue.Ending.COMPLETE.value],
            under_way=by_ending[pk, ""],
            bot_failed=by_ending[pk, Dialogue.Ending.BOT_FAILED.value],
            faults=faults.get(pk, {}),
            remarked=remarked.get(pk, (0, 0))[0],
            fallbacks=remarked.get(pk, (0, 0))[1],
            texts=texts.get(pk, []),
        )
        for pk, name in sorted(bot_names(study).items(), key=lambda item: item[1])
    }


def _remarked(study: Study) -> dict[int, tuple[int, int]]:
    """By bot, its replies in finished conversations with remarks of filters, and those by fallback."""
    turns = Turn.objects.filter(
        dialogue__study=study, dialogue__ending=Dialogue.Ending.COMPLETE, remarks__isnull=False
    )
    counted = turns.values_list("bot_version__bot_id").annotate(
        remarked=Count("pk"), fallbacks=Count("pk", filter=Q(remarks__fallback=True))
    )
    return {bot: (remarked, fallbacks) for bot, remarked, fallbacks in counted.order_by()}


_TEXTS = """
SELECT c.bot_id,
       array_agg(t.position %% 2 = ANY(c.seats) ORDER BY t.position),
       array_agg(t.text ORDER BY t.position)
  FROM (SELECT d.id, p.bot_id, array_agg(p.seat) AS seats, d.opening_turns,
               row_number() OVER (PARTITION BY p.bot_id ORDER BY d.id) AS number
          FROM dialogues_dialogue AS d
          JOIN dialogues_participant AS p ON p.dialogue_id = d.id AND p.bot_id IS NOT NULL
         WHERE d.study_id = %s AND d.ending = 'complete'
         GROUP BY d.id, p.bot_id) AS c
  JOIN dialogues_turn AS t ON t.dialogue_id = c.id AND t.position >= c.opening_turns
 WHERE c.number <= %s
 GROUP BY c.id, c.bot_id, c.seats
 ORDER BY c.id
"""


def _texts(study: Study) -> dict[int, list[list[tuple[bool, str]]]]:
    """By bot, its first finished conversations as (spoken by the bot?, text), oldest first."""
    texts: dict[int, list[list[tuple[bool, str]]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_TEXTS, [study.pk, READ_FOR_REPETITION])
        for bot, by_bot, said in cursor.fetchall():
            texts.setdefault(bot, []).append(list(zip(by_bot, said, strict=True)))
    return texts


def unlabelled_replies(study: Study) -> int:
    """Replies in finished conversations without a label; the protocol's own constraint keeps it at 0."""
    labelled = Label.objects.filter(OF_PEOPLE, turn=OuterRef("pk"))
    replies = Turn.objects.filter(dialogue__study=study, dialogue__ending=Dialogue.Ending.COMPLETE)
    return replies.filter(~Exists(labelled), bot_version__isnull=False).count()


@contextmanager
def snapshot() -> Iterator[None]:
    """Everything read inside is of one moment, whatever others commit meanwhile; nothing can be written."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        yield


def study_data(study: Study) -> StudyData:
    """All that the report depends on; call it inside `snapshot`."""
    questions = question_set(study.question_set)
    labels = judged(study, questions, [question.key for question in scored(questions)])
    went = courses(study)
    return StudyData(questions, labels, went, set_aside(study), _conduct(study, went, labels))


def _conduct(study: Study, went: Mapping[str, Course], labels: Judged) -> Conduct:
    return Conduct(
        bot_opens=study.opening_speaker == Speaker.BOT,
        opening_text=study.opening_text,
        min_turns=study.min_turns,
        max_turns=study.max_turns,
        question_set=study.question_set,
        blind=study.blind,
        languages=study.languages,
        conversations={bot: course.finished for bot, course in went.items()},
        unlabelled=unlabelled_replies(study),
        most_raters=labels.most_raters,
    )


def stamp(study: Study) -> str:
    """Changes with everything that the report's page shows: reports, results and conversations."""
    newest = newest_report(study)
    done = ".".join(f"{bot.finished}+{bot.open}" for bot in progress(study))
    state = f"{newest.pk}-{newest.state}" if newest else "none"
    return f"{study.results_version}-{state}-{done}"
