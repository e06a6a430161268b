"""What every registered bot must do, whatever it is; a new bot is tested here without a line of test."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbots.base import Context, Response, Speaker, Turn, is_blank
from chatbots.registry import create_bot, describe, registered_names

# Bots that need more than their defaults to be made: name → settings.
SETTINGS = {"meena-base": {"samples": 2}, "meena-full": {"samples": 2}}
BOTS = {name: create_bot(name, SETTINGS.get(name)) for name in registered_names()}

texts = st.one_of(
    st.text(max_size=60), st.sampled_from(["", " ", "👍", "100%", "%1 %2", "I am", "Why?", "I need\n"])
)
turns = st.builds(Turn, st.sampled_from(Speaker), texts)
contexts = st.builds(Context, st.lists(turns, min_size=1, max_size=6).map(tuple), st.integers(0, 2**63))

every_bot = pytest.mark.parametrize("bot", BOTS.values(), ids=BOTS.keys())


@every_bot
@given(context=contexts)
@settings(deadline=None, max_examples=25)
def test_answers_any_context_with_something_to_see(bot, context):
    [response] = bot.respond([context])

    assert isinstance(response, Response)
    assert not is_blank(response.text)


@every_bot
@given(context=contexts)
@settings(deadline=None, max_examples=25)
def test_gives_the_same_answer_to_the_same_context_and_seed(bot, context):
    assert bot.respond([context]) == bot.respond([context])


@every_bot
@given(batch=st.lists(contexts, min_size=1, max_size=5))
@settings(deadline=None, max_examples=25)
def test_answers_a_batch_as_it_answers_each_alone(bot, batch):
    batch = batch[: bot.max_batch]

    together = [response.text for response in bot.respond(batch)]
    assert together == [bot.respond([context])[0].text for context in batch]


@every_bot
def test_has_a_fingerprint_that_is_json_and_equal_for_an_equal_bot(bot):
    fingerprint = bot.fingerprint()

    assert json.loads(json.dumps(fingerprint)) == fingerprint
    assert fingerprint["adapter"] == bot.name
    assert fingerprint == create_bot(bot.name, SETTINGS.get(bot.name)).fingerprint()


@every_bot
def test_has_a_summary_and_a_description_of_every_setting(bot):
    description = describe(bot.name)

    assert description.summary
    assert all(setting.get("description") for setting in description.schema["properties"].values())
