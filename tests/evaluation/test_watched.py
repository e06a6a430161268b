"""The lead that may be looked at while a study fills: which units it rests on, and that it holds."""

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from evaluation.questions import SSA
from evaluation.report.intervals import TERMS
from evaluation.report.label_columns import Judged
from evaluation.report.leader import CONVERSATIONS, THIRD_RATER, Arrivals, always_valid, batches

Row = tuple[str, int, str, float]  # bot, conversation or context, worker, sensible and specific alike


def planted(rows: list[Row]) -> Judged:
    bot, dialogue, rater, answer = zip(*rows, strict=True)
    none, answers = np.full(len(rows), np.nan), np.array(answer, float)
    return Judged(
        np.array(bot, dtype=object), np.array(dialogue), np.arange(1, len(rows) + 1),
        np.array(rater, dtype=object), none, none, {"sensible": answers, "specific": answers},
    )  # fmt: skip


def watched(rows: list[Row], arrivals: Arrivals = CONVERSATIONS, systems: int = 2) -> dict[str, Any]:
    answer = {"leader": "a", "next": "b", "systems": systems}
    found = always_valid(SSA, planted(rows), answer, TERMS, arrivals)
    assert found is not None
    return found


def literal(apart: list[float], alpha: float = 0.05) -> tuple[float, float]:
    """Values in [-1, 1]: the means that the hedged capital never ruled out, by its definition, in points."""
    x = [(each + 1) / 2 for each in apart]
    kept = []
    for m in [n / 1000 for n in range(1001)]:
        up = down = 1.0
        variance, squares, total, out = 0.25, 0.25, 0.5, False
        for t, value in enumerate(x, 1):
            stake = math.sqrt(2 * math.log(2 / alpha) / (variance * t * math.log(1 + t)))
            up *= 1 + min(stake, 0.5 / m if m else math.inf) * (value - m)
            down *= 1 - min(stake, 0.5 / (1 - m) if m < 1 else math.inf) * (value - m)
            out |= max(up, down) / 2 >= 1 / alpha
            total += value
            squares += (value - total / (t + 1)) ** 2
            variance = squares / (t + 1)
        if not out:
            kept.append(m)
    # One step of the grid wider on either side.
    return 100 * (2 * max(min(kept) - 0.001, 0) - 1), 100 * (2 * min(max(kept) + 0.001, 1) - 1)


def test_only_the_first_conversation_of_a_worker_counts() -> None:
    # Ann's are w1's and w2's first. Of Bob's, that with w1 is their second, so only that with w3 is left.
    rows: list[Row] = [
        ("a", 1, "w1", 1),
        ("a", 2, "w2", 1),
        ("a", 2, "w2", 0),
        ("b", 3, "w1", 1),
        ("b", 4, "w3", 0),
    ]

    found = watched(rows)

    assert (found["units"], found["unit"], found["left_out"]) == (1, "conversation", 1)
    assert (found["low"], found["high"]) == pytest.approx(literal([1 - 0]))


def test_conversations_are_paired_in_the_order_in_which_they_were_begun() -> None:
    rng = np.random.default_rng(3)
    shares = rng.integers(0, 5, (30, 2)) / 4
    rows = [
        (bot, 2 * n + side, f"{bot}{n}", float(turn < 4 * shares[n, side]))
        for n in range(30)
        for side, bot in enumerate("ab")
        for turn in range(4)
    ]

    found = watched([rows[n] for n in rng.permutation(len(rows))])

    assert found["units"] == 30
    assert (found["low"], found["high"]) == pytest.approx(literal((shares[:, 0] - shares[:, 1]).tolist()))


def queue(rng: np.random.Generator, raters: int) -> list[Row]:
    """Batches of ten, one rater after the other; each leans on each of the two systems."""
    lean = rng.uniform(0.3, 1, (raters, 2))
    return [
        ("ab"[n % 2], int(rng.integers(50)), f"r{rater:03}", float(rng.random() < lean[rater, n % 2]))
        for rater in range(raters)
        for n in range(10)
    ]


def test_raters_with_a_whole_batch_count_once_in_the_order_of_finishing() -> None:
    rows = queue(np.random.default_rng(5), 25)
    late = [row for row in rows if row[2] != "r003"] + [row for row in rows if row[2] == "r003"]
    unfinished = [*late, ("a", 1, "x", 1.0), ("b", 1, "x", 0.0)]
    apart = {
        rater: sum((1 if bot == "a" else -1) * answer / 5 for bot, _, by, answer in rows if by == rater)
        for rater in dict.fromkeys(row[2] for row in late)
    }

    found = watched(unfinished, batches(planted(unfinished).rater, 10))

    assert (found["units"], found["unit"]) == (25, "rater")
    assert list(apart)[-1] == "r003"
    assert (found["low"], found["high"]) == pytest.approx(literal(list(apart.values())))


def test_later_data_never_widen_the_interval() -> None:
    rows = queue(np.random.default_rng(8), 40)
    looks = [watched(rows[:n], batches(planted(rows[:n]).rater, 10)) for n in range(25, 400, 13)]

    for before, after in pairwise(looks):
        assert before["low"] <= after["low"]
        assert after["high"] <= before["high"]


def test_the_intervals_of_all_pairs_of_systems_hold_together() -> None:
    rows = queue(np.random.default_rng(5), 25)
    arrivals = batches(planted(rows).rater, 10)
    apart = [
        sum((1 if bot == "a" else -1) * answer / 5 for bot, _, by, answer in rows if by == rater)
        for rater in arrivals.raters or ()
    ]

    found = watched(rows, arrivals, systems=3)

    # Three pairs of three systems: each at 0.05 / 3.
    assert (found["low"], found["high"]) == pytest.approx(literal(apart, 0.05 / 3))


def test_a_missing_sequential_interval_has_a_reason() -> None:
    rows = queue(np.random.default_rng(5), 3)
    adaptive = watched(rows, batches(planted(rows).rater, 10, third_rater=True))
    too_few = watched(rows, batches(planted(rows).rater, 11))

    assert adaptive == {"undefined": THIRD_RATER}
    assert too_few["undefined"].startswith("Fewer than two raters have judged a whole batch")


def test_the_interval_holds_at_every_look_with_returning_workers() -> None:
    """Two equal systems and 40 workers who lean on them, five conversations each: 200 studies."""
    missed = 0
    for rng in np.random.default_rng(1).spawn(200):
        lean = rng.uniform(0, 1, (40, 2))
        rows = []
        for n in range(200):
            side = int(rng.integers(2))
            answer = float(rng.random() < lean[n // 5, side])
            rows.append(("ab"[side], n, f"w{n // 5}", answer))
        found = watched(rows)
        missed += (
            not found["low"] <= 0 <= found["high"]
        )  # never widens: the last look has missed what any has

    assert missed / 200 <= 0.05
