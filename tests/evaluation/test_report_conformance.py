"""Departures from the paper's protocol, each found by itself."""

from dataclasses import replace

import pytest

from evaluation.report.conformance import Conduct, deviations

PAPER = Conduct(
    bot_opens=True,
    opening_text="Hi!",
    min_turns=14,
    max_turns=28,
    question_set="ssa",
    blind=True,
    languages=["en"],
    conversations={"Ann": 100},
    unlabelled=0,
    most_raters=1,
)


def test_a_study_that_follows_the_paper_departs_in_nothing() -> None:
    assert deviations(PAPER) == []


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"bot_opens": False}, "The worker speaks first; in the paper the chatbot opens with “Hi!”."),
        ({"opening_text": "Hello"}, "The chatbot opens with “Hello”; in the paper with “Hi!”."),
        ({"min_turns": 6}, "A conversation has at least 6 turns; in the paper at least 14."),
        ({"max_turns": 40}, "A conversation has at most 40 turns; in the paper at most 28."),
        ({"question_set": "human-likeness"}, "in the paper sensibleness and specificity."),
        ({"blind": False}, "Workers learn which bot they talk to"),
        ({"languages": ["en", "zh"]}, "Conversations may be in any of en, zh; in the paper"),
        ({"languages": []}, "No language is set"),
        ({"conversations": {"Ann": 99}}, "Finished conversations of Ann: 99; in the paper 100 or more."),
        ({"unlabelled": 3}, "Replies without a label: 3;"),
        ({"most_raters": 5}, "labels of up to 5 workers"),
    ],
)
def test_each_departure_is_one_sentence(changed: dict[str, object], sentence: str) -> None:
    (found,) = deviations(replace(PAPER, **changed))  # type: ignore[arg-type]

    assert sentence in found
