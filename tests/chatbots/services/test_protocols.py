"""Every chat adapter against a server that speaks its protocol: outcomes, streams and faults."""

import pytest

from chatbots.base import Context
from chatbots.errors import ServiceError
from chatbots.registry import create_bot
from chatbots.replies import Failure, ReplyOutcome, Usage
from tests.chatbots.local_service import Sent, running
from tests.chatbots.services.protocols import PROTOCOLS, Scripted

HI = Context.from_texts(["Hi!", "Hello", "How are you?"], seed=5)
FORMS = pytest.mark.parametrize("stream", [True, False], ids=["stream", "whole"])


@pytest.fixture(autouse=True)
def _this_machine_is_allowed(monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")


@pytest.fixture(params=PROTOCOLS, ids=lambda protocol: protocol.adapter)
def protocol(request):
    return request.param


def exchanged(protocol, answer, *, stream=True, context=HI, **settings):
    """The outcome, the texts shown and the last request; `answer` gives what follows the first request."""
    hello = iter([True])

    def answers(received):
        assert protocol.wishes_stream(received) == stream
        return protocol.sent(Scripted(), stream=stream) if next(hello, False) else answer

    given = {"model": "m", "stream": stream, "retries": 0, **settings}
    with running(answers) as service:
        bot = create_bot(protocol.adapter, {"base_url": service.url, **given})
        answering = bot.answering()
        [key] = answering.admit([context])
        shown, done = [], {}
        while not done:
            done = answering.step()
            shown += answering.partial_texts().values()
        bot.close()
    return done[key], shown, service.received[-1]


@FORMS
def test_a_reply_with_reasoning_usage_and_model(protocol, stream):
    reply = Scripted(("Hel", "lo! \n"), reasoning=("They ", "greet me."))
    response, shown, _ = exchanged(protocol, protocol.sent(reply, stream=stream), stream=stream)

    assert (response.text, response.reasoning) == ("Hello! \n", "They greet me.")
    assert (response.outcome, response.model) == (ReplyOutcome.COMPLETE, "m-1")
    assert response.usage == Usage(
        20, 30, 24 if protocol.counts_reasoning else None, 5 if protocol.counts_cached else None
    )
    assert response.remarks == ()
    assert all("Hello! \n".startswith(text) for text in shown)
    assert (response.first_seconds is None) != stream


def those_with(*outcomes):
    """Each protocol that knows an outcome, with it."""
    pairs = [
        (protocol, outcome) for protocol in PROTOCOLS for outcome in outcomes if outcome in protocol.ends
    ]
    return [pytest.param(*pair, id=f"{pair[0].adapter}-{pair[1]}") for pair in pairs]


@FORMS
@pytest.mark.parametrize(
    ("protocol", "outcome"), those_with(ReplyOutcome.CUT, ReplyOutcome.FILTERED), indirect=["protocol"]
)
def test_a_reply_without_its_end(protocol, outcome, stream):
    reply = Scripted(outcome=outcome)
    response, _, _ = exchanged(protocol, protocol.sent(reply, stream=stream), stream=stream)

    assert (response.text, response.outcome) == ("Hello!", outcome)
    assert len(response.remarks) == (outcome is ReplyOutcome.FILTERED)


@FORMS
@pytest.mark.parametrize(("protocol", "outcome"), those_with(ReplyOutcome.REFUSED), indirect=["protocol"])
def test_a_refusal(protocol, outcome, stream):
    reply = Scripted((), outcome=outcome, refusal="I can't help with that.")
    response, _, _ = exchanged(protocol, protocol.sent(reply, stream=stream), stream=stream)

    assert (response.text, response.outcome) == ("I can't help with that.", ReplyOutcome.REFUSED)


@FORMS
@pytest.mark.parametrize("texts", [(), ("Let me ", "look.")])
def test_a_call_of_a_tool(protocol, stream, texts):
    reply = Scripted(texts, outcome=ReplyOutcome.TOOL_CALL, tool="weather")
    response, _, _ = exchanged(protocol, protocol.sent(reply, stream=stream), stream=stream)

    assert (response.text, response.outcome) == ("".join(texts), ReplyOutcome.TOOL_CALL)
    assert response.remarks == (f"{protocol.adapter}: the model called tools: weather",)


@FORMS
def test_a_think_block_of_an_open_model(protocol, stream):
    reply = Scripted(("<thi", "nk>They greet me.", "</think>\n\n", "Hello!"))
    response, shown, _ = exchanged(protocol, protocol.sent(reply, stream=stream), stream=stream)

    assert (response.text, response.reasoning) == ("Hello!", "They greet me.")
    assert not any("think" in text for text in shown)


@FORMS
@pytest.mark.parametrize("tokens", [-7, "many", None])
def test_usage_that_cannot_be_one(protocol, stream, tokens):
    response, _, _ = exchanged(protocol, protocol.sent(Scripted(tokens=tokens), stream=stream), stream=stream)

    assert response.text == "Hello!"
    assert response.usage.prompt == 20
    assert len(response.remarks) == (tokens is not None)


@FORMS
def test_an_error_with_status_200(protocol, stream):
    outcome, _, _ = exchanged(protocol, Sent(protocol.error("quota exceeded")), stream=stream)

    assert isinstance(outcome, Failure)
    assert "answered with an error: quota exceeded" in str(outcome.error)


def without_end(protocol):
    """The parts of a stream before the first that ends the text."""
    parts = protocol.parts(Scripted())
    return parts[: next(n for n, part in enumerate(parts) if b"lo!" in part) + 1]


def test_an_error_in_the_middle_of_a_stream(protocol):
    error = protocol.encoded(protocol.error("overloaded"))
    outcome, _, _ = exchanged(protocol, Sent(parts=[*without_end(protocol), error]))

    assert "answered with an error: overloaded" in str(outcome.error)


@pytest.mark.parametrize(
    ("more", "breaks", "words"),
    [
        ([], False, "ended its answer before the reply was complete, after 6 characters"),
        ([], True, "broke the connection"),
        ([b'data: {"x": "\xc3'], False, "ended in the middle of a character"),
        ([b"data: {oops}\n\n"], False, "no JSON"),
    ],
)
def test_a_stream_that_breaks(protocol, more, breaks, words):
    more = [part.removeprefix(b"data: ") if protocol.adapter == "ollama" else part for part in more]
    outcome, _, _ = exchanged(protocol, Sent(parts=[*without_end(protocol), *more], breaks=breaks))

    assert isinstance(outcome.error, ServiceError)
    assert words in str(outcome.error)


def test_a_stream_that_says_nothing(protocol):
    outcome, _, _ = exchanged(protocol, Sent(parts=[]))

    assert "ended its answer before the reply was complete, after nothing" in str(outcome.error)


def test_two_final_events(protocol):
    parts = [part for part in protocol.parts(Scripted()) if b"[DONE]" not in part]
    response, _, _ = exchanged(protocol, Sent(parts=[*parts, *parts[-3:]]))

    assert response.text.startswith("Hello!")
    assert response.outcome is ReplyOutcome.COMPLETE


def test_a_stream_of_ten_megabytes(protocol):
    parts = protocol.parts(Scripted(("x" * 50_000,)))
    long = next(part for part in parts if len(part) > 50_000)
    outcome, _, _ = exchanged(protocol, Sent(parts=[*parts[: parts.index(long)], *[long] * 200]), timeout=60)

    assert outcome.outcome is ReplyOutcome.CUT
    assert set(outcome.text) == {"x"}
    assert "sent more than 8,000,000 bytes" in outcome.remarks[0]


def test_a_whole_answer_of_ten_megabytes(protocol):
    answer = protocol.sent(Scripted(("x" * 10_000_000,)), stream=False)
    outcome, _, _ = exchanged(protocol, answer, stream=False, timeout=60)

    assert "sent more than 1,000,000 bytes" in str(outcome.error)


def test_the_key_is_hidden_in_the_services_words(protocol):
    outcome, _, received = exchanged(protocol, Sent(protocol.error("sk-77 is wrong")), api_key="sk-77")

    assert "(hidden) is wrong" in str(outcome.error)
    assert "sk-77" in str(received.headers)
    assert "sk-77" not in str(received.json)
