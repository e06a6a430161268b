"""MACE against its equations and planted competences; both models in a report and on the command line."""

import json
from pathlib import Path

import numpy as np
import pytest

from evaluation.__main__ import main
from evaluation.questions.sets.ssa import SSA
from evaluation.rater_agreement.mace import Competence, mace
from evaluation.rater_agreement.ratings import Ratings
from evaluation.report.label_columns import Judged
from evaluation.report.rater_models import rater_models
from evaluation.statistics.interval import Undefined


def simulated(units: int, competence: list[float], *, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    """True answers of three, and a (raters, units) matrix; those without competence prefer the last."""
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, 3, units)
    on_purpose = draw.random((len(competence), units)) < np.array(competence)[:, None]
    habit = draw.choice(3, (len(competence), units), p=[0.1, 0.2, 0.7])
    return truth, np.where(on_purpose, truth, habit).astype(float)


def literal(matrix: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray, float]:
    """The generative story of the paper as loops, with all smoothing left out."""
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
        truth, likelihood = np.full((units, c), 1 / c), 0.0
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


def test_mace_equals_its_equations_as_loops() -> None:
    _, matrix = simulated(25, [0.9, 0.6, 0.3], seed=4)
    matrix[1, ::4] = np.nan

    fit = mace(Ratings.from_matrix(matrix), smoothing=0, tolerance=0, most_iterations=9)

    truth, theta, likelihood = literal(matrix, 9)
    assert isinstance(fit, Competence)
    assert np.allclose(fit.posterior, truth)
    assert np.allclose(fit.competence, theta)
    assert fit.log_likelihood == pytest.approx(likelihood)
    assert not fit.converged


def test_the_likelihood_of_mace_never_falls() -> None:
    ratings = Ratings.from_matrix(simulated(60, [0.8, 0.6, 0.5, 0.2])[1])

    fits = [mace(ratings, smoothing=0, tolerance=0, most_iterations=k) for k in range(1, 12)]

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
            assert 100 * shares[row["bot"]]["1"] == pytest.approx(row[model])
    for row in in_report["raters"]:
        assert 100 * found["by_rater"][row["worker"]]["competence"] == pytest.approx(row["competence"])
    assert "independently" in found["assumes"]


def test_a_unit_of_two_systems_is_refused_with_its_line(run) -> None:
    error = run("system,item,who,answer\na,1,w,yes\nb,1,v,no\n", "--system", "system")

    assert "line 3, column system: unit '1' is of 'b' here, but of 'a' in line 2" in error


def test_few_items_are_told_on_the_command_line(run) -> None:
    found = run("item,who,answer\n1,w,yes\n1,v,no\n")

    assert found["models"]["cannot_be_told"].startswith("Items with three raters or more: 0")
