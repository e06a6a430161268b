"""What a worker may not send as their own response, and that everything else passes."""

import pytest

from turnwise.responses.checks import problem_of

TURNS = ("I spent the whole weekend repainting my kitchen.", "Nice! Which colour did you choose?")


@pytest.mark.parametrize(
    "text",
    [
        "A dark green.",
        "No",
        "好的我也喜欢。",
        "🙂",
        "Green. I chose it because my kitchen is small, and the weekend was too short anyway.",
        "I repainted my kitchen last year, too.",
        "I'm a bot, apparently, says my sister: I painted ten hours - without a break.",
        "Of course! Blue.",
        "3. Three colours, to be exact",
    ],
)
def test_what_a_person_would_write_passes(text: str) -> None:
    assert problem_of(text, TURNS, ["Something else."]) == ""


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("", "is empty"),
        (" \n\t", "is empty"),
        ("...", "is empty"),
        ("nice, which COLOUR did you choose", "repeats what has already been said"),
        ("I spent the whole weekend repainting my kitchen", "repeats what has already been said"),
        ("spent the whole weekend repainting my kitchen!!", "repeats what has already been said"),
        ("something else", "exactly this before"),
        ("As an AI language model I have no kitchen.", "like an assistant program"),
        ("I'm just an AI, but green is nice.", "like an assistant program"),
        ("Certainly! Here is a reply: Green.", "like an assistant program"),
        ("Here's a possible response: Green.", "like an assistant program"),
        ("Thanks! How can I help you today?", "like an assistant program"),
        ("B: Green.", "without a name before it"),
        ("Assistant: Green.", "without a name before it"),
        ("Some colours:\n- green\n- blue", "no lists"),
        ("# Green\nis nice", "no lists"),
        ("I chose **green**", "no lists"),
        ("x" * 8001, "8,001 characters, more than 8,000"),
        ("gr\x00een", "control character (U+0000)"),
    ],
)
def test_what_is_no_response_is_named(text: str, part: str) -> None:
    assert part in problem_of(text, TURNS, ["Something else."])


def test_short_answers_may_share_their_words_with_the_context() -> None:
    assert problem_of("My kitchen", ("Where did you paint, in my kitchen?",), []) == ""
