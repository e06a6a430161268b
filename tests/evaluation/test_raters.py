"""Rater effects against recomputation from scratch and planted careless raters."""

import numpy as np
import pytest

from evaluation.rater_agreement.influence import compare_parties, influence, without_raters
from evaluation.rater_agreement.kappa import cohen_kappa
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import Labels
from evaluation.statistics.ssa import Unit, ssa


def random_labels(seed: int) -> Labels:
    draw = np.random.default_rng(seed)
    rows = [
        (
            bot,
            f"d{d}",
            turn,
            f"r{r}",
            sensible := bool(draw.random() < 0.7),
            sensible and bool(draw.random() < 0.5),
        )
        for bot in ("a", "b")
        for d in range(3)
        for turn in range(3)
        for r in range(5)
        if draw.random() < 0.6
    ]
    return Labels.from_rows(rows)


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize("seed", range(5))
def test_influence_equals_recomputing_without_the_rater(unit, seed):
    labels = random_labels(seed)
    full = ssa(labels, unit)

    for found in influence(labels, unit):
        rest = ssa(labels.where(labels.rater != found.rater), unit)
        assert found.without == pytest.approx(rest[found.bot].ssa)
        assert found.shift == pytest.approx(full[found.bot].ssa - rest[found.bot].ssa)
        assert found.labels == ((labels.rater == found.rater) & (labels.bot == found.bot)).sum()


def test_the_careless_rater_comes_first():
    labels = random_labels(9)
    always_yes = Labels(
        labels.bot,
        labels.dialogue,
        labels.turn,
        labels.rater,
        labels.sensible | (labels.rater == "r3"),
        labels.specific | (labels.rater == "r3"),
    )

    assert influence(always_yes)[0].rater == "r3"
    assert influence(always_yes)[0].shift > 0


def test_a_rater_who_gave_all_labels_has_no_defined_influence():
    labels = Labels.from_rows([("a", "d", 0, "rita", True, False)])

    alone = influence(labels)[0]

    assert isinstance(alone.shift, Undefined)
    assert (
        "rita gave all labels of a" in alone.reason if isinstance(alone, Undefined) else alone.without.reason
    )


def test_labels_without_some_raters_keep_everybody_else():
    labels = random_labels(1)

    rest = without_raters(labels, {"r0", "r4"})

    assert set(rest.rater) == {"r1", "r2", "r3"}
    assert len(rest) == len(labels) - np.isin(labels.rater, ["r0", "r4"]).sum()


def parties_of(rows: list[tuple[str, int, str, bool, bool]]) -> tuple[Labels, np.ndarray]:
    labels = Labels.from_rows([("a", *row) for row in rows])
    return labels, np.char.startswith(labels.rater.astype(str), "chatter")


def test_parties_are_compared_on_common_turns_only():
    labels, first = parties_of(
        [
            *[("d1", 0, "chatter", True, True), ("d1", 0, "r1", True, False), ("d1", 0, "r2", False, False)],
            *[("d2", 0, "chatter", True, False), ("d2", 0, "r1", True, True)],
            *[("d2", 2, "chatter", True, True), ("d3", 0, "r1", False, False)],
        ]
    )

    parties = compare_parties(labels, first, np.random.default_rng(1))["a"]

    assert parties.turns == 2
    assert parties.first_party == pytest.approx((1, 1 / 2, 3 / 4))
    assert parties.third_party == pytest.approx(((1 / 2 + 1) / 2, (0 + 1) / 2, 5 / 8))
    assert parties.difference.difference == pytest.approx(3 / 4 - 5 / 8)
    # specific: chatter 1, 0; majority of readers 0, 1
    assert parties.kappa_specific.value == pytest.approx(cohen_kappa([[0, 1], [1, 0]]).value)


def test_generous_chatters_are_found():
    draw = np.random.default_rng(2)
    rows = []
    for d in range(60):
        for turn in range(7):
            truth = bool(draw.random() < 0.6)
            rows.append((f"d{d}", turn, f"chatter {d}", truth or bool(draw.random() < 0.5), False))
            rows.extend((f"d{d}", turn, f"r{r}", truth, False) for r in range(3))
    labels, first = parties_of(rows)

    difference = compare_parties(labels, first, np.random.default_rng(3))["a"].difference

    # planted: sensibleness 0.8 against 0.6, so SSA differs by 0.1
    assert isinstance(difference.interval, Interval)
    assert 0.1 in difference.interval
    assert difference.p < 0.001


def test_a_bot_without_common_turns_is_named():
    labels, first = parties_of([("d1", 0, "chatter", True, True), ("d1", 2, "r1", True, True)])

    answer = compare_parties(labels, first, np.random.default_rng(4))["a"]

    assert isinstance(answer, Undefined)
    assert "No turn of a" in answer.reason


def test_the_largest_influences_come_first():
    labels = random_labels(3)
    everything = influence(labels)
    known = [found for found in everything if not isinstance(found.shift, Undefined)]
    untold = everything[len(known) :]

    assert influence(labels, largest=2) == [*known[:2], *untold]
