"""Shipped bots go on after a reply of theirs that has no text, as a refusal may leave behind."""

import pytest

from chatbots.base import Context, Speaker, Turn
from chatbots.hosting.response_checks import is_blank
from chatbots.registry import REGISTRY

INNER = {"bot": {"adapter": "eliza", "configuration": {}}}
AFTER_A_REFUSAL = Context(
    (
        Turn(Speaker.BOT, "Hi!"),
        Turn(Speaker.HUMAN, "Tell me something about your family."),
        Turn(Speaker.BOT, ""),
        Turn(Speaker.HUMAN, "And what do you like to do?"),
    ),
    seed=7,
)
BOTS = {
    "eliza": {},
    "generic": {},
    "scripted": {},
    "meena-base": {},
    "repetition-filter": INNER,
    "safety-filter": INNER,
    "identity-guard": INNER,
}


@pytest.mark.parametrize("name", [name for name in BOTS if name in REGISTRY.registered_names()])
def test_a_bot_answers_after_an_empty_reply(name: str) -> None:
    bot = REGISTRY.create_bot(name, BOTS[name])
    try:
        (response,) = bot.respond([AFTER_A_REFUSAL])
    finally:
        bot.close()

    assert not is_blank(response.text)  # type: ignore[union-attr]  # a Failure has none, and fails here
