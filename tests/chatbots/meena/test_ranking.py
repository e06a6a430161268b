"""The ranking functions of sample-and-rank, and their comparison on the same candidates."""

import json
import math
from typing import get_args

import pytest
import torch

from chatbots.bots import meena as bots
from chatbots.meena.cli import main
from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import Meena, save_checkpoint
from chatbots.meena.ranking import with_priors
from chatbots.meena.ranking_comparison import side_by_side
from chatbots.meena.responder import Responder
from chatbots.meena.samples import SCORES, RankBy, Sample, rank
from chatbots.meena.sampling import SamplingSettings
from chatbots.meena.tokenizer import Tokenizer

torch.set_num_threads(1)
FUNCTIONS = get_args(RankBy)
TEXTS = [f"{a} {b}" for a in ("I like", "we hate", "you eat") for b in ("a cat", "the dog", "red fish")]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS * 5, vocabulary_size=40)


@pytest.fixture(scope="module")
def model(tokenizer):
    torch.manual_seed(0)
    config = MeenaConfig(
        hidden_size=16, heads=2, decoder_blocks=1, vocabulary_size=len(tokenizer), response_length=8
    )
    return Meena(config).eval()


def test_each_function_prefers_what_its_formula_says():
    short, long, common = (
        Sample((7, 3), -4.0, -6.0),
        Sample((7,) * 7 + (3,), -7.0, -14.0),
        Sample((8, 3), -3.0, -2.0),
    )
    best = {by: rank([short, long, common], by)[0] for by in FUNCTIONS}
    # log P / L: -2, -.875, -1.5; log P: -4, -7, -3; log P / ((5 + L) / 6)^.6: -3.65, -4.40, -2.73
    # log P - .5 log P without context: -1, 0, -2
    assert best == {
        "per_token": long,
        "total": common,
        "length_normalised": common,
        "mutual_information": long,
    }
    assert SCORES["length_normalised"](long) == pytest.approx(-7 / (13 / 6) ** 0.6)
    assert SCORES["mutual_information"](short) == pytest.approx(-1)


def test_the_bots_offer_every_function():
    assert get_args(bots.RankBy) == FUNCTIONS


def test_a_prior_is_the_likelihood_after_an_empty_conversation(model, tokenizer):
    samples = [Sample((9, 7, 3), -1.0), Sample((11, 3), -1.0), Sample((5, 6, 7, 8, 9, 10, 11, 12), -1.0)]
    nothing = torch.tensor([tokenizer.context([], length=128).tokens])
    for scored in with_priors(model, tokenizer, samples):
        inputs = torch.tensor([[Tokenizer.start, *scored.tokens[:-1]]])
        with torch.no_grad():
            each = model(nothing, inputs).log_softmax(dim=-1)[0]
        expected = sum(float(each[place, token]) for place, token in enumerate(scored.tokens))
        assert scored.prior == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize("beam", [False, True])
def test_a_reply_is_the_best_of_its_candidates_by_mutual_information(model, tokenizer, beam):
    settings = SamplingSettings(samples=12, temperature=1.0, rank_by="mutual_information")
    responder = Responder(model, tokenizer, settings, beam=beam)
    samples = with_priors(model, tokenizer, responder.samples([["I like a cat"]], [3])[0])
    best = max(
        (each for each in samples if tokenizer.decode(each.tokens)),
        key=lambda each: each.log_likelihood - 0.5 * each.prior,
    )
    (reply,) = responder.reply([["I like a cat"]], [3])
    assert reply.text == tokenizer.decode(best.tokens)


def chosen_by(folder, name):
    return (folder / f"{name}.jsonl").read_text().splitlines()


def test_functions_are_compared_on_the_same_stored_candidates(tmp_path, capsys, model, tokenizer):
    save_checkpoint(tmp_path / "model", config=model.config, weights=model.state_dict(), tokenizer=tokenizer)
    lines = [json.dumps({"id": f"c{n}", "turns": [text]}) for n, text in enumerate(TEXTS)]
    (tmp_path / "contexts.jsonl").write_text("\n".join(lines))
    files = ["--checkpoint", tmp_path / "model", "--contexts", tmp_path / "contexts.jsonl"]
    arguments = [str(each) for each in ("rank", *files, "--output", tmp_path / "out", "--samples", 6)]

    assert main(arguments) == 0
    printed = capsys.readouterr().out
    found = {each["rank_by"]: each for each in map(json.loads, printed.splitlines())}
    stored = tmp_path / "out" / "candidates.jsonl"
    drawn_at = stored.stat().st_mtime_ns
    assert main(arguments) == 0

    assert stored.stat().st_mtime_ns == drawn_at
    assert capsys.readouterr().out == printed
    assert tuple(found) == FUNCTIONS
    assert found["total"]["agreement"]["per_token"] == found["per_token"]["agreement"]["total"]
    assert found["total"]["tokens"] <= found["per_token"]["tokens"]
    assert main([*arguments, "--show", "2"]) == 0
    first, second, *others = map(json.loads, capsys.readouterr().out.splitlines())
    assert [first["context"], second["context"], others] == ["c0", "c1", list(found.values())]
    rows = {row["context"]: row["candidates"] for row in map(json.loads, stored.read_text().splitlines())}
    for name in FUNCTIONS:
        for line in chosen_by(tmp_path / "out", name):
            response = json.loads(line)
            assert response["response"] in {each["text"] for each in rows[response["context"]]}
            assert math.isfinite(response["prior"])
        assert (
            first["chosen"][name]["response"] == json.loads(chosen_by(tmp_path / "out", name)[0])["response"]
        )


def test_choices_stand_side_by_side(tmp_path):
    # Of "a b" by log P and mutual information, "a c d" by both means: "a" of 2 and of 3 words is shared.
    candidates = [
        {"text": "A b.", "log_likelihood": -3.0, "prior": -12.0, "tokens": [7, 3]},
        {"text": "a c d", "log_likelihood": -4.0, "prior": -5.0, "tokens": [7, 8, 9, 3, 4, 5, 6, 7, 8, 9]},
    ]
    stored = tmp_path / "candidates.jsonl"
    stored.write_text(json.dumps({"context": "c", "candidates": candidates}))

    (row,) = side_by_side(stored, 5)

    # log P / L: -1.5 and -.4; log P / ((5 + L) / 6)^.6: -2.73 and -2.31; log P - .5 prior: 3 and -1.5
    assert {by: chosen["tokens"] for by, chosen in row["chosen"].items()} == {
        "per_token": 10, "total": 2, "length_normalised": 10, "mutual_information": 2,
    }  # fmt: skip
    assert (row["different"], row["shared_words"]["total"]) == (2, 1 / 2)
    assert row["shared_words"]["per_token"] == pytest.approx(1 / 3)
