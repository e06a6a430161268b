"""Pages of qualifications: researchers make, review and require them; workers take the test."""

from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_http_methods, require_POST
from typing_extensions import override

from evaluation.questions import Kind
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_many, too_often
from turnwise.accounts.models import User
from turnwise.crowd.entry.worker_views import current_participation, page_of, worker_page
from turnwise.crowd.worker_task import work_of
from turnwise.live.repeating import once
from turnwise.quality import qualification_tests
from turnwise.quality.models import Attempt, Check, Limits, Qualification
from turnwise.quality.qualification_tests import (
    QuestionData,
    format_questions,
    parse_questions,
    qualifications_of,
    required_qualification,
)
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.trash.views import offer_undo

LONGEST_TEXT = 100_000

EXAMPLE = """Which reply makes sense after “How are you?”
* Fine, thanks. And you?
- The train leaves at nine.
> Only the first answers the question."""


class QualificationForm(forms.ModelForm[Qualification]):
    """Form of a qualification, with its questions as text."""

    text = forms.CharField(
        label=_("Questions"),
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "true", "placeholder": EXAMPLE}),
        help_text=_(
            "First the question, then each choice on a line of its own: right ones begin with *, wrong ones "
            "with -. After > comes the reason. An empty line ends a question."
        ),
    )

    class Meta:
        model = Qualification
        fields = ("title", "pass_mark", "tries", "feedback")

    field_order = ("title", "text", "pass_mark", "tries", "feedback")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["text"] = format_questions(self.instance.questions)

    def clean_text(self) -> list[QuestionData]:
        return parse_questions(self.cleaned_data["text"])

    @override
    def clean(self) -> dict[str, Any]:
        sent = super().clean() or {}
        self.instance.questions = sent.get("text", [])
        return sent


class RequirementForm(forms.Form):
    """Form for the qualification that a study requires."""

    qualification = forms.ModelChoiceField(
        queryset=Qualification.objects.none(),
        required=False,
        label=_("Qualification"),
        empty_label=_("none"),
        help_text=_(
            "Anyone who has passed it in another study does not have to pass it again. Workers who use all "
            "attempts without passing are screened out."
        ),
    )

    def __init__(self, *args: Any, user: User, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        now = required_qualification(study)
        shown = qualifications_of(user)
        if now:
            shown = shown | Qualification.objects.filter(pk=now.pk)
        self.fields["qualification"].queryset = shown  # type: ignore[attr-defined]  # a choice of models
        self.initial["qualification"] = now


class CheckForm(forms.Form):
    """Form for an attention check: a question of the study, and the answer it asks for."""

    asked = forms.ChoiceField(label=_("Question, and the answer it asks for"))

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        self.known = {
            f"{ask.question_set} {question.key} {number}": (ask.question_set, question, choice)
            for ask in study.work_asks
            for question in question_set(ask.question_set).questions
            if question.kind in (Kind.ONE, Kind.SCALE)
            for number, choice in enumerate(question.choices)
        }
        choices = [
            (key, f"{question.wording} {choice.label}")
            for key, (_set, question, choice) in self.known.items()
        ]
        self.fields["asked"].choices = choices  # type: ignore[attr-defined]  # a choice

    def save(self) -> Check:
        """Store the question as an attention check; the form must be valid."""
        name, question, choice = self.known[self.cleaned_data["asked"]]
        return Check.objects.update_or_create(
            study=self.study, question_set=name, question=question.key, defaults={"right": choice.value}
        )[0]


class LimitsForm(forms.ModelForm[Limits]):
    """Form for the limits beyond which a figure becomes a flag."""

    class Meta:
        model = Limits
        fields = (
            "unread_share", "pace", "run_chance", "peers_gap", "repeats_least", "gold_least",
            "attention_misses",
        )  # fmt: skip


@require_GET
@login_required
def qualifications(request: HttpRequest) -> HttpResponse:
    rows = [
        (each, qualification_tests.pass_counts(each), qualification_tests.warning(each))
        for each in qualifications_of(request.user)
    ]
    return render(request, "quality/qualifications.html", {"rows": rows})


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def new(request: HttpRequest) -> HttpResponse:
    assert request.user.is_authenticated
    return _edited(request, Qualification(owner=request.user))


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def qualification(request: HttpRequest, pk: int) -> HttpResponse:
    return _edited(request, get_object_or_404(qualifications_of(request.user), pk=pk))


def _edited(request: HttpRequest, own: Qualification) -> HttpResponse:
    form = QualificationForm(request.POST if request.method == "POST" else None, instance=own)
    if request.method == "POST" and form.is_valid():
        try:
            saved = qualification_tests.save_qualification(form.save(commit=False))
        except ValidationError as error:
            form.add_error(None, error)
        else:
            messages.success(request, gettext("Saved. Studies require it once you choose it there."))
            return redirect("quality:qualification", pk=saved.pk)
    context = {
        "form": form,
        "own": own,
        "outcome": qualification_tests.pass_counts(own) if own.pk else None,
        "warning": qualification_tests.warning(own) if own.pk else "",
        "studies": studies_of(request.user).filter(requirement__qualification=own) if own.pk else [],
        "example": EXAMPLE,
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "quality/qualification.html", context, status=status)


@require_POST
@login_required
def delete(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    deleted = get_object_or_404(qualifications_of(request.user), pk=pk)
    try:
        deletion = qualification_tests.delete_qualification(deleted, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("quality:qualification", pk=pk)
    offer_undo(request, gettext("The qualification is deleted."), deletion)
    return redirect("quality:qualifications")


@require_POST
@login_required
def require(request: HttpRequest, pk: int) -> HttpResponse:
    """Set the qualification that a study requires, or none."""
    study = get_object_or_404(studies_of(request.user), pk=pk, rehearsal_of=None)
    assert request.user.is_authenticated
    form = RequirementForm(request.POST, user=request.user, study=study)
    if form.is_valid():
        qualification_tests.set_requirement(study, form.cleaned_data["qualification"])
        messages.success(request, gettext("Saved. It applies to workers who have not started."))
    else:
        messages.error(request, gettext("There is no such qualification. No changes were made."))
    return redirect("quality:study", pk=pk)


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def qualify(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the test; a POST marks an attempt, shows wrong answers if enabled, and leads on if passed."""
    participation = current_participation(request, study)
    wanted = qualification_tests.required_qualification(study)
    if wanted is None or hasattr(participation, "assignment"):
        return redirect(page_of(participation), code=study.code)
    if request.method == "POST" and too_often(request, "qualification", rate="300/m"):
        return too_many(request)
    given = _submitted_choices(request.POST, wanted)
    unanswered = request.method == "POST" and len(given) < wanted.of
    marked: Attempt | None = None
    if request.method == "POST" and not unanswered:
        marked = once(request, lambda: qualification_tests.record_attempt(participation, given))
    attempt = qualification_tests.attempt_status(participation.worker, wanted)
    if attempt.passed:
        return _passed(request, study, marked)
    if attempt.failed:
        if marked is None:  # the worker used the last attempt in another study meanwhile
            qualification_tests.record_attempt(participation, given)
        return redirect("crowd:thanks", code=study.code)
    context = {
        "study": study,
        "qualification": wanted,
        "standing": attempt,
        "marked": marked,
        "unanswered": unanswered,
        "questions": _questions_context(wanted, given, marked),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "quality/qualify.html", context, status=status)


def _passed(request: HttpRequest, study: Study, marked: Attempt | None) -> HttpResponse:
    if request.method != "POST":
        return redirect("crowd:instructions", code=study.code)
    begin = reverse(work_of(study).begin, args=[study.code])
    return render(request, "quality/qualified.html", {"study": study, "begin": begin, "marked": marked})


def _submitted_choices(sent: QueryDict, wanted: Qualification) -> dict[int, list[int]]:
    """Valid choices that were submitted, by number of the question."""
    submitted = {}
    for number, question in enumerate(wanted.questions):
        known = {str(n): n for n in range(len(question["choices"]))}
        if chosen := [known[each] for each in sent.getlist(f"q{number}") if each in known]:
            submitted[number] = chosen
    return submitted


def _questions_context(
    wanted: Qualification, given: dict[int, list[int]], marked: Attempt | None
) -> list[dict[str, Any]]:
    wrong = (
        qualification_tests.wrong_questions(wanted.questions, given) if marked and wanted.feedback else set()
    )
    return [
        {
            "name": f"q{number}",
            "text": question["text"],
            "several": len(question["right"]) > 1,
            "choices": [
                (n, choice, n in given.get(number, ())) for n, choice in enumerate(question["choices"])
            ],
            "is_wrong": number in wrong,
            "is_right": bool(marked and wanted.feedback) and number not in wrong,
            "why": question["why"] if marked and wanted.feedback else "",
        }
        for number, question in enumerate(wanted.questions)
    ]
