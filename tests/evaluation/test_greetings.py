"""Scores without greetings and goodbyes: what the rule takes for one, and the figures by hand."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.questions import SSA
from evaluation.report.intervals import TERMS
from evaluation.report.label_columns import Judged
from evaluation.report.subsets import figures_without_greetings
from evaluation.texts.greetings import GreetingTurn, greeting_replies, only_greets

GREETS = (
    "Hi!", "hello there :D", "Hey, how's it going?", "Good morning! How are you today?",
    "Nice to meet you, too.", "Bye!", "OK, see you later then", "Thanks for the chat. Good night!",
    "I've got to go. Goodbye",
    "你好!", "谢谢, 再见", "السلام عليكم", "مرحبًا!", "شكرا، مع السلامة",
)  # fmt: skip
"""Labelled by hand."""
OTHERS = (
    "Hi, I have a question", "Goodbye Anna", "Hello is a song by Adele", "I said hello", "There", "thank you",
    "Well, ok", "I'm fine, how are you?", "Have a good day at work", "See you at the cinema", "High", "",
    "🙂", "你好吃吗", "再见面吧", "كيف حالك في العمل", "[withdrawn]", "hi " * 21,
)  # fmt: skip


@pytest.mark.parametrize("text", GREETS)
def test_a_greeting_is_found(text: str) -> None:
    assert only_greets(text)


@pytest.mark.parametrize("text", OTHERS)
def test_what_says_more_is_no_greeting(text: str) -> None:
    assert not only_greets(text)


_PIECES = st.sampled_from(
    (
        "hi",
        "Hello",
        "HOW'S",
        "how",
        "are",
        "you",
        "bye",
        "I've",
        "got",
        "to",
        "go",
        "xD",
        "5",
        "song",
        "what's",
    )
)
_GAPS = st.sampled_from((" ", ", ", "! ", "\n", " (", "'", "_", "-", "\t", ". "))


@given(st.lists(st.tuples(_GAPS, _PIECES), max_size=6))
def test_the_quick_look_at_ascii_texts_leaves_out_no_greeting(pieces: list[tuple[str, str]]) -> None:
    text = "".join(gap + piece for gap, piece in pieces)[:59]

    # A dash that is not ASCII is no word either, but avoids the quick look.
    assert only_greets(text) == only_greets(f"{text}\N{EN DASH}")


def test_replies_that_greet_and_replies_to_greetings_are_left_out() -> None:
    # The scripted opening is position 0 and no reply. People speak at 1, 3, 5, the bot at 2, 4, 6.
    opening, person, bot = (
        GreetingTurn(7, position, 1, 2, is_reply=position == 6, is_answered=position == 3)
        for position in (0, 3, 6)
    )
    # Both speakers are judged: the greeting itself, and the answer to it.
    judged = GreetingTurn(8, 0, 0, 1, is_reply=False, is_answered=False)

    assert greeting_replies([opening, person, bot, judged]) == {(7, 2), (7, 3), (8, 1), (8, 2)}


def test_the_figures_leave_out_the_labels_of_these_replies() -> None:
    sensible = [1, 1, 0, 1, 0, 1]
    labels = Judged(
        bot=np.array(["Ann", "Ann", "Ann", "Ann", "Bob", "Cat"], dtype=object),
        dialogue=np.array([1, 1, 1, 2, 3, 4]),
        reply=np.array([1, 2, 3, 1, 1, 1]),
        rater=np.array(["w1", "w1", "w1", "w2", "w3", "w4"], dtype=object),
        latency_ms=np.full(6, np.nan),
        answer_ms=np.full(6, np.nan),
        answers={"sensible": np.array(sensible, dtype=float), "specific": np.array([1.0, 0, 0, 0, 0, 1])},
    )

    figures = figures_without_greetings(SSA, labels, {(1, 1), (2, 1), (4, 1), (9, 1)}, TERMS)

    assert figures
    # Of Ann, two of four labels are left, one of them sensible and none specific; of Cat none is left.
    assert [bot["bot"] for bot in figures["bots"]] == ["Ann", "Bob"]
    assert [cell["value"] for cell in figures["bots"][0]["cells"]] == [50, 0, 25]
    assert figures["left_out"] == [{"bot": "Ann", "replies": 2}, {"bot": "Cat", "replies": 1}]
    assert figures_without_greetings(SSA, labels, {(9, 1)}, TERMS) is None
