"""Pairwise choices against closed forms, a general optimiser and planted strengths."""

from collections import Counter

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import binomtest, t

from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import LabelsError
from evaluation.statistics.pairwise import Duels, Strengths, bradley_terry, records


def rng(seed: int = 3) -> np.random.Generator:
    return np.random.default_rng(seed)


def duels_of(counts: dict[tuple[str, str, str], int]) -> Duels:
    rows = [key for key, count in counts.items() for _ in range(count)]
    return Duels.from_rows([(*row, f"item{n}") for n, row in enumerate(rows)])


MIXED = {
    **{("a", "b", "first"): 12, ("a", "b", "second"): 5, ("b", "a", "tie"): 4, ("b", "a", "first"): 3},
    **{("a", "c", "first"): 9, ("c", "a", "first"): 6, ("b", "c", "first"): 7, ("b", "c", "second"): 8},
    ("b", "c", "tie"): 2,
}


def planted(strength: dict[str, float], tie: float, judgments: int, *, seed: int = 1) -> Duels:
    draw, names, rows = rng(seed), list(strength), []
    for n in range(judgments):
        first, second = draw.choice(names, 2, replace=False)
        odds = np.exp([strength[first], strength[second], tie + (strength[first] + strength[second]) / 2])
        rows.append(
            (str(first), str(second), draw.choice(["first", "second", "tie"], p=odds / odds.sum()), n)
        )
    return Duels.from_rows(rows)


def test_records_count_wins_on_either_side():
    record = records(duels_of(MIXED))[0]

    assert (record.bot, record.opponent) == ("a", "b")
    assert (record.wins, record.losses, record.ties) == (12, 5 + 3, 4)
    assert isinstance(record.win_share, Interval)
    assert 12 / 24 in record.win_share


def test_a_bot_that_always_wins_has_the_exact_interval():
    record = records(duels_of({("a", "b", "first"): 12}))[0]

    theirs = binomtest(12, 12).proportion_ci(method="exact")
    assert (record.win_share.low, record.win_share.high) == pytest.approx((theirs.low, theirs.high))


def test_the_interval_of_two_bots_is_that_of_a_log_odds():
    # 27 wins of 30: the error of the log-odds is √(1/27 + 1/3), half of which is each bot's. Percentiles of
    # resamples ended at 12 here, where every eleventh resample has no loss.
    strengths = bradley_terry(duels_of({("a", "b", "first"): 27, ("a", "b", "second"): 3}))

    half = t.ppf(0.975, 29) * np.sqrt((1 / 27 + 1 / 3) * 30 / 29) / 2
    found = strengths.intervals["a"]
    assert (found.low, found.high) == pytest.approx((np.log(9) / 2 - half, np.log(9) / 2 + half))


def test_intervals_of_strengths_hold_their_level():
    truth = {"a": 1.0, "b": 0.0, "c": -1.0}

    held = [
        truth["a"] in bradley_terry(planted(truth, -1.0, 80, seed=seed)).intervals["a"] for seed in range(400)
    ]

    assert np.mean(held) == pytest.approx(0.95, abs=0.033)


def test_two_bots_have_the_log_odds_of_their_wins():
    strengths = bradley_terry(duels_of({("a", "b", "first"): 30, ("a", "b", "second"): 10}))

    assert strengths.strength["a"] - strengths.strength["b"] == pytest.approx(np.log(3))
    assert sum(strengths.strength.values()) == pytest.approx(0)
    assert strengths.beats("a", "b") == pytest.approx(0.75)
    assert isinstance(strengths.tie_tendency, Undefined)


def test_ties_follow_davidson_in_closed_form():
    # Equal wins: the tie parameter is ties over the geometric mean of wins and losses.
    strengths = bradley_terry(
        duels_of({("a", "b", "first"): 10, ("a", "b", "second"): 10, ("a", "b", "tie"): 5})
    )

    assert strengths.strength["a"] == pytest.approx(0)
    assert strengths.tie_tendency == pytest.approx(np.log(5 / 10))


def test_strengths_maximise_davidsons_likelihood():
    names = "abc"

    def minus_log_likelihood(parameters: np.ndarray) -> float:
        strength, tie = dict(zip(names, [*parameters[:2], -parameters[:2].sum()], strict=True)), parameters[2]
        total = 0.0
        for (first, second, outcome), count in MIXED.items():
            s, t = strength[first], strength[second]
            odds = {"first": np.exp(s), "second": np.exp(t), "tie": np.exp(tie + (s + t) / 2)}
            total -= count * np.log(odds[outcome] / sum(odds.values()))
        return total

    best = minimize(
        minus_log_likelihood, np.zeros(3), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    )

    strengths = bradley_terry(duels_of(MIXED))
    assert [strengths.strength["a"], strengths.strength["b"], strengths.tie_tendency] == pytest.approx(
        best.x.tolist(), abs=1e-5
    )


def test_simulated_strengths_lie_inside_their_intervals():
    truth = {"a": 1.0, "b": 0.2, "c": -0.4, "d": -0.8}

    strengths = bradley_terry(planted(truth, -0.7, 3000))

    assert isinstance(strengths, Strengths)
    assert all(truth[bot] in strengths.intervals[bot] for bot in truth)
    assert strengths.tie_tendency == pytest.approx(-0.7, abs=0.15)


def test_judgments_of_one_rater_stay_together():
    # 20 raters who each give the same answer ten times know as much as 20 judgments.
    rows = [("a", "b", "first" if r < 13 else "second", f"r{r}") for r in range(20) for _ in range(10)]
    once = [("a", "b", "first" if r < 13 else "second", f"r{r}") for r in range(20)]

    together, single = (bradley_terry(Duels.from_rows(table)).intervals["a"] for table in (rows, once))

    assert (together.low, together.high) == pytest.approx((single.low, single.high))


def test_swapping_the_sides_of_every_judgment_changes_nothing():
    other_side = {"first": "second", "second": "first", "tie": "tie"}
    swapped = Counter({(b, a, other_side[o]): n for (a, b, o), n in MIXED.items()})

    strengths, mirrored = (bradley_terry(duels_of(counts)) for counts in (MIXED, swapped))

    assert strengths.strength == pytest.approx(mirrored.strength)


@pytest.mark.parametrize(
    ("counts", "reason"),
    [
        ({("a", "b", "tie"): 5}, "names a winner"),
        ({("a", "b", "first"): 5}, "Between a and the other bots"),
        ({("a", "b", "first"): 5, ("a", "b", "second"): 3, ("c", "d", "first"): 2}, "Between a, b and"),
        ({}, "names a winner"),
    ],
)
def test_undefined_strengths_are_named(counts, reason):
    answer = bradley_terry(duels_of(counts))

    assert isinstance(answer, Undefined)
    assert reason in answer.reason


def test_one_rater_gives_strengths_without_intervals():
    rows = [("a", "b", "first", "rita"), ("a", "b", "second", "rita"), ("a", "b", "first", "rita")]

    strengths = bradley_terry(Duels.from_rows(rows))

    assert strengths.strength["a"] == pytest.approx(np.log(2) / 2)
    assert isinstance(strengths.intervals["a"], Undefined)


@pytest.mark.parametrize(
    ("row", "words"), [(("a", "b", "left", 1), "'left' is none of"), (("a", "a", "tie", 1), "with itself")]
)
def test_a_bad_judgment_is_named(row, words):
    with pytest.raises(LabelsError, match=f"Row 2.*{words}"):
        Duels.from_rows([("a", "b", "tie", 1), row])
