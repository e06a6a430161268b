"""Label columns: every bad row is named, none is dropped."""

from uuid import UUID

import numpy as np
import pytest

from evaluation.statistics.labels import Labels, LabelsError, coded

GOOD = ("meena", "d1", 2, "wanda", True, False)


@pytest.mark.parametrize(
    ("bad", "column", "words"),
    [
        (("meena", "d1", 4, "wanda", False, True), "specific", "specific but not sensible"),
        (GOOD, "rater", "already labelled turn 2 of dialogue 'd1' of bot 'meena'; .* See row 1"),
        (("", "d1", 4, "wanda", True, True), "bot", "empty"),
        (("meena", None, 4, "wanda", True, True), "dialogue", "empty"),
        (("meena", "d1", "4", "wanda", True, True), "turn", "'4' is not an integer"),
        (("meena", "d1", 4, "wanda", "yes", False), "sensible", "'yes' is neither true"),
        (("meena", "d1", 4, "wanda", 2, False), "sensible", "2 is neither true"),
        (("meena", "d1", 4, "wanda", True, None), "specific", "None is neither true"),
    ],
)
def test_a_bad_row_is_named_with_its_column(bad, column, words):
    with pytest.raises(LabelsError, match=f"Row 2, column {column}: .*{words}") as caught:
        Labels.from_rows([GOOD, bad])

    assert (caught.value.row, caught.value.column) == (1, column)


def test_a_row_of_wrong_length_is_named():
    with pytest.raises(LabelsError, match=r"Row 2.*5 values"):
        Labels.from_rows([GOOD, GOOD[:5]])  # type: ignore[list-item]


def test_columns_of_different_length_are_refused():
    with pytest.raises(LabelsError, match="Column turn has shape"):
        Labels(["a", "a"], [1, 2], [0], ["r", "r"], [True, True], [True, True])  # type: ignore[arg-type]


def test_the_same_dialogue_id_under_two_bots_is_two_dialogues():
    labels = Labels.from_rows([GOOD, ("eliza", "d1", 2, "wanda", True, False)])

    assert len(labels.dialogues[0]) == 2
    assert len(labels.items[0]) == 2


def test_identifiers_may_be_uuids():
    first, second = UUID(int=7), UUID(int=3)
    labels = Labels.from_rows([("b", d, 0, r, True, False) for d in (first, second) for r in (first, second)])

    assert labels.raters[0].tolist() == [second, first]
    assert labels.dialogues[1].tolist() == [1, 1, 0, 0]


def test_no_rows_at_all_are_legal():
    assert len(Labels.from_rows([])) == 0


@pytest.mark.parametrize("kind", [bool, np.int8, float, str, object])
def test_no_values_have_no_codes(kind):
    names, codes = coded(np.array([], dtype=kind))

    assert (len(names), len(codes)) == (0, 0)


def test_codes_of_small_integers_do_not_overflow():
    names, codes = coded(np.tile(np.array([-128, 127], dtype=np.int8), 50))

    assert names.tolist() == [-128, 127]
    assert codes[:2].tolist() == [0, 1]


@pytest.mark.parametrize(
    "values",
    [
        [3, 1, 3],
        [2.0, -1.0, 2.0],
        [0.5, 0.25],
        [True, False, True],
        [2**62, -(2**62)],
        ["b", "a", "b"],
        np.array(["b", 7, "b"], dtype=object),
    ],
)
def test_codes_are_ranks_of_the_distinct_values(values):
    names, codes = coded(values)

    assert [names[c] for c in codes] == list(values)
    assert list(map(str, names)) == sorted(map(str, names))


def test_a_part_of_labels_is_coded_as_labels_made_from_its_rows():
    rows = [
        ("b", "d1", 1, "r2", True, False),
        ("a", "d1", 1, "r1", True, True),
        ("a", "d2", 4, "r3", False, False),
    ]
    labels = Labels.from_rows(rows)

    for kept in ([0, 2], [1], []):
        part, made = labels.where(np.isin(np.arange(3), kept)), Labels.from_rows([rows[i] for i in kept])
        for name in ("bots", "raters", "contexts", "dialogues", "items"):
            for found, expected in zip(getattr(part, name), getattr(made, name), strict=True):
                assert found.tolist() == expected.tolist()


def test_a_turn_beyond_64_bits_is_refused_with_its_row():
    one = np.array(["echo"]), np.array(["d"]), np.array([2**63], dtype=np.uint64), np.array(["rita"])

    with pytest.raises(LabelsError, match=f"Row 1, column turn: {2**63} is too large"):
        Labels(*one, np.array([True]), np.array([True]))  # type: ignore[arg-type]
