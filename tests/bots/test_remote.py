"""What travels to a bot in another process arrives as it was sent."""

import json

import pytest

from chatbots.base import Context, Drawing, Passage, Speaker, Turn
from turnwise.bots.hosting.remote import decode_context, encode_context

TURNS = (Turn(Speaker.HUMAN, "Hi!"), Turn(Speaker.BOT, "Hello 🐈"))


@pytest.mark.parametrize(
    "context",
    [
        Context(TURNS),
        Context(TURNS, 7, "of-this-dialogue", (Passage("Cats purr.", "Cats"),), Drawing(400, 0.88)),
    ],
)
def test_a_context_arrives_as_it_was_sent(context: Context) -> None:
    # The Channels layer takes what has a form in JSON; lists stand for tuples there.
    sent = json.loads(json.dumps(encode_context(context)))

    assert decode_context(sent) == context
