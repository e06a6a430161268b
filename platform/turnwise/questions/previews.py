"""Something to try questions on, in the worker's own page."""

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from evaluation.questions import QuestionSet, Subject
from turnwise.questions.forms import IN_WORDS
from turnwise.questions.shown import asked

_TALK = ["Hello! How was your day?", "Long. I walked along the river until it got dark."]
_REPLY = "I love the river in the evening. Did you see the herons by the old bridge?"
_WHOLE = [*_TALK, _REPLY, "Two of them! They were not shy at all.", "They are used to people there."]

_TRIED_ON: dict[Subject, dict[str, Any]] = {
    Subject.TURN: {"context": [*_TALK, _REPLY]},
    Subject.DIALOGUE: {"context": _WHOLE},
    Subject.RESPONSE: {"context": _TALK, "text": _REPLY},
    Subject.PAIR: {"context": _TALK, "sides": [{"texts": [_REPLY]}, {"texts": ["That is nice."]}]},
    Subject.CONTEXT: {"context": _TALK},
    Subject.PERSON: {"context": ["Here people read that a few questions about themselves follow."]},
}


def subjects_of(found: Iterable[str]) -> list[tuple[str, str]]:
    """What of these can be previewed, with its words."""
    known = set(found)
    return [(each.value, IN_WORDS[each]) for each in _TRIED_ON if each.value in known]


def tried_on(subject: Subject) -> dict[str, Any]:
    """Something of this kind to judge, as a page of judging takes it."""
    return {"key": "tried", "language": "en", **_TRIED_ON[subject]}


def page(request: HttpRequest, questions: QuestionSet, language: str, about: str) -> HttpResponse:
    """The worker's page with these questions; nothing that is answered there leaves it.

    Args:
        request: for the page.
        questions: what is asked.
        language: that it is asked in; unknown: English.
        about: what is judged; not among what can be: the first that can.
    """
    there = [each for each in _TRIED_ON if each in questions.subjects]
    subject = next((each for each in there if each.value == about), there[0])
    spoken = questions.in_language(language)
    settings = {
        "about": subject.value,
        "questions": [asked(question) for question in spoken.questions],
        "item": tried_on(subject),
    }
    shown = {"settings": settings, "language": language, "is_pair": subject is Subject.PAIR}
    return render(request, "questions/as_worker.html", shown)
