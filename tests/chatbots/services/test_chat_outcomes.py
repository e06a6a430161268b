"""What replies of today's services become: outcomes, reasoning, usage, and the text byte for byte."""

import json

import pytest

from chatbots.base import Context
from chatbots.bots.openai_chat import OpenAIChatBot
from chatbots.errors import ServiceError
from chatbots.hosting.resident import Resident
from chatbots.registry import create_bot
from chatbots.replies import ReplyOutcome, ReplyToken, Usage
from tests.chatbots.local_service import Sent, in_order, running

HI = Context.from_texts(["How are you?"], seed=5)
OK = {"model": "m-1", "choices": [{"message": {"content": "ok"}, "finish_reason": "stop"}]}


@pytest.fixture(autouse=True)
def _this_machine_is_allowed(monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")


def choice(reason="stop", index=0, more=None, **message):
    return {
        "index": index,
        "finish_reason": reason,
        "message": {"role": "assistant", **message},
        **(more or {}),
    }


def answered(*choices, status=200, content=None, usage=None, **settings):
    """The response of a bot whose service gives this answer."""
    given = content or {"model": "m-1", "choices": list(choices), **({"usage": usage} if usage else {})}
    with running(in_order(Sent(OK), Sent(given, status=status))) as service:
        bot = create_bot("openai-chat", {"base_url": service.url, "model": "m", "retries": 0, **settings})
        try:
            [response] = bot.respond([HI])
        finally:
            bot.close()
    return response


def test_a_refusal_is_a_reply():
    response = answered(choice(content=None, refusal="I can't help with that."))

    assert (response.text, response.outcome) == ("I can't help with that.", ReplyOutcome.REFUSED)


def test_a_filtered_reply_names_what_the_filter_found():
    found = {"hate": {"filtered": True, "severity": "high"}, "violence": {"filtered": False}}
    response = answered(choice("content_filter", content="", more={"content_filter_results": found}))

    assert (response.text, response.outcome) == ("", ReplyOutcome.FILTERED)
    assert response.remarks == (
        "openai-chat: a filter of the service withheld the reply or its rest (hate: high)",
    )


def test_a_filtered_prompt_is_a_filtered_reply():
    error = {
        "code": "content_filter",
        "message": "The prompt was filtered",
        "innererror": {"content_filter_result": {"jailbreak": {"filtered": True, "detected": True}}},
    }
    response = answered(status=400, content={"error": error})

    assert (response.text, response.outcome) == ("", ReplyOutcome.FILTERED)
    assert response.remarks == (
        "openai-chat: a filter of the service refused the prompt (jailbreak: detected)",
    )


def test_a_reply_at_its_limit_is_cut():
    response = answered(choice("length", content="The three reasons are first that"))

    assert (response.text, response.outcome) == ("The three reasons are first that", ReplyOutcome.CUT)


def test_tool_calls_are_an_outcome_with_their_names():
    calls = [{"id": str(n), "function": {"name": name, "arguments": "{}"}} for n, name in enumerate("ab")]
    response = answered(choice("tool_calls", content=None, tool_calls=calls))

    assert (response.text, response.outcome) == ("", ReplyOutcome.TOOL_CALL)
    assert response.remarks == ("openai-chat: the model called tools: a, b",)


@pytest.mark.parametrize(
    "message",
    [
        {"content": "<think>They greet me.</think>\nHello! \n"},
        {"content": "\n<think>They greet me.</think>\r\n\r\nHello! \n"},
        {"content": "They greet me.</think>\n\nHello! \n"},
        {"content": "Hello! \n", "reasoning_content": "They greet me."},
        {"content": "Hello! \n", "reasoning": "They greet me."},
        {"content": "Hello! \n", "reasoning": "They greet me.", "reasoning_details": [{"text": "no"}]},
        {"content": "Hello! \n", "reasoning_details": [{"text": "They "}, {"summary": "greet me."}, {}]},
        {
            "content": [
                {"type": "thinking", "thinking": "They greet me."},
                {"type": "text", "text": "Hello! \n"},
            ]
        },
    ],
)
def test_reasoning_is_kept_apart(message):
    response = answered(choice(**message))

    assert (response.text, response.reasoning) == ("Hello! \n", "They greet me.")
    assert response.outcome is ReplyOutcome.COMPLETE


@pytest.mark.parametrize(
    "text",
    [
        "  leading and trailing  \n\n",
        "A <think> in the middle</think> stays",
        "<thinking>is another word</thinking>",
        "It ends with `</think>`, not with a line.",
        "<thi",
        "\n<",
        "\N{GRINNING FACE} \r\n tab\t",
    ],
)
def test_the_text_is_byte_for_byte_what_the_model_wrote(text):
    assert answered(choice(content=text)).text == text


def test_parts_of_text_are_joined_and_others_named():
    parts = [{"type": "text", "text": "Hello"}, {"type": "image_url", "image_url": {}}, "", 7]
    response = answered(choice(content=[*parts, {"type": "text", "text": " there"}]))

    assert response.text == "Hello there"
    assert response.remarks == ("openai-chat: parts that are no text were left out: image_url, a number",)


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (
            {"message": "quota exceeded for this key", "type": "insufficient_quota"},
            "key (insufficient_quota)",
        ),
        ("quota exceeded", "answered with an error: quota exceeded"),
        ({"code": 502}, "{'code': 502}"),
    ],
)
def test_an_error_with_status_200_is_reported_in_the_services_words(error, words):
    response = answered(content={"error": error})

    assert isinstance(response.error, ServiceError)
    assert words in str(response.error)


def test_a_key_in_the_services_words_is_hidden():
    response = answered(content={"error": {"message": "sk-1234 is over its quota"}}, api_key="sk-1234")

    assert "(hidden) is over its quota" in str(response.error)


def test_usage_and_model_are_read():
    usage = {
        "prompt_tokens": 20,
        "completion_tokens": 30,
        "completion_tokens_details": {"reasoning_tokens": 24},
        "prompt_tokens_details": {"cached_tokens": 16.0},
    }
    response = answered(choice(content="Hello!"), usage=usage)

    assert response.usage == Usage(prompt=20, completion=30, reasoning=24, cached=16)
    assert response.model == "m-1"


@pytest.mark.parametrize("number", [-3, "many", True, 1e400, 2**40, [1], 1.5])
def test_a_number_of_tokens_that_cannot_be_one_is_left_out_with_a_remark(number):
    response = answered(choice(content="Hello!"), usage={"prompt_tokens": 9, "completion_tokens": number})

    assert response.usage == Usage(prompt=9)
    [remark] = response.remarks
    assert "as completion_tokens, which is left out" in remark


def test_usage_of_another_shape_is_no_failure():
    response = answered(choice(content="Hello!"), usage="free")

    assert (response.text, response.usage) == ("Hello!", None)


def test_one_empty_choice_does_not_lose_the_other():
    response = answered(choice(content=None), choice(content="Hello", index=1), candidates=2)

    assert (response.text, [each.text for each in response.candidates]) == ("Hello", ["Hello"])
    assert response.remarks == ("openai-chat: 1 of 2 replies had no text",)


def test_choices_are_ranked_by_their_log_probabilities_where_given():
    def logprobs(*values):
        return {"logprobs": {"content": [{"token": "x", "logprob": value} for value in values]}}

    response = answered(
        choice(content="unlikely", more=logprobs(-3.0, -1.0)),
        choice(content="likely", index=1, more=logprobs(-0.5)),
        candidates=2,
        parameters={"logprobs": True},
    )

    assert [(each.text, each.score) for each in response.candidates] == [("likely", -0.5), ("unlikely", -2.0)]
    assert response.text == "likely"


def test_log_probabilities_are_asked_for_and_read():
    def logprobs(token, **others):
        top = [{"token": name, "logprob": value} for name, value in others.items()]
        return {"logprobs": {"content": [{"token": token, "logprob": -0.5, "top_logprobs": top}]}}

    whole = answered(
        choice(content="yes", more=logprobs("yes", yes=-0.5, no=-1.0, never=-1e999, odd="x")),
        log_probabilities=2,
    )
    bare = answered(choice(content="yes", more={"logprobs": {"content": [{"logprob": -1.0}]}}))
    settings = {"base_url": "https://example.org/v1", "model": "m", "log_probabilities": 2}
    asked = OpenAIChatBot.preview(OpenAIChatBot.Configuration(**settings), HI)

    assert whole.tokens == (ReplyToken("yes", (("yes", -0.5), ("no", -1.0))),)
    assert bare.tokens == ()
    assert (asked["logprobs"], asked["top_logprobs"]) == (True, 2)


@pytest.mark.parametrize(
    ("message", "reason", "words"),
    [
        ({"content": "", "reasoning_content": "Well, "}, "length", "used all tokens before it wrote a reply"),
        ({"content": "<think>Well, "}, "length", "used all tokens before it wrote a reply"),
        ({"content": "<think>Well.</think>\n"}, "stop", "sent reasoning without a reply"),
        ({"content": None}, "error", "ended the reply with an error"),
    ],
)
def test_a_reply_of_reasoning_alone_is_reported(message, reason, words):
    assert words in str(answered(choice(reason, **message)).error)


def test_an_unknown_reason_is_remarked():
    response = answered(choice("tired", content="Hello"))

    assert (response.text, response.outcome) == ("Hello", ReplyOutcome.COMPLETE)
    assert response.remarks == ("openai-chat: the service ended the reply with 'tired'",)


def test_halves_of_a_character_do_not_reach_the_text():
    body = json.dumps({"model": "m-1", "choices": [choice(content="HALF")]}).replace("HALF", "a\\ud83d")
    with running(in_order(Sent(OK), Sent(body=body.encode()))) as service:
        bot = create_bot("openai-chat", {"base_url": service.url, "model": "m"})
        [response] = bot.respond([HI])
        bot.close()

    assert response.text == "a\N{REPLACEMENT CHARACTER}"


def test_hosting_passes_on_a_refusal_without_words():
    given = {"model": "m-1", "choices": [choice("content_filter", content=None)]}
    with (
        running(in_order(Sent(OK), Sent(given))) as service,
        Resident("m", lambda: create_bot("openai-chat", {"base_url": service.url, "model": "m"})) as resident,
    ):
        response = resident.respond_now(HI)

    assert (response.text, response.outcome) == ("", ReplyOutcome.FILTERED)
