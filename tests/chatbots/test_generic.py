import gzip
import json
import re
from pathlib import Path

import pytest

from chatbots.base import Context
from chatbots.bots.generic import is_question
from chatbots.registry import create_bot

QUESTIONS = [
    # with a mark: Latin, emoji, Chinese, Arabic, Greek twice, Armenian, Ethiopic, Spanish, combined
    "you like cats?",
    "what?!",
    "Really?",
    "I love cats. Do you? I hope so.",
    "❓",
    "你喜欢猫吗\uff1f",
    "هل تحب القطط\u061f",
    "\u03a4\u03b9 \u03ba\u03ac\u03bd\u03b5\u03b9\u03c2;",
    "\u03a4\u03b9\u037e",
    "\u053b\u0576\u0579\u055e",
    "ምን አለ፧",
    "¿Te gustan los gatos",
    "You did WHAT⁉",
    "Seriously‽",
    "see page?id=1, would you?",
    # without a mark
    "Tell me why",
    "tell me what you like",
    "I wonder how that works",
    "why",
    "What is your name",
    "whats up",
    "how old are you",
    "which one do you like",
    "where are you from",
    "when did it start",
    "do you like cats",
    "don\u2019t you agree",
    "is it raining",
    "can someone help me",
    "hey can you hear me",
    "I like tea. do you like tea",
    "nice, isn't it",
    "I'm fine and you",
    "I'm good, how about you",
    "I'm good how are you",
]

STATEMENTS = [
    "Really",
    "",
    "   ",
    "👍🎉",
    "😀",
    "ok",
    "I like cats.",
    "What a day",
    "What I mean is that I am tired",
    "When I was young I lived in Rome",
    "Where I live it rains",
    "How I wish it were summer",
    "Why thank you!",
    "See https://example.org/page?id=1",
    "Do it now",
    "Have a nice day",
    "May the force be with you",
    "Did not know that",
    "I don't know what to say",
    "It rained, which is good",
    "However, I stayed",
    "Whatever",
    "Candles are nice; areas too",
    "Je t'aime ; toi aussi",
]


@pytest.mark.parametrize("text", QUESTIONS)
def test_is_a_question(text):
    assert is_question(text)


@pytest.mark.parametrize("text", STATEMENTS)
def test_is_a_statement(text):
    assert not is_question(text)


def test_answers_the_last_turn_of_each_context():
    bot = create_bot("generic")

    responses = bot.respond([Context.from_texts(["Hi", "Hello?", "I am Ann."]), Context.from_texts(["Who?"])])

    assert [response.text for response in responses] == ["ok", "I don't know"]


@pytest.mark.shared_data
def test_agrees_with_the_punctuation_of_real_writers_when_the_marks_are_taken_away():
    path = Path(__file__).parents[3] / "shared" / "data" / "meena" / "human.jsonl.gz"
    if not path.exists():
        pytest.skip(f"{path} is absent: no real conversations to compare with")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        turns = [turn["text"] for line in lines for turn in json.loads(line)["turns"]]
    sentences = [sentence for turn in turns for sentence in re.findall(r"[^.!?]+[.!?]+", turn)]

    found = [is_question(s.rstrip("?!. ")) for s in sentences if s.endswith("?")]
    mistaken = [is_question(s.rstrip("?!. ")) for s in sentences if "?" not in s]

    # Not all can be found: "really?" and "you?" are questions by their mark alone.
    assert sum(found) / len(found) > 0.7
    assert sum(mistaken) / len(mistaken) < 0.01
