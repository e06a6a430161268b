"""Staff pages of a running study: pause, message, time limits, and the list of participants."""

from collections.abc import Callable, Generator
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from evaluation.files.writing import csv_text
from turnwise.crowd.models import Outcome, Participation
from turnwise.crowd.panels.base import shortened
from turnwise.crowd.panels.panel_views import OUTCOMES
from turnwise.crowd.places import ending, pilot
from turnwise.crowd.queries import participations_of
from turnwise.crowd.running import pausing
from turnwise.crowd.worker_task import WorkerTask
from turnwise.live.http_responses import attachment
from turnwise.studies.models import ReEntry, Study
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


PER_PAGE = 50
SIGNED, EXCLUDED = ~Q(signs=""), Q(excluded_at__isnull=False)
PROPOSED = ~Q(proposed_reason="") & ~EXCLUDED
MOST_LISTED = 50
ROWS_AT_ONCE = 500
COLUMNS = (
    "worker", "panel", "panel_id", "submission", "consented_at", "began_at", "ended_at", "outcome",
    "completion_code", "pilot", "signs", "number",
)  # fmt: skip
"""Columns of the CSV file; the last one only if the study allows re-entry."""


@require_GET
@login_required
def participants(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    sought = request.GET.get("find", "").strip()[:120]
    matching = participations_of(study, sought)
    proposed, excluded = matching.filter(PROPOSED), matching.filter(EXCLUDED)
    counts = matching.aggregate(
        all=Count("pk"),
        signs=Count("pk", filter=SIGNED),
        proposed=Count("pk", filter=PROPOSED),
        excluded=Count("pk", filter=EXCLUDED),
    )
    is_narrowed = request.GET.get("signs") == "yes"
    # Paginate keys only: full rows are read for the fifty of the page, not for thousands.
    listed = matching.filter(SIGNED) if is_narrowed else matching
    pages = Paginator(listed.select_related(None).values_list("pk", flat=True), PER_PAGE)
    pages.count = counts["signs" if is_narrowed else "all"]
    page = pages.get_page(request.GET.get("page"))
    context = {
        "study": study,
        "sought": sought,
        "with_signs": counts["signs"],
        "is_narrowed": is_narrowed,
        "page": page,
        "rows": list(matching.filter(pk__in=list(page.object_list))),
        "recurs": study.re_entry != ReEntry.ONCE,
        "ends": [(end.value, OUTCOMES[end]) for end in ENDS],
        "proposed": proposed[:MOST_LISTED] if counts["proposed"] else (),
        "proposals": counts["proposed"],
        "excluded": excluded[:MOST_LISTED] if counts["excluded"] else (),
        "exclusions": counts["excluded"],
        "most_listed": MOST_LISTED,
    }
    return render(request, "crowd/participants.html", context)


@require_POST
@login_required
def exclude(request: HttpRequest, pk: int) -> HttpResponse:
    """Exclude one worker or all workers that the study's rules propose, or undo an exclusion."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    named, undo = request.POST.get("worker", "")[:20], "undo" in request.POST
    # A worker's first participation represents all of them: `exclude` covers the others.
    first = Participation.objects.filter(study=study, number=1).select_related("worker")
    selected = list(first.filter(excluded_at__isnull=not undo, pseudonym=named))
    if "all" in request.POST:
        selected = list(first.filter(excluded_at=None).exclude(proposed_reason=""))
    for each in selected:
        ending.exclude(each.pk, reason="" if undo else each.proposed_reason, by=request.user)
    messages.success(request, _exclusion_message(len(selected), undo=undo))
    return redirect("crowd:participants", pk=pk)


def _exclusion_message(workers: int, *, undo: bool) -> str:
    if not workers:
        return _("No changes were made: it had already been done.")
    if undo:
        return _("The exclusion is undone. The report is being updated.")
    return ngettext(
        "%(workers)d worker is excluded, and still paid. The report is being updated.",
        "%(workers)d workers are excluded, and still paid. The report is being updated.",
        workers,
    ) % {"workers": workers}


@require_GET
@login_required
def participants_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    return attachment(
        request, _lines(study), "text/csv; charset=utf-8", f"turnwise-{study.code}-participants.csv"
    )


# Outcomes with which staff may end a participation, such as a task returned or timed out at the panel.
ENDS = (Outcome.WITHDRAWN, Outcome.TIMED_OUT, Outcome.SCREENED_OUT)


@require_POST
@login_required
def end(request: HttpRequest, pk: int, participation: int) -> HttpResponse:
    """End a participation whose task was returned or timed out at the panel; its place is free at once."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    ended = get_object_or_404(study.participations.select_related("worker"), pk=participation)
    outcome = request.POST.get("outcome", "")
    if outcome not in ENDS:
        messages.error(
            request,
            _("“%(outcome)s” is not an outcome that you can choose.") % {"outcome": shortened(outcome)},
        )
    elif ending.end(ended.pk, Outcome(outcome)):
        messages.success(
            request, _("The work of %(who)s is ended; the place is free.") % {"who": ended.pseudonym}
        )
    else:
        messages.error(
            request,
            _("The work of %(who)s had already ended. No changes were made.") % {"who": ended.pseudonym},
        )
    return redirect("crowd:participants", pk=study.pk)


def _lines(study: Study) -> Generator[str]:
    columns = len(COLUMNS) if study.re_entry != ReEntry.ONCE else len(COLUMNS) - 1
    yield csv_text([COLUMNS[:columns]])
    for each in participations_of(study).iterator(ROWS_AT_ONCE):
        yield csv_text([_row(each)[:columns]])


def _row(each: Participation) -> tuple[str, ...]:
    assignment = getattr(each, "assignment", None)
    began_at, ended_at = (assignment.assigned_at, assignment.ended_at) if assignment else (None, None)
    times = [at.isoformat(timespec="seconds") if at else "" for at in (each.consented_at, began_at, ended_at)]
    outcome = assignment.outcome if assignment else ""
    who = each.pseudonym, each.worker.panel, each.worker.panel_id, each.submission
    pilot = "yes" if each.pilot else ""
    return *who, *times, outcome, each.disclosed_code, pilot, each.signs, str(each.number)
