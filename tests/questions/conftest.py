from collections.abc import Iterator
from typing import Any

import pytest

from turnwise.questions import question_sets

TONE: dict[str, Any] = {
    "format": 1,
    "key": "tone",
    "title": "Tone of a reply",
    "subjects": ["turn", "response"],
    "source": "our own",
    "questions": [
        {
            "key": "polite",
            "wording": "Is it polite?",
            "choices": [{"value": True, "label": "Yes"}, {"value": False, "label": "No"}],
        },
        {
            "key": "warmth",
            "wording": "How warm is it?",
            "kind": "scale",
            "scale": {"low": 1, "high": 5, "low_caption": "cold", "high_caption": "warm"},
        },
        {
            "key": "why",
            "wording": "What is rude about it?",
            "kind": "text",
            "longest": 500,
            "required": False,
            "asked_if": {"question": "polite", "any_of": [False]},
        },
    ],
    "translations": {"zh": {"Is it polite?": "它礼貌吗?"}},
}


@pytest.fixture(autouse=True)
def _sets_are_forgotten() -> Iterator[None]:
    """A version is read once per process; the next test has another database."""
    question_sets.forget_question_sets()
    yield
    question_sets.forget_question_sets()
