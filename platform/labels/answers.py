"""Answers of labels as numbers, made in the database: the same numbers as `evaluation.questions.coding`."""

import json
from typing import Any

from evaluation.questions import Kind, Level, Question, QuestionSet
from evaluation.report.figures import coded_questions, text_questions

# Booleans have no cast to numbers in one step; jsonb has.
_NUMBER = "CASE l.answers->>%s WHEN 'true' THEN 1 WHEN 'false' THEN 0 ELSE (l.answers->>%s)::float8 END"
_PLACE = (
    "(SELECT c.place - 1 FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS c (value, place)"
    " WHERE c.value = l.answers->%s)"
)
_PLACES = (
    "(SELECT sum(2::float8 ^ (c.place - 1))"
    " FROM jsonb_array_elements(%s::jsonb) WITH ORDINALITY AS c (value, place)"
    " WHERE l.answers->%s @> jsonb_build_array(c.value))"
)


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
