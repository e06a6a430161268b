"""What every registered bot must do, whatever it is; a new bot is tested here without a line of test."""

import json
import os
from contextlib import ExitStack

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chatbots.base import Context, Kind, Speaker, Turn
from chatbots.bots.hierarchical import SHIPPED
from chatbots.hosting.response_checks import is_blank
from chatbots.registry import REGISTRY, create_bot, describe, registered_names
from chatbots.replies import Response
from chatbots.training.running import DeviceError
from tests.chatbots.local_service import Received, Sent, running
from tests.chatbots.services.protocols import PROTOCOLS, Scripted
from tests.chatbots.tiny_models import save_blenderbot, save_gpt2, save_llama, save_topical_chat

EXAMPLES = 25 if os.environ.get("TURNWISE_SLOW") else 8
"""Of each property and bot: most bots answer in milliseconds, but some by a network or another process."""

LAB = """
class Repeater:
    def handle_messages(self, messages):
        return f"You said {messages[-1]!r}."

class Classifier:
    def asks(self, texts):
        return ["robot" in text for text in texts]
"""
INNER = {"adapter": "eliza", "configuration": {}}
GENERIC = {"adapter": "generic", "configuration": {}}


def speak_every_protocol(received: Received) -> Sent:
    """Answers as any of the services does; the same to the same request."""
    said = received.query.get("input", "")
    if received.json:
        said = str([received.json.get(key) for key in ("messages", "contents", "input", "text")])
    reply = Scripted((f"You said {said}.",))
    for protocol in PROTOCOLS:
        if received.path.startswith(f"/{protocol.adapter}/"):
            return protocol.sent(reply, stream=False)
    return Sent({"reply": reply.text, "sys": reply.text, "output": reply.text, "cs": "c"})


@pytest.fixture(scope="module")
def needs(tmp_path_factory):
    """Bots that need more than their defaults to be made: name → settings."""
    folder = tmp_path_factory.mktemp("every_bot")
    (folder / "repeater.py").write_text(LAB)
    with ExitStack() as stack:
        service = stack.enter_context(running(speak_every_protocol))
        patch = stack.enter_context(pytest.MonkeyPatch.context())
        patch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")
        patch.setenv("TURNWISE_BOT_PATH", str(folder))
        gpt2, small = save_gpt2(folder / "gpt2"), {"most_tokens": 8}
        yield {
            "meena-base": {"samples": 2},
            "meena-beam": {"samples": 2},
            "meena-full": {"samples": 2},
            **{
                protocol.adapter: {"base_url": f"{service.url}/{protocol.adapter}", "model": "m"}
                for protocol in PROTOCOLS
            },
            "http": {"url": service.url},
            "dialcrowd": {"base_url": service.url},
            "cleverbot": {"address": service.url, "api_key": "k"},
            "dialogpt": {"model": gpt2} | small,
            "huggingface-causal": {"model": gpt2, "samples": 2} | small,
            "huggingface-chat": {"model": save_llama(folder / "llama")} | small,
            "huggingface-seq2seq": {"model": save_blenderbot(folder / "blenderbot")} | small,
            "hierarchical": {"checkpoint": str(SHIPPED / "vhred"), "beam": 2},
            "topical-chat": {"checkpoint": save_topical_chat(folder / "topical_chat"), "beam": 2},
            "neural-chat": {"path": "repeater:Repeater"},
            "identity-guard": {"bot": INNER, "classifier": "repeater:Classifier"},
            "repetition-filter": {"bot": INNER},
            "safety-filter": {"bot": INNER},
            "latency-floor": {"bot": INNER},
            "router": {"bots": [INNER, GENERIC], "rules": ["you, @question: generic"]},
            "best-of-several": {"bots": [INNER, GENERIC], "scorer": "overlap"},
            "vote": {"bots": [INNER, GENERIC]},
        }


# A person is asked nothing here.
ANSWERING = [name for name in registered_names() if REGISTRY.bot_class(name).listed_as is not Kind.PERSON]


@pytest.fixture(scope="module", params=ANSWERING)
def bot(request, needs):
    bot = create_bot(request.param, needs.get(request.param))
    yield bot
    bot.close()


COMPUTING = [name for name in ANSWERING if "device" in describe(name).schema["properties"]]


@pytest.mark.parametrize("name", COMPUTING)
def test_a_device_that_is_not_there_is_reported_in_words(name, needs):
    with pytest.raises(
        DeviceError, match=r"device=cuda:77 cannot be used: .*[^.]\. Use cpu, or another host\."
    ):
        create_bot(name, {**needs.get(name, {}), "device": "cuda:77"})


texts = st.one_of(
    st.text(max_size=60), st.sampled_from(["", " ", "👍", "100%", "%1 %2", "I am", "Why?", "I need\n"])
)
turns = st.builds(Turn, st.sampled_from(Speaker), texts)
contexts = st.builds(Context, st.lists(turns, min_size=1, max_size=6).map(tuple), st.integers(0, 2**63))


@given(context=contexts)
@settings(max_examples=EXAMPLES)
def test_answers_any_context_with_something_to_see(bot, context):
    [response] = bot.respond([context])

    assert isinstance(response, Response)
    assert not is_blank(response.text)


@given(context=contexts)
@settings(max_examples=EXAMPLES)
def test_gives_the_same_answer_to_the_same_context_and_seed(bot, context):
    assert bot.respond([context]) == bot.respond([context])


# The same examples each time: in a batch sums are rounded otherwise (VHRED's probabilities by up to 2e-6),
# which tips the choice between two words in one of some hundred thousand draws.
@given(batch=st.lists(contexts, min_size=1, max_size=5))
@settings(max_examples=EXAMPLES, derandomize=True)
def test_answers_a_batch_as_it_answers_each_alone(bot, batch):
    batch = batch[: bot.max_batch]

    together = [response.text for response in bot.respond(batch)]
    assert together == [bot.respond([context])[0].text for context in batch]


def test_has_a_fingerprint_that_is_json_and_equal_for_an_equal_bot(bot, needs):
    fingerprint = bot.fingerprint()
    again = create_bot(bot.name, needs.get(bot.name))

    assert json.loads(json.dumps(fingerprint)) == fingerprint
    assert fingerprint["adapter"] == bot.name
    assert fingerprint == again.fingerprint()
    again.close()


def test_has_a_summary_and_a_description_of_every_setting(bot):
    description = describe(bot.name)

    assert description.summary
    assert all(setting.get("description") for setting in description.schema["properties"].values())
