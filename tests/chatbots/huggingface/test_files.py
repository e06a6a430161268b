"""What is wrong with a model is told before it is stored or loaded, with the cure."""

import json
import pickle
import re
import shutil
import struct
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from chatbots.base import Context
from chatbots.bots.huggingface import SIZES
from chatbots.errors import ConfigurationError
from chatbots.huggingface.files import content_hash
from chatbots.registry import REGISTRY, create_bot, describe
from tests.chatbots.tiny_models import save_blenderbot, save_gpt2, save_llama


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return save_gpt2(tmp_path_factory.mktemp("models") / "whole")


@pytest.fixture
def folder(whole, tmp_path):
    return Path(shutil.copytree(whole, tmp_path / "model"))


def refused(folder, name="huggingface-causal", **settings):
    """What the registry says before anything is stored."""
    with pytest.raises(ConfigurationError) as caught:
        REGISTRY.configuration(name, {"model": str(folder)} | settings)
    [problem] = caught.value.problems
    assert (problem.field, problem.value) == ("model", str(folder))
    return problem.cure


def refused_when_loaded(folder, name="huggingface-causal", **settings):
    with pytest.raises(ConfigurationError) as caught:
        create_bot(name, {"model": str(folder)} | settings)
    return str(caught.value)


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_pickles_are_refused_with_the_way_to_convert_them(folder):
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")

    assert re.search(r"weights as pickles only \(pytorch_model\.bin\)\. Convert them once", refused(folder))


def test_a_pickle_beside_safetensors_is_never_opened(folder, tmp_path):
    mark = tmp_path / "it was run"
    pickled = f"cos\nsystem\n(S'touch \"{mark}\"'\ntR.".encode()
    for name in ("pytorch_model.bin", "model.pt", "tokenizer.bin"):
        (folder / name).write_bytes(pickled)

    create_bot("huggingface-causal", {"model": str(folder)}).respond([Context.from_texts(["Hi"])])

    assert not mark.exists()
    pickle.loads(pickled)  # as a check that it would have shown
    assert mark.exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("config.json", "has no config.json"),
        ("model.safetensors", "has no model.safetensors. Pickles are not read"),
        ("tokenizer.json", "has no tokenizer"),
    ],
)
def test_a_missing_file_is_named(folder, name, message):
    (folder / name).unlink()

    assert message in refused(folder)


def test_a_missing_folder_is_named(tmp_path):
    assert "is not a folder. Give the one with config.json" in refused(tmp_path / "none")


def test_a_revision_of_a_folder_is_refused(folder):
    settings = {"model": str(folder), "revision": "v9-that-is-not-there"}
    with pytest.raises(ConfigurationError, match=r"revision = v9.*a folder has no revisions"):
        REGISTRY.configuration("huggingface-causal", settings)

    REGISTRY.configuration(
        "huggingface-causal", settings | {"revision": folder.name}
    )  # as in the hub's cache


def test_a_missing_part_of_the_weights_is_named(folder):
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "model-1-of-2.safetensors"}}')

    assert "has no model-1-of-2.safetensors" in refused(folder)


def test_an_index_cannot_point_outside_its_folder(folder):
    (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "../../secret.safetensors"}}')

    assert "has no secret.safetensors" in refused(folder)


@pytest.mark.parametrize(
    "damage",
    [lambda data: data[:-10], lambda data: data[:20], lambda data: b"PK" + data, lambda data: b""],
    ids=["cut off", "only a beginning", "something else", "empty"],
)
def test_damaged_weights_are_told(folder, damage):
    path = folder / "model.safetensors"
    path.write_bytes(damage(path.read_bytes()))

    assert "Fetch it again" in refused(folder)


def test_a_header_that_lies_about_its_length_is_reported(folder):
    (folder / "model.safetensors").write_bytes(struct.pack("<Q", 2**60) + b"{}")

    assert "its header is longer than the file" in refused(folder)


def test_a_damaged_configuration_is_reported(folder):
    (folder / "config.json").write_text("[1]")

    assert "config.json is not an object of JSON" in refused(folder)


def test_a_tokenizer_with_more_tokens_than_embeddings_is_reported(folder):
    rows = json.loads((folder / "config.json").read_text())["vocab_size"]
    edit(folder / "config.json", vocab_size=rows - 5)

    assert f"has a token {rows - 1}, but the weights only {rows - 5} rows" in refused(folder)


def test_the_tokenizer_is_held_against_the_weights_themselves(folder, tmp_path):
    other = save_gpt2(tmp_path / "other", vocab_size=300)
    edit(folder / "config.json", vocab_size=10_000)
    shutil.copy(Path(other) / "model.safetensors", folder)

    assert re.search(r"cannot be loaded as a causal model: .*(size|shape)", refused_when_loaded(folder))


def test_other_files_than_those_meant_are_refused(folder):
    meant = content_hash(folder)
    REGISTRY.configuration("huggingface-causal", {"model": str(folder), "sha256": meant})
    edit(folder / "config.json", initializer_range=0.5)

    assert f"not {meant}. Give the files that were meant" in refused(folder, sha256=meant)


def test_gigabytes_are_not_hashed_again_at_every_look(folder, monkeypatch):
    settings = {"model": str(folder), "sha256": content_hash(folder)}
    read = []
    monkeypatch.setattr("hashlib.file_digest", lambda *arguments: read.append(arguments))

    REGISTRY.configuration("huggingface-causal", settings)

    assert read == []


def test_weights_that_lack_tensors_are_refused_instead_of_made_up(folder):
    weights = load_file(folder / "model.safetensors")
    del weights["transformer.h.1.mlp.c_fc.weight"]
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    assert "lack 1 tensors of config.json, such as transformer.h.1.mlp.c_fc.weight" in (
        refused_when_loaded(folder)
    )


def test_a_model_of_another_kind_is_reported(folder):
    assert "cannot be loaded as a seq2seq model" in refused_when_loaded(folder, "huggingface-seq2seq")


def test_a_model_with_code_of_its_own_is_refused(folder):
    edit(
        folder / "config.json",
        model_type="strange",
        auto_map={"AutoConfig": "code.Config", "AutoModelForCausalLM": "code.Model"},
    )
    (folder / "code.py").write_text("raise SystemExit('it was run')")

    assert "TURNWISE_TRUST_REMOTE_CODE=yes" in refused_when_loaded(folder)


def test_a_model_without_a_chat_template_is_reported(folder):
    assert "it has no chat template" in refused_when_loaded(folder, "huggingface-chat")


@pytest.mark.parametrize("name", ["a/b/c", "a b", "http://hub/x", "a/../b"])
def test_what_is_neither_a_folder_nor_a_name_of_the_hub_is_refused(name):
    assert re.search("neither a folder nor a name of the hub|is not a folder", refused(name))


def test_a_model_that_is_not_here_cannot_be_had_offline():
    message = refused_when_loaded("nobody/nothing", local_files_only=True)

    assert "nobody/nothing at revision main cannot be fetched" in message
    assert "Fetch it once without local_files_only" in message


def test_the_fingerprint_tells_files_apart(folder):
    first = create_bot("huggingface-causal", {"model": str(folder)}).fingerprint()
    weights = load_file(folder / "model.safetensors")
    weights["transformer.ln_f.bias"] += torch.ones(1)
    save_file(weights, folder / "model.safetensors", metadata={"format": "pt"})

    second = create_bot("huggingface-causal", {"model": str(folder)}).fingerprint()

    assert {key for key in first if first[key] != second[key]} == {"model_hash"}
    assert first["libraries"].keys() == {"torch", "transformers", "tokenizers"}


def test_the_memory_needed_is_that_of_the_weights(folder):
    bot = REGISTRY.bot_class("huggingface-causal")
    on_disk = (folder / "model.safetensors").stat().st_size

    for precision, share in (("float32", 1), ("bfloat16", 0.5)):
        configuration = REGISTRY.configuration(
            "huggingface-causal", {"model": str(folder), "precision": precision}
        )
        assert bot.memory_needed(configuration) == pytest.approx(on_disk * share, abs=1)


def test_dialogpt_is_what_the_paper_compared():
    settings = describe("dialogpt").schema["properties"]

    assert settings["size"]["default"] == "762M"
    assert settings["size"]["enum"] == list(SIZES)
    assert (settings["top_k"]["default"], settings["temperature"]["default"]) == (10, 1.0)
    assert "samples" not in settings
    configuration = REGISTRY.configuration("dialogpt", {"size": "117M"})
    assert configuration.source == "microsoft/DialoGPT-small"


@pytest.mark.parametrize(
    ("name", "save"),
    [
        ("huggingface-causal", save_gpt2),
        ("huggingface-chat", save_llama),
        ("huggingface-seq2seq", save_blenderbot),
    ],
)
def test_several_samples_are_ranked_and_become_candidates(name, save, tmp_path):
    bot = create_bot(
        name, {"model": save(tmp_path / "m"), "samples": 4, "most_tokens": 12, "temperature": 0.5}
    )
    contexts = [Context.from_texts(["no dog", "a big cat?"][:n], seed=3) for n in (1, 2)]

    for response in bot.respond(contexts):
        scores = [candidate.score for candidate in response.candidates]
        assert len(scores) == 4
        assert scores == sorted(scores, reverse=True)
        assert response.text == response.candidates[0].text


def test_a_dialogue_longer_than_the_model_can_take_is_answered(whole):
    bot = create_bot("dialogpt", {"model": whole, "most_tokens": 20})

    [response] = bot.respond([Context.from_texts(["I like the red cat." * 5] * 40)])

    assert response.text
