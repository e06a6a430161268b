"""Answers of labels as numbers, made in the database: the same numbers as `evaluation.questions.coding`."""

import json
from typing import Any

from evaluation.questions import Combine, Kind, Level, Question, QuestionSet, Score, Term
from evaluation.report.figures import coded_questions, text_questions

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

# As `evaluation.report.judged.Judged` has it; what came with a file answers no ask.
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
