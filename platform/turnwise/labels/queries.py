"""Answers of labels as numbers, made in the database: the same numbers as `evaluation.questions.scores`.

How several raters answered the same question.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.contrib.auth.models import AnonymousUser
from django.db.models import Prefetch, Q, QuerySet

from evaluation.questions import Combine, Kind, Level, Question, QuestionSet, Score, Term
from evaluation.report.figures import coded_questions, text_questions
from turnwise.accounts.models import User
from turnwise.crowd.models import Withdrawal
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.dialogues.seat_context import Seated
from turnwise.labels.models import Label
from turnwise.questions.question_sets import question_set
from turnwise.studies.queries import readable_studies_of, studies_of

# Booleans have no cast to numbers in one step; jsonb has.
_NUMBER = "CASE l.answers->>%s WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE (l.answers->>%s)::float8 END"
_PLACE = (
    "(SELECT c.number - 1 FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS c (value, number)"
    " WHERE c.value = l.answers->%s)"
)
_PLACES = (
    "(SELECT sum(2::float8 ^ (c.number - 1))"
    " FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS c (value, number)"
    " WHERE l.answers->%s @> jsonb_build_array(c.value))"
)

# As `evaluation.report.label_columns.Judged` has it; what came with a file answers no ask.
DAY = "CASE WHEN l.ask_id IS NOT NULL THEN (l.changed_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' END"


def coded_columns(questions: QuestionSet) -> tuple[str, list[Any]]:
    """For a SELECT from labels_label AS l: a column for each question but free text, and their parameters."""
    found = [_column(question) for question in coded_questions(questions)]
    return "".join(f", {sql}" for sql, _ in found), [each for _, values in found for each in values]


def text_columns(questions: QuestionSet) -> tuple[str, list[Any]]:
    """The same for the free text."""
    keys = [question.key for question in text_questions(questions)]
    return ", l.answers->>%s" * len(keys), keys


def _column(question: Question) -> tuple[str, list[Any]]:
    if question.kind is Kind.SEVERAL or question.level is Level.NOMINAL:
        values = json.dumps([choice.value for choice in question.choices])
        return _PLACES if question.kind is Kind.SEVERAL else _PLACE, [values, question.key]
    return _NUMBER, [question.key, question.key]


_TYPES: dict[type, str] = {bool: "boolean", int: "integer", str: "text"}


def score_column(score: Score) -> tuple[str, list[Any]]:
    """For labels_label AS l: a label's score as it is shown, NULL where an answer is missing; parameters."""
    terms = [_term(term) for term in score.terms]
    total = " + ".join(sql for sql, _ in terms)
    parts = len(terms) if score.combine is Combine.MEAN else 1
    number = f"{score.factor}::float8 * ({total}) / {parts}"
    return number, [value for _, values in terms for value in values]


def _term(term: Term) -> tuple[str, list[Any]]:
    """A term of a score as SQL with its parameters; NULL where the question was not answered."""
    if term.choice is None:
        return "(l.answers->>%s)::float8", [term.question]
    # Of a list, too: one that has the choice contains it.
    of_type = _TYPES[type(term.choice)]
    return f"(l.answers->%s @> to_jsonb(%s::{of_type}))::integer", [term.question, term.choice]


class Vote(NamedTuple):
    """One answer to a question and how many raters gave it."""

    answer: str
    raters: int


def votes_on(question: Question, answers: Sequence[Mapping[str, Any]]) -> list[Vote]:
    """How many of these raters gave which answer, the most frequent first; who was not asked is left out.

    Of several choices, each counts by itself.
    """
    there = [each[question.key] for each in answers if question.key in each]
    chosen = [value for each in there for value in (each if isinstance(each, list) else [each])]
    given = Counter(question.caption_of(value) for value in chosen)
    return sorted(
        (Vote(answer, raters) for answer, raters in given.items()), key=lambda v: (-v.raters, v.answer)
    )


def tally(questions: str, answers: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Vote]]]:
    """For each question of a set, how many readers gave which answer."""
    return [(each.wording, votes_on(each, answers)) for each in question_set(questions).questions]


def given_to(study_id: int) -> Q:
    """Of the labels of a study's conversations: those that count in it.

    People gave them, or simulated workers in the study itself, where it is a rehearsal. Others judge the same
    turns in rehearsals of judging studies.
    """
    return Q(study__rehearsal_of=None) | Q(study=study_id)


def own_labels(seat: Seated) -> list[dict[str, Any]]:
    """What this person has answered in their conversation, as their page keeps it.

    Each with its `ask`, its `position` (None: the whole conversation, which comes last) and its `answers`,
    in the order of the turns.
    """
    given = (
        Label.objects.filter(rater_id=seat.worker_id, study_id=seat.study_id)
        .filter(Q(turn__dialogue_id=seat.dialogue_id) | Q(dialogue_id=seat.dialogue_id))
        .order_by("turn__position", "pk")
    )
    asked = given.values_list("turn__position", "ask__number", "answers")
    return [{"position": position, "ask": ask, "answers": answers} for position, ask, answers in asked]


def dialogues_of(user: User | AnonymousUser) -> QuerySet[Dialogue]:
    """The conversations of the studies that this person works on."""
    return Dialogue.objects.filter(study__in=studies_of(user))


def readable_dialogues_of(user: User | AnonymousUser) -> QuerySet[Dialogue]:
    """The conversations that this person may read."""
    return Dialogue.objects.filter(study__in=readable_studies_of(user))


def withdrawn_with(user: User | AnonymousUser, public_id: UUID) -> Withdrawal | None:
    """The withdrawal with which a conversation went that this person could read."""
    mine = Withdrawal.objects.filter(participation__study__in=readable_studies_of(user))
    return mine.filter(conversations__contains=[public_id]).select_related("participation__study").first()


def turns_with_labels(dialogue: Dialogue) -> QuerySet[Turn]:
    labels = _shown(dialogue).select_related("rater")
    return dialogue.turn_set.order_by("position").prefetch_related(Prefetch("labels", queryset=labels))


def operators_of(dialogue: Dialogue) -> dict[int, str]:
    """Who of the team wrote in the bot's place, by position; without accounts that are gone."""
    written = dialogue.operator_replies.filter(by__isnull=False).select_related("by")
    return {each.position: str(each.by) for each in written}


def labels_of_whole(dialogue: Dialogue) -> QuerySet[Label]:
    return _shown(dialogue).filter(dialogue=dialogue)


def _shown(dialogue: Dialogue) -> QuerySet[Label]:
    """Those that count in its study, oldest first."""
    return Label.objects.filter(given_to(dialogue.study_id)).order_by("pk")
