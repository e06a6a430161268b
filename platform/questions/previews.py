"""Something to try questions on, in the worker's own page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from evaluation.questions import QuestionSet, Subject
from questions.shown import asked

_TALK = ["Hello! How was your day?", "Long. I walked along the river until it got dark."]
_REPLY = "I love the river in the evening. Did you see the herons by the old bridge?"
_WHOLE = [*_TALK, _REPLY, "Two of them! They were not shy at all.", "They are used to people there."]
_PAIR = f"First: {_REPLY}\n\nSecond: That is nice."

_TRIED_ON: dict[Subject, tuple[list[str], str | None]] = {
    Subject.TURN: (_TALK, _REPLY),
    Subject.RESPONSE: (_TALK, _REPLY),
    Subject.DIALOGUE: (_WHOLE, None),
    Subject.PAIR: (_TALK, _PAIR),
    Subject.CONTEXT: (_TALK, None),
}


def page(request: HttpRequest, questions: QuestionSet, language: str) -> HttpResponse:
    """The worker's page with these questions; nothing that is answered there leaves it."""
    subject = next(each for each in _TRIED_ON if each in questions.subjects)
    context, text = _TRIED_ON[subject]
    spoken = questions.in_language(language)
    settings = {
        "questions": [asked(question) for question in spoken.questions],
        "item": {"key": "tried", "context": context, "text": text, "language": "en"},
    }
    return render(request, "questions/as_worker.html", {"settings": settings, "language": language})
