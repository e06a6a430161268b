"""MACE against its equations and planted competences; both models in a report and on the command line."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from evaluation.__main__ import main
from evaluation.questions.sets.ssa import SSA
from evaluation.rater_agreement.dawid_skene import TrueAnswers, dawid_skene
from evaluation.rater_agreement.dawid_skene import refitted as dawid_skene_refitted
from evaluation.rater_agreement.mace import Competence, mace
from evaluation.rater_agreement.mace import refitted as mace_refitted
from evaluation.rater_agreement.rater_models import ModelledLabels, RaterModels, fitted_models
from evaluation.rater_agreement.ratings import Ratings
from evaluation.report.label_columns import Judged
from evaluation.report.publishing import latex_tables
from evaluation.report.rater_models import rater_models
from evaluation.statistics.interval import Interval, Undefined


def simulated(units: int, competence: list[float], *, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """True answers of three, and a (raters, units) matrix; those without competence prefer the last."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, 3, units)
    on_purpose = draw.random((len(competence), units)) < np.array(competence)[:, None]
    habit = draw.choice(3, (len(competence), units), p=[0.1, 0.2, 0.7])
    return truth, np.where(on_purpose, truth, habit).astype(float)


def literal(
    matrix: np.ndarray, steps: int, *, learns_shares: bool = False
) -> tuple[np.ndarray, np.ndarray, float]:
    """The generative story of the paper as loops, with all smoothing left out.

    With `learns_shares`, true answers come from estimated shares instead of equal ones.
    """
    raters, units = matrix.shape
    c = int(np.nanmax(matrix)) + 1
    truth = np.array([[np.sum(matrix[:, i] == k) for k in range(c)] for i in range(units)])
    truth = truth / truth.sum(axis=1, keepdims=True)
    theta, habit, likelihood = np.full(raters, 0.5), np.full((raters, c), 1 / c), 0.0
    for _ in range(steps):
        meant, labels, cells = np.zeros(raters), np.zeros(raters), np.zeros((raters, c))
        for r in range(raters):
            for i in range(units):
                if not np.isnan(matrix[r, i]):
                    k = int(matrix[r, i])
                    by_habit = (1 - theta[r]) * habit[r, k]
                    purpose = truth[i, k] * theta[r] / (theta[r] + by_habit)
                    meant[r] += purpose
                    cells[r, k] += 1 - purpose
                    labels[r] += 1
        theta, habit = meant / labels, cells / cells.sum(axis=1, keepdims=True)
        shares = truth.mean(axis=0) if learns_shares else np.full(c, 1 / c)
        truth, likelihood = np.tile(shares, (units, 1)), 0.0
        for i in range(units):
            for r in range(raters):
                if not np.isnan(matrix[r, i]):
                    k = int(matrix[r, i])
                    chance = np.full(c, (1 - theta[r]) * habit[r, k])
                    chance[k] += theta[r]
                    truth[i] *= chance
            likelihood += np.log(truth[i].sum())
            truth[i] /= truth[i].sum()
    return truth, theta, likelihood


@pytest.mark.parametrize("as_published", [True, False])
def test_mace_equals_its_equations_as_loops(as_published: bool) -> None:
    _, matrix = simulated(25, [0.9, 0.6, 0.3], seed=4)
    matrix[1, ::4] = np.nan

    fit = mace(
        Ratings.from_matrix(matrix), as_published=as_published, smoothing=0, tolerance=0, most_iterations=9
    )

    truth, theta, likelihood = literal(matrix, 9, learns_shares=not as_published)
    assert isinstance(fit, Competence)
    assert np.allclose(fit.posterior, truth)
    assert np.allclose(fit.competence, theta)
    assert fit.log_likelihood == pytest.approx(likelihood)
    assert not fit.converged


@pytest.mark.parametrize("as_published", [True, False])
def test_a_general_optimiser_finds_the_same_maximum_from_any_start(as_published: bool) -> None:
    """The likelihood written out: a unit's answers, summed over its true answer."""
    draw = np.random.default_rng(6)
    competence = np.array([0.9, 0.8, 0.6, 0.5])
    truth = draw.choice(2, 300, p=[0.25, 0.75])
    on_purpose = draw.random((4, 300)) < competence[:, None]
    matrix = np.where(on_purpose, truth, draw.choice(2, (4, 300), p=[0.6, 0.4])).astype(int)

    def chances(parameters: np.ndarray) -> np.ndarray:
        """(2, units) probability of each unit's answers together with each true answer."""
        meant, says_one = expit(parameters[:4]), expit(parameters[4:8])
        share = 0.5 if as_published else expit(parameters[8])
        by_habit = np.where(matrix == 1, says_one[:, None], 1 - says_one[:, None])
        of_truth = [
            np.prod(meant[:, None] * (matrix == each) + (1 - meant[:, None]) * by_habit, axis=0)
            for each in (0, 1)
        ]
        return np.array([(1 - share) * of_truth[0], share * of_truth[1]])

    def loss(parameters: np.ndarray) -> float:
        return -float(np.log(chances(parameters).sum(axis=0)).sum())

    starts = [np.r_[draw.normal(1, 1, 4), draw.normal(0, 1, 5)] for _ in range(6)]
    best = min((minimize(loss, start, method="BFGS") for start in starts), key=lambda each: each.fun)
    fit = mace(
        Ratings.from_matrix(matrix.astype(float)), as_published=as_published, smoothing=0, tolerance=1e-9,
        most_iterations=20_000,
    )  # fmt: skip

    assert isinstance(fit, Competence)
    assert fit.log_likelihood == pytest.approx(-best.fun, abs=1e-4)
    assert fit.competence == pytest.approx(expit(best.x[:4]), abs=2e-3)
    of_units = chances(best.x)
    assert fit.posterior[:, 1] == pytest.approx(of_units[1] / of_units.sum(axis=0), abs=5e-3)


@pytest.mark.parametrize("as_published", [True, False])
def test_the_likelihood_of_mace_never_falls(as_published: bool) -> None:
    ratings = Ratings.from_matrix(simulated(60, [0.8, 0.6, 0.5, 0.2])[1])

    fits = [
        mace(ratings, as_published=as_published, smoothing=0, tolerance=0, most_iterations=k)
        for k in range(1, 12)
    ]

    steps = [fit.log_likelihood for fit in fits if isinstance(fit, Competence)]
    assert len(steps) == 11
    assert (np.diff(steps) > -1e-9).all()


def test_planted_competences_are_recovered() -> None:
    planted = [0.9, 0.7, 0.5, 0.0]
    truth, matrix = simulated(6000, planted)

    fit = mace(Ratings.from_matrix(matrix))

    assert isinstance(fit, Competence)
    assert fit.converged
    assert fit.competence == pytest.approx(planted, abs=0.03)
    assert fit.habit[3] == pytest.approx([0.1, 0.2, 0.7], abs=0.03)
    votes = Ratings.from_matrix(matrix).counts
    right, by_majority = (of.argmax(axis=1) == truth for of in (fit.posterior, votes))
    assert right.mean() > by_majority.mean()


@pytest.mark.parametrize(("share", "of_published"), [(0.5, 0.5), (0.65, 0.57), (0.8, 0.56), (0.95, 0.51)])
def test_planted_shares_and_competences_are_recovered_where_answers_are_uneven(
    share: float, of_published: float
) -> None:
    """Two systems with opposite shares of yes; five raters are right in 85 %, the sixth always says yes.

    To be right in 85 % of yes-or-no questions is a competence of .7 with a habit of .5. The published model,
    which takes both answers for equally likely, goes elsewhere with each system alone.
    """
    units, draw = 20_000, np.random.default_rng(3)
    system = np.repeat([0, 1], units // 2)
    truth = draw.random(units) < np.array([share, 1 - share])[system]
    rater = np.argsort(draw.random((units, 6)), axis=1)[:, :4]
    answer = np.where(draw.random((units, 4)) < 0.85, truth[:, None], ~truth[:, None]) | (rater == 5)
    ratings = Ratings.from_columns(
        np.repeat(np.arange(units), 4), rater.ravel(), answer.ravel().astype(float)
    )

    fit = mace(ratings, system)

    assert isinstance(fit, Competence)
    assert fit.prevalence[:, 1] == pytest.approx([share, 1 - share], abs=0.02)
    assert [fit.posterior[system == each, 1].mean() for each in (0, 1)] == pytest.approx(
        [share, 1 - share], abs=0.02
    )
    assert fit.competence == pytest.approx([0.7] * 5 + [0.0], abs=0.03)
    alone = Ratings.from_columns(
        np.repeat(np.arange(units // 2), 4),
        rater[system == 0].ravel(),
        answer[system == 0].ravel().astype(float),
    )
    published = mace(alone, as_published=True)
    assert isinstance(published, Competence)
    assert published.prevalence.tolist() == [[0.5, 0.5]]
    assert published.posterior[:, 1].mean() == pytest.approx(of_published, abs=0.03)


def test_one_rater_has_no_competence() -> None:
    assert isinstance(mace(Ratings.from_matrix([[0, 1, 1]])), Undefined)


def judged(items: int, *, raters: int = 5, seed: int = 2) -> Judged:
    """Two systems, sensible in 90 and 40 % of items; one of the raters says yes to everything."""
    draw = np.random.default_rng(seed)
    bot, item, rater = (
        each.ravel() for each in np.meshgrid(np.arange(2), np.arange(items), np.arange(raters), indexing="ij")
    )
    truth = draw.random((2, items)) < np.array([[0.9], [0.4]])
    answer = np.where(draw.random(len(bot)) < 0.9, truth[bot, item], ~truth[bot, item])
    answer = np.where(rater == raters - 1, 1, answer).astype(float)
    none, names = np.full(len(bot), np.nan), np.array([f"w{each}" for each in rater.tolist()], dtype=object)
    return Judged(
        np.where(bot == 0, "good", "poor").astype(object), bot * items + item, np.ones_like(item), names,
        none, none, {"sensible": answer, "specific": np.zeros(len(bot))},
    )  # fmt: skip


def test_a_report_has_both_models_beside_the_labels() -> None:
    found = rater_models(SSA.questions, judged(400))

    sensible = found[0]
    assert sensible["items"] == 800
    rows = {row["bot"]: row for row in sensible["systems"]}
    assert set(rows) == {"good", "poor"}
    for model in ("dawid_skene", "mace"):
        assert rows["poor"][model] == pytest.approx(40, abs=5)
        assert abs(rows["poor"][model] - 40) < abs(rows["poor"]["labels"] - 40)
    worst = sensible["raters"][0]
    assert worst["worker"] == "w4"
    assert worst["competence"] < 20
    # Nobody calls anything specific, so there is nothing to tell raters apart by.
    assert "undefined" in found[1]


def labels_of(items: int, *, seed: int = 2) -> ModelledLabels:
    """The labels of `judged` about two items of each conversation."""
    of = judged(items, seed=seed)
    ratings = Ratings.from_columns(of.reply_code, of.rater_code, of.answers["sensible"])
    system = np.repeat([0, 1], items)
    return ModelledLabels(ratings, system, np.ones(2 * items), np.arange(2 * items) // 2)


def drawn_out(labels: ModelledLabels, times: np.ndarray) -> tuple[Ratings, np.ndarray, np.ndarray]:
    """Ratings in which each unit occurs so many times, the units' systems, and the unit of each."""
    of_ratings = np.repeat(np.arange(len(labels.ratings)), times[labels.ratings.unit])
    unit = labels.ratings.unit[of_ratings]
    starts = np.cumsum(np.concatenate([[0], times]))[unit]
    order = np.concatenate([np.arange(times[each]) for each in labels.ratings.unit])
    again = Ratings(
        starts + order, labels.ratings.rater[of_ratings], labels.ratings.value[of_ratings], int(times.sum()),
        labels.ratings.raters, labels.ratings.values,
    )  # fmt: skip
    of = np.repeat(np.arange(len(times)), times)
    return again, labels.system[of], of


def test_a_refit_is_the_fit_to_units_that_are_written_down_so_many_times() -> None:
    labels = labels_of(60)
    times = np.random.default_rng(3).integers(0, 3, (labels.ratings.units, 2))
    tables, habits = dawid_skene(labels.ratings, labels.system), mace(labels.ratings, labels.system)
    assert isinstance(tables, TrueAnswers)
    assert isinstance(habits, Competence)

    weight = times.astype(float)
    exact: dict[str, Any] = {"tolerance": 1e-9, "most_iterations": 5_000}
    of_tables = dawid_skene_refitted(tables, labels.ratings, labels.system, weight, **exact)
    of_habits = mace_refitted(habits, labels.ratings, labels.system, weight, **exact)

    for column in range(2):
        again, system, of = drawn_out(labels, times[:, column])
        by_tables, by_habits = dawid_skene(again, system, **exact), mace(again, system, **exact)
        assert isinstance(by_tables, TrueAnswers)
        assert isinstance(by_habits, Competence)
        assert of_tables.confusion[:, column] == pytest.approx(by_tables.confusion, abs=1e-5)
        assert of_tables.prevalence[:, column] == pytest.approx(by_tables.prevalence, abs=1e-5)
        assert of_tables.posterior[of, column] == pytest.approx(by_tables.posterior, abs=1e-5)
        assert of_habits.prevalence[:, column] == pytest.approx(by_habits.prevalence, abs=1e-5)
        assert of_habits.competence[:, column] == pytest.approx(by_habits.competence, abs=1e-5)
        assert of_habits.posterior[of, column] == pytest.approx(by_habits.posterior, abs=1e-5)


def test_errors_are_the_deviation_over_resamples_that_are_fitted_from_the_start() -> None:
    labels = labels_of(60)
    rng, drawn = np.random.default_rng(5), []
    for _ in range(150):
        conversations = rng.integers(0, 60, 60)
        times = np.bincount(conversations, minlength=60)[labels.cluster]
        again, system, _ = drawn_out(labels, times)
        fit = dawid_skene(again, system)
        assert isinstance(fit, TrueAnswers)
        drawn.append([fit.posterior[system == s, 1].mean() for s in (0, 1)])

    found = fitted_models(labels, np.random.default_rng(1))

    assert isinstance(found, RaterModels)
    shares = found.shares["dawid_skene"]
    assert shares.clusters.tolist() == [30, 30]
    # 200 and 150 resamples leave 5 and 6 % of chance.
    assert shares.errors[:, 1] == pytest.approx(np.std(drawn, axis=0) * (30 / 29) ** 0.5, rel=0.3)
    # As labelled, the error is that of a mean over conversations.
    counts = labels.ratings.counts
    of_units = (counts / counts.sum(axis=1, keepdims=True))[labels.system == 1, 1]
    of_talks = of_units.reshape(-1, 2).mean(axis=1)
    assert found.shares["labels"].errors[1, 1] == pytest.approx(of_talks.std(ddof=1) / 30**0.5, rel=0.2)


def test_intervals_stay_on_the_scale_and_ends_have_a_reason() -> None:
    found = fitted_models(labels_of(60), np.random.default_rng(1))

    assert isinstance(found, RaterModels)
    for name, shares in found.shares.items():
        interval = shares.interval(0, 1)
        assert isinstance(interval, Interval), name
        assert 0 < interval.low < shares.values[0, 1] < interval.high < 1
    # The rater who says yes to everything has no competence at all.
    lies_at_end = found.competence.interval(4)
    assert isinstance(lies_at_end, Undefined)
    assert "end of its scale" in lies_at_end.reason


def test_one_conversation_has_no_interval() -> None:
    labels = replace(labels_of(60), cluster=np.zeros(120, np.int64))

    found = fitted_models(labels, np.random.default_rng(1))

    assert isinstance(found, RaterModels)
    alone = found.shares["dawid_skene"].interval(0, 1)
    assert isinstance(alone, Undefined)
    assert "one conversation" in alone.reason


def test_a_report_has_an_interval_for_each_figure_and_the_same_again() -> None:
    one, again = (rater_models(SSA.questions, judged(60))[0] for _ in range(2))

    assert one == again
    assert one["rests_on"].startswith("95\u00a0% intervals for other conversations with the same workers")
    for row in one["systems"]:
        for model in ("labels", "dawid_skene", "mace"):
            assert 0 < row["intervals"][model]["low"] < row[model] < row["intervals"][model]["high"] < 100
    # The planted shares, which the labels miss because of the rater who says yes to everything.
    poor = next(row for row in one["systems"] if row["bot"] == "poor")
    assert poor["intervals"]["dawid_skene"]["low"] < 40 < poor["intervals"]["dawid_skene"]["high"]
    assert poor["intervals"]["labels"]["low"] > 40


def test_too_many_labels_have_figures_and_say_why_there_is_no_interval() -> None:
    of = judged(5_001)

    found = rater_models(SSA.questions[:1], of)[0]

    assert found["rests_on"] == "There are 50010 labels; intervals are computed up to 50000."
    assert "undefined" in found["systems"][0]["intervals"]["mace"]


def test_papers_get_tables_of_the_models() -> None:
    found = {"rater_models": rater_models(SSA.questions, judged(60))}

    head, shares, notes, words = latex_tables.shares(found)
    _, workers, _, _ = latex_tables.workers(found)

    assert (head[words:], len(shares)) == (["As labelled", "Dawid and Skene", "MACE"], 2)
    poor = next(row for row in found["rater_models"][0]["systems"] if row["bot"] == "poor")
    ends = poor["intervals"]["mace"]
    assert shares[1][1] == "poor"
    assert shares[1][5] == f"{poor['mace']:.1f} [{ends['low']:.1f}, {ends['high']:.1f}]"
    assert "for other conversations with the same workers" in notes
    # A figure at the end of its scale has no interval.
    assert workers[0][1:] == ["w4", latex_cell(found["rater_models"][0]["raters"][0]), "0.0", "120"]
    assert latex_tables.shares({})[1] == []


def latex_cell(row: dict[str, Any]) -> str:
    ends = row["intervals"]["accuracy"]
    return f"{row['accuracy']:.1f} [{ends['low']:.1f}, {ends['high']:.1f}]"


def test_too_few_items_or_raters_give_a_reason() -> None:
    (few, _), (pairs, _) = (rater_models(SSA.questions, of) for of in (judged(20), judged(60, raters=2)))

    assert few["undefined"].startswith("Items with three raters or more: 40")
    assert pairs["undefined"].startswith("Items with three raters or more: 0")
    assert rater_models(SSA.questions, judged(60, raters=1)) == []


def test_raters_who_do_not_agree_give_a_reason() -> None:
    of = judged(100)
    of.answers["sensible"][:] = np.random.default_rng(1).integers(0, 2, len(of))

    assert "raters agree too little" in rater_models(SSA.questions, of)[0]["undefined"]


@pytest.fixture
def run(tmp_path: Path, capsys):
    def command(content: str, *options: str):
        path = tmp_path / "ratings.csv"
        path.write_text(content)
        named = ("--unit", "item", "--rater", "who", "--value", "answer")
        code = main(["raters", str(path), *named, *options])
        captured = capsys.readouterr()
        return json.loads(captured.out) if code == 0 else captured.err

    return command


def test_the_command_gives_what_a_report_gives(run) -> None:
    of = judged(60)
    rows = zip(of.bot, of.dialogue, of.rater, of.answers["sensible"].astype(int), strict=True)
    file = "system,item,who,answer\n" + "".join(f"{b},{d},{r},{a}\n" for b, d, r, a in rows)

    found = run(file, "--system", "system")

    in_report = rater_models(SSA.questions, of)[0]
    for row in in_report["systems"]:
        for model, shares in found["shares"].items():
            cell, interval = shares[row["bot"]]["1"], row["intervals"][model]
            assert 100 * cell["estimate"] == pytest.approx(row[model])
            assert [100 * end for end in cell["interval"]] == pytest.approx(
                # Items come in another order, so other resamples are drawn.
                [interval["low"], interval["high"]],
                abs=0.2 * (interval["high"] - interval["low"]),
            )
    for row in in_report["raters"]:
        of_rater = found["by_rater"][row["worker"]]["competence"]
        assert 100 * of_rater["estimate"] == pytest.approx(row["competence"])
    assert "independently" in found["assumes"]
    assert found["interval_for"] == "other items with the same raters"


def test_conversations_of_items_widen_the_intervals_on_the_command_line(run) -> None:
    of = judged(60)
    # Items of a conversation are alike: every item is there four times.
    rows = [
        (b, f"{d}-{copy}", d, r, a)
        for b, d, r, a in zip(of.bot, of.dialogue, of.rater, of.answers["sensible"].astype(int), strict=True)
        for copy in range(4)
    ]
    file = "system,item,talk,who,answer\n" + "".join(f"{b},{i},{d},{r},{a}\n" for b, i, d, r, a in rows)

    alone, of_talks = (run(file, "--system", "system", *more) for more in ((), ("--cluster", "talk")))

    for model in ("labels", "dawid_skene", "mace"):
        (low, high), (wide_low, wide_high) = (
            each["shares"][model]["poor"]["1"]["interval"] for each in (alone, of_talks)
        )
        # Four copies tell no more than one, so the interval is twice as long.
        assert (wide_high - wide_low) / (high - low) == pytest.approx(2, rel=0.3)
    assert of_talks["interval_for"] == "other talks with the same raters"


def test_a_unit_of_two_systems_is_refused_with_its_line(run) -> None:
    error = run("system,item,who,answer\na,1,w,yes\nb,1,v,no\n", "--system", "system")

    assert "line 3, column system: unit '1' is of 'b' here, but of 'a' in line 2" in error


def test_few_items_are_told_on_the_command_line(run) -> None:
    found = run("item,who,answer\n1,w,yes\n1,v,no\n")

    assert found["models"]["cannot_be_told"].startswith("Items with three raters or more: 0")
