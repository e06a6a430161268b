"""Worked examples for the instructions page, by question set. All in our own words."""

from typing import TypedDict


class Example(TypedDict):
    """A reply in its context, how it would be labelled, and why."""

    context: list[tuple[str, str]]
    response: str
    sensible: bool
    specific: bool | None
    why: str


_SSA: list[Example] = [
    {
        "context": [("You", "I play tennis every weekend.")],
        "response": "Nice! Do you prefer clay or hard courts?",
        "sensible": True,
        "specific": True,
        "why": "It answers what was said, and it only fits a talk about tennis.",
    },
    {
        "context": [("You", "I play tennis every weekend.")],
        "response": "That's great to hear.",
        "sensible": True,
        "specific": False,
        "why": "It makes sense, but it would fit after almost anything.",
    },
    {
        "context": [("You", "I play tennis every weekend.")],
        "response": "Yes, my sister is also a good soup.",
        "sensible": False,
        "specific": None,
        "why": "It is confusing. When a reply makes no sense, the second question is not asked.",
    },
    {
        "context": [
            ("Chatbot", "I live in a small flat with two cats."),
            ("You", "How old are your cats?"),
        ],
        "response": "I have never had a pet.",
        "sensible": False,
        "specific": None,
        "why": "It contradicts what the chatbot said before.",
    },
    {
        "context": [("You", "Which planet is closest to the sun?")],
        "response": "I'm not sure, I was never good at astronomy.",
        "sensible": True,
        "specific": True,
        "why": "Not knowing is fine. It is a sensible answer, and it fits this question about planets.",
    },
]

EXAMPLES: dict[str, list[Example]] = {"ssa": _SSA}
