"""Staff pages of a running study: pause, message, time limits, and the list of participants."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods, require_POST

from turnwise.crowd.places import pilot
from turnwise.crowd.running import pausing
from turnwise.crowd.worker_task import WorkerTask
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.tasks import task_of

SHORTEST_SESSION = 5
ENOUGH_EXTENSIONS = 10


def _study_of(request: HttpRequest, pk: int) -> Study:
    return get_object_or_404(studies_of(request.user), pk=pk)


def _run_and_report(
    request: HttpRequest, pk: int, act: Callable[[], Any], says: Callable[[Any], str]
) -> HttpResponse:
    try:
        messages.success(request, says(act()))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("monitoring:monitor", pk=pk)


@require_POST
@login_required
def pause(request: HttpRequest, pk: int) -> HttpResponse:
    study, holds = _study_of(request, pk), request.POST.get("running") == "hold"
    held = _("The study is paused, and people in it are on hold until you resume it.")
    going_on = _("The study is paused. People in it can finish.")
    return _run_and_report(
        request,
        pk,
        lambda: pausing.pause(study.pk, holds=holds, by=request.user.get_username()),
        lambda _study: held if holds else going_on,
    )


@require_POST
@login_required
def resume(request: HttpRequest, pk: int) -> HttpResponse:
    study = _study_of(request, pk)
    return _run_and_report(
        request,
        pk,
        lambda: pausing.resume(study.pk, by=request.user.get_username()),
        lambda _study: _("The study is running again."),
    )


@require_POST
@login_required
def go_on(request: HttpRequest, pk: int) -> HttpResponse:
    """End a study's pilot and open the study to everyone."""
    study = _study_of(request, pk)
    assert request.user.is_authenticated
    by = request.user
    return _run_and_report(
        request,
        pk,
        lambda: pilot.end_pilot(study.pk, by=by),
        lambda _people: _("The study is open to everyone, and its pilot is excluded."),
    )


@require_POST
@login_required
def tell(request: HttpRequest, pk: int) -> HttpResponse:
    study, text = _study_of(request, pk), request.POST.get("text", "")
    return _run_and_report(
        request,
        pk,
        lambda: pausing.publish_notice(study.pk, text, by=request.user.get_username()),
        lambda notice: (
            _("All active workers see the message now.")
            if notice
            else _("The message is removed from the workers' pages.")
        ),
    )


class LimitsForm(forms.ModelForm[Study]):
    """Time limits of a study."""

    class Meta:
        model = Study
        fields = ("message_minutes", "session_minutes", "extensions", "notes_typing")
        labels = {
            "message_minutes": gettext_lazy("Minutes for each message, judgment or text"),
            "session_minutes": gettext_lazy("Minutes for the whole"),
            "extensions": gettext_lazy("How often somebody can ask for the same time again"),
            "notes_typing": gettext_lazy("Record how many characters are pasted and how long people type"),
        }
        help_texts = {
            "message_minutes": gettext_lazy(
                "From the moment it is their turn. They are warned half a minute before the end. 0: no limit."
            ),
            "session_minutes": gettext_lazy(
                "From the first moment of the work; waiting for a partner does not count. They are warned "
                "two minutes before the end. 0: no limit."
            ),
            "extensions": gettext_lazy(
                "Some people read with a screen reader, type with one hand, or write in a language they "
                "learn. Ten or more is what WCAG 2.2.1 asks for."
            ),
            "notes_typing": gettext_lazy(
                "Of each message in a chat, never which keys. Workers read this before they agree; the "
                "Quality page has a flag for it, and the bundle has the numbers. "
                "It can be changed only before the study opens."
            ),
        }

    def clean_notes_typing(self) -> bool:
        is_requested = bool(self.cleaned_data["notes_typing"])
        stored = Study.objects.get(pk=self.instance.pk)
        if is_requested and not stored.notes_typing and stored.state != Study.State.DRAFT:
            raise ValidationError(
                _(
                    "People have agreed without being told of it. Make a copy of the study to "
                    "record this there."
                )
            )
        return is_requested

    def clean_session_minutes(self) -> int:
        minutes = int(self.cleaned_data["session_minutes"])
        if 0 < minutes < SHORTEST_SESSION:
            raise ValidationError(
                _("%(n)d minutes are too few to be warned two minutes before. Use %(least)d or more, or 0.")
                % {"n": minutes, "least": SHORTEST_SESSION}
            )
        return minutes


@require_http_methods(["GET", "HEAD", "POST"])
@login_required
def limits(request: HttpRequest, pk: int) -> HttpResponse:
    study = _study_of(request, pk)
    if not isinstance(task_of(study), WorkerTask):
        return redirect(study)
    form = LimitsForm(request.POST if request.method == "POST" else None, instance=study)
    if form.is_bound and form.is_valid():
        # Save these fields only: the rest of the study may have changed while the form was open.
        Study.objects.filter(pk=study.pk).update(**form.cleaned_data)
        messages.success(request, _("The limits are saved. A clock that is already running does not change."))
        return redirect("crowd:limits", pk=study.pk)
    stored = Study.objects.get(pk=study.pk)
    is_limited = bool(stored.message_minutes or stored.session_minutes)
    context = {
        "study": stored,
        "form": form,
        "few": is_limited and stored.extensions < ENOUGH_EXTENSIONS,
        "unlimited": not is_limited,
    }
    return render(request, "crowd/limits.html", context, status=422 if form.is_bound else 200)
