"""Forms of question sets, and the preview on the worker's page with sample items."""

import json
from collections.abc import Iterable
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from evaluation.questions import QUESTION_SETS, QuestionSet, Subject
from turnwise.accounts.models import User
from turnwise.questions.queries import newest_of, offered, sets_of
from turnwise.questions.question_sets import in_language, question_json, question_set

MOST_CHARACTERS = 1_000_000

SUBJECT_NAMES = {
    Subject.TURN: "single replies",
    Subject.RESPONSE: "responses to contexts",
    Subject.DIALOGUE: "whole conversations",
    Subject.PAIR: "pairs to choose from",
    Subject.CONTEXT: "contexts without a response",
    Subject.PERSON: "the people who answer, before or after their work",
}


def list_subjects(subjects: Iterable[Subject]) -> str:
    """Names of subjects as a list in words."""
    return ", ".join(words for subject, words in SUBJECT_NAMES.items() if subject in frozenset(subjects))


class QuestionSetField(forms.ChoiceField):
    """A question set that a person may use, and that can be asked about what is judged."""

    def __init__(
        self,
        user: User,
        about: frozenset[Subject],
        *,
        beside: str,
        nothing: str | Promise = "",
        **kwargs: Any,
    ) -> None:
        """Offer sets in groups.

        Args:
            user: who chooses.
            about: what will be judged.
            beside: key that is offered in any case: the one that a study has; "": none.
            nothing: what to call the choice of no set; empty: there is none.
            **kwargs: as of any field.
        """
        blank = [("", nothing)] if nothing else []
        help_text = format_html(
            gettext('Your own are on the page <a href="{}">Questions</a>.'), reverse("questions:sets")
        )
        kwargs.setdefault("label", _("Questions"))
        kwargs.setdefault("help_text", help_text)
        kwargs.setdefault("required", not nothing)
        super().__init__(choices=[*blank, *offered(user, about, beside=beside)], **kwargs)
        self.user, self.about = user, about

    def validate(self, value: Any) -> None:
        """Refuse a set that is not offered, and say why."""
        forms.Field.validate(self, value)
        if value and not self.valid_value(value):
            raise ValidationError(self._why_not(str(value)))

    def _why_not(self, key: str) -> str:
        if key not in QUESTION_SETS and not newest_of(sets_of(self.user)).filter(key=key).exists():
            return f"There is no question set “{key[:60]}” that you can use. Choose one from the list."
        asked = question_set(key)
        return (
            f"“{asked.title}” is asked about {list_subjects(asked.subjects)}; this study judges "
            f"{list_subjects(self.about)}. Choose another set, or make a copy of it for what you judge."
        )


class ImportForm(forms.Form):
    """A declaration as JSON, pasted or as a file."""

    file = forms.FileField(
        required=False,
        label=_("File"),
        help_text=_("Such as tone-v1.json, which you can download from the page of a set."),
    )
    text = forms.CharField(
        required=False,
        label=_("Or paste it"),
        max_length=MOST_CHARACTERS,
        widget=forms.Textarea({"rows": 12, "spellcheck": "false", "class": "mono"}),
    )

    def clean(self) -> dict[str, Any]:
        """The declaration, parsed; what it says is checked where it is saved."""
        found = super().clean() or self.cleaned_data
        if not self.errors:
            found["declaration"] = self._parsed(found)
        return found

    def _parsed(self, found: dict[str, Any]) -> object:
        field = "file" if found.get("file") else "text"
        try:
            text = found["file"].read(MOST_CHARACTERS + 1).decode() if found.get("file") else found["text"]
            if len(text) > MOST_CHARACTERS:
                raise ValidationError(
                    gettext("The file is longer than %(most_characters)s characters. Shorten it.")
                    % {"most_characters": f"{MOST_CHARACTERS:,}"}
                )
            return json.loads(text)
        except ValidationError as error:
            self.add_error(field, error)
        except UnicodeDecodeError:
            self.add_error(field, "The file is not text in UTF-8. Save it as UTF-8.")
        except (ValueError, RecursionError) as error:
            self.add_error(field, f"This is not JSON: {error}. Check quotation marks, commas and brackets.")
        return None


_TALK = ["Hello! How was your day?", "Long. I walked along the river until it got dark."]
_REPLY = "I love the river in the evening. Did you see the herons by the old bridge?"
_WHOLE = [*_TALK, _REPLY, "Two of them! They were not shy at all.", "They are used to people there."]

_SAMPLES: dict[Subject, dict[str, Any]] = {
    Subject.TURN: {"context": [*_TALK, _REPLY]},
    Subject.DIALOGUE: {"context": _WHOLE},
    Subject.RESPONSE: {"context": _TALK, "text": _REPLY},
    Subject.PAIR: {"context": _TALK, "sides": [{"texts": [_REPLY]}, {"texts": ["That is nice."]}]},
    Subject.CONTEXT: {"context": _TALK},
    Subject.PERSON: {"context": ["Here people read that a few questions about themselves follow."]},
}


def subjects_of(found: Iterable[str]) -> list[tuple[str, str]]:
    """Subjects that can be previewed, with their names."""
    known = set(found)
    return [(each.value, SUBJECT_NAMES[each]) for each in _SAMPLES if each.value in known]


def sample_item(subject: Subject) -> dict[str, Any]:
    """A sample item of this kind for the judging page."""
    return {"key": "tried", "language": "en", **_SAMPLES[subject]}


def preview_page(request: HttpRequest, questions: QuestionSet, language: str, about: str) -> HttpResponse:
    """Render the worker's page with these questions; answers stay in the browser.

    Args:
        request: for the page.
        questions: what is asked.
        language: that it is asked in; unknown: English.
        about: what is judged; not among what can be: the first that can.
    """
    there = [each for each in _SAMPLES if each in questions.subjects]
    subject = next((each for each in there if each.value == about), there[0])
    spoken = in_language(questions, language)
    settings = {
        "about": subject.value,
        "questions": [question_json(question) for question in spoken.questions],
        "item": sample_item(subject),
    }
    context = {"settings": settings, "language": language, "is_pair": subject is Subject.PAIR}
    return render(request, "questions/as_worker.html", context)
