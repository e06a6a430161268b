"""Question sets: what is accepted, what is refused and in which words."""

import pytest

from evaluation.questions import (
    HUMAN_LIKENESS,
    QUESTION_SETS,
    SSA,
    AnswersError,
    Choice,
    Condition,
    DeclarationError,
    Question,
    QuestionSet,
    Subject,
    UnknownQuestionSetError,
    question_set,
)

AGREE = Question(
    key="agree",
    wording="Do you agree?",
    help="",
    choices=tuple(Choice(value, f"{value} of 3") for value in (1, 2, 3)),
)


@pytest.mark.parametrize(
    ("answers", "stored"),
    [
        ({"sensible": True, "specific": True}, {"sensible": True, "specific": True}),
        ({"sensible": True, "specific": False}, {"sensible": True, "specific": False}),
        ({"sensible": False}, {"sensible": False, "specific": False}),
        ({"sensible": False, "specific": None}, {"sensible": False, "specific": False}),
        ({"sensible": False, "specific": False}, {"sensible": False, "specific": False}),
    ],
)
def test_a_legal_pair_of_answers_is_stored_completely(answers, stored):
    assert SSA.check(answers) == stored


@pytest.mark.parametrize(
    ("answers", "code", "question", "words"),
    [
        (
            {"sensible": False, "specific": True},
            "not_asked",
            "specific",
            "Is it specific.*asked only if.*Yes",
        ),
        ({}, "missing_answer", "sensible", "answer “Does it make sense"),
        ({"sensible": True}, "missing_answer", "specific", "answer “Is it specific"),
        ({"sensible": None, "specific": False}, "missing_answer", "sensible", "Please answer"),
        ({"sensible": 1, "specific": False}, "wrong_value", "sensible", "“1” is not an answer.*“Yes”, “No”"),
        ({"sensible": "yes"}, "wrong_value", "sensible", "“yes” is not an answer"),
        ({"sensible": True, "specific": []}, "wrong_value", "specific", "is not an answer"),
        ({"sensible": False, "specific": 0}, "not_asked", "specific", "change one of the two"),
        ({"sensible": True, "specific": True, "fun": 1}, "unknown_question", "fun", "sensible, specific"),
    ],
)
def test_a_wrong_answer_is_refused_in_plain_words(answers, code, question, words):
    with pytest.raises(AnswersError, match=words) as caught:
        SSA.check(answers)

    assert (caught.value.code, caught.value.question) == (code, question)


def test_human_likeness_is_one_yes_or_no_question():
    assert HUMAN_LIKENESS.check({"human_like": False}) == {"human_like": False}


def test_a_scale_accepts_its_points_and_nothing_between_or_beside():
    scale = QuestionSet("likert", "Scale", frozenset({Subject.DIALOGUE}), (AGREE,), source="none")

    assert scale.check({"agree": 3}) == {"agree": 3}
    for wrong in (0, 4, 2.5, "2", True):
        with pytest.raises(AnswersError, match="1 of 3"):
            scale.check({"agree": wrong})


def test_a_question_without_fallback_is_left_out_where_it_is_not_asked():
    why = Question(
        "why",
        "Why?",
        choices=(Choice("rude", "Rude"), Choice("odd", "Odd")),
        asked_if=Condition("agree", any_of=(1,)),
    )
    both = QuestionSet("both", "Both", frozenset({Subject.TURN}), (AGREE, why), source="none")

    assert both.check({"agree": 2}) == {"agree": 2}
    assert both.check({"agree": 1, "why": "odd"}) == {"agree": 1, "why": "odd"}


def test_a_misspelt_key_gets_a_suggestion():
    with pytest.raises(UnknownQuestionSetError, match="Did you mean 'human-likeness'"):
        question_set("human-likenes")


def test_every_registered_set_is_found_under_its_own_key():
    assert all(
        question_set(key) is declared and declared.key == key for key, declared in QUESTION_SETS.items()
    )
    assert {"ssa", "human-likeness"} <= set(QUESTION_SETS)


def test_a_condition_on_a_later_question_is_refused_at_declaration():
    first = Question("first", "First?", choices=AGREE.choices, asked_if=Condition("agree", (1,)))

    with pytest.raises(DeclarationError, match="does not come before this question"):
        QuestionSet("odd", "Odd", frozenset({Subject.TURN}), (first, AGREE), source="none")
