import json

import numpy as np
import pytest

from evaluation import intent
from evaluation.__main__ import main
from evaluation.commands.intent import PUBLISHED, read_predictions
from evaluation.files.reading import FileError
from evaluation.statistics.interval import Undefined


def labels(letters):
    return np.array(["pan".index(letter) for letter in letters])


def test_the_four_figures_are_those_of_the_definition():
    found = intent.scores(labels("pppaannn"), labels("ppnpanpn"))

    # Called positive: p, p, a, n. P_w = (2 + .25) / 4; R = 2 / 3.
    # Right are p, p, a, n and n, 5 of 8.
    assert found.weighted_precision == 2.25 / 4
    assert found.recall == 2 / 3
    assert found.accuracy == 5 / 8
    assert found.overall == pytest.approx((2.25 / 4 * 2 / 3 * 5 / 8) ** (1 / 3))


def test_no_predicted_positives_give_precision_0_and_no_positives_no_figures():
    assert intent.scores(labels("pn"), labels("nn")).weighted_precision == 0
    assert isinstance(intent.scores(labels("an"), labels("pn")), Undefined)


@pytest.mark.parametrize("model", PUBLISHED)
@pytest.mark.parametrize("split", ["validation", "test"])
def test_the_published_geometric_means_are_those_of_their_figures(model, split):
    *three, overall = PUBLISHED[model][split]

    assert np.cbrt(np.prod(three)) == pytest.approx(overall, abs=0.1)


def test_intervals_are_those_of_resampling_utterances_one_by_one():
    rng = np.random.default_rng(0)
    truth = rng.choice(3, 150, p=[0.4, 0.1, 0.5])
    said = np.where(rng.random(150) < 0.8, truth, rng.choice(3, 150))
    draws = []
    for _ in range(4_000):
        rows = rng.integers(0, 150, 150)
        draws.append(intent.scores(truth[rows], said[rows]).overall)

    found = intent.score_intervals(truth, [said], np.random.default_rng(1), resamples=4_000).overall

    assert [found.low, found.high] == pytest.approx(list(np.quantile(draws, [0.025, 0.975])), abs=0.01)


def test_figures_of_several_runs_are_means():
    truth, one, two = labels("ppnn"), labels("ppnn"), labels("pnnn")

    found = intent.mean_scores(truth, [one, two])

    assert found.recall == 0.75
    assert found.accuracy == 0.875


def test_calibration_is_the_distance_between_confidence_and_accuracy():
    rows = np.array([[0.95, 0.05, 0], [0.95, 0.05, 0], [0.6, 0.4, 0], [0, 0, 1.0]])

    bins, error = intent.calibration(labels("ppan"), rows)

    assert [(each.utterances, each.accuracy) for each in bins if each.utterances] == [(1, 0.0), (3, 1.0)]
    # one of four: |.6 - 0|; three of four: |(.95 + .95 + 1) / 3 - 1|
    assert error == pytest.approx(0.25 * 0.6 + 0.75 * (1 - 2.9 / 3))


def row(label="p", **more):
    return {"text": "hi", "label": label, "p": 0.5, "a": 0.25, "n": 0.25} | more


def write(path, rows):
    path.write_text("".join(json.dumps(each) + "\n" for each in rows))
    return path


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([row("q")], "line 1: label = 'q' is unknown"),
        ([row(p=0.9)], "line 1: p, a, n = .* sum to 1"),
        ([row(p="x")], "line 1: p = 'x' is not a number"),
        ([row(), row(model="b"), row(model="b")], "b was asked other utterances"),
        ([], "no predictions"),
    ],
)
def test_an_invalid_file_is_refused_with_its_line(tmp_path, rows, message):
    with pytest.raises(FileError, match=message):
        read_predictions(write(tmp_path / "file.jsonl", rows))


def test_the_command_prints_everything(tmp_path, capsys):
    rows = [
        row("p", category="1", source="grammar", milliseconds=0.1),
        row("n", category="2", source="random", p=0.05, a=0.05, n=0.9, milliseconds=0.1),
        row("n", category="2", source="random", p=0.9, a=0.05, n=0.05, text="worst", milliseconds=0.1),
    ]

    assert main(["intent", str(write(tmp_path / "file.jsonl", rows))]) == 0

    shown = json.loads(capsys.readouterr().out)
    assert shown["scores"] | {"overall": None} == {
        "weighted_precision": 50.0,
        "recall": 100.0,
        "accuracy": 66.67,
        "overall": None,
    }
    assert shown["by_category"]["2"]["n"] == {"p": 1, "a": 0, "n": 1}
    assert shown["by_source"]["random"]["n"] == {"p": 1, "a": 0, "n": 1}
    assert shown["highest_losses"][0]["text"] == "worst"
    assert shown["models"]["the classifier"]["milliseconds"] == 0.1


def test_a_csv_file_is_read_as_well(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text("label,p,a,n\np,1,0,0\nn,0,0,1\n")

    assert read_predictions(path).truth.tolist() == [0, 2]
