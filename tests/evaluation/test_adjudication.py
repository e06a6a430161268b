"""What raters differ about, and scores before and after an adjudicator's decisions, by hand."""

from typing import Any

import numpy as np
import pytest

from evaluation.questions import LIKERT, SSA, Choice, Condition, Question, QuestionSet, Subject, coded_answers
from evaluation.report.adjudication import Decisions, adjudication_figures, disputed, open_questions
from evaluation.report.intervals import TERMS
from evaluation.report.label_columns import Judged

QUALITY = LIKERT.questions[0]
ITEMS = np.array([0, 0, 1, 1, 2, 2])


@pytest.mark.parametrize(
    ("steps", "differ"),
    [(1, [False, True, True]), (2, [False, False, True]), (3, [False, False, False])],
)
def test_answers_on_a_scale_differ_by_a_number_of_steps(steps: int, differ: list[bool]) -> None:
    codes = coded_answers(QUALITY, [3, 3, 3, 4, 3, 5])

    assert disputed(QUALITY, codes, ITEMS, 3, steps).tolist() == differ


def test_the_ends_of_a_short_scale_differ_and_a_missing_answer_differs_from_nothing() -> None:
    short = Question("short", "Which?", choices=(Choice(1, "One"), Choice(5, "Five")))
    names = Question("name", "Who?", choices=(Choice("a", "A"), Choice("b", "B")), required=False)

    ends = disputed(short, coded_answers(short, [1, 5, 1, 1, None, 5]), ITEMS, 3, 9)
    missing = disputed(names, coded_answers(names, ["a", None, "a", "b", None, None]), ITEMS, 3, 2)

    assert ends.tolist() == [True, False, False]
    assert missing.tolist() == [False, True, False]


def test_a_question_that_hangs_on_a_disputed_one_is_open_too() -> None:
    assert open_questions(SSA, {"sensible"}) == ["sensible", "specific"]
    assert open_questions(SSA, {"specific"}) == ["specific"]
    assert open_questions(SSA, ()) == []


def judged(questions: QuestionSet, rows: list[tuple[int, str, dict[str, Any]]]) -> Judged:
    """Judgments of the system Alpha: context, rater, answers; one item in each context."""
    n = len(rows)
    return Judged(
        bot=np.array(["Alpha"] * n, dtype=object),
        dialogue=np.array([context for context, _, _ in rows]),
        reply=np.ones(n, dtype=np.int64),
        rater=np.array([rater for _, rater, _ in rows], dtype=object),
        latency_ms=np.full(n, np.nan),
        answer_ms=np.full(n, np.nan),
        answers={
            each.key: coded_answers(each, [answers.get(each.key) for _, _, answers in rows])
            for each in questions.questions
        },
    )


def test_scores_before_and_after_are_those_worked_out_by_hand() -> None:
    """Sensible, by item: (1 1) agreed, (1 0) decided 0, (0 1) open, (1) alone.

    Before: 5 of 7 judgments. After: items 1 and 0, so 1 of 2. Specific, by item: (1 1) agreed; the second is
    open with the first question, decided False; the third is open, so it has no value. Before: 3 of 7; after:
    1 of 2.
    """
    yes, no = {"sensible": True, "specific": True}, {"sensible": False, "specific": False}
    vague = {"sensible": True, "specific": False}
    rows = [
        (1, "A", yes),
        (1, "B", yes),
        (2, "A", vague),
        (2, "B", no),
        (3, "A", no),
        (3, "B", vague),
        (4, "A", yes),
    ]
    given: list[Any] = [None, None, no, no, None, None, None]
    answers = judged(SSA, rows)

    found = adjudication_figures(SSA, answers, Decisions.of(SSA, 2, given), TERMS)["adjudication"]

    counts = [found[key] for key in ("items", "alone", "agreed", "disputed", "adjudicated", "unresolved")]
    assert counts == [3, 1, 1, 2, 1, 1]
    assert found["share"] == pytest.approx(100 / 3)
    assert [(each["key"], each["differ"]) for each in found["questions"]] == [
        ("sensible", 2),
        ("specific", 0),
    ]
    sensible, specific = (
        next(n for n, score in enumerate(SSA.scores) if score.key == key) for key in ("sensible", "specific")
    )
    [alpha] = found["bots"]
    assert alpha["before"][sensible]["value"] == pytest.approx(100 * 5 / 7)
    assert alpha["after"][sensible]["value"] == pytest.approx(50)
    assert alpha["before"][specific]["value"] == pytest.approx(100 * 3 / 7)
    assert alpha["after"][specific]["value"] == pytest.approx(50)
    assert "rater" not in alpha["after"][sensible].get("rests_on", "")


def test_raters_one_step_apart_agree_on_their_mean() -> None:
    """Quality: (3 4) agreed, mean 3.5; (1 5) decided 2; before 13 / 4, after (3.5 + 2) / 2 = 2.75."""
    same = {question.key: 3 for question in LIKERT.questions}
    rows = [
        (n, rater, same | {"quality": of})
        for n, rater, of in ((1, "A", 3), (1, "B", 4), (2, "A", 1), (2, "B", 5))
    ]
    given: list[Any] = [None, None, {"quality": 2}, {"quality": 2}]

    found = adjudication_figures(LIKERT, judged(LIKERT, rows), Decisions.of(LIKERT, 2, given), TERMS)[
        "adjudication"
    ]

    quality = next(
        n for n, score in enumerate(LIKERT.scores) if [t.question for t in score.terms] == ["quality"]
    )
    assert found["bots"][0]["before"][quality]["value"] == pytest.approx(13 / 4)
    assert found["bots"][0]["after"][quality]["value"] == pytest.approx(2.75)


def test_a_decision_that_leaves_a_further_question_out_counts_as_complete() -> None:
    """Raters differ about both; the adjudicator's answer to the first ends the questions."""
    kind = Question("kind", "What?", choices=(Choice("a", "A"), Choice("b", "B")))
    more = Question(
        "more", "And?", choices=(Choice(True, "Yes"), Choice(False, "No")), asked_if=Condition("kind", ("a",))
    )
    asked = QuestionSet(
        key="two", title="Two", subjects=frozenset({Subject.RESPONSE}), questions=(kind, more), source="ours"
    )  # fmt: skip
    rows: list[tuple[int, str, dict[str, Any]]] = [
        (1, "A", {"kind": "a", "more": True}), (1, "B", {"kind": "a", "more": False}),
        (1, "C", {"kind": "b"}),
    ]  # fmt: skip
    given: list[Any] = [{"kind": "b", "more": None}] * 3

    found = adjudication_figures(asked, judged(asked, rows), Decisions.of(asked, 2, given), TERMS)[
        "adjudication"
    ]

    assert (found["disputed"], found["adjudicated"], found["unresolved"]) == (1, 1, 0)
    assert adjudication_figures(asked, judged(asked, rows), None, TERMS) == {}
