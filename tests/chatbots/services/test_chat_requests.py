"""What the chat adapters send: roles, system prompt, parameters, headers, keys, and lists of models."""

import re

import pytest

from chatbots.base import Context, Passage, Speaker, Turn
from chatbots.errors import ConfigurationError, ServiceError
from chatbots.registry import REGISTRY, create_bot
from chatbots.replies import ReplyOutcome
from tests.chatbots.local_service import Sent, running
from tests.chatbots.services.protocols import PROTOCOLS, Gemini, Scripted

TURNS = (
    Turn(Speaker.BOT, "Hi!"),
    Turn(Speaker.HUMAN, "How are you?"),
    Turn(Speaker.HUMAN, "Hello?"),
    Turn(Speaker.BOT, "Fine."),
    Turn(Speaker.HUMAN, "Good."),
)
CONTEXT = Context(TURNS, seed=5, material=(Passage("Herons eat fish."),))
BY_NAME = {protocol.adapter: protocol for protocol in PROTOCOLS}
ALTERNATING = [
    {"role": "user", "content": "How are you?\nHello?"},
    {"role": "assistant", "content": "Fine."},
    {"role": "user", "content": "Good."},
]


@pytest.fixture(autouse=True)
def _this_machine_is_allowed(monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")


def requested(adapter, **settings):
    """The second request of a bot, after the one with which it loads."""
    protocol = BY_NAME[adapter]
    with running(lambda received: protocol.sent(Scripted(), stream=True)) as service:
        bot = create_bot(adapter, {"base_url": f"{service.url}/", "model": "m", **settings})
        bot.respond([CONTEXT])
        bot.close()
    return service.received[-1]


SHARED = {
    "system": "Be kind.",
    "material": "Know: {material}",
    "temperature": 0.5,
    "top_p": 0.9,
    "most_tokens": 2000,
    "api_key": "sk-9",
}
SYSTEM = "Be kind.\n\nKnow: Herons eat fish."


def test_anthropic_messages():
    received = requested(
        "anthropic-messages", **SHARED, thinking_tokens=1024, stop=["END"], parameters={"top_k": 3}
    )

    assert received.path == "/messages"
    assert (received.headers["x-api-key"], received.headers["anthropic-version"]) == ("sk-9", "2023-06-01")
    assert received.json == {
        "model": "m",
        "system": SYSTEM,
        "messages": ALTERNATING,
        "max_tokens": 2000,
        "temperature": 0.5,
        "top_p": 0.9,
        "top_k": 3,
        "thinking": {"type": "enabled", "budget_tokens": 1024},
        "stop_sequences": ["END"],
        "stream": True,
    }


def test_gemini():
    received = requested("gemini", **SHARED, thinking_tokens=0, thoughts=True, stop=["END"])

    assert received.path == "/models/m:streamGenerateContent"
    assert received.headers["x-goog-api-key"] == "sk-9"
    assert 0 <= received.json["generationConfig"].pop("seed") < 2**31
    assert received.json == {
        "contents": [
            {
                "role": "model" if message["role"] == "assistant" else "user",
                "parts": [{"text": message["content"]}],
            }
            for message in ALTERNATING
        ],
        "systemInstruction": {"parts": [{"text": SYSTEM}]},
        "generationConfig": {
            "temperature": 0.5,
            "topP": 0.9,
            "maxOutputTokens": 2000,
            "stopSequences": ["END"],
            "thinkingConfig": {"thinkingBudget": 0, "includeThoughts": True},
        },
    }


MESSAGES = [
    {"role": "assistant" if turn.speaker is Speaker.BOT else "user", "content": turn.text} for turn in TURNS
]


def test_ollama():
    received = requested(
        "ollama", **SHARED, think="low", parameters={"options": {"num_ctx": 9}, "keep_alive": 5}
    )

    assert received.path == "/api/chat"
    assert received.headers["authorization"] == "Bearer sk-9"
    assert 0 <= received.json["options"].pop("seed") < 2**31
    assert received.json == {
        "model": "m",
        "messages": [{"role": "system", "content": SYSTEM}, *MESSAGES],
        "options": {"num_ctx": 9, "temperature": 0.5, "top_p": 0.9, "num_predict": 2000},
        "think": "low",
        "keep_alive": 5,
        "stream": True,
    }


def test_openai_responses():
    received = requested("openai-responses", **SHARED, reasoning_effort="low", reasoning_summary="auto")

    assert received.path == "/responses"
    assert received.json == {
        "model": "m",
        "instructions": SYSTEM,
        "input": MESSAGES,
        "temperature": 0.5,
        "top_p": 0.9,
        "max_output_tokens": 2000,
        "reasoning": {"effort": "low", "summary": "auto"},
        "store": False,
        "stream": True,
    }


def test_reasoning_effort_of_chat_completions():
    assert requested("openai-chat", reasoning_effort="minimal").json["reasoning_effort"] == "minimal"


@pytest.mark.parametrize("adapter", BY_NAME)
def test_headers_parameters_and_the_header_of_the_key(adapter):
    received = requested(
        adapter,
        api_key="sk-9",
        key_header="api-key",
        key_prefix="",
        headers={"X-Title": "Small talk"},
        query={"api-version": "2024-10-21"},
    )

    assert received.headers["api-key"] == "sk-9"
    assert "authorization" not in received.headers
    assert received.headers["x-title"] == "Small talk"
    assert received.query["api-version"] == "2024-10-21"


@pytest.mark.parametrize("adapter", BY_NAME)
@pytest.mark.parametrize(
    ("settings", "cure"),
    [
        ({"headers": {"Authorization": "Bearer x"}}, "Use api_key or api_key_variable"),
        ({"headers": {"X-Auth-Token": "x"}}, "Use api_key or api_key_variable"),
        ({"query": {"api-key": "x"}}, "Use api_key or api_key_variable"),
        ({"query": {"key": "x"}}, "Use api_key or api_key_variable"),
        ({"headers": {"Host": "x"}}, "is set by the connection"),
        ({"key_header": "a b"}, "give a text like"),
        ({"key_prefix": "a\r\n"}, "give a text of the form"),
        ({"parameters": {"stream": False}}, "not yours to change"),
    ],
)
def test_a_setting_that_would_show_a_key_or_break_a_request_is_refused(adapter, settings, cure):
    if adapter == "gemini" and "parameters" in settings:
        settings = {"parameters": {"contents": []}}
    with pytest.raises(ConfigurationError) as caught:
        REGISTRY.configuration(adapter, {"base_url": "https://api.example.org", "model": "m", **settings})

    [problem] = caught.value.problems
    assert cure in problem.cure


@pytest.mark.parametrize("adapter", BY_NAME)
def test_nothing_is_sent_to_a_forbidden_address(adapter, monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "10.0.0.0/8")
    with running(lambda received: Sent({})) as service:
        port = service.server.server_port
        with pytest.raises(Exception, match="is not an address of the public internet"):
            create_bot(adapter, {"base_url": f"http://localhost:{port}", "model": "m"})

    assert service.received == []


@pytest.mark.parametrize(
    ("adapter", "path", "answer"),
    [
        ("openai-chat", "/models", {"data": [{"id": "b"}, {"id": "a"}, {"id": 7}, "x"]}),
        ("openai-responses", "/models", {"data": [{"id": "b"}, {"id": "a"}]}),
        ("anthropic-messages", "/models", {"data": [{"id": "b", "type": "model"}, {"id": "a"}]}),
        ("gemini", "/models", {"models": [{"name": "models/a"}, {"name": "models/b"}]}),
        ("ollama", "/api/tags", {"models": [{"name": "b", "model": "b"}, {"name": "a"}]}),
    ],
)
def test_the_models_of_a_service(adapter, path, answer):
    def answers(received):
        return Sent(answer) if received.method == "GET" else BY_NAME[adapter].sent(Scripted(), stream=True)

    settings = {"model": "any", "api_key": "sk-9"}
    with running(answers) as service:
        bot_class = REGISTRY.bot_class(adapter)
        configuration = REGISTRY.configuration(adapter, {"base_url": service.url, **settings})
        names = bot_class.list_models(configuration)

    [received] = service.received
    assert (received.method, received.path, names) == ("GET", path, ["a", "b"])
    assert "sk-9" in str(received.headers)


def test_a_service_without_a_list_of_models_is_reported():
    with running(lambda received: Sent({"x": 1})) as service:
        configuration = REGISTRY.configuration("openai-chat", {"base_url": service.url, "model": "m"})
        with pytest.raises(ServiceError, match=re.escape("without a list of models. Type the model's name")):
            REGISTRY.bot_class("openai-chat").list_models(configuration)


@pytest.mark.parametrize("stream", [True, False])
def test_a_prompt_that_gemini_blocks_is_filtered(stream):
    blocked = {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}, "modelVersion": "m-1"}
    hello = iter([True])

    def answers(received):
        if next(hello, False):
            return Gemini().sent(Scripted(), stream=stream)
        return Sent(parts=[Gemini().encoded(blocked)]) if stream else Sent(blocked)

    with running(answers) as service:
        bot = create_bot("gemini", {"base_url": service.url, "model": "m", "stream": stream})
        [response] = bot.respond([CONTEXT])
        bot.close()

    assert (response.text, response.outcome) == ("", ReplyOutcome.FILTERED)
    assert response.remarks == ("gemini: a filter of the service refused the prompt (PROHIBITED_CONTENT)",)
