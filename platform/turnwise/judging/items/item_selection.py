"""Selections of responses, turns, conversations and contexts to judge, counted and added in SQL."""

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from django.core.exceptions import ValidationError
from django.db import connection
from django.utils.translation import gettext as _

from evaluation.questions import Subject
from turnwise.contexts.models import ContextSetVersion
from turnwise.judging.asks import asks_about, question_sets_of, subjects_of_asks
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.responses.models import ResponseRun
from turnwise.studies.asks import list_subjects
from turnwise.studies.models import Ask, Study
from turnwise.studies.tasks import task_of

_CONTEXT_KINDS = """
       c.language = ANY(%(languages)s)
   AND (%(categories)s::text[] = '{}' OR c.category = ANY(%(categories)s))
   AND cardinality(c.turns) BETWEEN %(least_turns)s AND %(most_turns)s
"""
_FITS = f"""
       r.run_id = ANY(%(runs)s) AND r.repetition <= run.repetitions  -- higher repetitions are of a pilot
   AND {_CONTEXT_KINDS}
"""
_FROM_RESPONSES = """
  FROM responses_response AS r
  JOIN responses_responserun AS run ON run.id = r.run_id
  JOIN contexts_context AS c ON c.id = r.context_id
"""
# Contexts that all the systems answered, since responses to the same contexts are compared. Contexts in the
# queue come first, so that systems that are added later are compared on the same ones.
_IN_COMMON = f"""
SELECT c.id, c.key {_FROM_RESPONSES} WHERE {_FITS}
 GROUP BY c.id HAVING count(DISTINCT r.run_id) = cardinality(%(runs)s)
"""
_DRAWN = f"""
SELECT id FROM ({_IN_COMMON}) AS common
 ORDER BY NOT EXISTS (SELECT FROM judging_item AS i JOIN responses_response AS q ON q.id = i.response_id
                       WHERE i.study_id = %(study)s AND q.context_id = common.id),
          md5(key || %(seed)s), id
 LIMIT %(sample)s
"""
_RESPONSES = f"SELECT r.id AS subject, c.language {_FROM_RESPONSES} WHERE {_FITS}"
_SOME_RESPONSES = f"{_RESPONSES} AND c.id IN ({_DRAWN})"
# Contexts to judge themselves; those in the queue come first, so that a sample grows by adding.
_CONTEXTS = f"""
SELECT c.id AS subject, c.language FROM contexts_context AS c
 WHERE c.version_id = %(version)s AND {_CONTEXT_KINDS}
 ORDER BY NOT EXISTS (SELECT FROM judging_item AS i WHERE i.study_id = %(study)s AND i.context_id = c.id),
          md5(c.key || %(seed)s), c.id
 LIMIT %(sample)s
"""

# A sample has equally many conversations of each system, is reproducible, and grows by adding. Two people who
# talk with each other are judged both, as one system. A conversation without a language gets that of the
# selection.
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
class ContextSample:
    """Which contexts are judged, or which contexts' responses.

    Attributes:
        number: number of contexts, all of them answered by every system; None: all contexts.
        seed: decides which ones; a larger number adds contexts to the same ones.
        categories: only contexts of these categories; empty: all contexts.
        least_turns: minimum of turns of a context.
        most_turns: maximum of turns of a context.
    """

    number: int | None = None
    seed: int = 1
    categories: tuple[str, ...] = ()
    least_turns: int = 1
    most_turns: int = MOST_TURNS


ALL_CONTEXTS = ContextSample()


@dataclass(frozen=True, slots=True)
class Selection:
    """Responses, turns, conversations or contexts to judge in a study.

    Attributes:
        study: the judging study.
        subject: kind of the things, which is also the item's column; each gets an item for each ask about it.
        statement: SQL that selects keys and languages.
        values: parameters of the statement.
        drawn: facts about a random sample, for the record; empty if all are selected.
    """

    study: Study
    subject: Subject
    statement: str
    values: Mapping[str, Any]
    drawn: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asks(self) -> list[Ask]:
        """Asks for which each thing gets an item."""
        return asks_about(self.study, self.subject)

    @property
    def insert(self) -> str:
        """SQL that creates the missing items; its parameter `asks` holds the ids of the asks."""
        return f"""
INSERT INTO judging_item (study_id, ask_id, {self.subject}_id, key, language)
SELECT %(study)s, ask.id, found.subject, judging_key(ask.number), found.language
  FROM ({self.statement}) AS found JOIN studies_ask AS ask ON ask.id = ANY(%(asks)s)
 ORDER BY ask.number, found.subject
    ON CONFLICT DO NOTHING
"""

    def count(self) -> int:
        """Count the items that adding the selection would create."""
        return sum(self.count_by_ask().values())

    def count_by_ask(self) -> dict[Ask, int]:
        """Count the items that adding the selection would create, by ask."""
        statement = f"""
SELECT count(*) FROM ({self.statement}) AS found
 WHERE NOT EXISTS (SELECT FROM judging_item AS i
                    WHERE i.study_id = %(study)s AND i.ask_id = %(ask)s
                      AND i.{self.subject}_id = found.subject)
"""
        return {ask: _count(statement, self.study, {**self.values, "ask": ask.pk}) for ask in self.asks}


def select_responses(
    study: Study, runs: Collection[ResponseRun], contexts: ContextSample = ALL_CONTEXTS
) -> Selection:
    """Select responses of these runs whose context is in a language of the study.

    Raises:
        ValidationError: the study does not judge, its questions are not about responses, or there are fewer
            contexts than wanted.
    """
    check_can_judge(study, Subject.RESPONSE)
    values = {"runs": sorted(run.pk for run in runs), **_sample_parameters(study, contexts)}
    if contexts.number is None:
        return Selection(study, Subject.RESPONSE, _RESPONSES, values)
    available = _count(f"SELECT count(*) FROM ({_IN_COMMON}) AS common", study, values)
    if available < contexts.number:
        raise ValidationError(
            _(
                "%(wanted)s contexts are wanted, and there are %(there)s that fit and that all of these "
                "systems answered. Ask for fewer, allow other categories or lengths, or choose runs over the "
                "same contexts."
            )
            % {"wanted": f"{contexts.number:,}", "there": f"{available:,}"}
        )
    sample = {"sample": contexts.number, "seed": f" {contexts.seed}"}
    drawn = {**asdict(contexts), "there": available, "of": sorted(run.system for run in runs)}
    return Selection(study, Subject.RESPONSE, _SOME_RESPONSES, values | sample, drawn)


def select_contexts(
    study: Study, version: ContextSetVersion, which: ContextSample = ALL_CONTEXTS
) -> Selection:
    """Select contexts of this version in a language of the study, to judge themselves.

    Raises:
        ValidationError: the study does not judge, its questions are not about contexts, or there are fewer
            than wanted.
    """
    check_can_judge(study, Subject.CONTEXT)
    values = {
        "version": version.pk,
        "seed": f" {which.seed}",
        "sample": None,
        **_sample_parameters(study, which),
    }
    if which.number is None:
        return Selection(study, Subject.CONTEXT, _CONTEXTS, values)
    available = _count(f"SELECT count(*) FROM ({_CONTEXTS}) AS fitting", study, values)
    if available < which.number:
        raise ValidationError(
            _(
                "%(wanted)s contexts are wanted, and “%(version)s” has %(there)s that fit. Ask for fewer, or "
                "allow other categories or lengths."
            )
            % {"wanted": f"{which.number:,}", "version": version, "there": f"{available:,}"}
        )
    drawn = {**asdict(which), "there": available, "version": str(version)}
    return Selection(study, Subject.CONTEXT, _CONTEXTS, values | {"sample": which.number}, drawn)


def _sample_parameters(study: Study, which: ContextSample) -> dict[str, Any]:
    """SQL parameters for the kinds of contexts."""
    return {
        "languages": study.languages,
        "categories": list(which.categories),
        "least_turns": which.least_turns,
        "most_turns": which.most_turns,
    }


def select_turns(
    study: Study, source: Study, *, language: str, conversations: int | None = None, seed: str = ""
) -> Selection:
    """Select the bots' turns of finished conversations of `source`, without the scripted opening.

    Of conversations between people, the turns of both are selected.

    Args:
        study: the judging study.
        source: the study with the conversations, live or imported.
        language: language of these conversations; workers who read it get them.
        conversations: number of conversations in a reproducible random sample; None: all.
        seed: determines the sample.

    Raises:
        ValidationError: the study does not judge, its questions are not about turns, or one of the studies
            does not have the language.
    """
    check_can_judge(study, Subject.TURN)
    _check_language(study, source, language)
    values = {"source": source.pk, "language": language, "sample": conversations, "seed": seed}
    return Selection(study, Subject.TURN, _TURNS, values)


def select_dialogues(
    study: Study, source: Study, *, language: str, conversations: int | None = None, seed: str = ""
) -> Selection:
    """Select finished conversations of `source` as wholes; arguments and errors as of `select_turns`."""
    check_can_judge(study, Subject.DIALOGUE)
    _check_language(study, source, language)
    values = {"source": source.pk, "language": language, "sample": conversations, "seed": seed}
    return Selection(study, Subject.DIALOGUE, _DIALOGUES, values)


def _count(statement: str, study: Study, values: Mapping[str, Any]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, {"study": study.pk, **values})
        row = cursor.fetchone()
    assert row
    return int(row[0])


def check_can_judge(study: Study, subject: Subject) -> None:
    """Raise `ValidationError` if the study does not judge, or has no questions about this subject."""
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
                "title": "”, “".join(each.title for each in question_sets_of(study)),
                "value": list_subjects([subject]),
                "fitting": list_subjects(subjects_of_asks(study)),
            }
        )


def _check_language(study: Study, source: Study, language: str) -> None:
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
