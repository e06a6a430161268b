"""The bot: any trained model by its folder, with what its seat has read."""

import json
from dataclasses import replace

import pytest
import torch

from chatbots.base import Context, Passage
from chatbots.errors import ConfigurationError
from chatbots.knowledge.config import TopicalChatConfig
from chatbots.knowledge.model import count_parameters
from chatbots.registry import REGISTRY, create_bot
from chatbots.training.checkpoint import CheckpointError
from tests.chatbots.tiny_models import save_topical_chat

torch.set_num_threads(1)
ASKED = Context.from_texts(["hi", "ok", "where is the dog?"], seed=3)
READ = replace(ASKED, material=(Passage("The cat is in the barn. The dog is on the roof.", "Animals"),))


def scores(bot, context):
    return [round(candidate.score, 4) for candidate in bot.respond([context])[0].candidates]


def test_what_was_read_changes_what_a_model_with_knowledge_says_and_nothing_else(tmp_path):
    knowing = create_bot("topical-chat", {"checkpoint": save_topical_chat(tmp_path / "knowing")})
    blind = create_bot("topical-chat", {"checkpoint": save_topical_chat(tmp_path / "blind", knowledge=False)})

    assert scores(knowing, ASKED) != scores(knowing, READ)
    # Only the sentence nearest to the question is read.
    nearest = replace(ASKED, material=(Passage("The dog is on the roof."),))
    assert scores(knowing, nearest) == scores(knowing, READ)
    assert scores(blind, ASKED) == scores(blind, READ)
    # With nothing read the two have the same weights and the same scores.
    assert scores(blind, ASKED) == scores(knowing, ASKED)
    together = knowing.respond([ASKED, READ])
    assert [each.text for each in together] == [knowing.respond([c])[0].text for c in (ASKED, READ)]


def test_memory_and_fingerprint_are_of_the_model_in_the_folder(tmp_path):
    settings = {"checkpoint": save_topical_chat(tmp_path / "one"), "batch": 4, "beam": 3}
    configuration = REGISTRY.configuration("topical-chat", settings)
    shape = TopicalChatConfig(vocabulary_size=14, hidden_size=16, feed_forward=16, response_length=6)
    needed = REGISTRY.bot_class("topical-chat").memory_needed(configuration)
    assert needed == 4 * (count_parameters(shape)["total"] + 3 * 4 * 3 * 14)

    bot = create_bot("topical-chat", settings)
    assert bot.max_batch == 4
    found = bot.fingerprint()
    assert json.loads(json.dumps(found)) == found
    (tmp_path / "one" / "config.json").write_text(
        (tmp_path / "one" / "config.json").read_text().replace('"history": 32', '"history": 4')
    )
    assert create_bot("topical-chat", settings).fingerprint()["model"] != found["model"]


def test_a_folder_without_such_a_model_is_refused(tmp_path):
    with pytest.raises(ConfigurationError, match=r"no model is there\. Train one"):
        REGISTRY.configuration("topical-chat", {"checkpoint": str(tmp_path)})
    (tmp_path / "config.json").write_text('{"heads": 3, "emotions": 2}')
    with pytest.raises(CheckpointError, match="cannot be read as of a model of Topical-Chat"):
        create_bot("topical-chat", {"checkpoint": str(tmp_path)})
