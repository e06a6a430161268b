"""What a report and the command line say of agreement beside alpha, against published examples."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from evaluation.__main__ import main
from evaluation.questions import SSA, Kind, Question, QuestionSet, Subject
from evaluation.questions.parts import Scale
from evaluation.report.figures import coded_questions
from evaluation.report.label_columns import Judged
from evaluation.report.raters import agreement
from tests.evaluation.test_reliability import SHROUT_FLEISS

QUALITY = Question("quality", "How good is it?", kind=Kind.SCALE, scale=Scale(1, 10, "bad", "good"))
SCALE = QuestionSet("quality", "Quality", frozenset({Subject.TURN}), (QUALITY,), source="this test")


def judged(**answers: Sequence[Sequence[float]]) -> Judged:
    """By question, what each rater (a row) answered about each item (a column)."""
    table = np.array(next(iter(answers.values())))
    raters, items = table.shape
    return Judged(
        bot=np.array(["Ann"] * table.size, dtype=object),
        dialogue=np.tile(np.arange(items), raters),
        reply=np.ones(table.size, dtype=int),
        rater=np.repeat(np.array([f"r{n}" for n in range(raters)], dtype=object), items),
        latency_ms=np.full(table.size, np.nan),
        answer_ms=np.full(table.size, np.nan),
        answers={key: np.array(values, float).ravel() for key, values in answers.items()},
    )


def test_a_scale_that_all_answered_has_the_published_intraclass_correlation() -> None:
    (row,) = agreement(coded_questions(SCALE), judged(quality=np.transpose(SHROUT_FLEISS).tolist()))

    assert row["icc_2_1"] == pytest.approx(0.29, abs=0.005)  # Shrout & Fleiss 1979, table 4: ICC(2,1)
    assert "gwet_ac1" not in row
    assert len(row["cohen"]["each"]) == 6  # of four raters


def test_a_scale_with_a_missing_answer_has_none() -> None:
    table = np.transpose(SHROUT_FLEISS).astype(float)
    table[0, 0] = np.nan

    (row,) = agreement(coded_questions(SCALE), judged(quality=table.tolist()))

    assert "icc_2_1" not in row
    assert "alpha" in row


def test_yes_or_no_has_ac1_over_both_answers() -> None:
    # As in test_reliability: 118 yes-yes, 5 yes-no, 2 no-yes; beside it a question that all answer alike.
    first = [1] * 118 + [1] * 5 + [0] * 2
    second = [1] * 118 + [0] * 5 + [1] * 2
    sensible, specific = agreement(
        coded_questions(SSA), judged(sensible=[first, second], specific=[[1] * 125, [1] * 125])
    )

    assert sensible["gwet_ac1"] == pytest.approx((0.944 - 0.054432) / 0.945568)
    assert specific["gwet_ac1"] == 1  # of two possible answers one was given; alpha cannot be told
    assert "undefined" in specific
    assert "icc_2_1" not in sensible


@pytest.mark.parametrize(("level", "key"), [("nominal", "gwet_ac1"), ("interval", "icc_2_1")])
def test_the_command_line_prints_it_beside_alpha(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], level: str, key: str
) -> None:
    file = tmp_path / "ratings.csv"
    rows = [f"{n},{r},{value}" for n, of in enumerate(SHROUT_FLEISS) for r, value in enumerate(of)]
    file.write_text("\n".join(["unit,rater,value", *rows]))
    told = ["--unit=unit", "--rater=rater", "--value=value", f"--level={level}"]

    assert main(["agreement", str(file), *told]) == 0

    found = json.loads(capsys.readouterr().out)
    assert {"gwet_ac1", "icc_2_1"} & found.keys() == {key}
    if key == "icc_2_1":
        assert found[key] == pytest.approx(0.29, abs=0.005)


def test_a_report_and_the_command_line_agree_where_some_replies_have_one_label(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nan = float("nan")
    table = [[1, 1, 0, nan, 1, 0], [1, 0, 0, 1, nan, 0]]
    (row, _) = agreement(coded_questions(SSA), judged(sensible=table, specific=table))
    file = tmp_path / "ratings.csv"
    rows = [f"{n},{r},{v:g}" for r, of in enumerate(table) for n, v in enumerate(of) if v == v]
    file.write_text("\n".join(["unit,rater,value", *rows]))

    assert main(["agreement", str(file), "--unit=unit", "--rater=rater", "--value=value"]) == 0

    # Agreed on 3 of 4. Gwet's chance counts all six units: yes has (1 + 1/2 + 0 + 1 + 1 + 0) / 6 = 7/12.
    chance = 2 * 7 / 12 * 5 / 12
    assert row["gwet_ac1"] == pytest.approx((3 / 4 - chance) / (1 - chance))
    assert json.loads(capsys.readouterr().out)["gwet_ac1"] == pytest.approx(row["gwet_ac1"])


def test_a_reply_with_one_rating_leaves_the_intraclass_correlation_of_the_others() -> None:
    table = np.hstack([np.transpose(SHROUT_FLEISS).astype(float), [[7.0], [np.nan], [np.nan], [np.nan]]])

    (row,) = agreement(coded_questions(SCALE), judged(quality=table.tolist()))

    assert row["icc_2_1"] == pytest.approx(0.29, abs=0.005)
