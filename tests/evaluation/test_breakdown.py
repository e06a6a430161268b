"""Scores by kind of context, against numbers worked out by hand."""

import numpy as np

from evaluation.questions import question_set
from evaluation.report.intervals import Terms
from evaluation.report.label_columns import Judged
from evaluation.report.studies.contexts import ContextFacts, breakdown
from evaluation.report.studies.judging import NOUNS

TERMS = Terms(0.95, NOUNS)
SSA = question_set("ssa")

# Context, system, worker, sensible, specific.
ROWS = [
    (1, "Alpha", "w1", True, True), (1, "Alpha", "w2", True, False), (1, "Beta", "w1", False, False),
    (2, "Alpha", "w1", False, False), (2, "Beta", "w1", False, False), (2, "Beta", "w2", True, False),
    (3, "Alpha", "w1", True, True), (3, "Beta", "w1", True, True), (3, "Beta", "w2", True, True),
    (9, "Beta", "w1", True, True),
]  # fmt: skip
CONTEXTS = {
    1: ContextFacts("h-1", "hobbies", 1, consistency=False, last="Do you swim?"),
    2: ContextFacts("h-2", "hobbies", 2, consistency=True, last="And in winter?"),
    3: ContextFacts("o-1", "", 1, consistency=False, last="Is tea better?"),
}


def judged(rows: list[tuple[int, str, str, bool, bool]]) -> Judged:
    context, system, rater, sensible, specific = (np.array(column) for column in zip(*rows, strict=True))
    unmeasured = np.full(len(rows), np.nan)
    return Judged(
        bot=system.astype(object), dialogue=context, reply=np.ones(len(rows), dtype=np.int64),
        rater=rater.astype(object), latency_ms=unmeasured, answer_ms=unmeasured,
        answers={"sensible": sensible.astype(float), "specific": specific.astype(float)},
    )  # fmt: skip


def scores(part: dict[str, object]) -> dict[tuple[object, str], list[float]]:
    rows = part["rows"]
    assert isinstance(rows, list)
    return {(row["level"], row["bot"]): [round(cell["value"], 9) for cell in row["cells"]] for row in rows}


def test_scores_by_length_and_consistency_are_those_of_a_hand_calculation() -> None:
    found = breakdown(SSA, judged(ROWS), CONTEXTS, TERMS)

    by = {part["by"]: part for part in found["by"]}
    assert list(by) == ["turns", "consistency"]  # one category alone tells nothing; what has none is left out
    assert scores(by["turns"]) == {
        (1, "Alpha"): [100, 66.666666667, 83.333333333],
        (1, "Beta"): [66.666666667] * 3,
        (2, "Alpha"): [0, 0, 0],
        (2, "Beta"): [50, 0, 25],
    }
    assert scores(by["consistency"])[True, "Beta"] == [50, 0, 25]
    rests_on = [(row["contexts"], row["labels"]) for row in by["turns"]["rows"]]
    assert rests_on == [(2, 3), (2, 3), (1, 1), (1, 2)]


def test_the_hardest_contexts_have_the_lowest_mean_over_all_systems() -> None:
    found = breakdown(SSA, judged(ROWS), CONTEXTS, TERMS)

    assert (found["score"], found["of"]) == ("SSA", 3)
    assert [(row["name"], row["labels"], round(row["value"], 9)) for row in found["hardest"]] == [
        ("h-2", 3, round(100 / 6, 9)),
        ("h-1", 3, 50),
        ("o-1", 3, 100),
    ]
    assert breakdown(SSA, judged(ROWS[:2]), CONTEXTS, TERMS)["hardest"] == []


def test_conversations_and_unscored_questions_have_no_breakdown() -> None:
    assert breakdown(SSA, judged(ROWS[-1:]), CONTEXTS, TERMS) == {}
    assert breakdown(SSA, judged(ROWS), {}, TERMS) == {}
