"""Reads of labels: votes, and answers and scores as numbers in SQL.

The numbers equal those of `evaluation.questions.scores`.
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
from turnwise.dialogues.seat_context import SeatContext
from turnwise.labels.models import Label
from turnwise.questions.question_sets import question_set
from turnwise.studies.queries import readable_studies_of, studies_of

# Booleans in JSON have no direct cast to numbers.
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

# Day of the label as in `evaluation.report.label_columns.Judged`; labels from files answer no ask and have
# none.
DAY = "CASE WHEN l.ask_id IS NOT NULL THEN (l.changed_at AT TIME ZONE 'UTC')::date - DATE '1970-01-01' END"


def coded_columns(questions: QuestionSet) -> tuple[str, list[Any]]:
    """SQL columns, from labels_label AS l, for every question except free text; and their parameters."""
    columns = [_column(question) for question in coded_questions(questions)]
    return "".join(f", {sql}" for sql, _ in columns), [each for _, values in columns for each in values]


def text_columns(questions: QuestionSet) -> tuple[str, list[Any]]:
    """SQL columns, from labels_label AS l, for every free-text question; and their parameters."""
    keys = [question.key for question in text_questions(questions)]
    return ", l.answers->>%s" * len(keys), keys


def _column(question: Question) -> tuple[str, list[Any]]:
    if question.kind is Kind.SEVERAL or question.level is Level.NOMINAL:
        values = json.dumps([choice.value for choice in question.choices])
        return _PLACES if question.kind is Kind.SEVERAL else _PLACE, [values, question.key]
    return _NUMBER, [question.key, question.key]


_TYPES: dict[type, str] = {bool: "boolean", int: "integer", str: "text"}


def score_column(score: Score) -> tuple[str, list[Any]]:
    """SQL of a label's score, from labels_label AS l; NULL if an answer is missing. And its parameters."""
    terms = [_term(term) for term in score.terms]
    total = " + ".join(sql for sql, _ in terms)
    parts = len(terms) if score.combine is Combine.MEAN else 1
    number = f"{score.factor}::float8 * ({total}) / {parts}"
    return number, [value for _, values in terms for value in values]


def _term(term: Term) -> tuple[str, list[Any]]:
    """SQL of a term of a score, with its parameters; NULL if the question was not answered."""
    if term.choice is None:
        return "(l.answers->>%s)::float8", [term.question]
    # Also works for lists: a list with the choice contains it.
    of_type = _TYPES[type(term.choice)]
    return f"(l.answers->%s @> to_jsonb(%s::{of_type}))::integer", [term.question, term.choice]


class Vote(NamedTuple):
    """One answer to a question, and the number of raters who gave it."""

    answer: str
    raters: int


def votes_on(question: Question, answers: Sequence[Mapping[str, Any]]) -> list[Vote]:
    """Votes on a question, the most frequent first; raters who were not asked are left out.

    If raters may choose several answers, each counts as a vote.
    """
    given = [each[question.key] for each in answers if question.key in each]
    values = [value for each in given for value in (each if isinstance(each, list) else [each])]
    votes = Counter(question.caption_of(value) for value in values)
    return sorted(
        (Vote(answer, raters) for answer, raters in votes.items()), key=lambda v: (-v.raters, v.answer)
    )


def tally(questions: str, answers: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Vote]]]:
    """Votes on each question of a set."""
    return [(each.wording, votes_on(each, answers)) for each in question_set(questions).questions]


def labels_counted_in(study_id: int) -> Q:
    """Condition: labels that count for the conversations of this study.

    These are labels by people, and in a rehearsal also those by its simulated workers. Labels that rehearsals
    of judging studies gave to the same turns do not count.
    """
    return Q(study__rehearsal_of=None) | Q(study=study_id)


def chatter_labels(seat: SeatContext) -> list[dict[str, Any]]:
    """Answers of this chatter in their conversation, for their page.

    Each has its `ask`, `position` (None: the whole conversation, which comes last) and `answers`, ordered by
    turn.
    """
    given = (
        Label.objects.filter(rater_id=seat.worker_id, study_id=seat.study_id)
        .filter(Q(turn__dialogue_id=seat.dialogue_id) | Q(dialogue_id=seat.dialogue_id))
        .order_by("turn__position", "pk")
    )
    rows = given.values_list("turn__position", "ask__number", "answers")
    return [{"position": position, "ask": ask, "answers": answers} for position, ask, answers in rows]


def dialogues_of(user: User | AnonymousUser) -> QuerySet[Dialogue]:
    """Conversations of the studies that this person works on."""
    return Dialogue.objects.filter(study__in=studies_of(user))


def readable_dialogues_of(user: User | AnonymousUser) -> QuerySet[Dialogue]:
    """Conversations that this person may read."""
    return Dialogue.objects.filter(study__in=readable_studies_of(user))


def withdrawal_of(user: User | AnonymousUser, public_id: UUID) -> Withdrawal | None:
    """The withdrawal that deleted this conversation, if this person could read it."""
    readable = Withdrawal.objects.filter(participation__study__in=readable_studies_of(user))
    return readable.filter(conversations__contains=[public_id]).select_related("participation__study").first()


def turns_with_labels(dialogue: Dialogue) -> QuerySet[Turn]:
    """Turns in order, with their labels, and with the versions of each reply where there can be several."""
    labels = _counted_labels(dialogue).select_related("rater")
    turns = dialogue.turn_set.order_by("position")
    versions = ["versions"] if dialogue.study.max_reply_versions > 1 else []
    return turns.prefetch_related(Prefetch("labels", queryset=labels), *versions)


def operators_of(dialogue: Dialogue) -> dict[int, str]:
    """Team members who wrote the bot's turns, by position; deleted accounts are left out."""
    written = dialogue.operator_replies.filter(by__isnull=False).select_related("by")
    return {each.position: str(each.by) for each in written}


def labels_of_whole(dialogue: Dialogue) -> QuerySet[Label]:
    return _counted_labels(dialogue).filter(dialogue=dialogue)


def _counted_labels(dialogue: Dialogue) -> QuerySet[Label]:
    """Labels that count in the dialogue's study, oldest first."""
    return Label.objects.filter(labels_counted_in(dialogue.study_id)).order_by("pk")
