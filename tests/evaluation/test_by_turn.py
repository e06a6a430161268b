"""Figures from turn to turn against a plain loop over conversations."""

import numpy as np
import pytest

from evaluation.questions import LIKERT, VOTES
from evaluation.report.answers import AskData
from evaluation.report.label_columns import Analysis, AnalysisPlan, Judged
from evaluation.report.studies.conversations import ExchangeMeasures, by_turn_figures

EVERYBODY = AnalysisPlan(Analysis.ALL, "", {})
ENCODERS = {"words": "", "sentiment": "VADER"}


def judged(rows: list[tuple[int, int, dict[str, float]]], raters: list[str] | None = None) -> Judged:
    """(conversation, reply, answers) of each label."""
    nothing = np.full(len(rows), np.nan)
    return Judged(
        bot=np.array(["Ann"] * len(rows), dtype=object),
        dialogue=np.array([dialogue for dialogue, _, _ in rows]),
        reply=np.array([reply for _, reply, _ in rows]),
        rater=np.array(raters or [f"W{n}" for n in range(len(rows))], dtype=object),
        latency_ms=nothing,
        answer_ms=nothing,
        answers={key: np.array([given[key] for _, _, given in rows]) for key in rows[0][2]},
    )


@pytest.fixture
def talks() -> list[list[float]]:
    """Of seven conversations of uneven length, the words after each reply; none after the last."""
    rng = np.random.default_rng(7)
    return [[*rng.integers(0, 30, length).astype(float), np.nan] for length in (3, 1, 4, 2, 4, 0, 3)]


def exchanged(talks: list[list[float]]) -> ExchangeMeasures:
    rows = [
        {"dialogue": f"d{n}", "turn": 2 * place + 1, "words": None if np.isnan(words) else words}
        for n, talk in enumerate(talks)
        for place, words in enumerate(talk)
    ]
    empty = {
        "sentiment": None,
        "sentiment_coherence": None,
        "sentiment_closeness": None,
        "average_coherence": None,
    }
    begun = {f"d{n}": (n, 0) for n in range(len(talks))}
    return ExchangeMeasures.of([row | empty for row in rows], begun, ENCODERS)


def asks(quality: list[float], votes: list[tuple[int, int, float]]) -> list[AskData]:
    scales = ("diversity", "fluency", "relatedness", "empathy")
    wholes = [(n, 1, {"quality": each} | dict.fromkeys(scales, 4.0)) for n, each in enumerate(quality)]
    voted = [(dialogue, reply, {"vote": vote}) for dialogue, reply, vote in votes]
    return [
        AskData("dialogue", True, LIKERT, judged(wholes)),
        AskData("partner_turn", False, VOTES, judged(voted)),
    ]


def test_lines_are_the_means_of_a_plain_loop(talks: list[list[float]]) -> None:
    quality = [3.0, 7.0, 1.0, 5.0, 6.0, 2.0]  # the seventh is not rated

    found = by_turn_figures(
        asks(quality, [(0, 1, 1.0), (2, 1, -1.0), (4, 2, 1.0)]), EVERYBODY, exchanged(talks)
    )

    assert found["courses"]["of"] == "Quality"
    votes, words = found["by_turn"]  # no sentiment: nothing was measured
    groups = {"All 7": range(7), "Best 3": (1, 3, 4), "Worst 3": (0, 2, 5)}
    assert [line["bot"] for line in words["bots"]] == list(groups)
    assert [len(line["points"]) for line in words["bots"]] == [4, 4, 4]
    for line, chosen in zip(words["bots"], groups.values(), strict=True):
        for point in line["points"]:
            here = [talks[n][point["turn"] - 1] for n in chosen if len(talks[n]) >= point["turn"]]
            values = [each for each in here if not np.isnan(each)]
            assert point["value"] == pytest.approx(sum(values) / len(values))
            assert (point["going_on"], point["values"]) == (len(here), len(values))
    assert votes["title"] == "Votes up, %"
    told = {
        line["bot"]: [(p["turn"], p["value"], p["values"]) for p in line["points"]] for line in votes["bots"]
    }
    assert told == {"All 7": [(1, 50, 2), (2, 100, 1)], "Best 3": [(2, 100, 1)], "Worst 3": [(1, 50, 2)]}


def test_a_band_is_students_interval_over_conversations() -> None:
    # Means 4 of 2, 4, 6: s = 2, t(0.95, 2) = 2.919986; 2.919986 x 2 / sqrt(3) = 3.371709
    found = by_turn_figures([], EVERYBODY, exchanged([[2.0], [4.0], [6.0]]))

    (point,) = found["by_turn"][0]["bots"][0]["points"]
    assert (point["low"], point["high"]) == pytest.approx((4 - 3.371709, 4 + 3.371709))
    (wide,) = by_turn_figures([], EVERYBODY, exchanged([[0.0], [1.0], [30.0]]))["by_turn"][0]["bots"][0][
        "points"
    ]
    assert (wide["low"], wide["high"]) == (0, 30)  # no band leaves the scale
    assert found["courses"] == {"of": "", "level": 0.9, "encoders": ["VADER"], "missing": ""}


def test_without_figures_by_turn_nothing_is_shown() -> None:
    one_rating = asks([3.0], [(0, 1, 1.0)])
    assert by_turn_figures(one_rating, EVERYBODY, None) == {"by_turn": [], "courses": None}
    assert by_turn_figures(one_rating, EVERYBODY, exchanged([]))["by_turn"] == []
    found = by_turn_figures(one_rating, EVERYBODY, exchanged([[2.0]]))
    assert [line["bot"] for line in found["by_turn"][1]["bots"]] == ["All 1"]  # no best without a worst
    nobody = asks([3.0], [(0, 1, np.nan)])
    assert [
        panel["title"] for panel in by_turn_figures(nobody, EVERYBODY, exchanged([[2.0]]))["by_turn"]
    ] == ["Words-U"]
    silent = ExchangeMeasures.of([], {}, {})
    assert by_turn_figures(one_rating, EVERYBODY, silent)["courses"] is None


def test_excluded_workers_do_not_count_in_the_primary_analysis(talks: list[list[float]]) -> None:
    without = AnalysisPlan(Analysis.WITHOUT_EXCLUDED, "", {"W1": "careless"})

    found = by_turn_figures(asks([3.0, 7.0, 1.0, 5.0], [(0, 1, 1.0)]), without, exchanged(talks))

    assert [line["bot"] for line in found["by_turn"][1]["bots"]] == ["All 7", "Best 1", "Worst 1"]
