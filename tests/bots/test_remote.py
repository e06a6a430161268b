"""What travels to a bot in another process arrives as it was sent."""

import msgpack
import pytest

from bots.remote import packed, unpacked_context
from chatbots.base import Context, Drawing, Passage, Speaker, Turn

TURNS = (Turn(Speaker.HUMAN, "Hi!"), Turn(Speaker.BOT, "Hello 🐈"))


@pytest.mark.parametrize(
    "context",
    [
        Context(TURNS),
        Context(TURNS, 7, "of-this-dialogue", (Passage("Cats purr.", "Cats"),), Drawing(400, 0.88)),
    ],
)
def test_a_context_arrives_as_it_was_sent(context: Context) -> None:
    # As the Channels layer writes it.
    sent = msgpack.unpackb(msgpack.packb(packed(context)))

    assert unpacked_context(sent) == context
