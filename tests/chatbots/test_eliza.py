import random

import pytest

from chatbots.base import Context
from chatbots.registry import create_bot


@pytest.fixture(scope="module")
def eliza():
    return create_bot("eliza")


def answers(bot, *texts):
    """What the bot says to this context over many seeds."""
    contexts = [Context.from_texts(texts, seed) for seed in range(60)]
    return {bot.respond([context])[0].text for context in contexts}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        # the rule "Why (.*)" of the script, with "my" and "me" seen from the other side
        (
            "Why does my mother hate me?",
            {
                "Why don't you tell me the reason why does your mother hate you?",
                "Why do you think does your mother hate you?",
            },
        ),
        # "You're (.*)", typed with the apostrophe of a phone
        (
            "You\u2019re Bob",
            {"Why do you say I am Bob?", "Why do you think I am Bob?", "Are we talking about you, or me?"},
        ),
        # only the last sentence counts
        ("I am sad. Yes!", {"You seem quite sure.", "OK, but can you elaborate a bit?"}),
        # a percent sign is a percent sign
        (
            "I need 50% off %1",
            {
                "Why do you need 50% off %1?",
                "Would it really help you to get 50% off %1?",
                "Are you sure you need 50% off %1?",
            },
        ),
    ],
)
def test_answers_by_the_rule_that_fits(eliza, said, expected):
    assert answers(eliza, said) == expected


@pytest.mark.parametrize("said", ["", "👍", "...", "'", " ! "])
def test_a_turn_without_words_gets_an_answer_that_repeats_nothing(eliza, said):
    assert answers(eliza, said) == {
        "Please tell me more.",
        "Let's change focus a bit... Tell me about your family.",
        "Can you elaborate on that?",
        "I see.",
        "Very interesting.",
        "I see.  And what does that tell you?",
        "How does that make you feel?",
        "How do you feel when you say that?",
    }


def test_words_that_only_begin_like_a_rule_do_not_fit_it(eliza):
    assert "You seem quite sure." not in answers(eliza, "Yesterday was long")


def test_an_answer_comes_again_only_when_all_are_used_up(eliza):
    first, second = "You seem quite sure.", "OK, but can you elaborate a bit?"

    assert answers(eliza, "Yes", first, "Yes") == {second}
    assert answers(eliza, "Yes", first, "Yes", second, "Yes") == {first, second}


def test_the_seed_decides_and_the_global_random_state_does_not(eliza):
    context = Context.from_texts(["I feel tired"], seed=7)
    random.seed(1)
    before = eliza.respond([context])
    random.seed(2)

    assert eliza.respond([context]) == before


def test_one_seed_for_a_dialogue_does_not_always_pick_the_same_place(eliza):
    contexts = [Context.from_texts([*["x", "y"] * n, "I want tea"], seed=1) for n in range(12)]

    assert len({eliza.respond([context])[0].text for context in contexts}) > 1


def test_a_long_turn_is_answered(eliza):
    [response] = eliza.respond([Context.from_texts(["a sorry " * 5_000])])

    assert response.text
