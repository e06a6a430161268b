"""What a seat has read in the prompts of instruction models, and on its way to another process."""

from dataclasses import replace

import pytest

from chatbots.base import Context, Passage
from chatbots.errors import ConfigurationError
from chatbots.instruction_prompts import TEMPLATE, system_of
from chatbots.registry import REGISTRY, create_bot
from tests.chatbots.local_service import Sent, running
from tests.chatbots.tiny_models import save_llama
from turnwise.bots.hosting.remote import decode_context, encode_context

PASSAGES = (
    Passage("Jazz came from New Orleans. Miles Davis played the trumpet.", "Factual Section 1: Jazz"),
    Passage("Owls hunt at night. A group of owls is a parliament."),
)
ASKED = replace(Context.from_texts(["Hi!", "Hello.", "Do owls sleep at night?"], 5), material=PASSAGES)
WHOLE = (
    "Factual Section 1: Jazz\nJazz came from New Orleans. Miles Davis played the trumpet.\n\n"
    "Owls hunt at night. A group of owls is a parliament."
)


def test_the_whole_material_stands_under_its_titles_after_the_system_prompt():
    found = system_of("Be kind.", ASKED, "Read:\n{material}\nEnd.", None)
    assert found == f"Be kind.\n\nRead:\n{WHOLE}\nEnd."
    assert system_of("", ASKED, TEMPLATE, None) == TEMPLATE.replace("{material}", WHOLE)


def test_nothing_is_added_where_there_is_none_or_none_is_wanted():
    assert system_of("Be kind.", replace(ASKED, material=()), TEMPLATE, 2) == "Be kind."
    assert system_of("Be kind.", ASKED, " ", None) == "Be kind."


@pytest.mark.parametrize(
    ("most", "sentences"),
    [
        (1, ["Owls hunt at night."]),
        (2, ["Owls hunt at night.", "A group of owls is a parliament."]),
        (3, ["Jazz came from New Orleans.", "Owls hunt at night.", "A group of owls is a parliament."]),
        (9, [*["Jazz came from New Orleans.", "Miles Davis played the trumpet."],
             "Owls hunt at night.", "A group of owls is a parliament."]),
    ],
)  # fmt: skip
def test_the_nearest_sentences_are_given_in_the_order_of_reading(most, sentences):
    assert system_of("", ASKED, "{material}", most) == "\n".join(sentences)


def test_a_turn_may_hold_braces_and_so_may_what_was_read():
    curly = replace(ASKED, material=(Passage("Use {material} and {x}."),))
    assert system_of("{x}", curly, "{material}", None) == "{x}\n\nUse {material} and {x}."


def test_an_openai_compatible_service_gets_it_in_the_system_prompt(monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")
    seen = []

    def answer(received):
        seen.append(received.json["messages"])
        return Sent({"choices": [{"message": {"content": "Yes."}}], "model": "m"})

    with running(answer) as service:
        settings = {"base_url": service.url, "model": "m", "system": "Be kind."}
        bots = [
            create_bot("openai-chat", settings | more)
            for more in ({}, {"material_sentences": 1}, {"material": ""})
        ]
        for bot in bots:
            bot.respond([ASKED])
            bot.close()

    systems = [messages[0] for messages in seen[3:]]
    assert systems[0] == {"role": "system", "content": f"Be kind.\n\n{TEMPLATE.replace('{material}', WHOLE)}"}
    assert systems[1]["content"].endswith("in your own words.\n\nOwls hunt at night.")
    assert systems[2]["content"] == "Be kind."


def test_a_chat_model_gets_the_nearest_sentences_through_its_template(tmp_path):
    bot = create_bot("huggingface-chat", {"model": save_llama(tmp_path), "material_sentences": 1})
    with_it, without = (
        bot.tokenizer.decode(bot.prompt(context, 900)) for context in (ASKED, replace(ASKED, material=()))
    )
    bare = create_bot(
        "huggingface-chat",
        {"model": str(tmp_path), "system": TEMPLATE.replace("{material}", "Owls hunt at night.")},
    )
    assert with_it == bare.tokenizer.decode(bare.prompt(replace(ASKED, material=()), 900)) != without


@pytest.mark.parametrize("name", ["openai-chat", "huggingface-chat"])
def test_a_template_without_a_place_for_it_is_refused(name, tmp_path):
    needed = {"openai-chat": {"base_url": "https://example.org/v1"}, "huggingface-chat": {}}[name]
    with pytest.raises(ConfigurationError, match=r"has no \{material\}, where the material is to stand"):
        REGISTRY.configuration(name, needed | {"model": "owner/m", "material": "You have read much."})


def test_it_travels_to_a_bot_of_another_process():
    assert decode_context(encode_context(ASKED)) == ASKED
    assert decode_context(encode_context(replace(ASKED, material=()))).material == ()
