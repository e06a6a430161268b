"""Responses to the same contexts with several N and T, and the chart of what people made of them."""

import json

import pytest
import torch

from chatbots.meena.cli import main
from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import Meena, save_checkpoint
from chatbots.meena.sweep import Point, chart
from chatbots.meena.tokenizer import Tokenizer

torch.set_num_threads(1)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A tiny untrained model, and a file of three contexts."""
    folder = tmp_path_factory.mktemp("sweep")
    texts = [f"{a} {b}" for a in ("I like", "we hate", "you eat") for b in ("a cat", "the dog", "red fish")]
    tokenizer = Tokenizer.train(texts * 5, vocabulary_size=40)
    torch.manual_seed(0)
    config = MeenaConfig(
        hidden_size=16, heads=2, decoder_blocks=1, vocabulary_size=len(tokenizer), response_length=8
    )
    save_checkpoint(folder / "model", config=config, weights=Meena(config).state_dict(), tokenizer=tokenizer)
    (folder / "contexts.jsonl").write_text(
        "".join(json.dumps({"id": f"c{n}", "turns": [text]}) + "\n" for n, text in enumerate(texts[:3]))
    )
    return folder


def run(folder, capsys, *more):
    files = ["--checkpoint", folder / "model", "--contexts", folder / "contexts.jsonl"]
    status = main([str(each) for each in ("sweep", *files, "--output", folder / "out", *more)])
    out, err = capsys.readouterr()
    return status, [json.loads(line) for line in out.splitlines()], err


def test_more_samples_give_likelier_replies_and_a_second_run_repeats_nothing(folder, capsys):
    options = ["--samples", 1, 16, "--temperature", 1, 2]
    _, points, _ = run(folder, capsys, *options)
    written = {path.name: path.stat().st_mtime_ns for path in (folder / "out").glob("*.jsonl")}
    scores = folder / "scores.csv"
    scores.write_text("bot,score,title,value\n" + "".join(
        f'"{each["system"]}",ssa,SSA,{value}\n' for each, value in zip(points, (40, 60, 30, 50), strict=True)
    ))  # fmt: skip

    _, again, _ = run(folder, capsys, *options, "--scores", scores)

    by_system = {each["system"]: each["log_likelihood_per_token"] for each in points}
    assert list(by_system) == ["N=1, T=1", "N=16, T=1", "N=1, T=2", "N=16, T=2"]
    # The best of 16 by this measure cannot but beat a single draw.
    assert by_system["N=16, T=1"] > by_system["N=1, T=1"]
    assert by_system["N=16, T=2"] > by_system["N=1, T=2"]
    assert [each | {"SSA": s} for each, s in zip(points, (40.0, 60.0, 30.0, 50.0), strict=True)] == again
    assert {path.name: path.stat().st_mtime_ns for path in (folder / "out").glob("*.jsonl")} == written
    rows = [json.loads(line) for line in (folder / "out" / "n16-t1.jsonl").read_text().splitlines()]
    assert [row["context"] for row in rows] == ["c0", "c1", "c2"]
    mean = sum(row["log_likelihood"] / row["tokens"] for row in rows) / 3
    assert by_system["N=16, T=1"] == pytest.approx(mean)
    assert (folder / "out" / "sweep.csv").read_text().count("\n") == 5
    assert (folder / "out" / "sweep.svg").read_text().count("log P per token")


def test_the_chart_has_a_panel_for_each_score_and_a_line_for_each_temperature():
    points = [Point(n, t, 3, -2.0 + n / 100 - t, 5.0) for t in (0.5, 1.0) for n in (20, 1)]
    scores = {
        "N=1, T=0.5": {"SSA": 40.0},
        "N=20, T=0.5": {"Sensibleness": 70.0, "SSA": 60.0},
        "Other": {"Else": 1.0},
    }

    sensible, ssa, likelihood = chart(points, scores).axes

    assert [list(line.get_xdata()) for line in ssa.lines] == [[1, 20], []]
    assert [list(line.get_ydata()) for line in ssa.lines] == [[40.0, 60.0], []]
    assert list(sensible.lines[0].get_ydata()) == [70.0]
    assert list(likelihood.lines[1].get_ydata()) == pytest.approx([-2.99, -2.8])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"id": 1}\n', "line 1: not a JSON object with “id” and “turns”"),
        ('{"id": "a", "turns": ["x"]}\n{"id": "a", "turns": ["y"]}\n', "line 2: the id a occurs before"),
        ('{"id": "a", "turns": []}\n', "line 1: “turns” must be a list of texts"),
        ("", "there is no context in it"),
    ],
)
def test_a_wrong_file_of_contexts_is_named(content, message, folder, capsys, tmp_path):
    path = tmp_path / "wrong.jsonl"
    path.write_text(content)

    status, _, err = run(folder, capsys, "--contexts", path)

    assert status == 2
    assert message in err


@pytest.mark.parametrize(("option", "value"), [("--samples", 0), ("--temperature", 0)])
def test_numbers_out_of_range_are_named(option, value, folder, capsys):
    status, _, err = run(folder, capsys, option, value)

    assert status == 2
    assert option.strip("-") in err
