"""Analysis of variance against a textbook's design and against statsmodels."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.random import default_rng
from statsmodels.formula.api import ols
from statsmodels.stats.anova import anova_lm

from evaluation.statistics.interval import Undefined
from evaluation.statistics.linear_models.anova import Anova, Squares, anova

# Montgomery, Design and Analysis of Experiments, the battery design: life in hours, by material and by
# temperature (15, 70 and 125 °F), four batteries each.
BATTERIES = {
    ("1", "15"): [130, 155, 74, 180], ("1", "70"): [34, 40, 80, 75], ("1", "125"): [20, 70, 82, 58],
    ("2", "15"): [150, 188, 159, 126], ("2", "70"): [136, 122, 106, 115], ("2", "125"): [25, 70, 58, 45],
    ("3", "15"): [138, 110, 168, 160], ("3", "70"): [174, 120, 150, 139], ("3", "125"): [96, 104, 82, 60],
}  # fmt: skip


def test_the_battery_design_has_the_sums_of_the_textbook() -> None:
    rows = [(*cell, life) for cell, lives in BATTERIES.items() for life in lives]
    material, temperature, life = (list(column) for column in zip(*rows, strict=True))

    found = anova(life, {"material": material, "temperature": temperature})

    assert isinstance(found, Anova)
    printed = [
        (("material",), 2, 10683.72, 7.91),
        (("temperature",), 2, 39118.72, 28.97),
        (("material", "temperature"), 4, 9613.78, 3.56),
    ]
    for term, (factors, freedom, squares, f) in zip(found.terms, printed, strict=True):
        # Equal numbers in all cells: both types are the same.
        for each in (term.second, term.third):
            assert (term.factors, term.freedom) == (factors, freedom)
            assert (round(each.sum, 2), round(each.f, 2)) == (squares, f)
    assert (round(found.error, 2), found.error_freedom, found.scores) == (18230.75, 27, 36)


def test_an_uneven_design_of_three_facets_is_what_statsmodels_gives() -> None:
    rng = default_rng(1)
    cells = list(product(["HRED", "VHRED", "VHCR"], ["EI", "base"], ["cornell", "reddit"]))
    rows = [cell for cell in cells for _ in range(int(rng.integers(2, 9)))]
    table = pd.DataFrame(rows, columns=["model", "version", "corpus"])
    table["score"] = rng.normal(size=len(table)) + (table["corpus"] == "reddit") * 0.7

    found = anova(table["score"], {name: table[name] for name in ("model", "version", "corpus")})

    fit = ols("score ~ C(model, Sum) * C(version, Sum) * C(corpus, Sum)", data=table).fit()
    assert isinstance(found, Anova)
    for kind, type_ in (("second", 2), ("third", 3)):
        wanted = anova_lm(fit, typ=type_)
        for term in found.terms:
            row = wanted.loc[":".join(f"C({name}, Sum)" for name in term.factors)]
            each = getattr(term, kind)
            assert isinstance(each, Squares)
            assert (each.sum, each.f, each.p) == pytest.approx((row["sum_sq"], row["F"], row["PR(>F)"]))
            assert term.freedom == row["df"]
        assert (found.error, found.error_freedom) == pytest.approx(wanted.loc["Residual", ["sum_sq", "df"]])


@pytest.mark.parametrize(
    ("scores", "factors", "why"),
    [
        ([1, 2], {}, "no facet"),
        ([], {"a": []}, "no scores"),
        ([1, 2, 3], {"corpus": ["reddit"] * 3}, "“corpus” has the one level “reddit”"),
        ([1, 2, 3], {"a": ["x", "x", "y"], "b": ["1", "2", "1"]}, "Nothing was rated with a y, b 2"),
        ([1, 2], {"a": ["x", "y"]}, "one score in each cell"),
        ([1, 1, 2, 2], {"a": ["x", "x", "y", "y"]}, "do not vary within the cells"),
    ],
)
def test_undefined_results_have_a_reason(
    scores: list[float], factors: dict[str, list[str]], why: str
) -> None:
    found = anova(scores, factors)

    assert isinstance(found, Undefined)
    assert why in found.reason


def test_columns_of_unequal_length_are_refused() -> None:
    with pytest.raises(ValueError, match="There are 2 scores, and facet a has 1"):
        anova([1, 2], {"a": ["x"]})
    with pytest.raises(ValueError, match="Score 2 is nan"):
        anova([1, np.nan], {"a": ["x", "y"]})
