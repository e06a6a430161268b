"""Bundles that version 0.1.0 wrote of simulated studies, before the columns of a reply were renamed."""

import zipfile
from pathlib import Path

import pytest

from evaluation.report.bundles.recomputation import recompute

BUNDLES = Path(__file__).parent / "earlier_bundles"
"""Without what no figure depends on: charts, tables of a paper, and the same data as CSV and Parquet."""


@pytest.mark.parametrize(("name", "values"), [("conversations", 118), ("judgments", 91)])
def test_a_bundle_of_an_earlier_version_recomputes_to_the_same_figures(name: str, values: int) -> None:
    path = BUNDLES / f"{name}.zip"
    found = recompute(path)

    assert (found.differences, found.comparison.values) == ([], values)
    # Figures of remarks have become figures of replies since.
    assert all("remarks" in figure for figure in found.comparison.not_computed)
    # Scores without greetings and goodbyes, and models of raters, were added since.
    added = {figure.partition(".")[0] for figure in found.comparison.not_stated}
    assert added <= {"without_greetings", "rater_models"}
    with zipfile.ZipFile(path) as archive:
        assert not {*archive.namelist()} & {*found.changed_files}
