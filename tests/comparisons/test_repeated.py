"""Several studies of the same bot: their spread, and static minus interactive scores."""

from typing import Any

import pytest

from turnwise.comparisons.history import repeated_studies, static_minus_interactive


def row(
    bot: str, study: str, kind: str, *values: float | None, half: float | None = 2.0, level: float = 0.95
) -> dict[str, Any]:
    """A bot of a study, with intervals of the same half width around each score."""
    cells = [
        {"value": value}
        | ({} if value is None or half is None else {"low": value - half, "high": value + half})
        for value in values
    ]
    return {"bot": bot, "study": study, "kind": kind, "level": level, "cells": cells}


def test_repeated_sessions_have_a_mean_and_a_standard_deviation() -> None:
    rows = [row("Meena", f"Session {n}", "interactive", 70.0 + n, 50.0 if n else None) for n in range(3)] + [
        row("Meena", "Contexts", "static", 90.0, 90.0),
        row("Other", "Session 0", "interactive", 10.0, 10.0),
    ]

    (found,) = repeated_studies(rows)

    # 70, 71, 72 vary by 1; the second score is known of two sessions.
    assert (found["bot"], found["kind"], found["studies"]) == ("Meena", "interactive", 3)
    assert found["cells"] == [{"value": 71.0, "deviation": 1.0}, {"value": 50.0, "deviation": 0.0}]


def test_static_minus_interactive_has_the_interval_of_two_independent_scores() -> None:
    rows = [
        row("Meena", "Talks", "interactive", 72.0, 60.0, half=3.0),
        row("Meena", "Read talks", "read", 70.0, 60.0, half=None),
        row("Meena", "Contexts", "static", 78.0, None, half=4.0),
        row("Other", "Contexts", "static", 50.0, 50.0),
    ]

    live, read = static_minus_interactive(rows)

    # Half widths of 4 and 3 at right angles: 5.
    assert (live["static"], live["interactive"]) == ("Contexts", "Talks")
    assert live["cells"][0] == {"value": 6.0, "low": pytest.approx(1.0), "high": pytest.approx(11.0)}
    assert live["cells"][1] == {"value": None}
    assert read["cells"][0] == {"value": 8.0, "undefined": "One of the two has no interval."}


def test_a_difference_of_intervals_with_different_levels_has_no_interval() -> None:
    rows = [
        row("Meena", "Talks", "interactive", 72.0, half=3.0, level=0.9),
        row("Meena", "Contexts", "static", 78.0, half=4.0),
        row("Meena", "Again", "static", 77.0, half=4.0, level=0.9),
    ]

    apart, alike = (each["cells"][0] for each in static_minus_interactive(rows))

    assert apart == {"value": 6.0, "undefined": "The intervals of the two are of different levels."}
    assert alike == {"value": 5.0, "low": pytest.approx(0.0), "high": pytest.approx(10.0)}
