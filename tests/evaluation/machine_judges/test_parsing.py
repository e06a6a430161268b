"""Strict reading of answers: what is not exactly an answer is refused, never guessed."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.machine_judges.model_answers import LONGEST, OutsideChoicesError, parsed_answers
from evaluation.machine_judges.template import judgeable_questions
from evaluation.questions import HUMAN_LIKENESS, LIKERT, QUESTION_SETS, SSA, Kind, Question, QuestionSet

SETS = [each for each in QUESTION_SETS.values() if judgeable_questions(each)]


@st.composite
def right_answers(draw: st.DrawFn) -> tuple[QuestionSet, dict[str, Any]]:
    """A set with complete answers, as a model might write them."""
    questions = draw(st.sampled_from(SETS))
    answers: dict[str, Any] = {}
    for question in judgeable_questions(questions):
        if question.asked_if is None or question.asked_if.holds(answers):
            answers[question.key] = draw(_answer(question))
    return questions, answers


def _answer(question: Question) -> st.SearchStrategy[Any]:
    values = st.sampled_from([choice.value for choice in question.choices])
    if question.kind is not Kind.SEVERAL:
        return values
    return st.lists(values, min_size=1, unique_by=repr)


@given(right_answers())
def test_a_complete_object_is_read_as_a_rater_s_answers(case: tuple[QuestionSet, dict[str, Any]]) -> None:
    questions, answers = case

    read = parsed_answers(questions, json.dumps(answers))

    assert {key: _as_set(read[key]) for key in answers} == {key: _as_set(a) for key, a in answers.items()}
    assert parsed_answers(questions, f"\n```json\n{json.dumps(answers)}\n```\n") == read


def _as_set(answer: Any) -> Any:
    return {repr(each) for each in answer} if isinstance(answer, list) else answer


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text() | st.sampled_from(["sensible", "quality"]), inner)
    ),
)


@given(st.sampled_from(SETS), st.text() | _JSON.map(json.dumps))
def test_any_text_is_an_answer_or_outside_the_choices(questions: QuestionSet, text: str) -> None:
    try:
        read = parsed_answers(questions, text)
    except OutsideChoicesError as error:
        why, read = str(error), {}
    else:
        why = ""
    assert "\x00" not in why
    why.encode()  # the reason can be stored
    for question in judgeable_questions(questions):
        answer = read.get(question.key)
        for each in answer if isinstance(answer, list) else [] if answer is None else [answer]:
            assert question.index_of(each) is not None


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Yes",  # two questions: a choice alone does not say which one it answers
        "I would say yes.",
        '{"sensible": true, "specific": true} I am sure.',
        'Sure! {"sensible": true, "specific": true}',
        '{"sensible": true}',
        '{"sensible": true, "specific": "perhaps"}',
        '{"sensible": true, "specific": null}',
        '{"sensible": 1, "specific": 0}',
        '{"sensible": true, "specific": true, "reason": "It fits."}',
        '{"sensible": true, "sensible": false, "specific": true}',
        '{"sensible": false, "specific": true}',
        '[{"sensible": true, "specific": true}]',
        '{"sensible": NaN, "specific": true}',
        "{'sensible': True, 'specific': True}",
        '{"sensible": true, "specific": true}' + " " * LONGEST,
        "[" * 10_000,
        '{"sensible": ' + "[" * 5_000 + "]" * 5_000 + "}",
        "word " * 5_000,
    ],
)
def test_what_is_no_answer_is_outside_the_choices(text: str) -> None:
    with pytest.raises(OutsideChoicesError):
        parsed_answers(SSA, text)


@pytest.mark.parametrize("text", ["Yes", "yes", " true\n", '{"human_like": "YES"}', '{"human_like": true}'])
def test_one_question_takes_the_choice_alone_by_value_or_caption(text: str) -> None:
    assert parsed_answers(HUMAN_LIKENESS, text) == {"human_like": True}


def test_what_is_not_asked_follows_from_the_set() -> None:
    assert parsed_answers(SSA, '{"sensible": "No"}') == {"sensible": False, "specific": False}


def test_numbers_outside_a_scale_are_refused() -> None:
    keys = [question.key for question in judgeable_questions(LIKERT)]

    assert parsed_answers(LIKERT, json.dumps(dict.fromkeys(keys, 5))) == dict.fromkeys(keys, 5)
    numbers = [int(choice.value) for choice in LIKERT.questions[0].choices]
    for wrong in (min(numbers) - 1, max(numbers) + 1, 4.5, True):
        with pytest.raises(OutsideChoicesError):
            parsed_answers(LIKERT, json.dumps(dict.fromkeys(keys, wrong)))
