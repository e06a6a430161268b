"""What is said back of a line, and what is said to lines that no rule knows."""

import random

import pytest

from chatbots.meena.everyday.listening_dialogues import replied
from chatbots.meena.everyday.remarks import Echo, corrects, echoes, remark, remarks


def remarks_to(line):
    return {remark(line, random.Random(seed)) for seed in range(200)}


@pytest.mark.parametrize(
    ("line", "said_back"),
    [
        ("I repaired clocks for forty years.", Echo("you repaired clocks for forty years", "past")),
        ("My father taught me in his little shop", Echo("your father taught you", "past")),
        ("Well, we met at university", Echo("you met at university", "past")),
        ("I'll cook pasta tonight, I think", Echo("you'll cook pasta tonight", "future")),
        ("She works at a hospital", Echo("she works at a hospital", "now")),
        ("I was thirty when I moved", Echo("you were thirty when you moved", "past")),
        ("The doctor gave me pills for it", Echo("the doctor gave you pills", "past")),
        ("Good morning from our old shop", Echo("your old shop", "thing")),
    ],
)
def test_a_plain_clause_is_echoed_from_the_other_speakers_view(line, said_back):
    assert next(echoes(line)) == said_back


@pytest.mark.parametrize(
    "line",
    [
        "I think you are right",  # about the bot
        "I want to",
        "I said that",
        "Very true",
        "",
        "I have never really got what it is that everybody sees in any of it",
    ],
)
def test_other_clauses_are_not_echoed(line):
    assert not list(echoes(line))


@pytest.mark.parametrize(
    "line",
    [
        "What place? I bake the cake myself",
        "My sister? No, nothing is wrong",
        "You seem a bit confused.",
        "That's not what I said",
        "I'm not a firm, I'm a lawyer",
        "Never mind.",
    ],
)
def test_a_misunderstood_person_gets_an_apology(line):
    assert corrects(line)
    said = {text for text in remarks()["correction"] + remarks()["corrected"] if "<" not in text}
    assert remarks_to(line) & said


def test_an_understood_person_gets_no_apology():
    assert not any(map(corrects, ("I like tea.", "Do you like tea?", "Really? How nice!", "No, I don't.")))


def test_bad_news_is_not_called_nice():
    assert not remarks_to("my dog died") & set(remarks()["good"])


def test_every_remark_is_written_for_a_kind_that_occurs():
    known = {
        "clause",
        "thing",
        "known",
        "bit",
        "past",
        "future",
        "now",
        "more",
        "bad",
        "good",
        "opinion",
        "any",
    }
    assert set(remarks()) == known | {"yes", "no", "question", "correction", "corrected"}
    for kind, said in remarks().items():
        takes_up = kind in ("clause", "thing", "known", "bit", "corrected")
        assert all(("<e>" in one or "<E>" in one) is takes_up for one in said), kind


def test_a_reply_repeats_no_earlier_turn_while_there_is_another():
    earlier = []
    for number in range(6):
        line = f"Then number {number} came."
        said = replied(line, earlier, random.Random(number)).text
        assert said not in earlier
        earlier += [line, said]
