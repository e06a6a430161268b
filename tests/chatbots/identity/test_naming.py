"""Which replies name the chatbot or its maker."""

import pytest

from chatbots.bots.identity_guard import IdentityGuardBot
from chatbots.identity.name_leaks import named, named_among, names_of
from chatbots.identity.replies import Reply, categorise

INNER = {"adapter": "openai-chat", "configuration": {"model": "acme/wonder-7b"}}
NAMES = names_of("Small Meena (full)", "meena-full", {"maker": "Example University", "bot": INNER})


def test_a_bot_is_known_by_title_short_name_model_and_maker_also_inside_a_wrapper():
    shown = ("Small Meena (full)", "Small Meena", "meena-full", "meena full")
    assert NAMES.system == (*shown, "acme/wonder-7b", "wonder-7b")
    assert NAMES.makers == ("Example University",)


@pytest.mark.parametrize(
    ("reply", "what", "words"),
    [
        ("My name is Small Meena.", "system", "Small Meena"),
        ("I run as Wonder-7B here.", "system", "Wonder-7B"),
        ("I\u2019m Claude, nice to meet you.", "system", "I'm Claude"),
        ("Hi, this is Alexa.", "system", "this is Alexa"),
        ("I asked ChatGPT yesterday.", "system", "ChatGPT"),
        ("I was trained by Google.", "maker", "I was trained by Google"),
        ("As an AI language model developed by OpenAI, I cannot.", "maker", "OpenAI"),
        ("I'm an assistant from Amazon.", "maker", "assistant from Amazon"),
        ("I am a chatbot made by Example University.", "maker", "Example University"),
        ("I was built by Initech.", "maker", "I was built by Initech"),
    ],
)
def test_a_reply_that_names_it_is_found_with_the_words(reply, what, words):
    found = named(reply, NAMES)

    assert found
    assert (found.what, reply.replace("\u2019", "'")[found.start : found.end]) == (what, words)


@pytest.mark.parametrize(
    "reply",
    [
        "I am a chatbot, a computer program.",
        "I love Google Maps and apples.",
        "I'm at Google now.",
        "My friend Claude is nice, and I am reading about Meta.",
        "That film was made by Pixar.",
        "I was made by people in a lab.",
        "I am a Gemini, so I like to talk.",
        "I was born in Pisa. I'm a big fan of apple pie.",
        "",
        "\U0001f600" * 4_000,
        "i was made by the " * 1_000,
    ],
)
def test_a_reply_that_names_neither_is_not_found(reply):
    assert named(reply, NAMES) is None


def test_a_bot_of_one_common_word_is_named_only_where_it_speaks_of_itself():
    names = names_of("Parrot", "parrot")

    assert named("My aunt has a parrot.", names) is None
    assert named("Call me Parrot!", names)
    assert named("Parrot.", names)


def test_the_default_answer_of_the_guard_names_no_maker_and_gives_the_purpose():
    answer = IdentityGuardBot.Configuration(bot={"adapter": "eliza", "configuration": {}}).answer()

    assert named(answer, NAMES) is None
    assert categorise(answer).category is Reply.TWO_PART


def test_a_search_of_many_replies_equals_a_search_of_each() -> None:
    replies = [
        "Hello there.", "I am Small Meena!", "", "meena-full.", "I was made by Acme Labs.", "It stood by me.",
        "ChatGPT said so, ChatGPT did.", "I\u2019m Claude, Claude.", "x" * 5_000 + " ChatGPT",
        "STRASSE by Straße", "OpenAI", "Bye.",
    ]  # fmt: skip

    found = named_among(replies, NAMES)

    assert found == {nth: named(each, NAMES) for nth, each in enumerate(replies) if named(each, NAMES)}
    assert {6, 10} <= set(found)
    assert not {0, 2, 8, 11} & set(found)
    assert named_among([], NAMES) == {}
