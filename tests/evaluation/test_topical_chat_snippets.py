"""Two raters of the responses of Topical-Chat: their agreement, against scikit-learn and statsmodels."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters
from statsmodels.stats.inter_rater import fleiss_kappa as fleiss

from evaluation.protocols import protocol_with_scores
from evaluation.questions import QUESTION_SETS
from evaluation.report.figures import coded_questions
from evaluation.report.label_columns import Judged
from evaluation.report.raters import agreement

SNIPPETS = QUESTION_SETS["topical-chat-snippet"]
ITEMS = 40


def judged() -> tuple[Judged, dict[str, np.ndarray]]:
    """Two raters who agree well on use of knowledge, and not at all on what is interesting."""
    draw = np.random.default_rng(7)
    rated = {}
    for question in SNIPPETS.questions:
        first = draw.integers(0, len(question.choices), ITEMS)
        kept = draw.random(ITEMS) < {"interesting": 0.1, "go_on": 0.2}.get(question.key, 0.9)
        second = np.where(kept, first, draw.integers(0, len(question.choices), ITEMS))
        rated[question.key] = np.stack([first, second])
    both = np.tile(np.arange(ITEMS), 2)
    found = Judged(
        bot=np.array(["TF"] * (2 * ITEMS), dtype=object), dialogue=both, reply=np.ones(2 * ITEMS, dtype=int),
        rater=np.repeat(np.array(["r1", "r2"], dtype=object), ITEMS), latency_ms=np.full(2 * ITEMS, np.nan),
        answer_ms=np.full(2 * ITEMS, np.nan),
        answers={key: values.ravel().astype(float) for key, values in rated.items()},
    )  # fmt: skip
    return found, rated


def test_kappas_are_those_of_other_packages_and_low_ones_are_marked() -> None:
    data, rated = judged()

    rows = {row["key"]: row for row in agreement(coded_questions(SNIPPETS), data)}

    assert list(rows) == ["comprehensible", "on_topic", "interesting", "knowledge", "go_on"]
    for key, row in rows.items():
        first, second = rated[key]
        kappa = pytest.approx(cohen_kappa_score(first, second))
        pair = {"first": "r1", "second": "r2", "units": ITEMS, "value": kappa}
        assert row["cohen"] == {"value": kappa, "each": [pair]}
        table, _ = aggregate_raters(rated[key].T)
        assert row["fleiss"] == pytest.approx(fleiss(table))
    assert {key for key, row in rows.items() if row["is_low"]} == {"interesting", "go_on"}


def test_the_report_shows_table_4_for_comparison() -> None:
    protocol = protocol_with_scores("topical-chat-snippets", "topical-chat-snippet")

    assert protocol
    by_system = {each.system: each.scores for each in protocol.published}
    assert by_system["Human"] == {"comprehensible": 99, "on_topic": 93, "knowledge": 1.92}
    assert by_system["TF w/ k. p.t."] == {"comprehensible": 71, "on_topic": 66, "knowledge": 0.8}
    known = {score.key for score in SNIPPETS.scores}
    assert all(each.scores.keys() <= known for each in protocol.published)
