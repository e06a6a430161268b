"""Charts that cannot be drawn, and an unavailable cache."""

from collections.abc import Sequence
from typing import Any

import pytest
from django.test import RequestFactory, override_settings

from evaluation.questions import question_set
from turnwise.comparisons.chart_sheets import MOST_LINES, NOT_DRAWN, charts, relation_sheets, table_sheets
from turnwise.comparisons.chart_sheets import chart_file as file
from turnwise.comparisons.drawing import Sheet
from turnwise.comparisons.measures import PUBLISHED, Measured, Point, relation_figures
from turnwise.live.caching import cached, cached_many

MEASURED = Measured(question_set(PUBLISHED))


def figures_of(title: str, points: Sequence[Point]) -> dict[str, Any]:
    return relation_figures(title, points, MEASURED)


def sheets_of(figures: dict[str, Any], *, marks: bool, percent: bool) -> list[Sheet]:
    return relation_sheets(figures, MEASURED, marks=marks, percent=percent)


NOWHERE = {
    "default": {
        "BACKEND": "django.core.cache.backends.redis.RedisCache",
        "LOCATION": "unix:///nowhere/redis.sock",
    }
}


@pytest.mark.parametrize("ending", ["svg", "pdf"])
def test_a_chart_that_cannot_be_drawn_gives_an_error_text(ending: str) -> None:
    request = RequestFactory().get("/")

    answer = file(request, [Sheet("relation", "relation-ssa", {})], "relation-ssa", ending)

    assert (answer.status_code, answer.content.decode()) == (503, NOT_DRAWN)


@override_settings(CACHES=NOWHERE)
def test_without_a_cache_everything_is_computed_each_time() -> None:
    computed: list[int] = []

    for _ in range(2):
        assert cached("key", lambda: computed.append(1) or len(computed)) == len(computed)

    assert len(computed) == 2


def test_cached_results_are_not_computed_again() -> None:
    computed: list[int] = []

    values = [cached("key", lambda: computed.append(1) or "value") for _ in range(2)]

    assert values == ["value", "value"]
    assert len(computed) == 1


def test_of_many_results_only_those_that_are_not_cached_are_computed() -> None:
    asked: list[list[str]] = []

    def compute(keys: Sequence[str]) -> dict[str, str]:
        asked.append(list(keys))
        return {key: f"of {key}" for key in keys if key != "unknown"}

    first = cached_many(["a", "b"], compute)
    second = cached_many(["b", "c", "unknown"], compute)

    assert (first, second) == ({"a": "of a", "b": "of b"}, {"b": "of b", "c": "of c"})
    assert asked == [["a", "b"], ["c", "unknown"]]
    with override_settings(CACHES=NOWHERE):
        assert cached_many(["a", "b"], compute) == first
    assert asked[-1] == ["a", "b"]


def test_tables_too_long_for_a_chart_have_none() -> None:
    columns = [{"key": "ssa", "title": "SSA", "percent": True, "low": 0, "high": 100}]
    row = {"study": "A", "bot": "Ann", "cells": [{"value": 50.0}]}
    tables = [
        {"name": "studies-1", "columns": columns, "rows": [row] * MOST_LINES},
        {"name": "studies-2", "columns": columns, "rows": [row] * (MOST_LINES + 1)},
        {"name": "studies-3", "columns": columns, "rows": []},
        {"name": "studies-4", "columns": [], "rows": [row]},
    ]

    assert [sheet.name for sheet in table_sheets(tables)] == ["studies-1"]


def test_the_description_of_a_chart_has_its_points_and_its_line() -> None:
    scores = {"sensible": {"value": 1.0}, "specific": {"value": 1.0}}
    points = [
        Point(
            f"Bot {x}", "bot", {"value": x}, scores | {"ssa": {"value": y, "low": y - 5, "high": y + 5}}, 9, 9
        )
        for x, y in ((10, 72), (20, 60), (30, 62), (40, 46))
    ]
    sheet = sheets_of(figures_of("perplexity per token", points), marks=False, percent=False)[0]

    drawn = charts([sheet], lambda name, ending: f"/{name}.{ending}", "study=1", {})

    # R² by hand in test_relation.py: 0.84.
    told = "R squared of the line 0.84. Bot 10: 10, 72 percent (interval 67 to 77); Bot 20"
    assert told in drawn["relation-ssa"].words
    assert drawn["relation-ssa"].files["dark PDF"] == "/relation-ssa.pdf?study=1&scheme=dark"
    svg = file(RequestFactory().get("/"), [sheet], sheet.name, "svg").content.decode()
    assert told in svg
    assert "style=" not in svg


def test_published_systems_without_a_perplexity_are_lines_across() -> None:
    scores = {key: {"value": 50.0} for key in ("sensible", "specific", "ssa")}
    figures = figures_of(
        "perplexity per token", [Point(f"Bot {x}", "", {"value": x}, scores, 9, 9) for x in (10.0, 20.0)]
    )
    sheet = next(
        each for each in sheets_of(figures, marks=True, percent=False) if each.name == "relation-ssa"
    )

    drawn = charts([sheet], lambda name, ending: name, "", {})

    # The paper's figure 1.
    assert [(line["name"], line["y"]) for line in sheet.data["lines"]] == [
        ("Human", 86), ("Meena (full)", 79), ("Mitsuku, Cleverbot", 56), ("DialoGPT", 48), ("XiaoIce", 31)
    ]  # fmt: skip
    assert "as lines across: Human 86, Meena (full) 79, Mitsuku, Cleverbot 56" in drawn["relation-ssa"].words
    assert sheets_of(figures, marks=False, percent=False)[0].data["lines"] == []
