"""Labels from tables: columns by name, both layouts, and everything that is refused or counted."""

from collections.abc import Mapping

import pytest

from evaluation.machine_judges.imported import (
    Columns,
    Imported,
    missing_columns,
    read_labels,
    suggested_columns,
)
from evaluation.questions import question_set

SSA = question_set("ssa")
WIDE = Columns(item="item", answers={"sensible": "a", "specific": "b"}, reason="why")
LONG = Columns(item="item", question="question", answer="answer", probability="p")


def read(columns: Columns, *rows: Mapping[str, object], of_pairs: bool = False) -> Imported:
    return read_labels(SSA, [*enumerate(rows, 2)], columns, {"k1", "k2"}, of_pairs=of_pairs)


def test_a_row_for_each_item_takes_captions_numbers_and_yes_or_no() -> None:
    found = read(
        WIDE,
        {"item": "k1", "a": "Yes", "b": "0", "why": "Vague."},
        {"item": "K2", "a": 1.0, "b": True},
    )

    assert not found.problems
    assert [label.answers for label in found.labels] == [
        {"sensible": True, "specific": False},
        {"sensible": True, "specific": True},
    ]
    assert found.labels[0].reason == "Vague."


def test_a_row_for_each_answer_is_collected_by_item_with_its_probabilities() -> None:
    found = read(
        LONG,
        {"item": "k1", "question": "sensible", "answer": "true", "p": "0.9"},
        {"item": "k1", "question": "Is it specific?", "answer": "no", "p": ".75"},
    )

    assert not found.problems
    (label,) = found.labels
    assert label.answers == {"sensible": True, "specific": False}
    chosen = {key: max(p for p in known if p is not None) for key, known in label.probabilities.items()}
    assert chosen == {"sensible": 0.9, "specific": 0.75}
    assert [sum(p or 0 for p in known) for known in label.probabilities.values()] == [1, 1]


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"item": "k9", "question": "sensible", "answer": "yes"}, "“k9” is no item"),
        ({"item": "", "question": "sensible", "answer": "yes"}, "“item” is empty"),
        ({"item": "k1", "question": "polite", "answer": "yes"}, "“polite” is no question here"),
        ({"item": "k1", "question": "sensible", "answer": "yes", "p": "1.2"}, "“1.2” is not a probability"),
        ({"item": "k1", "question": "sensible", "answer": "yes", "p": "nan"}, "“nan” is not a probability"),
    ],
)
def test_a_row_that_cannot_be_used_is_named_with_its_line_and_value(
    row: Mapping[str, object], says: str
) -> None:
    ((line, problem),) = read(LONG, row).problems

    assert line == 2
    assert says in problem


def test_a_repeated_answer_is_refused_and_names_the_first_line() -> None:
    row = {"item": "k1", "a": "yes", "b": "yes"}

    ((line, problem),) = read(WIDE, row, row).problems

    assert line == 3
    assert "in line 2 already" in problem


def test_answers_outside_the_choices_are_counted_and_never_guessed() -> None:
    found = read(WIDE, {"item": "k1", "a": "yes, mostly", "b": "yes"}, {"item": "k2", "a": "", "b": ""})

    assert not found.problems
    assert [label.answers for label in found.labels] == [None, None]
    assert "“yes, mostly” is not an answer" in found.labels[0].why
    assert "2 labels are outside the choices" in found.notes[0][1]


def test_a_probability_of_yes_instead_of_the_answer_deserves_a_look() -> None:
    rows = [
        {"item": "k1", "question": "sensible", "answer": "yes", "p": "0.9"},
        {"item": "k1", "question": "specific", "answer": "no", "p": "0.1"},
    ]

    assert "below that of the other choices" in read(LONG, *rows).notes[0][1]


def test_several_answers_and_both_orders_of_a_pair_are_told_apart() -> None:
    columns = Columns(item="id", answers=WIDE.answers, draw="epoch")
    rows = [
        {"id": key, "a": "yes", "b": "yes", "epoch": epoch}
        for key in ("k1", "k1 swapped")
        for epoch in (1, 2)
    ]

    assert len(read(columns, *rows, of_pairs=True).labels) == 4
    assert len(read(columns, *rows).problems) == 2  # no pairs, so no order
    assert "“0” is not the number" in read(columns, rows[0] | {"epoch": 0}).problems[0][1]


def test_columns_are_suggested_by_their_names() -> None:
    of_log = ["id", "epoch", "rubric.sensible", "rubric.specific", "rubric.explanation"]

    assert suggested_columns(SSA, of_log) == Columns(
        item="id",
        answers={"sensible": "rubric.sensible", "specific": "rubric.specific"},
        reason="rubric.explanation",
        draw="epoch",
    )
    assert suggested_columns(SSA, ["Item", "Question", "Answer"]) == Columns(
        item="Item", question="Question", answer="Answer"
    )
    assert missing_columns(SSA, suggested_columns(SSA, ["x"])) == [
        "Choose the column that names the item.",
        "Choose a column with answers.",
    ]
