"""Facets of bots and ratings normalised by rater: against statsmodels, and by hand."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from scipy.stats import f_oneway
from statsmodels.formula.api import ols

from evaluation.questions import LIKERT
from evaluation.report.factors import facet_figures, normalised_figures
from evaluation.report.intervals import Terms
from evaluation.report.label_columns import Judged
from evaluation.statistics.linear_models.anova import normalised

TERMS = Terms(0.9)
FACETS = {
    f"{model} {data} {version}": {"architecture": model, "corpus": data, "EI": version}
    for model in ("HRED", "VHRED", "VHCR")
    for data in ("Cornell", "Reddit")
    for version in ("no", "yes")
}


def rated(bots: list[str], raters: list[str], points: Any) -> Judged:
    """One conversation each, all five ratings alike."""
    n = len(bots)
    values = np.asarray(points, dtype=np.float64)
    return Judged(
        bot=np.array(bots, dtype=object), dialogue=np.arange(1, n + 1), reply=np.ones(n, np.int64),
        rater=np.array(raters, dtype=object), latency_ms=np.full(n, np.nan), answer_ms=np.full(n, np.nan),
        answers={question.key: values for question in LIKERT.questions},
    )  # fmt: skip


@pytest.fixture(scope="module")
def study() -> Judged:
    """Twelve bots, four to nine ratings each: unbalanced, with an effect of the corpus."""
    random = np.random.default_rng(17)
    bots = [bot for n, bot in enumerate(FACETS) for _ in range(4 + n % 6)]
    points = [
        float(np.clip(round(random.normal(4.5 if "Reddit" in bot else 3.0, 1.2)), 1, 7)) for bot in bots
    ]
    return rated(bots, [f"w{n % 7}" for n in range(len(bots))], points)


def test_the_three_factor_table_is_that_of_statsmodels(study: Judged) -> None:
    found = facet_figures(LIKERT, study, FACETS, TERMS)

    assert found is not None
    of_sum = found["scores"][-1]
    assert of_sum["key"] == "sum"
    frame = pd.DataFrame([FACETS[bot] for bot in study.bot]).assign(y=5 * study.answers["quality"])
    model = ols("y ~ C(EI, Sum) * C(architecture, Sum) * C(corpus, Sum)", frame).fit()
    for kind, typ in (("second", 2), ("third", 3)):
        theirs = sm.stats.anova_lm(model, typ=typ).drop(index="Intercept", errors="ignore")
        ours = {term["name"]: term for term in of_sum["anova"]["terms"]}
        for name, row in theirs.drop(index="Residual").iterrows():
            plain = name.replace("C(", "").replace(", Sum)", "").replace(":", " × ")  # noqa: RUF001
            assert ours[plain][kind]["f"] == pytest.approx(row["F"], rel=1e-6)
            assert ours[plain][kind]["p"] == pytest.approx(row["PR(>F)"], rel=1e-6, abs=1e-12)
    assert of_sum["anova"]["error_freedom"] == len(study) - 12
    by_level = {(row["facet"], row["level"]): row["cell"] for row in of_sum["means"]}
    assert by_level["corpus", "Reddit"]["value"] == pytest.approx(frame.y[frame.corpus == "Reddit"].mean())
    assert by_level["corpus", "Cornell"]["high"] < by_level["corpus", "Reddit"]["low"]
    assert len(by_level) == 3 + 2 + 2


def test_one_factor_on_the_sum_of_unequal_ratings_is_scipys_analysis() -> None:
    random = np.random.default_rng(5)
    bots = ["a"] * 9 + ["b"] * 7 + ["c"] * 11
    five = [score.key for score in LIKERT.scores[:5]]
    answers = {key: random.integers(1, 8, len(bots)).astype(np.float64) for key in five}
    study = replace(rated(bots, bots, np.ones(len(bots))), answers=answers)

    found = facet_figures(LIKERT, study, {bot: {"kind": bot} for bot in "abc"}, TERMS)

    assert found is not None
    (term,) = found["scores"][-1]["anova"]["terms"]
    sums = np.sum([answers[key] for key in five], axis=0)
    theirs = f_oneway(*(sums[study.bot == bot] for bot in "abc"))
    assert term["second"]["f"] == pytest.approx(theirs.statistic)
    assert term["third"]["p"] == pytest.approx(theirs.pvalue)


def test_ratings_of_a_rater_have_mean_0_and_deviation_1_if_there_are_ten() -> None:
    scores = [1.0, 3.0, *[2.0] * 8, 5.0, 5.0, np.nan]
    raters = ["a"] * 10 + ["b"] * 3

    found = normalised(scores, raters)

    # a: mean 2, sum of squares 2, so the deviation is sqrt(2 / 9)
    assert found[0] == pytest.approx(-1 / (2 / 9) ** 0.5)
    assert found[1] == pytest.approx(1 / (2 / 9) ** 0.5)
    assert np.isnan(found[10:]).all()
    assert np.isnan(normalised([4.0] * 12, ["c"] * 12)).all()


def test_raters_with_one_rating_have_no_deviations_and_keep_their_means() -> None:
    bots = ["VHRED Reddit yes", "HRED Cornell no"] * 3
    study = rated(bots, [f"rater {n}" for n in range(6)], [1, 7, 2, 6, 3, 5])

    found = normalised_figures(LIKERT, study, TERMS)

    assert found is not None
    assert (found["raters"], found["of"], found["ratings"]) == (0, 6, 0)
    assert [cell["value"] for bot in found["bots"] for cell in bot["cells"]] == [None] * (
        2 * len(LIKERT.scores)
    )


def test_bots_are_compared_in_deviations_of_raters_with_ten_ratings(study: Judged) -> None:
    found = normalised_figures(LIKERT, study, TERMS)

    assert found is not None
    enough = [rater for rater, n in study.labels_of_raters.items() if n >= 10]
    assert found["raters"] == len(enough)
    assert found["ratings"] == sum(study.labels_of_raters[rater] for rater in enough)
    by_hand = []
    for rater in enough:
        own = study.answers["quality"][study.rater == rater]
        z = (own - own.mean()) / own.std(ddof=1)
        by_hand += list(z[study.bot[study.rater == rater] == "VHRED Reddit yes"])
    shown = next(row for row in found["bots"] if row["bot"] == "VHRED Reddit yes")
    assert shown["cells"][0]["value"] == pytest.approx(np.mean(by_hand))


@pytest.mark.parametrize(
    ("facets", "said"),
    [
        ({"A": {"kind": "x"}, "B": {"kind": "x"}}, "Facet “kind” has the one level “x”"),
        ({"A": {"kind": "x", "size": "s"}, "B": {"kind": "y", "size": "l"}}, "Nothing was rated with"),
    ],
)
def test_one_level_and_an_empty_cell_are_refused_with_reasons(facets: dict[str, Any], said: str) -> None:
    found = facet_figures(LIKERT, rated(["A", "A", "B", "B"], list("abcd"), [1, 2, 4, 6]), facets, TERMS)

    assert found is not None
    assert said in found["scores"][0]["anova"]["undefined"]


def test_a_study_of_one_bot_has_no_analysis_with_a_reason() -> None:
    found = facet_figures(
        LIKERT, rated(["A", "A", "A"], list("abc"), [1, 2, 4]), {"A": {"kind": "x", "size": "s"}}, TERMS
    )

    assert found is not None
    assert "Facet “kind” has the one level “x”" in found["scores"][0]["anova"]["undefined"]


def test_a_bot_that_lacks_a_facet_is_left_out_and_named() -> None:
    facets = {"A": {"kind": "x"}, "B": {"kind": "y"}, "C": {}}

    found = facet_figures(
        LIKERT, rated(["A", "A", "B", "B", "C"], list("abcde"), [1, 2, 4, 6, 7]), facets, TERMS
    )

    assert found is not None
    assert found["left_out"] == ["C"]
    assert found["scores"][0]["anova"]["scores"] == 4
    assert facet_figures(LIKERT, rated(["A"], ["a"], [1]), {"A": {}}, TERMS) is None
