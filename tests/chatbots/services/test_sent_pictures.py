"""Pictures in requests: each chat service gets them as its documentation says, after it was told to."""

import base64
from typing import Any

import pytest

from chatbots.base import Context, Speaker, Turn
from chatbots.pictures import Picture
from chatbots.registry import REGISTRY, create_bot
from tests.chatbots.local_service import running
from tests.chatbots.services.protocols import PROTOCOLS, Scripted
from turnwise.bots.hosting.remote import decode_context, encode_context

PICTURE = Picture("image/png", b"\x89PNG picture")
DATA = base64.b64encode(PICTURE.content).decode()
URL = f"data:image/png;base64,{DATA}"
BY_NAME = {protocol.adapter: protocol for protocol in PROTOCOLS}
TURNS = (
    Turn(Speaker.HUMAN, "What is this?", PICTURE),
    Turn(Speaker.BOT, "A heron."),
    Turn(Speaker.HUMAN, "Sure?"),
)
ANSWERED = {"role": "assistant", "content": "A heron."}
LAST = {"role": "user", "content": "Sure?"}

SHOWN: dict[str, tuple[str, list[Any]]] = {
    "openai-chat": (
        "messages",
        [
            {
                "role": "user",
                "content": [
                    {"type": "image_url", "image_url": {"url": URL}},
                    {"type": "text", "text": "What is this?"},
                ],
            },
            ANSWERED,
            LAST,
        ],
    ),
    "openai-responses": (
        "input",
        [
            {
                "role": "user",
                "content": [
                    {"type": "input_image", "image_url": URL},
                    {"type": "input_text", "text": "What is this?"},
                ],
            },
            ANSWERED,
            LAST,
        ],
    ),
    "anthropic-messages": (
        "messages",
        [
            {
                "role": "user",
                "content": [
                    {
                        "type": "image",
                        "source": {"type": "base64", "media_type": "image/png", "data": DATA},
                    },
                    {"type": "text", "text": "What is this?"},
                ],
            },
            ANSWERED,
            LAST,
        ],
    ),
    "gemini": (
        "contents",
        [
            {
                "role": "user",
                "parts": [
                    {"inlineData": {"mimeType": "image/png", "data": DATA}},
                    {"text": "What is this?"},
                ],
            },
            {"role": "model", "parts": [{"text": "A heron."}]},
            {"role": "user", "parts": [{"text": "Sure?"}]},
        ],
    ),
    "ollama": (
        "messages",
        [{"role": "user", "content": "What is this?", "images": [DATA]}, ANSWERED, LAST],
    ),
}


@pytest.fixture(autouse=True)
def _this_machine_is_allowed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")


def requested(adapter: str, turns: tuple[Turn, ...] = TURNS, **settings: Any) -> Any:
    """The JSON of a bot's second request, after the one with which it loads."""
    protocol = BY_NAME[adapter]
    with running(lambda received: protocol.sent(Scripted(), stream=True)) as service:
        bot = create_bot(adapter, {"base_url": f"{service.url}/", "model": "m", **settings})
        bot.respond([Context(turns, seed=5)])
        bot.close()
    return service.received[-1].json


@pytest.mark.parametrize("adapter", sorted(SHOWN))
def test_a_service_that_takes_pictures_gets_them_in_its_own_form(adapter: str) -> None:
    name, messages = SHOWN[adapter]

    assert requested(adapter, pictures=True)[name] == messages


@pytest.mark.parametrize("adapter", sorted(SHOWN))
def test_other_services_get_the_text_alone(adapter: str) -> None:
    assert DATA not in str(requested(adapter))


def test_every_chat_service_is_tried() -> None:
    able = [name for name in BY_NAME if "pictures" in REGISTRY.bot_class(name).Configuration.model_fields]

    assert {*able} == {*SHOWN}


def test_messages_that_become_one_keep_all_pictures() -> None:
    turns = (Turn(Speaker.HUMAN, "This?", PICTURE), Turn(Speaker.HUMAN, "Or this?", PICTURE))

    content = requested("anthropic-messages", turns, pictures=True)["messages"][0]["content"]

    assert [part["type"] for part in content] == ["image", "image", "text"]
    assert content[-1]["text"] == "This?\nOr this?"


def test_old_pictures_are_left_out_with_their_turns() -> None:
    assert DATA not in str(requested("openai-chat", pictures=True, history=2))


def test_a_picture_counts_as_tokens_and_not_as_letters() -> None:
    bot: Any = REGISTRY.bot_class("openai-chat")
    settings = {"base_url": "http://127.0.0.1/v1", "model": "m", "pictures": True, "tokens_per_minute": 10**6}
    made = bot(REGISTRY.configuration("openai-chat", settings), says_hello=False)
    large = Context((Turn(Speaker.HUMAN, "Look", Picture("image/jpeg", bytes(900_000))),))
    expected = made._expected_tokens(made.content(large, False), large)
    made.close()

    assert 1_900 < expected < 2_100


@pytest.mark.parametrize(
    ("adapter", "settings", "sees"),
    [
        ("openai-chat", {"pictures": True}, True),
        ("openai-chat", {}, False),
        ("eliza", None, False),
    ],
)
def test_a_bot_says_whether_it_sees_pictures(adapter: str, settings: Any, sees: bool) -> None:
    service = {"base_url": "http://127.0.0.1/v1", "model": "m"}
    inner = {"adapter": adapter, "configuration": {} if settings is None else service | settings}
    generic = {"adapter": "generic", "configuration": {}}
    made = {
        adapter: inner["configuration"],
        "repetition-filter": {"bot": inner},
        "best-of-several": {"bots": [generic, inner]},
    }

    found = [
        REGISTRY.bot_class(name).sees_pictures(REGISTRY.configuration(name, given))
        for name, given in made.items()
    ]

    assert set(found) == {sees}


def test_pictures_travel_to_bots_in_other_processes() -> None:
    context = Context(TURNS, seed=5)

    assert decode_context(encode_context(context)) == context
