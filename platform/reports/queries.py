"""Reads for reports and exports. One row per labelled bot turn."""

import io
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from django.db import connection, transaction
from django.db.models import Count, Exists, OuterRef, Q, QuerySet

from crowd.models import Participation
from crowd.queries import BotProgress
from dialogues.models import Dialogue, Fault, Turn
from dialogues.queries import of_people
from evaluation.labels import AnyArray, FloatArray, coded
from evaluation.protocols.facts import HUMAN, AskFact, Design, Talks
from evaluation.questions import QuestionSet
from evaluation.report.analysis import Analysis, AnalysisPlan
from evaluation.report.asked import AskData
from evaluation.report.course import READ_FOR_REPETITION, Course
from evaluation.report.figures import coded_questions, text_questions
from evaluation.report.judged import Judged
from evaluation.report.study import StudyData
from evaluation.text import WITHDRAWN
from labels.answers import coded_columns, text_columns
from labels.models import Label
from labels.queries import OF_PEOPLE
from privacy.redacting import redactor_for
from questions.resolving import question_set
from reports import measuring
from reports.manners import manners
from reports.models import Report
from studies.asks import About
from studies.models import Ask, Speaker, Study


def newest_report(study: Study) -> Report | None:
    return study.reports.first()


def newest_result(study: Study) -> Report | None:
    return study.reports.filter(state=Report.State.READY).first()


# Two people who talk with each other are one system, with this id.
PEOPLE = 0

# Where both who talk are judged, each counted turn is a reply; else every other one.
_OF_TURNS = """
SELECT {bot}, t.dialogue_id,
       (t.position - d.opening_turns)
           / CASE WHEN d.bot_turns = 0 OR 2 * d.bot_turns > d.turns - d.opening_turns + 1 THEN 1
                  ELSE 2 END + 1,
       l.rater_id, t.latency_ms, l.answer_ms, l.id{answers}
  FROM labels_label AS l
  JOIN dialogues_turn AS t ON t.id = l.turn_id
  JOIN dialogues_dialogue AS d ON d.id = t.dialogue_id
{bots}
 WHERE d.study_id = %s AND d.ending = 'complete'
   AND (l.ask_id = %s OR l.ask_id IS NULL AND l.question_set = %s{of})
"""
# Who judged elsewhere has no seat here; they spoke first, as in neural.chat. Each of two people is judged.
_OF_WHOLES = f"""
SELECT coalesce(heard.bot_id, {PEOPLE}), d.id,
       CASE WHEN heard.bot_id IS NULL THEN heard.number ELSE 0 END + 1,
       l.rater_id, NULL, l.answer_ms, l.id{{answers}}
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
    table = _numbers(statement, [*parameters, study.pk, ask.pk, questions.key], 7 + len(keys))
    return Judged(
        bot=_named(table[0], {**bot_names(study), PEOPLE: HUMAN}),
        dialogue=table[1].astype(np.int64),
        reply=table[2].astype(np.int64),
        rater=_named(table[3], _pseudonyms(study, table[3])),
        latency_ms=table[4],
        answer_ms=table[5],
        answers={key: table[7 + index] for index, key in enumerate(keys)},
        texts=_texts_of(study, questions, table[6].astype(np.int64).tolist()),
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


def bot_names(study: Study) -> dict[int, str]:
    """By id, what the report calls the study's bots: their titles, with the name where two share one.

    A bot that is called as people are shares its title with them, where people talk with each other.
    """
    return bots_called(study, list(study.study_bots.values_list("bot_id", "bot__title", "bot__name")))


def bots_called(study: Study, bots: Sequence[tuple[int, str, str]]) -> dict[int, str]:
    """The same of the study's bots as already read: of each its id, title and name."""
    shared = Counter(title for _, title, _ in bots)
    if HUMAN in shared and _of_people(study).exists():
        shared[HUMAN] += 1
    return {pk: f"{title} ({name})" if shared[title] > 1 else title for pk, title, name in bots}


def _pseudonyms(study: Study, raters: FloatArray) -> dict[int, str]:
    ids = coded(raters)[0].astype(np.int64).tolist()
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, crowd_pseudonym(id, %s) FROM unnest(%s::bigint[]) AS id", [study.pk, ids])
        return dict(cursor.fetchall())


def _of_people(study: Study) -> QuerySet[Dialogue]:
    return of_people(Study.objects.filter(pk=study.pk))


def analysis_plan(study: Study) -> AnalysisPlan:
    """What the study declared, and who was excluded since."""
    excluded = Participation.objects.filter(study=study, excluded_at__isnull=False)
    reasons = dict(excluded.values_list("pseudonym", "excluded_reason"))
    return AnalysisPlan(Analysis(study.primary_analysis), study.exclusion_rules, reasons, study.margin)


def courses(study: Study) -> dict[str, Course]:
    """How the conversations of each bot of the study went, and those of people, in the order of names."""
    by_ending = Counter(
        {
            (bot, ending): times
            for bot, ending, times in Dialogue.objects.filter(study=study, seats__bot__isnull=False)
            .values_list("seats__bot_id", "ending")
            .annotate(times=Count("pk", distinct=True))
        }
    )
    names, talked = bot_names(study), _of_people(study).values_list("ending").annotate(times=Count("pk"))
    for ending, times in talked.order_by():
        by_ending[PEOPLE, ending], names[PEOPLE] = times, HUMAN
    faults: dict[int, dict[str, int]] = {}
    for bot, kind, times in (
        Fault.objects.filter(dialogue__study=study, dialogue__seats__bot__isnull=False)
        .values_list("dialogue__seats__bot_id", "kind")
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
        for pk, name in sorted(names.items(), key=lambda item: item[1])
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


_TEXTS = f"""
SELECT coalesce(c.bot_id, {PEOPLE}),
       coalesce(array_agg(t.position %% 2 = ANY(c.numbers) ORDER BY t.position)
                FILTER (WHERE t.text <> '{WITHDRAWN}'), '{{}}'),
       coalesce(array_agg(t.text ORDER BY t.position) FILTER (WHERE t.text <> '{WITHDRAWN}'), '{{}}')
  FROM (SELECT d.id, p.bot_id, array_agg(p.number) AS numbers, d.opening_turns,
               row_number() OVER (PARTITION BY p.bot_id ORDER BY d.id) AS number
          FROM dialogues_dialogue AS d
          JOIN dialogues_seat AS p ON p.dialogue_id = d.id
           AND (p.bot_id IS NOT NULL OR NOT EXISTS (
                SELECT FROM dialogues_seat AS s WHERE s.dialogue_id = d.id AND s.worker_id IS NULL))
         WHERE d.study_id = %s AND d.ending = 'complete'
         GROUP BY d.id, p.bot_id) AS c
  JOIN dialogues_turn AS t ON t.dialogue_id = c.id AND t.position >= c.opening_turns
 WHERE c.number <= %s
 GROUP BY c.id, c.bot_id, c.numbers
 ORDER BY c.id
"""


def _texts(study: Study) -> dict[int, list[list[tuple[bool, str]]]]:
    """By bot, its first finished conversations as (spoken by the bot?, text), oldest first."""
    texts: dict[int, list[list[tuple[bool, str]]]] = {}
    with connection.cursor() as cursor:
        cursor.execute(_TEXTS, [study.pk, READ_FOR_REPETITION])
        redactor = redactor_for(study)
        for bot, by_bot, written in cursor.fetchall():
            said = [redactor(each) for each in written]
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
    asks, went = [answered(study, ask) for ask in study.asked], courses(study)
    conduct = _conduct(study, went, asks[0].judged)
    names = bot_names(study)
    facets = {names[bot]: levels for bot, levels in study.study_bots.values_list("bot_id", "facets")}
    measured = measuring.exchanged(study)
    plan, design = analysis_plan(study), design_of(study)
    return StudyData(asks, went, plan, conduct, manners(study), facets, measured, design)


def design_of(study: Study) -> Design:
    """Which protocol a study was made by, and what it asks."""
    asks = [
        AskFact(ask.question_set, ask.about, ask.moment, ask.required, question_set(ask.question_set).title)
        for ask in study.asked
    ]
    return Design(study.protocol, asks)


def _conduct(study: Study, went: Mapping[str, Course], labels: Judged) -> Talks:
    return Talks(
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
        primary=study.primary_analysis,
        margin=study.margin or 0,
    )


def stamp(study: Study, newest: Report | None, at: Sequence[BotProgress]) -> str:
    """Changes with everything that the report's page shows: reports, results and conversations."""
    done = ".".join(f"{bot.finished}+{bot.open}" for bot in at)
    state = f"{newest.pk}-{newest.state}" if newest else "none"
    return f"{study.results_version}-{state}-{done}"
