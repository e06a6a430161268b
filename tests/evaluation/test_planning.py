"""Plans: expected errors by incidence, power in simulated studies, variance components, refusals in words."""

import json
import math

import numpy as np
import pytest
from pandas import DataFrame
from statsmodels.formula.api import mixedlm

from benchmarks.planning import DIFFERENCE, designs, share_detected, study
from evaluation.__main__ import main
from evaluation.planning.power import Allocation, Components, Design, expected_error, units_needed
from evaluation.planning.study_plans import Goal, components, study_plan
from evaluation.statistics.inference import samples
from evaluation.statistics.interval import Undefined

DESIGNS = {each.name: each for each in designs()}


@pytest.mark.parametrize("name", [name for name in DESIGNS if ", random" not in name])
def test_the_expected_variance_is_that_of_the_labels_weights(name):
    planned = DESIGNS[name]
    draw, n = np.random.default_rng(1), 120
    first, second = study(planned, n, 0.0, draw)
    weight = np.concatenate([np.full(len(first), 1 / len(first)), np.full(len(second), -1 / len(second))])
    context, worker = (
        np.concatenate([getattr(first, kind), getattr(second, kind)]) for kind in ("cluster", "rater")
    )
    system = weight < 0
    of = planned.components
    effects = [
        (of.context, context), (of.context_by_system, 2 * context + system), (of.worker, worker),
        (of.worker_by_system, 2 * worker + system), (of.rest, np.arange(len(weight))),
    ]  # fmt: skip
    # The variance of a weighted sum of independent effects: each effect's squared weight.
    variance = sum(each * (np.bincount(codes, weight) ** 2).sum() for each, codes in effects)

    assert expected_error(n, of, planned.design).error == pytest.approx(math.sqrt(variance), rel=1e-9)


def test_of_systems_by_chance_the_variance_is_the_mean_over_draws():
    planned, draw, n = DESIGNS["workers with 3 conversations, random"], np.random.default_rng(2), 300
    variances = []
    for _ in range(200):
        first, second = study(planned, n, 0.0, draw)
        assert first.rater is not None
        assert second.rater is not None
        of_first, of_second = (np.bincount(of, minlength=200) / n for of in (first.rater, second.rater))
        of = planned.components
        with_system = of.worker_by_system * ((of_first**2).sum() + (of_second**2).sum())
        variances.append(of.worker * ((of_first - of_second) ** 2).sum() + with_system + 2 * of.rest / n)

    # Half a percent: dealing without replacement differs from chance by one in 600 labels.
    assert expected_error(n, of, planned.design).error ** 2 == pytest.approx(np.mean(variances), rel=0.005)


@pytest.mark.parametrize("per_worker", [1, 3, 10])
def test_a_plan_for_80_percent_keeps_it_in_simulated_studies(per_worker):
    planned = next(each for each in designs() if each.design.per_worker == per_worker)
    contexts = units_needed(DIFFERENCE, planned.components, planned.design)

    # 300 studies have a standard error of 2.3 points; 0.1 is more than four of them.
    assert share_detected(planned, contexts, DIFFERENCE, 300, np.random.default_rng(3)) == pytest.approx(
        0.8, abs=0.1
    )


def test_the_variances_of_an_earlier_study_are_found_again():
    planned = DESIGNS["judging the same contexts, 20 for each rater, 2 raters each"]
    first, second = study(planned, 4000, 0.1, np.random.default_rng(4))
    found, of = components({"a": first, "b": second}), planned.components

    assert not isinstance(found, Undefined)
    for name in Components.__slots__:
        # 400 raters: a variance of 0.004 has a standard error of 0.004 √(2 / 400) = 0.0003.
        assert getattr(found, name) == pytest.approx(getattr(of, name), abs=0.0012)


def test_the_variances_are_those_of_statsmodels_less_the_bias_of_moments():
    draw, workers, systems, each = np.random.default_rng(7), 40, 2, 3
    worker = np.repeat(np.arange(workers), systems * each)
    system = np.tile(np.repeat(np.arange(systems), each), workers)
    values = draw.normal(0, 1, workers)[worker] + draw.normal(0, 0.7, workers * systems)[2 * worker + system]
    values += draw.normal(0, 1.5, len(values)) + 0.3 * system
    table = DataFrame({"value": values, "worker": worker, "system": system})
    reml = mixedlm(
        "value ~ C(system)", table, groups="worker", vc_formula={"by_system": "0 + C(system)"}, re_formula="1"
    ).fit()
    of_worker, by_system, rest = float(reml.cov_re.iloc[0, 0]), float(reml.vcomp[0]), float(reml.scale)

    found = components(samples(system, values, range(len(values)), worker))

    assert not isinstance(found, Undefined)
    # A system's mean is estimated from the same labels: products are low by the (co)variance of the means.
    assert found.worker == pytest.approx(of_worker * (1 - 1 / workers), rel=2e-3)
    together = (of_worker + by_system) * (1 - 1 / workers) - rest / (workers * each)
    assert found.worker + found.worker_by_system == pytest.approx(together, rel=2e-3)
    assert found.rest == pytest.approx(rest, rel=0.02)


def test_one_conversation_for_each_worker_leaves_all_variance_in_the_rest():
    values = np.array([0.2, 0.6, 0.4, 0.9, 0.5, 0.7])
    found = components(samples(["a", "a", "a", "b", "b", "b"], values, range(6), range(6)))

    assert not isinstance(found, Undefined)
    assert found.rest == found.total == pytest.approx((np.var(values[:3]) + np.var(values[3:])) * 3 / 4)
    assert isinstance(components(samples(["a", "b"], [0.1, 0.2], [0, 1], [0, 1])), Undefined)


def test_a_judge_saves_the_share_that_its_correlation_explains():
    alone = Components.from_shares(20.0)
    plan = study_plan(Goal(3.0, minutes=6, pay=10), alone, Design(correlation=0.8, judged_only=9))

    assert plan.alone is not None
    assert plan.needed.units / plan.alone.units == pytest.approx(1 - 0.64 * 0.9, abs=0.01)
    assert plan.needed.cost == pytest.approx(plan.needed.units * 2 * 0.1 * 10)
    smallest = [each.detectable for each in plan.curve if each.detectable is not None]
    assert len(smallest) == len(plan.curve)
    assert smallest == sorted(smallest, reverse=True)


def test_a_preference_needs_the_textbooks_pairs():
    # A share of 60 % against one half with deviation 0.5: 196 by the normal formula, and two for the t.
    design = Design(allocation=Allocation.PREFERENCE)

    assert units_needed(0.1, Components.from_shares(0.5), design) == pytest.approx(198, abs=1)


@pytest.mark.parametrize(
    ("allocation", "share"),
    # Of workers with 2 labels and 4 systems: with either of two systems, or with one of the 6 pairs.
    [
        (Allocation.RANDOM, 3 / 4), (Allocation.BALANCED, 5 / 6), (Allocation.ONE_SYSTEM, 1 / 2),
        (Allocation.PREFERENCE, 11 / 36),
    ],
)  # fmt: skip
def test_workers_count_for_a_comparison_if_they_have_a_label_of_it(allocation, share):
    design = Design(per_worker=2, systems=4, allocation=allocation)

    assert design.share_of_workers == pytest.approx(share)
    assert design.workers(30) == (90 if allocation is Allocation.PREFERENCE else 60)


def test_several_pairs_of_systems_share_a_workers_choices():
    # 3 choices of each worker over 3 pairs by chance: E[a²] / E[a] is 1 + (3 - 1) / 3.
    of = Components.from_shares(0.5, worker=1.0)
    variance = expected_error(90, of, Design(per_worker=3, systems=3, allocation=Allocation.PREFERENCE)).error

    draw = np.random.default_rng(5)
    squared = [(np.bincount(draw.integers(3, size=270) * 90 + np.arange(270) // 3) ** 2)[:90].sum() / 90**2
               for _ in range(400)]  # fmt: skip
    assert variance**2 == pytest.approx(0.25 * np.mean(squared), rel=0.05)
    assert variance**2 == pytest.approx(0.25 * 5 / 3 / 90)


def test_the_command_plans_from_a_file_as_from_typed_variances(tmp_path, capsys):
    scores = {bot: np.random.default_rng(code).random(20) for code, bot in enumerate("ab")}
    rows = [f"{bot},{bot}{n},{n // 2},{value}" for bot, of in scores.items() for n, value in enumerate(of)]
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(["bot,dialogue,rater,score", *rows]))

    assert main(["plan", "--difference", "10", "--labels", str(labels), "--value", "score"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["needed"]["power"] >= 0.8
    pooled = np.mean([(100 * of).var(ddof=1) for of in scores.values()])
    assert sum(found["variances"].values()) == pytest.approx(pooled)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--difference", "5"], "A plan needs variance"),
        (["--difference", "5", "--deviation", "0"], "must be positive"),
        (["--difference", "0", "--deviation", "20"], "no study tells two equal systems apart"),
        (["--difference", "5", "--deviation", "20", "--power", "80"], "power=80 must lie between 0 and 1"),
        (["--difference", "5", "--deviation", "20", "--worker-share", "1.2"], "parts of one variance"),
        (["--difference", "5", "--deviation", "20", "--correlation", "2"], "correlation=2.0 must lie in"),
        (["--difference", "101", "--deviation", "20"], "more than the scale allows"),
        (["--difference", "nan", "--deviation", "20"], "must be above 0"),
    ],
)
def test_a_plan_out_of_range_is_refused_in_words(arguments, words, capsys):
    assert main(["plan", *arguments]) == 2
    assert words in capsys.readouterr().err
