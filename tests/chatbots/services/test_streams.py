"""Streamed replies, good and bad, against a real server."""

import json
import threading

import pytest

from chatbots.base import Context
from chatbots.hosting.resident import Resident
from chatbots.registry import create_bot
from chatbots.replies import Failure, ReplyOutcome, ReplyToken, Usage
from chatbots.services.answering import ServiceAnswering
from tests.chatbots.local_service import Sent, in_order, running

HI = Context.from_texts(["How are you?"], seed=5)
EVENTS = {"Content-Type": "text/event-stream"}


@pytest.fixture(autouse=True)
def _this_machine_is_allowed(monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")


def chunk(reason=None, *, index=0, **delta):
    choices = [{"index": index, "delta": delta, "finish_reason": reason}]
    return event({"object": "chat.completion.chunk", "model": "m-1", "choices": choices})


def event(content):
    return f"data: {json.dumps(content)}\n\n".encode()


DONE = b"data: [DONE]\n\n"
HELLO = Sent(parts=[chunk(content="ok"), chunk("stop"), DONE], headers=EVENTS)


def sent(*parts, **more):
    return Sent(parts=parts, headers=EVENTS, **more)


def outcome_of(*answers, hello=HELLO, **settings):
    """The response or failure of a bot that gets these answers, and the texts that it showed."""
    with running(in_order(hello, *answers)) as service:
        bot = create_bot("openai-chat", {"base_url": service.url, "model": "m", "retries": 0, **settings})
        answering = bot.answering()
        [key] = answering.admit([HI])
        shown, done = [], {}
        while not done:
            done = answering.step()
            shown += answering.partial_texts().values()
        bot.close()
    return done[key], shown, service


def test_a_reply_grows_while_it_is_received():
    steps = [threading.Event(), threading.Event()]
    usage = {"choices": [], "usage": {"prompt_tokens": 4, "completion_tokens": 3}, "model": "m-1"}
    answer = sent(
        chunk(role="assistant", content=""),
        chunk(content="Hel"),
        steps[0],
        chunk(content="lo"),
        steps[1],
        chunk("stop"),
        event(usage),
        DONE,
    )
    with running(in_order(HELLO, answer)) as service:
        bot = create_bot("openai-chat", {"base_url": service.url, "model": "m"})
        answering = bot.answering()
        [key] = answering.admit([HI])
        for text, step in zip(("Hel", "Hello"), steps, strict=True):
            while not (grown := answering.partial_texts()):
                assert answering.step() == {}
            assert grown == {key: text}
            step.set()
        while not (done := answering.step()):
            pass
        bot.close()

    response = done[key]
    assert (response.text, response.outcome, response.model) == ("Hello", ReplyOutcome.COMPLETE, "m-1")
    assert response.usage == Usage(prompt=4, completion=3)
    assert response.first_seconds > 0
    assert response.remarks == ()
    assert service.received[-1].headers["accept"] == "text/event-stream"


def test_log_probabilities_come_with_their_parts():
    def part(text):
        logprobs = {"content": [{"token": text, "logprob": -0.25}]}
        return event({"choices": [{"index": 0, "delta": {"content": text}, "logprobs": logprobs}]})

    response, _, _ = outcome_of(sent(part("Hel"), part("lo"), chunk("stop"), DONE))

    assert response.tokens == (ReplyToken("Hel", (("Hel", -0.25),)), ReplyToken("lo", (("lo", -0.25),)))


def test_no_part_of_an_open_think_block_is_shown():
    deltas = ["\n", "<th", "ink>They", " greet </", "me.</thi", "nk>", "\n", "\nHello", "!"]
    response, shown, _ = outcome_of(sent(*[chunk(content=delta) for delta in deltas], chunk("stop"), DONE))

    assert (response.text, response.reasoning) == ("Hello!", "They greet </me.")
    assert set(shown) <= {"Hello", "Hello!"}


def test_reasoning_and_refusal_come_in_parts():
    parts = [
        chunk(reasoning_content="Is it "),
        chunk(reasoning_content="safe?"),
        chunk(refusal="I "),
        chunk(refusal="can't."),
    ]
    response, _, _ = outcome_of(sent(*parts, chunk("stop"), DONE))

    assert (response.text, response.reasoning) == ("I can't.", "Is it safe?")
    assert response.outcome is ReplyOutcome.REFUSED


def test_the_name_of_a_tool_comes_once():
    first = {"index": 0, "id": "c", "function": {"name": "weather", "arguments": ""}}
    rest = {"index": 0, "function": {"arguments": "{}"}}
    response, _, _ = outcome_of(
        sent(chunk(tool_calls=[first]), chunk(tool_calls=[rest]), chunk("tool_calls"), DONE)
    )

    assert response.outcome is ReplyOutcome.TOOL_CALL
    assert response.remarks == ("openai-chat: the model called tools: weather",)


@pytest.mark.parametrize("size", [1, 2, 7, 1000])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
def test_bytes_may_be_divided_anywhere(size, end):
    text = "Grüße, \N{GRINNING FACE} 你好"
    raw = json.dumps(
        {"model": "m-1", "choices": [{"index": 0, "delta": {"content": text}}]}, ensure_ascii=False
    )
    body = b": comment\n\n" + f"data: {raw}\n\n".encode() + b"id: 7\n" + chunk("stop") + DONE
    body = body.replace(b"\n", end)
    response, _, _ = outcome_of(sent(*[body[n : n + size] for n in range(0, len(body), size)]))

    assert response.text == text


def test_a_character_whose_halves_come_in_two_events_is_joined():
    halves = [chunk(content="HALF").replace(b"HALF", half) for half in (b"a\\ud83d", b"\\ude00b")]
    response, shown, _ = outcome_of(sent(halves[0], 0.05, halves[1], chunk("stop"), DONE))

    assert response.text == "a\N{GRINNING FACE}b"
    assert not any("\ud83d" in text for text in shown)


def test_a_stream_without_its_mark_of_the_end_is_complete():
    response, _, _ = outcome_of(sent(chunk(content="Hello"), chunk("stop")))

    assert (response.text, response.remarks) == ("Hello", ())


def test_two_final_events_count_once():
    answer = sent(chunk(content="Hello"), chunk("stop"), chunk("length", content="Hello"), DONE)
    response, _, _ = outcome_of(answer)

    assert (response.text, response.outcome) == ("Hello", ReplyOutcome.COMPLETE)
    assert "openai-chat: the service sent two final events; the first one counts" in response.remarks


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (sent(), "ended its answer before the reply was complete, after nothing"),
        (sent(b": waiting\n\n"), "after nothing"),
        (sent(chunk(content="Hello")), "after 5 characters"),
        (sent(chunk(content="Hello"), breaks=True), "broke the connection"),
        (
            sent(chunk(content="Gr"), 'data: {"choices": "ü'.encode()[:-1]),
            "ended in the middle of a character",
        ),
        (sent(b'data: {"choices": "\xff\xff"}\n\n'), "sent broken UTF-8"),
        (sent(chunk(content="Hello"), b"data: {oops}\n\n", DONE), "sent an event that is no JSON: {oops}"),
        (sent(chunk(content="Hel"), event({"error": {"message": "overloaded"}})), "an error: overloaded"),
        (sent(chunk(content="Hel"), event([1])), "answered a list instead of an object"),
        (sent(b"data: " + b"x" * 1_100_000), "sent more than 1,000,000 bytes in one event"),
        (sent(b"<html>no</html>"), "after nothing"),
        (sent(chunk("stop"), DONE), "has nothing in message.content"),
    ],
)
def test_a_broken_stream_is_reported(answer, words):
    outcome, _, _ = outcome_of(answer)

    assert isinstance(outcome, Failure)
    assert words in str(outcome.error)


def test_a_stream_that_never_ends_is_cut_with_its_text():
    line = chunk(content="x" * 50_000)
    response, _, _ = outcome_of(sent(*[line] * 200), timeout=60)  # 10 MB

    assert response.outcome is ReplyOutcome.CUT
    assert set(response.text) == {"x"}
    assert len(response.text) > 7_000_000
    assert "sent more than 8,000,000 bytes" in response.remarks[0]


def test_damage_after_the_final_event_loses_nothing():
    response, _, _ = outcome_of(sent(chunk(content="Hello"), chunk("stop"), b"data: {oops}\n\n", DONE))

    assert response.text == "Hello"
    assert "after the final event: " in response.remarks[0]


def test_a_connection_that_breaks_after_the_final_event_loses_nothing():
    response, _, _ = outcome_of(sent(chunk(content="Hello"), chunk("stop"), breaks=True))

    assert response.text == "Hello"
    assert "broke the connection" in response.remarks[0]


def test_a_stream_that_says_nothing_ends_at_the_time_limit():
    outcome, _, _ = outcome_of(sent(60.0), timeout=0.5)

    assert "did not answer within 0.5 s" in str(outcome.error)


def test_a_service_that_does_not_end_its_stream_is_not_waited_for(monkeypatch):
    monkeypatch.setattr("chatbots.services.reception.SECONDS_AFTER_FINAL", 0.1)
    response, _, _ = outcome_of(sent(chunk(content="Hello"), chunk("stop"), 60.0), timeout=30)

    assert response.text == "Hello"
    assert response.remarks == ("openai-chat: the service did not end its stream after the final event",)


def test_the_connection_is_used_again_after_a_stream():
    ports = set()

    def answer(received):
        ports.add(received.port)
        return HELLO

    with running(answer) as service:
        bot = create_bot("openai-chat", {"base_url": service.url, "model": "m"})
        for _ in range(3):
            bot.respond([HI])
        bot.close()

    assert len(ports) == 1


def whole(text="Hello"):
    return Sent({"model": "m-1", "choices": [{"message": {"content": text}, "finish_reason": "stop"}]})


def test_a_service_that_ignores_the_wish_to_stream_is_understood():
    response, _, _ = outcome_of(whole())

    assert (response.text, response.remarks, response.first_seconds) == ("Hello", (), None)


@pytest.mark.parametrize("status", [400, 422])
def test_a_service_that_refuses_the_usage_still_streams(status):
    def answer(received):
        if "stream_options" in received.json:
            return Sent({"error": "unknown parameter stream_options"}, status=status)
        return HELLO

    with running(answer) as service:
        bot = create_bot("openai-chat", {"base_url": service.url, "model": "m"})
        [response] = bot.respond([HI])
        asked = len(service.received)
        bot.close()

    assert (response.text, response.remarks) == ("ok", ())
    assert response.first_seconds is not None
    assert asked == 3  # the refusal is remembered


def test_a_service_that_refuses_streams_answers_whole_with_a_remark():
    def answer(received):
        return Sent({"error": "stream is not supported"}, status=400) if received.json["stream"] else whole()

    with running(answer) as service:
        bot = create_bot("openai-chat", {"base_url": service.url, "model": "m"})
        [response] = bot.respond([HI])
        bot.close()

    assert (response.text, response.first_seconds) == ("Hello", None)
    [remark] = response.remarks
    assert "not streamed, the service refused it" in remark
    assert "stream is not supported" in remark


def test_another_refusal_is_no_reason_to_stop_streaming():
    outcome, _, service = outcome_of(Sent({"error": "the upstream model is unknown"}, status=404), whole())

    assert "404" in str(outcome.error)
    assert len(service.received) == 2


def test_streams_can_be_switched_off():
    response, shown, service = outcome_of(whole(), hello=whole(), stream=False)

    assert (response.text, shown, response.first_seconds) == ("Hello", [], None)
    assert service.received[-1].json["stream"] is False


def test_a_cancelled_reply_closes_its_connection():
    with running(
        in_order(HELLO, sent(chunk(content="Hel"), *[0.02, chunk(content="x" * 10_000)] * 500))
    ) as service:
        bot = create_bot("openai-chat", {"base_url": service.url, "model": "m"})
        answering = bot.answering()
        keys = answering.admit([HI])
        while not answering.partial_texts():
            answering.step()
        answering.cancel(keys)
        assert isinstance(answering, ServiceAnswering)
        assert answering.room == bot.max_batch
        assert answering.step() == {}
        service.over.wait(1)
        bot.close()

    assert service.lost == 1


def test_a_resident_returns_the_streamed_reply():
    with (
        running(
            in_order(HELLO, sent(chunk(content="Hel"), 0.05, chunk(content="lo"), chunk("stop"), DONE))
        ) as service,
        Resident("m", lambda: create_bot("openai-chat", {"base_url": service.url, "model": "m"})) as resident,
    ):
        assert resident.respond_now(HI).text == "Hello"


def test_a_model_that_only_closes_its_reasoning_never_shows_it():
    """The greeting of loading shows what the model does; from then on no text is shown before its end."""
    hello = Sent(parts=[chunk(content="They greet.</think>Hi"), chunk("stop"), DONE], headers=EVENTS)
    answer = sent(chunk(content="They ask "), chunk(content="me.</think>\n\nFine!"), chunk("stop"), DONE)

    response, shown, _ = outcome_of(answer, hello=hello)

    assert (response.text, response.reasoning) == ("Fine!", "They ask me.")
    assert shown == []
