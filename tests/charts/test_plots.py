"""Numbers of interactive charts, from handmade results."""

from turnwise.charts.interactive_plots import plot


def nowhere(system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0) -> str:
    return ""


def test_votes_on_pairs_fill_their_row() -> None:
    meeting = {
        "bot": "A against B",
        "first": "A",
        "second": "B",
        "wins": 3,
        "ties": 2,
        "losses": 5,
        "labels": 10,
    }
    result = {"preferences": [{"key": "better", "question": "Which is better?", "meetings": [meeting]}]}
    asked = []

    def told(system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0) -> str:
        asked.append((system, question))
        return "/there/"

    drawn = plot("preferences", result, told)

    assert drawn
    (row,) = drawn["panels"][0]["rows"]
    assert drawn["systems"] == ["A", "B"]
    assert [(part["from"], part["to"]) for part in row["parts"]] == [(0, 30), (30, 50), (50, 100)]
    assert [part["words"][1] for part in row["parts"]] == [
        "A is better: 30.0\u00a0%",
        "tied: 20.0\u00a0%",
        "B is better: 50.0\u00a0%",
    ]
    assert row["parts"][0]["words"][2] == "3 of 10 judgments"
    assert asked == [("A against B", "better")]


def test_the_chart_by_turn_has_a_panel_for_each_metric_and_one_for_ongoing_conversations() -> None:
    point = {"turn": 2, "value": 1.25, "low": None, "high": None, "values": 4, "going_on": 7}
    line = {"bot": "All 7", "points": [point, point | {"turn": 3, "low": 1.0, "high": 1.5, "going_on": 1}]}
    result = {"by_turn": [{"title": "Words (U)", "bots": [line]}]}

    drawn = plot("by-turn", result, nowhere)

    assert drawn
    words, counts = drawn["panels"]
    (of_words,), (of_counts,) = words["lines"], counts["lines"]
    assert [each["words"] for each in of_words["points"]] == [
        ["All 7, turn 2", "Words (U) 1.25", "4 values"],
        ["All 7, turn 3", "Words (U) 1.25 (1.00 to 1.50)", "4 values"],
    ]
    assert "low" not in of_words["points"][0]
    assert [(each["value"], each["words"][1]) for each in of_counts["points"]] == [
        (7, "7 conversations"), (1, "1 conversation"),
    ]  # fmt: skip
    assert drawn["systems"] == ["All 7"]


def test_the_plane_has_a_point_for_each_bot_at_two_scores_and_none_where_one_is_unknown() -> None:
    columns = [{"key": "warm", "title": "Warm"}, {"key": "short", "title": "Short"}]
    known = [{"value": 40.0}, {"value": 75.0, "low": 60.0, "high": 85.0}]
    bots = [
        {"bot": "A", "cells": known, "labels": 4},
        {"bot": "B", "cells": [{"value": None}, {"value": 1.0}], "labels": 1},
    ]
    result = {"plane": {"x": 0, "y": 1, "title": "Both"}, "columns": columns, "bots": bots}

    drawn = plot("plane", result, nowhere)

    assert drawn
    (point,) = drawn["points"]
    assert (point["across"], point["value"], point["low"], point["high"]) == ({"value": 40.0}, 75, 60, 85)
    assert point["words"] == ["A", "Warm 40.0\u00a0%", "Short 75.0\u00a0% (60.0 to 85.0)", "4 labels"]
    assert (drawn["across"], drawn["up"], drawn["systems"]) == ("Warm", "Short", ["A"])
