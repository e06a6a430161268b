"""Batches, the training loop, checkpoints and perplexity."""

import csv
import json
import math
import os
import resource
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from chatbots.meena.cli import main
from chatbots.meena.config import MeenaConfig
from chatbots.meena.corpus.shards import Pair, ShardWriter, open_shards
from chatbots.meena.model import PADDING, Meena, load_checkpoint, save_checkpoint
from chatbots.meena.tokenizer import Tokenizer
from chatbots.meena.training.batching import Batches, collate, padding_share
from chatbots.meena.training.loop import Trainer
from chatbots.meena.training.perplexity import perplexity, shards_for
from chatbots.meena.training.settings import (
    Adafactor,
    TrainingSettings,
    inverse_square_root,
    root_mean_square,
)
from chatbots.training.checkpoint import CheckpointError, latest_checkpoint, read_weights
from chatbots.training.running import TrainingDivergedError, cosine

torch.set_num_threads(1)  # threads only wait for each other in products this small
ROOT = Path(__file__).resolve().parents[3]
PROCESSES = pytest.mark.timeout(400)  # they take 20 s, but nothing here depends on that
TEXTS = ["I like the red cat", "we hate a big dog", "you eat the fish"]


@pytest.fixture(scope="module")
def tokenizer():
    return Tokenizer.train(TEXTS * 5, vocabulary_size=40)


@pytest.fixture(scope="module")
def config(tokenizer):
    return MeenaConfig(hidden_size=16, heads=2, decoder_blocks=1, vocabulary_size=len(tokenizer), dropout=0.1)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory, tokenizer):
    """Two shards of random trees with a rule that can be learnt: a turn repeats its parent's word."""
    folder, random = tmp_path_factory.mktemp("corpus"), np.random.default_rng(4)
    for part, shards in (("train", ("one", "two")), ("heldout", ("one",))):
        for name in shards:
            with ShardWriter(folder / part / name) as writer:
                for _ in range(60):
                    word = int(random.integers(5, 40))
                    writer.add([[word] * int(random.integers(2, 12)) for _ in range(4)], [-1, 0, 1, 1])
    (folder / "tokenizer.model").write_bytes(tokenizer.model)
    return folder


def batches(corpus, config, part="train", **changes):
    return Batches(open_shards(corpus / part), config, **{"positions": 256} | changes)


def pairs_of(batch):
    """The pairs in a batch, read back from its tensors."""
    found = []
    for context, inputs, targets in zip(batch.contexts, batch.inputs, batch.targets, strict=True):
        real = targets != PADDING
        assert inputs[0] == Tokenizer.start
        assert inputs[1 : real.sum()].tolist() == targets[: real.sum() - 1].tolist()
        found.append((tuple(context[context != PADDING].tolist()), tuple(targets[real].tolist())))
    return found


def all_pairs(corpus, part="train"):
    shards = open_shards(corpus / part)
    pairs = [shard.pair(int(turn), context_length=128) for shard in shards for turn in shard.pairs()]
    return sorted((tuple(pair.context), (*pair.response, Tokenizer.end)) for pair in pairs)


def test_an_epoch_has_every_pair_once(corpus, config):
    found = [pair for batch in batches(corpus, config).epoch(0) for pair in pairs_of(batch)]
    assert sorted(found) == all_pairs(corpus)


def test_ranks_share_an_epoch_without_overlap(corpus, config):
    shares = [list(batches(corpus, config, ranks=2, rank=rank).epoch(3)) for rank in (0, 1)]
    assert len(shares[0]) == len(shares[1])
    found = sorted(pair for share in shares for batch in share for pair in pairs_of(batch))
    everything = all_pairs(corpus)
    left_out = len(everything) - len(found)
    assert left_out <= max(len(batch.targets) for share in shares for batch in share)
    assert len(set(found) - set(everything)) == 0


def test_epochs_differ_and_repeat_by_seed(corpus, config):
    def order(number, seed=0):
        return [pairs_of(batch) for batch in batches(corpus, config, seed=seed).epoch(number)]

    assert order(0) == order(0)
    assert order(0) != order(1)
    assert order(0) != order(0, seed=1)


def test_skipping_leaves_out_the_first_batches(corpus, config):
    whole = [pairs_of(batch) for batch in batches(corpus, config).epoch(0)]
    assert [pairs_of(batch) for batch in batches(corpus, config).epoch(0, skip=3)] == whole[3:]


def test_batches_hold_at_most_the_positions_given_and_little_padding(corpus, config):
    found = list(batches(corpus, config, positions=400).epoch(0))
    assert all(batch.contexts.numel() + batch.targets.numel() <= 400 for batch in found)
    # at most 7 of context's and 3 of targets' positions are rounding
    assert np.mean([padding_share(batch) for batch in found]) < 0.25


def test_a_response_that_fills_the_decoder_has_no_end(config):
    batch = collate([Pair([5, 4], [6, 7, 8])], response_length=3)
    assert batch.inputs.tolist() == [[Tokenizer.start, 6, 7]]
    assert batch.targets.tolist() == [[6, 7, 8]]


def test_the_papers_rate_is_constant_then_falls_with_the_inverse_square_root():
    rate = inverse_square_root(0.01)
    assert [rate(step - 1) for step in (1, 10_000, 40_000, 1_000_000)] == pytest.approx(
        [0.01, 0.01, 0.005, 0.001]
    )


def test_adafactor_moves_weights_as_pytorchs_own_does():
    torch.manual_seed(0)
    for shape in ((6, 9), (7,), (3, 4, 5)):
        ours, theirs = (torch.nn.Parameter(torch.ones(shape).cumsum(0) * 0.1) for _ in range(2))
        pair = Adafactor([ours], rate=0.01), torch.optim.Adafactor([theirs], lr=0.01)
        for _ in range(20):
            ours.grad = theirs.grad = torch.randn(shape)
            for optimizer in pair:
                optimizer.step()
        torch.testing.assert_close(ours, theirs, atol=1e-6, rtol=1e-5)
        assert not torch.allclose(ours, torch.ones(shape).cumsum(0) * 0.1, rtol=0.01)


def test_the_size_of_a_large_matrix_is_exact():
    weights = torch.randn(4096, 256, generator=torch.Generator().manual_seed(0))
    assert float(root_mean_square(weights)) == pytest.approx(
        float(weights.double().square().mean().sqrt()), rel=1e-6
    )


def test_adafactor_builds_no_matrix_of_variances_and_calls_few_operations():
    """A GPU waits for the calls, and for memory as large as the weights."""
    weights = torch.nn.Parameter(torch.randn(64, 48))
    optimizer = Adafactor([weights], rate=0.01)
    for _ in range(2):
        weights.grad = torch.randn(64, 48)
        with torch.profiler.profile(record_shapes=True) as profiled:
            optimizer.step()
    views = ("unsqueeze", "as_strided", "item", "_local_scalar_dense", "is_nonzero")
    called = [
        event
        for event in profiled.events()
        if event.name.startswith("aten::")
        and event.name.removeprefix("aten::") not in views
        and not (event.cpu_parent and event.cpu_parent.name.startswith("aten::"))
    ]
    as_large = [event.name for event in called if [64, 48] in event.input_shapes]
    assert len(as_large) <= 9, as_large
    assert len(called) <= 32, [event.name for event in called]


def test_adamws_rate_rises_then_falls_to_zero():
    rate = cosine(1.0, warmup=4, steps=12)
    assert [rate(step) for step in range(5)] == pytest.approx([0.25, 0.5, 0.75, 1.0, 1.0])
    assert rate(8) == pytest.approx(0.5)  # half-way down
    assert rate(12) == pytest.approx(0.0)


SETTINGS = TrainingSettings(
    steps=12,
    precision="fp32",
    positions=256,
    learning_rate=0.05,
    validate_every=6,
    checkpoint_every=4,
    keep=0,
)


def trainer(run, corpus, config, tokenizer, begin_with=None, **changes):
    return Trainer(
        run,
        begin_with=begin_with,
        config=config,
        tokenizer=tokenizer,
        settings=replace(SETTINGS, **changes),
        train=batches(corpus, config),
        heldout=batches(corpus, config, "heldout"),
        device=torch.device("cpu"),
    )


def losses(run):
    with (run / "train.csv").open() as file:
        return [float(row["loss"]) for row in csv.DictReader(file)]


@pytest.mark.parametrize("optimizer", ["adafactor", "adamw"])
def test_a_model_learns_the_rule(tmp_path, corpus, config, tokenizer, optimizer):
    rate = {"adafactor": 0.05, "adamw": 0.01}[optimizer]
    changes = {"steps": 120, "optimizer": optimizer, "learning_rate": rate, "warmup": 10}
    trainer(tmp_path / "run", corpus, config, tokenizer, **changes).train()
    with (tmp_path / "run" / "heldout.csv").open() as file:
        last = float(list(csv.DictReader(file))[-1]["perplexity"])
    # Without the context, the first word alone leaves 35 choices; lengths leave a few everywhere.
    assert last < 6


@pytest.mark.parametrize("optimizer", ["adafactor", "adamw"])
def test_a_resumed_run_equals_an_uninterrupted_one(tmp_path, corpus, config, tokenizer, optimizer):
    changes = {"optimizer": optimizer, "learning_rate": 0.01, "warmup": 2, "steps": 40}
    trainer(tmp_path / "whole", corpus, config, tokenizer, **changes).train()
    interrupted = trainer(tmp_path / "parts", corpus, config, tokenizer, **changes)
    for _ in zip(range(30), interrupted.steps(), strict=False):
        pass
    del interrupted
    assert latest_checkpoint(tmp_path / "parts").name == "step-0000028"
    trainer(tmp_path / "parts", corpus, config, tokenizer, **changes).train()

    parts = losses(tmp_path / "parts")
    assert parts == losses(tmp_path / "whole")  # steps 29 and 30 were done twice, and stand once
    name = "step-0000040"
    whole, resumed = (read_weights(tmp_path / run / name) for run in ("whole", "parts"))
    assert all(torch.equal(whole[key], resumed[key]) for key in whole)


def test_accumulated_batches_weigh_every_token_alike(tmp_path, corpus, config, tokenizer):
    """The gradient of two batches together is that of their tokens' mean loss."""
    still = replace(config, dropout=0.0)
    settings = {"clip": 0.0, "optimizer": "adamw", "learning_rate": 1e-12}
    learner = trainer(tmp_path / "run", corpus, still, tokenizer, **settings)
    learner.model.train()
    first, second, *_ = batches(corpus, still).epoch(0)
    mean, tokens = learner.update([first, second])
    assert tokens == first.tokens + second.tokens
    found = {name: p.grad.clone() for name, p in learner.model.named_parameters()}

    learner.model.zero_grad()
    total = 0.0
    for batch in (first, second):
        scores = learner.model(batch.contexts, batch.inputs).log_softmax(dim=-1)
        for i, j in (batch.targets != PADDING).nonzero().tolist():
            total = total - scores[i, j, batch.targets[i, j]]
    (total / tokens).backward()
    assert mean == pytest.approx(total.item() / tokens, rel=1e-5)
    for name, parameter in learner.model.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, atol=1e-5, rtol=1e-3)


def test_a_loss_that_is_not_finite_stops_with_the_last_good_checkpoint(tmp_path, corpus, config, tokenizer):
    trainer(tmp_path / "run", corpus, config, tokenizer, steps=12).train()
    (tmp_path / "run" / "step-0000012").rename(tmp_path / "spoilt")
    learner = trainer(tmp_path / "run", corpus, config, tokenizer, steps=12)
    with torch.no_grad():
        learner.model.decoder_norm.weight[0] = float("nan")
    with pytest.raises(TrainingDivergedError, match=r"nan at step 9\. .*step-0000008"):
        learner.train()
    assert latest_checkpoint(tmp_path / "run").name == "step-0000008"
    weights = read_weights(tmp_path / "run" / "step-0000008")
    assert all(weight.isfinite().all() for weight in weights.values())


def test_weights_that_a_gradient_would_spoil_are_not_stored(tmp_path, corpus, config, tokenizer):
    learner = trainer(tmp_path / "run", corpus, config, tokenizer, steps=12, clip=0, checkpoint_every=1)
    parameter = learner.model.decoder_norm.weight
    # the loss is a number: only on the way back the gradient overflows
    parameter.register_hook(lambda gradient: gradient * torch.inf)
    with pytest.raises(TrainingDivergedError, match=r"norm of the gradient is (nan|inf) at step 1\. .*none"):
        learner.train()
    assert latest_checkpoint(tmp_path / "run") is None


def test_weights_that_the_optimiser_spoilt_are_not_stored(tmp_path, corpus, config, tokenizer):
    learner = trainer(tmp_path / "run", corpus, config, tokenizer)
    with torch.no_grad():
        learner.model.decoder_norm.weight[0] = float("inf")
    with pytest.raises(TrainingDivergedError, match=r"weights decoder_norm\.weight is inf at step 0"):
        learner.save()
    assert latest_checkpoint(tmp_path / "run") is None


@pytest.mark.parametrize("optimizer", ["adafactor", "adamw"])
def test_a_finished_run_can_be_extended(tmp_path, corpus, config, tokenizer, optimizer):
    changes = {"optimizer": optimizer, "learning_rate": 0.01, "warmup": 2}
    trainer(tmp_path / "run", corpus, config, tokenizer, steps=4, **changes).train()
    trainer(tmp_path / "run", corpus, config, tokenizer, steps=8, **changes).train()
    assert latest_checkpoint(tmp_path / "run").name == "step-0000008"
    assert len(losses(tmp_path / "run")) == 8
    with pytest.raises(CheckpointError, match=r"'steps': \(8, 6\)"):
        trainer(tmp_path / "run", corpus, config, tokenizer, steps=6, **changes)


def test_adafactors_extended_run_equals_one_that_was_planned_so(tmp_path, corpus, config, tokenizer):
    trainer(tmp_path / "whole", corpus, config, tokenizer, steps=8).train()
    for steps in (4, 8):
        trainer(tmp_path / "parts", corpus, config, tokenizer, steps=steps).train()
    assert losses(tmp_path / "parts") == losses(tmp_path / "whole")


def test_adamws_rate_cannot_change_half_way(tmp_path, corpus, config, tokenizer):
    changes = {"optimizer": "adamw", "learning_rate": 0.01}
    begun = trainer(tmp_path / "run", corpus, config, tokenizer, steps=12, **changes)
    for _ in zip(range(5), begun.steps(), strict=False):
        pass
    with pytest.raises(CheckpointError, match=r"'steps': \(12, 20\)"):
        trainer(tmp_path / "run", corpus, config, tokenizer, steps=20, **changes)


def test_a_line_that_a_kill_cut_off_is_forgotten(tmp_path, corpus, config, tokenizer):
    trainer(tmp_path / "run", corpus, config, tokenizer, steps=4).train()
    with (tmp_path / "run" / "train.csv").open("a") as file:
        file.write("5,0,3.1,100,9\r\n6,0,3.")
    trainer(tmp_path / "run", corpus, config, tokenizer, steps=6).train()
    with (tmp_path / "run" / "train.csv").open() as file:
        assert [row["step"] for row in csv.DictReader(file)] == ["1", "2", "3", "4", "5", "6"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("steps", 0),
        ("steps", -5),
        ("accumulation", 0),
        ("positions", 0),
        ("warmup", -1),
        ("learning_rate", -1.0),
        ("learning_rate", 0.0),
        ("learning_rate", math.nan),
        ("clip", -0.1),
        ("clip", math.inf),
        ("validate_every", 0),
        ("checkpoint_every", 0),
        ("keep", -1),
        ("seed", -1),
    ],
)
def test_a_setting_out_of_its_range_is_refused(name, value):
    with pytest.raises(ValueError, match=rf"^{name}={value} must be "):
        replace(SETTINGS, **{name: value})


def test_old_checkpoints_are_dropped(tmp_path, corpus, config, tokenizer):
    trainer(tmp_path / "run", corpus, config, tokenizer, keep=2).train()
    assert sorted(p.name for p in (tmp_path / "run").glob("step-*")) == ["step-0000008", "step-0000012"]


@pytest.mark.parametrize(
    ("change", "message"),
    [({"learning_rate": 0.1}, "other settings"), ({"positions": 512}, "other settings")],
)
def test_a_run_cannot_go_on_with_other_settings(tmp_path, corpus, config, tokenizer, change, message):
    trainer(tmp_path / "run", corpus, config, tokenizer, steps=4).train()
    with pytest.raises(CheckpointError, match=message):
        trainer(tmp_path / "run", corpus, config, tokenizer, steps=4, **change)


def test_a_run_cannot_go_on_with_another_shape(tmp_path, corpus, config, tokenizer):
    trainer(tmp_path / "run", corpus, config, tokenizer, steps=4).train()
    with pytest.raises(CheckpointError, match="another configuration"):
        trainer(tmp_path / "run", corpus, replace(config, decoder_blocks=2), tokenizer, steps=4)


def test_a_run_can_begin_with_the_weights_of_another(tmp_path, corpus, config, tokenizer):
    trainer(tmp_path / "one", corpus, config, tokenizer, steps=4).train()
    first = latest_checkpoint(tmp_path / "one")
    longer = replace(config, dropout=0.2, context_length=config.context_length + 8)

    second = trainer(tmp_path / "two", corpus, longer, tokenizer, begin_with=first, steps=2)
    for name, weight in read_weights(first).items():
        assert torch.equal(dict(second.model.named_parameters())[name], weight), name
    second.train()
    resumed = trainer(tmp_path / "two", corpus, longer, tokenizer, begin_with=first, steps=2)

    own = read_weights(latest_checkpoint(tmp_path / "two"))
    assert (second.step, resumed.step) == (2, 2)
    assert torch.equal(resumed.model.embedding.weight, own["embedding.weight"])
    assert not torch.equal(own["embedding.weight"], read_weights(first)["embedding.weight"])


def test_a_run_cannot_begin_with_another_shape_or_tokenizer(tmp_path, corpus, config, tokenizer):
    trainer(tmp_path / "one", corpus, config, tokenizer, steps=1).train()
    first = latest_checkpoint(tmp_path / "one")
    with pytest.raises(CheckpointError, match=r"has the configuration .* Give its shape"):
        trainer(tmp_path / "two", corpus, replace(config, decoder_blocks=2), tokenizer, begin_with=first)
    other = Tokenizer.train(["some other words", "and more of them"], vocabulary_size=len(tokenizer))
    with pytest.raises(
        CheckpointError, match=r"has another tokenizer than the corpus\. Build the corpus with"
    ):
        trainer(tmp_path / "two", corpus, config, other, begin_with=first)


def test_a_full_disk_leaves_the_old_checkpoint(tmp_path, config, tokenizer):
    weights = Meena(config).state_dict()
    save_checkpoint(tmp_path / "kept", config=config, weights=weights, tokenizer=tokenizer)
    before = read_weights(tmp_path / "kept")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, hard))
    try:
        with pytest.raises(OSError, match="Older ones are intact"):
            save_checkpoint(
                tmp_path / "kept",
                config=config,
                weights={name: weight + 1 for name, weight in weights.items()},
                tokenizer=tokenizer,
            )
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    after = read_weights(tmp_path / "kept")
    assert all(torch.equal(before[name], after[name]) for name in before)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]


@pytest.fixture
def checkpoint(tmp_path, config, tokenizer):
    torch.manual_seed(8)
    weights = Meena(config).state_dict()
    save_checkpoint(tmp_path / "checkpoint", config=config, weights=weights, tokenizer=tokenizer)
    return tmp_path / "checkpoint"


def test_a_checkpoint_computes_what_the_model_did(checkpoint, config):
    torch.manual_seed(8)
    model = Meena(config).eval()
    loaded, _ = load_checkpoint(checkpoint)
    contexts, inputs = torch.tensor([[5, 9, 4]]), torch.tensor([[2, 7, 8]])
    assert torch.equal(loaded(contexts, inputs), model(contexts, inputs))


def test_a_tokenizer_of_another_size_is_refused(checkpoint):
    other = Tokenizer.train(TEXTS * 5, vocabulary_size=38)
    (checkpoint / "tokenizer.model").write_bytes(other.model)
    with pytest.raises(CheckpointError, match="vocabulary of 40 tokens, but its tokenizer has 38"):
        load_checkpoint(checkpoint)


def test_weights_that_do_not_fit_the_configuration_are_refused(checkpoint, config):
    (checkpoint / "config.json").write_text(json.dumps(replace(config, decoder_blocks=2).to_dict()))
    with pytest.raises(CheckpointError, match="the weights do not fit"):
        load_checkpoint(checkpoint)


def test_a_truncated_file_of_weights_is_refused(checkpoint):
    whole = (checkpoint / "model.safetensors").read_bytes()
    (checkpoint / "model.safetensors").write_bytes(whole[:500])
    with pytest.raises(CheckpointError, match="cannot be read"):
        load_checkpoint(checkpoint)


def test_a_folder_without_configuration_is_no_checkpoint(tmp_path):
    with pytest.raises(CheckpointError, match="is not a checkpoint"):
        load_checkpoint(tmp_path)


def brute_force_perplexity(model, pairs):
    total, tokens = 0.0, 0
    for context, response in pairs:
        inputs = [Tokenizer.start, *response[:-1]]
        for i, token in enumerate(response):
            scores = model(torch.tensor([context]), torch.tensor([inputs[: i + 1]]))[0, -1].double()
            total -= float(scores[token] - scores.exp().sum().log())
            tokens += 1
    return math.exp(total / tokens), tokens


def test_perplexity_equals_brute_force(checkpoint, corpus, config):
    model, _ = load_checkpoint(checkpoint)
    some = list(batches(corpus, config, "heldout").in_order())[::6]  # brute force is slow
    measured = perplexity(model, some, torch.device("cpu"))
    value, tokens = brute_force_perplexity(model, [pair for batch in some for pair in pairs_of(batch)])
    assert measured.tokens == tokens
    assert measured.value == pytest.approx(value, rel=1e-4)


def test_perplexity_of_text_equals_that_of_its_shards(tmp_path, checkpoint, tokenizer):
    data = tmp_path / "talk.jsonl"
    data.write_text(json.dumps({"turns": TEXTS}))
    model, _ = load_checkpoint(checkpoint)
    with shards_for(data, tokenizer) as shards:
        measured = perplexity(model, Batches(shards, model.config, 256).in_order(), torch.device("cpu"))
    first, second, third = tokenizer.encode(TEXTS)
    pairs = [([*first, 4], [*second, 3]), ([*first, 4, *second, 4], [*third, 3])]
    assert measured.value == pytest.approx(brute_force_perplexity(model, pairs)[0], rel=1e-4)


def test_nothing_to_measure_is_no_perplexity(checkpoint):
    model, _ = load_checkpoint(checkpoint)
    with pytest.raises(ValueError, match="no held-out pair"):
        perplexity(model, [], torch.device("cpu"))


def test_a_corpus_of_another_tokenizer_is_refused(corpus):
    other = Tokenizer.train(TEXTS * 5, vocabulary_size=38)
    with pytest.raises(ValueError, match="another tokenizer"), shards_for(corpus / "heldout", other):
        pass


def run_processes(number, *arguments):
    """`python -m chatbots meena …` in several processes that torchrun starts."""
    torchrun = [sys.executable, "-m", "torch.distributed.run", "--standalone", f"--nproc-per-node={number}"]
    environment = os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"}
    done = subprocess.run(
        [*torchrun, "-m", "chatbots", "meena", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@PROCESSES
def test_two_processes_learn_what_one_does(tmp_path, capsys, corpus):
    """Two processes with two batches each, against one that accumulates the same four batches."""
    common = [
        "train",
        "--corpus",
        corpus,
        "--preset",
        "tiny",
        "--steps",
        4,
        "--dropout",
        0,
        "--precision",
        "fp32",
    ]
    common += ["--positions", 256, "--checkpoint-every", 2, "--optimizer", "adamw", "--learning-rate", 0.003]
    run_processes(2, *common, "--output", tmp_path / "two", "--accumulation", 2, "--recompute")
    alone = [*map(str, common), "--accumulation", "4"]
    assert main([*alone, "--output", str(tmp_path / "one")]) == 0

    np.testing.assert_allclose(losses(tmp_path / "two"), losses(tmp_path / "one"), rtol=1e-4)
    one, two = (read_weights(tmp_path / run / "step-0000004") for run in ("one", "two"))
    for name in one:
        torch.testing.assert_close(one[name], two[name], atol=2e-3, rtol=0)
    parts = [path.name for path in (tmp_path / "two" / "step-0000002" / "training").iterdir()]
    assert len(parts) == 2  # each process has written its own

    together = losses(tmp_path / "two")
    shutil.rmtree(tmp_path / "two" / "step-0000004")
    assert main([*map(str, common), "--output", str(tmp_path / "two")]) == 2
    assert "so on 4 batches per update, and not on 1. Use as many" in capsys.readouterr().err
    assert main([*alone, "--output", str(tmp_path / "two")]) == 0
    np.testing.assert_allclose(losses(tmp_path / "two"), together, rtol=1e-4)


def test_batches_can_be_prepared_in_advance(corpus, config):
    state = torch.get_rng_state()
    ours = replace(batches(corpus, config), workers=2)
    for found, expected in zip(ours.epoch(1, skip=2), batches(corpus, config).epoch(1, skip=2), strict=True):
        assert all(map(torch.equal, found[:3], expected[:3]))
        assert found.tokens == expected.tokens
    assert torch.equal(torch.get_rng_state(), state)  # which dropout depends on


TWICE = """
import os, shutil, socket, sys
import torch._dynamo
from chatbots.meena.cli import main
from chatbots.meena.training import distillation, loop, parallel

run, *arguments = sys.argv[1:]

def trained():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]
    children = []
    for rank in (0, 1):
        children.append(os.fork())
        if not children[-1]:
            place = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
            place |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            os.environ.update({name: str(value) for name, value in place.items()})
            os._exit(main(arguments))
    for child in children:
        if os.waitpid(child, 0)[1]:
            sys.exit(1)

trained()
shutil.copytree(run, run + "-whole")
shutil.rmtree(run + "/step-0000002")
trained()
"""
"""Train in two processes, forget step 2, train on: all are forked from one that has loaded PyTorch."""


@PROCESSES
def test_two_processes_resume_exactly(tmp_path, corpus):
    # in bf16 where the processor has it, whose weights go round in bf16
    run = tmp_path / "run"
    command = ["train", "--corpus", corpus, "--preset", "tiny", "--steps", 2]
    command += ["--positions", 256, "--checkpoint-every", 1, "--output", run]
    done = subprocess.run(
        [sys.executable, "-c", TWICE, *map(str, (run, *command))],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT), "OMP_NUM_THREADS": "1"},
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert (run / "step-0000002").is_dir()
    assert losses(run) == losses(tmp_path / "run-whole")
