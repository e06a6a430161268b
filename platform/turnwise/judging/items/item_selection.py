"""What of runs, conversations and contexts is to be judged: counted before, and added, by one statement."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection
from django.utils.translation import gettext as _

from evaluation.questions import Subject
from turnwise.contexts.models import ContextSetVersion
from turnwise.judging.asks import asks_about, sets_of, subjects_asked
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.responses.models import ResponseRun
from turnwise.studies.asks import in_words
from turnwise.studies.models import Ask, Study
from turnwise.studies.tasks import task_of

_OF_KINDS = """
       c.language = ANY(%(languages)s)
   AND (%(categories)s::text[] = '{}' OR c.category = ANY(%(categories)s))
   AND cardinality(c.turns) BETWEEN %(least_turns)s AND %(most_turns)s
"""
_FITS = f"""
       r.run_id = ANY(%(runs)s) AND r.repetition <= run.repetitions  -- behind stands what a pilot wrote
   AND {_OF_KINDS}
"""
_OF_RUNS = """
  FROM responses_response AS r
  JOIN responses_responserun AS run ON run.id = r.run_id
  JOIN contexts_context AS c ON c.id = r.context_id
"""
# What every one of the systems answered: compared are their responses to the same contexts. Those on which
# others are judged already come first, so that systems that are added one after the other meet on the same.
_IN_COMMON = f"""
SELECT c.id, c.key {_OF_RUNS} WHERE {_FITS}
 GROUP BY c.id HAVING count(DISTINCT r.run_id) = cardinality(%(runs)s)
"""
_DRAWN = f"""
SELECT id FROM ({_IN_COMMON}) AS common
 ORDER BY NOT EXISTS (SELECT FROM judging_item AS i JOIN responses_response AS q ON q.id = i.response_id
                       WHERE i.study_id = %(study)s AND q.context_id = common.id),
          md5(key || %(seed)s), id
 LIMIT %(sample)s
"""
_RESPONSES = f"SELECT r.id AS subject, c.language {_OF_RUNS} WHERE {_FITS}"
_SOME_RESPONSES = f"{_RESPONSES} AND c.id IN ({_DRAWN})"
# Contexts themselves; those that are judged already come first, so that a sample grows by adding.
_CONTEXTS = f"""
SELECT c.id AS subject, c.language FROM contexts_context AS c
 WHERE c.version_id = %(version)s AND {_OF_KINDS}
 ORDER BY NOT EXISTS (SELECT FROM judging_item AS i WHERE i.study_id = %(study)s AND i.context_id = c.id),
          md5(c.key || %(seed)s), c.id
 LIMIT %(sample)s
"""

# A sample has as many conversations of each system as of any other, is the same whenever it is drawn, and
# grows by adding. Of two people who talk with each other both are judged, as one system. Where nobody said
# in which language a conversation is, whoever adds it does.
_FINISHED = """
SELECT found.id, found.opening_turns, found.bots
  FROM (SELECT d.id, d.opening_turns, d.public_id, systems.ids AS bots,
               row_number() OVER (PARTITION BY systems.ids
                                  ORDER BY md5(d.public_id::text || %(seed)s)) AS drawn
          FROM dialogues_dialogue AS d
         CROSS JOIN LATERAL (SELECT array_agg(s.bot_id ORDER BY s.bot_id) AS ids FROM dialogues_seat AS s
                              WHERE s.dialogue_id = d.id AND s.bot_id IS NOT NULL) AS systems
         WHERE d.study_id = %(source)s AND d.ending = 'complete'
           AND d.language IN ('', %(language)s)) AS found
 ORDER BY found.drawn, md5(found.public_id::text || %(seed)s)
 LIMIT %(sample)s
"""
_TURNS = f"""
SELECT t.id AS subject, %(language)s::varchar AS language
  FROM ({_FINISHED}) AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id AND t.position >= d.opening_turns
  JOIN dialogues_seat AS p ON p.dialogue_id = d.id AND p.number = t.position %% 2
 WHERE p.bot_id IS NOT NULL OR d.bots IS NULL
"""
_DIALOGUES = f"SELECT d.id AS subject, %(language)s::varchar AS language FROM ({_FINISHED}) AS d"

MOST_TURNS = 2**15


@dataclass(frozen=True, slots=True)
class Contexts:
    """To which contexts the responses are judged, or which are judged themselves.

    Attributes:
        number: so many, which every system answered, the same of each; None: all that each answered.
        seed: decides which; the same one always the same, and more of them by a larger number.
        categories: only of these; empty: of any, and of none.
        least_turns: of a context.
        most_turns: of a context.
    """

    number: int | None = None
    seed: int = 1
    categories: tuple[str, ...] = ()
    least_turns: int = 1
    most_turns: int = MOST_TURNS


ALL_CONTEXTS = Contexts()


@dataclass(frozen=True, slots=True)
class Chosen:
    """What is to be judged in a study: responses, turns, whole conversations or contexts.

    Attributes:
        study: where they are judged.
        subject: what it is, as the column of an item names it; an item of it comes in for each ask about it.
        statement: SQL that selects keys with languages.
        values: of its parameters.
        drawn: if it is a part that was drawn at random, what is to be known of that; else empty.
    """

    study: Study
    subject: Subject
    statement: str
    values: Mapping[str, Any]
    drawn: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asks(self) -> list[Ask]:
        """For which an item of each is made."""
        return asks_about(self.study, self.subject)

    @property
    def insert(self) -> str:
        """The statement that makes items of what is not there yet; with `asks`, the ids of the asks."""
        return f"""
INSERT INTO judging_item (study_id, ask_id, {self.subject}_id, key, language)
SELECT %(study)s, ask.id, found.subject, judging_key(ask.number), found.language
  FROM ({self.statement}) AS found JOIN studies_ask AS ask ON ask.id = ANY(%(asks)s)
 ORDER BY ask.number, found.subject
    ON CONFLICT DO NOTHING
"""

    def counted(self) -> int:
        """How many items adding it would bring."""
        return sum(self.counted_by_ask().values())

    def counted_by_ask(self) -> dict[Ask, int]:
        """The same for each ask."""
        statement = f"""
SELECT count(*) FROM ({self.statement}) AS found
 WHERE NOT EXISTS (SELECT FROM judging_item AS i
                    WHERE i.study_id = %(study)s AND i.ask_id = %(ask)s
                      AND i.{self.subject}_id = found.subject)
"""
        return {ask: _number(statement, self.study, {**self.values, "ask": ask.pk}) for ask in self.asks}


def responses(study: Study, runs: Collection[ResponseRun], contexts: Contexts = ALL_CONTEXTS) -> Chosen:
    """Responses of these runs whose context is in a language of the study.

    Raises:
        ValidationError: the study does not judge, its questions are not about responses, or fewer contexts
            are there than wanted.
    """
    refuse_unfit(study, Subject.RESPONSE)
    values = {"runs": sorted(run.pk for run in runs), **_kinds(study, contexts)}
    if contexts.number is None:
        return Chosen(study, Subject.RESPONSE, _RESPONSES, values)
    there = _number(f"SELECT count(*) FROM ({_IN_COMMON}) AS common", study, values)
    if there < contexts.number:
        raise ValidationError(
            _(
                "%(wanted)s contexts are wanted, and there are %(there)s that fit and that all of these "
                "systems answered. Ask for fewer, allow other categories or lengths, or choose runs over the "
                "same contexts."
            )
            % {"wanted": f"{contexts.number:,}", "there": f"{there:,}"}
        )
    sample = {"sample": contexts.number, "seed": f" {contexts.seed}"}
    drawn = {**asdict(contexts), "there": there, "of": sorted(run.system for run in runs)}
    return Chosen(study, Subject.RESPONSE, _SOME_RESPONSES, values | sample, drawn)


def contexts_of(study: Study, version: ContextSetVersion, which: Contexts = ALL_CONTEXTS) -> Chosen:
    """Contexts of this version in a language of the study, to be judged themselves.

    Raises:
        ValidationError: the study does not judge, its questions are not about contexts, or fewer are there
            than wanted.
    """
    refuse_unfit(study, Subject.CONTEXT)
    values = {"version": version.pk, "seed": f" {which.seed}", "sample": None, **_kinds(study, which)}
    if which.number is None:
        return Chosen(study, Subject.CONTEXT, _CONTEXTS, values)
    there = _number(f"SELECT count(*) FROM ({_CONTEXTS}) AS fitting", study, values)
    if there < which.number:
        raise ValidationError(
            _(
                "%(wanted)s contexts are wanted, and “%(version)s” has %(there)s that fit. Ask for fewer, or "
                "allow other categories or lengths."
            )
            % {"wanted": f"{which.number:,}", "version": version, "there": f"{there:,}"}
        )
    drawn = {**asdict(which), "there": there, "version": str(version)}
    return Chosen(study, Subject.CONTEXT, _CONTEXTS, values | {"sample": which.number}, drawn)


def _kinds(study: Study, which: Contexts) -> dict[str, Any]:
    """The parameters that say which kinds of contexts fit."""
    return {
        "languages": study.languages,
        "categories": list(which.categories),
        "least_turns": which.least_turns,
        "most_turns": which.most_turns,
    }


def turns(
    study: Study, source: Study, *, language: str, conversations: int | None = None, seed: str = ""
) -> Chosen:
    """The bots' turns of the finished conversations of `source`, the scripted opening left out.

    Of conversations between people it is the turns of both.

    Args:
        study: where they are judged.
        source: whose conversations, live or imported.
        language: of these conversations; workers who read it get them.
        conversations: how many of them, drawn at random but always the same; None: all.
        seed: another text draws others.

    Raises:
        ValidationError: the study does not judge, its questions are not about turns, or the language is
            none of both studies.
    """
    refuse_unfit(study, Subject.TURN)
    _refuse_unread(study, source, language)
    values = {"source": source.pk, "language": language, "sample": conversations, "seed": seed}
    return Chosen(study, Subject.TURN, _TURNS, values)


def dialogues(
    study: Study, source: Study, *, language: str, conversations: int | None = None, seed: str = ""
) -> Chosen:
    """The finished conversations of `source` as wholes; arguments and errors as of `turns`."""
    refuse_unfit(study, Subject.DIALOGUE)
    _refuse_unread(study, source, language)
    values = {"source": source.pk, "language": language, "sample": conversations, "seed": seed}
    return Chosen(study, Subject.DIALOGUE, _DIALOGUES, values)


def _number(statement: str, study: Study, values: Mapping[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"study": study.pk, **values})
        row = cursor.fetchone()
    assert row
    return int(row[0])


def refuse_unfit(study: Study, subject: Subject) -> None:
    """Raise `ValidationError` if the study does not judge, or its questions are not about this."""
    if not isinstance(task_of(study), QueuedTask):
        raise ValidationError(
            _("“%(study)s” has no queue: its workers do something other than judging.") % {"study": study}
        )
    if not asks_about(study, subject):
        raise ValidationError(
            _(
                "The questions “%(title)s” cannot be asked about %(value)s, only about %(fitting)s. Make "
                "a study with other questions."
            )
            % {
                "title": "”, “".join(each.title for each in sets_of(study)),
                "value": in_words([subject]),
                "fitting": in_words(subjects_asked(study)),
            }
        )


def _refuse_unread(study: Study, source: Study, language: str) -> None:
    if language not in study.languages or language not in source.languages:
        raise ValidationError(
            _(
                "“%(language)s” is not a language of both studies: “%(study)s” has %(value)s, “%(source)s” "
                "has %(value_2)s. Choose another, or add it to the study."
            )
            % {
                "language": language,
                "study": study,
                "value": ", ".join(study.languages),
                "source": source,
                "value_2": ", ".join(source.languages),
            }
        )
