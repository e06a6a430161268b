from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST

from studies import services
from studies.forms import (
    JudgingStudyForm,
    StudyForm,
    WritingPlanForm,
    WritingStudyForm,
    chosen_targets,
    target_formset,
)
from studies.models import Study, Task
from studies.queries import studies_of


def home(request: HttpRequest) -> HttpResponse:
    return redirect("reports:studies" if request.user.is_authenticated else "accounts:sign_in")


@login_required
def new(request: HttpRequest) -> HttpResponse:
    """A new study; its task is in the address."""
    return _form_of(request.GET.get("task", ""))(request, None)


@login_required
def edit(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    return _form_of(study.task)(request, study)


def _form_of(task: str) -> Callable[[HttpRequest, Study | None], HttpResponse]:
    forms = {Task.WRITING.value: _writing_form, Task.JUDGING.value: _judging_form}
    return forms.get(task, _form)


def _form(request: HttpRequest, study: Study | None) -> HttpResponse:
    form = StudyForm(request.POST or None, instance=study)
    bot_forms = target_formset(study, request.POST or None)
    saved = None
    if request.method == "POST" and form.is_valid() and bot_forms.is_valid():
        saved = _saved(request, form, targets=chosen_targets(bot_forms))
    shown = {"form": form, "bot_forms": bot_forms, "study": study}
    return redirect(saved) if saved else _shown(request, "studies/conversation_form.html", shown)


def _writing_form(request: HttpRequest, study: Study | None) -> HttpResponse:
    form = WritingStudyForm(request.POST or None, instance=study)
    plan_form = WritingPlanForm(request.user, study, request.POST or None)  # type: ignore[arg-type]
    saved = None
    if request.method == "POST" and form.is_valid() and plan_form.is_valid():
        saved = _saved(request, form, targets={}, writing=plan_form.save(commit=False))
    shown = {"form": form, "plan_form": plan_form, "study": study}
    return redirect(saved) if saved else _shown(request, "studies/writing_form.html", shown)


def _judging_form(request: HttpRequest, study: Study | None) -> HttpResponse:
    form = JudgingStudyForm(request.POST or None, instance=study or Study(task=Task.JUDGING))
    saved = None
    if request.method == "POST" and form.is_valid():
        saved = _saved(request, form, targets={})
    shown = {"form": form, "study": study}
    return redirect(saved) if saved else _shown(request, "studies/judging_form.html", shown)


def _saved(request: HttpRequest, form: StudyForm, **parts: Any) -> Study | None:
    """The stored study; None if it cannot be, which the form then says."""
    try:
        saved = services.save_study(
            form.save(commit=False),
            owner=request.user,  # type: ignore[arg-type]  # login_required
            consent_text=form.cleaned_data["consent_text"],
            **parts,
        )
    except ValidationError as error:
        form.add_error(None, error)
        return None
    messages.success(request, f"“{saved.title}” is saved.")
    return saved


def _shown(request: HttpRequest, template: str, context: dict[str, Any]) -> HttpResponse:
    return render(request, template, context, status=200 if request.method == "GET" else 422)


@login_required
@require_POST
def set_state(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    try:
        services.set_state(study.pk, Study.State(request.POST.get("state", "")))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    except ValueError:
        messages.error(
            request, f"“{request.POST.get('state', '')[:20]}” is not a state of a study. Use open or closed."
        )
    return redirect(study)
