"""Bundles that version 0.1.0 wrote of simulated studies, before the columns of a reply were renamed."""

import zipfile
from pathlib import Path

import pytest

from evaluation.report.bundles.recomputation import recompute

BUNDLES = Path(__file__).parent / "earlier_bundles"
"""Without what no figure depends on: charts, tables of a paper, and the same data as CSV and Parquet."""


@pytest.mark.parametrize(("name", "values"), [("conversations", 120), ("judgments", 94)])
def test_a_bundle_of_an_earlier_version_recomputes_to_the_same_figures(name: str, values: int) -> None:
    path = BUNDLES / f"{name}.zip"
    found = recompute(path)

    assert (found.differences, found.comparison.values) == ([], values)
    assert found.comparison.not_computed == found.comparison.not_stated == {}
    with zipfile.ZipFile(path) as archive:
        assert not {*archive.namelist()} & {*found.changed_files}
