"""Measures of a conversation under review, by hand."""

from random import Random

import pytest

from evaluation.conversation.grounding import LIMITS, GroundedTurn, broken, measures
from evaluation.texts.repetition import words

READ = {0: ["Tea is a drink made of leaves.", "It was money once, in Tibet."], 1: []}


def test_measures_of_a_conversation_counted_by_hand() -> None:
    turns = [
        GroundedTurn(
            0, "Did you know that tea was money once, in Tibet?", ("Happy", ("FS1",)), is_sourced=True
        ),
        GroundedTurn(1, "Tea is a drink made of leaves.", ("Sad", ())),
        GroundedTurn(0, "Oh shit, tea is a drink made of milk.", ("Happy", ("FS1",)), is_sourced=True),
        GroundedTurn(1, "Tea is a drink made of leaves.", ("Angry", ())),
        GroundedTurn(0, "Bye"),
    ]

    found = measures(turns, READ, 60.0)

    assert found == {
        "turns": 5,
        "words": (10 + 7 + 9 + 7 + 1) / 5,
        "sourced": 2 / 5,
        "seconds": 60 / 4,
        # "tea is a drink made of"; the first has "was money once in tibet", and seat 1 had nothing to copy.
        "copied": 6,
        # The third shares six of its nine words with the second, the fourth repeats it.
        "repeated": 2 / 5,
        "profane": 1,
        "alike": 1.0,  # Of seat 0 both; of seat 1 one of two.
    }


def test_unknown_measures_break_no_limit() -> None:
    found = measures([GroundedTurn(0, "Hi")], {}, None)

    assert (found["sourced"], found["seconds"], found["copied"], found["alike"]) == (None,) * 4
    limits = {key: limit.default for key, limit in LIMITS.items()}
    assert broken(found, limits) == ["turns", "words"]
    assert broken(found, limits | {"turns": None, "words": 1.0}) == []
    assert broken({"profane": 1.0}, {"profane": 1.0}) == []
    with pytest.raises(ValueError, match="without turns"):
        measures([], {}, None)


@pytest.mark.parametrize("seed", range(5))
def test_the_longest_copied_run_is_that_of_a_search_of_all_runs(seed: int) -> None:
    draw = Random(seed)
    text, said = (" ".join(draw.choices("abc", k=draw.randint(1, 25))) for _ in range(2))
    of_said = words(said)
    runs = [of_said[begin:end] for begin in range(len(of_said)) for end in range(begin + 1, len(of_said) + 1)]
    longest = max((len(run) for run in runs if f" {' '.join(run)} " in f" {text} "), default=0)

    found = measures([GroundedTurn(0, said)], {0: [text]}, None)

    assert found["copied"] == longest
