"""Question sets: what is accepted, what is refused and in which words."""

import ast
import hashlib
import json
from pathlib import Path

import pytest

from evaluation import questions
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
def test_a_wrong_answer_is_refused_with_an_explanation(answers, code, question, words):
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


def test_a_question_without_fallback_is_left_out_if_not_asked():
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


# The first 16 digits of the SHA-256 of each set's JSON, as bundles and answered studies carry it.
STORED = {
    "ssa": "0b7ca4f63361aea4",
    "ssa-reasons": "7ab4eb02c1e774f0",
    "human-likeness": "dd6ea5e0111ed020",
    "likert": "445c653acc9cf47d",
    "votes": "472ebbf1a508441e",
    "preference": "d14bb7fc02be1498",
    "preference-both-bad": "28d66f67010a4cbd",
    "preferences": "ad7f2fdedf000757",
    "reply-impression": "a031804452ea320e",
    "topical-chat-own": "2511c7b0690e531c",
    "topical-chat-partner": "f96740306e31bd63",
    "topical-chat-conversation": "5ac93427b5e6e431",
    "topical-chat-snippet": "8b5cf4f80f88b645",
    "identity-reply": "cfe61c6c5ee40b1e",
    "context-fitness": "27aa2c2be21faae4",
    "demographics": "1dd420d018464daa",
    "feedback": "e9fdcbc68ced24eb",
    "goal": "541b54fe27107004",
    "helpful-harmless-honest": "093260df42f8428a",
}


def test_the_stored_form_of_shipped_sets_is_the_same_to_the_byte():
    """Bundles of the same questions stay equal, whichever version of Turnwise wrote them."""
    texts = {
        key: json.dumps(questions.to_json(), ensure_ascii=False) for key, questions in QUESTION_SETS.items()
    }

    assert {key: hashlib.sha256(text.encode()).hexdigest()[:16] for key, text in texts.items()} == STORED


def test_the_modules_of_question_sets_import_each_other_one_way():
    """In functions and for types as well, so that each can be read after those it builds on."""
    folder = Path(questions.__file__).parent
    imports = {path.stem: _imported(path) for path in folder.glob("*.py")}
    left = dict(imports)
    while ready := [name for name, wanted in left.items() if not wanted & left.keys()]:
        for name in ready:
            del left[name]

    assert left == {}


def _imported(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "evaluation.questions":
            found |= {each.name for each in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("evaluation.questions."):
            found.add(str(node.module).rpartition(".")[2])
    return found - {path.stem}
