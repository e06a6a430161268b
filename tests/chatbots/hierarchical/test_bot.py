"""The bots: any trained model by its folder, and the pair of this repository."""

import json
import re

import pytest
import torch

from chatbots.base import Context
from chatbots.bots.hierarchical import SHIPPED
from chatbots.errors import ConfigurationError
from chatbots.hierarchical.batching import collate
from chatbots.hierarchical.model import Hierarchical, count_parameters, load_checkpoint
from chatbots.hierarchical.perplexity import perplexity
from chatbots.registry import REGISTRY, create_bot
from chatbots.training.checkpoint import CheckpointError, save_with_vocabulary
from chatbots.training.vocabulary import Vocabulary
from tests.chatbots.hierarchical.tiny import config

torch.set_num_threads(1)
PAIR = ("vhred", "vhred-ei")
CARD = (SHIPPED / "README.md").read_text()
CONTEXTS = [
    Context.from_texts(texts, seed=seed) for seed, texts in enumerate((["Hi!"], ["a", "", "c"] * 9, [""]))
]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("TURNWISE_MODEL_FOLDERS", str(tmp_path))
    return tmp_path / "model"


def save(folder, architecture, words="abcdefgh"):
    torch.manual_seed(0)
    shape = config(architecture)
    save_with_vocabulary(
        folder, config=shape, weights=Hierarchical(shape).state_dict(), vocabulary=Vocabulary(words)
    )
    return {"checkpoint": str(folder)}


@pytest.mark.parametrize("architecture", ["hred", "vhcr"])
def test_any_trained_model_answers_by_its_folder(folder, architecture):
    settings = save(folder, architecture)
    bot = create_bot("hierarchical", settings | {"batch": 3})

    assert bot.max_batch == 3
    together = bot.respond(CONTEXTS)
    assert [response.text for response in together] == [bot.respond([each])[0].text for each in CONTEXTS]
    for response in together:
        assert response.text == response.candidates[0].text
        assert 1 <= response.usage.completion <= 30
    found = bot.fingerprint()
    assert json.loads(json.dumps(found)) == found
    other = create_bot("hierarchical", save(folder, "vhred") | {"batch": 3})
    assert other.fingerprint()["model"] != found["model"]


def test_only_the_newest_turns_are_read(folder):
    bot = create_bot("hierarchical", save(folder, "hred") | {"history": 2})
    said = [["a", "b", "c"], ["h", "g", "b", "c"], ["b", "d"]]

    one, two, other = (
        response.candidates for response in bot.respond([Context.from_texts(each, 1) for each in said])
    )
    assert [each.score for each in one] == pytest.approx([each.score for each in two], abs=1e-5)
    assert [each.score for each in one] != pytest.approx([each.score for each in other], abs=1e-5)


def test_memory_is_that_of_the_weights_and_of_scores(folder):
    configuration = REGISTRY.configuration("hierarchical", save(folder, "vhred") | {"batch": 10, "beam": 4})
    weights = count_parameters(config("vhred"))["total"]
    assert REGISTRY.bot_class("hierarchical").memory_needed(configuration) == 4 * (weights + 3 * 10 * 4 * 12)


def test_a_folder_without_such_a_model_is_refused(folder):
    with pytest.raises(ConfigurationError, match=r"no model is there\. Train one"):
        REGISTRY.configuration("hierarchical", {"checkpoint": str(folder)})
    with pytest.raises(ConfigurationError, match="is in no folder where models may be"):
        REGISTRY.configuration("hierarchical", {"checkpoint": "/etc"})
    settings = save(folder, "vhred")
    (folder / "vocabulary.json").write_text('["a"]')
    with pytest.raises(CheckpointError, match="is of 12 words, but its vocabulary has 5"):
        create_bot("hierarchical", settings)
    (folder / "vocabulary.json").unlink()
    with pytest.raises(CheckpointError, match=r"has no usable vocabulary\.json"):
        create_bot("hierarchical", settings)
    (folder / "config.json").write_text('{"heads": 2}')
    with pytest.raises(CheckpointError, match="cannot be read as of a hierarchical model"):
        create_bot("hierarchical", settings)


@pytest.fixture(scope="module")
def pair():
    return {name: load_checkpoint(SHIPPED / name) for name in PAIR}


def test_the_pair_is_of_one_shape_and_small(pair):
    (one, words), (two, same) = pair.values()
    assert words.words == same.words
    shape = one.config.to_dict()
    heads = {"emotions", "semantics", "emotion_hidden", "semantic_hidden"}
    assert {key for key, value in two.config.to_dict().items() if value != shape[key]} <= heads
    assert two.config.has_heads
    for name, (model, _) in pair.items():
        assert sum(path.stat().st_size for path in (SHIPPED / name).iterdir()) < 5_000_000
        assert f"{count_parameters(model.config)['total']:,}" in CARD


def test_the_pair_knows_english_from_its_words_in_disorder(pair):
    sentences = ["yes, i love movies.", "i think it was a great movie.", "have you seen the new one?"]
    for model, vocabulary in pair.values():
        question = vocabulary.encode("Do you like movies?", length=30)
        answers = [vocabulary.encode(each, length=30) for each in sentences]
        disorder = [[*answer[-2::-1], answer[-1]] for answer in answers]
        plain, muddled = (
            perplexity(model, [collate([[question, each] for each in some])], samples=20).value
            for some in (answers, disorder)
        )
        assert plain < muddled / 5


def test_the_pair_answers_in_words():
    for name in PAIR:
        bot = create_bot(name, {"choose": "sampled"})
        replies = bot.respond([Context.from_texts(["Do you like music?"], seed=seed) for seed in range(20)])
        texts = [response.text for response in replies]
        assert len(set(texts)) > 10
        assert sum(bool(re.search(r"\b[a-z]+ [a-z]+", text)) for text in texts) > 10
        assert sum(response.usage.completion < 30 for response in replies) > 15
