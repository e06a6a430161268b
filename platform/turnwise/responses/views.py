"""Runs: their list, their pages, and how they are begun, stopped and uploaded."""

from collections.abc import Mapping
from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from turnwise.accounts.limits import reading_goes_on_at, reads_a_file, too_many, too_often
from turnwise.accounts.requests import AuthenticatedHttpRequest
from turnwise.contexts import previews
from turnwise.contexts.queries import versions_of
from turnwise.crowd.redaction import redactor_of
from turnwise.live.queue import send_or_tell
from turnwise.responses import files, reading, services, tasks
from turnwise.responses.forms import ResponseFileForm, RunForm
from turnwise.responses.models import ResponseRun
from turnwise.responses.queries import progress, real_runs_of, runs_of

PER_PAGE = 50
SHOWN = 50  # findings of a preview, faults of a run

_KEPT = f"responses {reading.SHAPE}"
_FORMATS = {
    "jsonl": (files.jsonl_lines, "application/jsonl"),
    "csv": (files.csv_lines, "text/csv; charset=utf-8"),
}


@require_GET
@login_required
def runs(request: HttpRequest) -> HttpResponse:
    page = Paginator(real_runs_of(request.user), PER_PAGE).get_page(request.GET.get("page"))
    shown = [{"run": run, "progress": progress(run)} for run in page]
    return render(request, "responses/runs.html", {"runs": shown, "page": page})


@login_required
def new(request: AuthenticatedHttpRequest) -> HttpResponse:
    given = {name: request.GET[name] for name in ("context_version", "bot") if name in request.GET}
    form = RunForm(request.user, request.POST or None, initial=given)
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        try:
            run = services.start_run(
                chosen["context_version"],
                chosen["bot"],
                owner=request.user,
                seed=chosen["seed"],
                repetitions=chosen["repetitions"],
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            send_or_tell(request, partial(tasks.send, run.pk))
            return redirect(run)
    status = 200 if request.method == "GET" else 422
    return render(request, "responses/new.html", {"form": form}, status=status)


@require_GET
@login_required
def run(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(runs_of(request.user), pk=pk)
    responses = found.responses.defer("candidates").select_related("context", "author__worker")
    responses = responses.order_by("context__position", "repetition")
    context = {
        "run": found,
        "progress": progress(found),
        "is_at_work": found.state in services.AT_WORK,
        "stamp": _stamp(found),
        "faults": found.faults.select_related("context").order_by("-attempts", "-at")[:SHOWN],
        "most_attempts": services.MOST_ATTEMPTS,
        "page": Paginator(responses, PER_PAGE).get_page(request.GET.get("page")),
    }
    return render(request, "responses/run.html", context)


@require_GET
@login_required
def stamp(request: HttpRequest, pk: int) -> JsonResponse:
    """A word that changes whenever the run's page does; the page asks for it every few seconds."""
    return JsonResponse({"stamp": _stamp(get_object_or_404(runs_of(request.user), pk=pk))})


def _stamp(run: ResponseRun) -> str:
    return f"{run.state}-{run.responses.count()}-{run.faults.count()}-{len(run.reason)}"


@require_POST
@login_required
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(runs_of(request.user), pk=pk)
    if found.study_id:
        messages.error(request, _("People write in this run. Close its study to stop it."))
    elif services.cancel(found.pk, now=timezone.now()):
        messages.success(request, _("The run is cancelled. Its responses so far are kept."))
    return redirect(found)


@require_POST
@login_required
def retry(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(runs_of(request.user), pk=pk)
    try:
        run = services.retry(found.pk)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        send_or_tell(request, partial(tasks.send, run.pk))
    return redirect(found)


@login_required
def upload(request: AuthenticatedHttpRequest) -> HttpResponse:
    given = {"context_version": request.GET.get("context_version")}
    form = ResponseFileForm(request.user, request.POST or None, request.FILES or None, initial=given)
    if request.method == "POST" and too_often(request, "upload", rate="30/m", key="user"):
        return too_many(request)
    if request.method == "POST" and form.is_valid():
        return _read(request, form.cleaned_data)
    status = 200 if request.method == "GET" else 422
    return render(request, "responses/upload.html", {"form": form}, status=status)


@reads_a_file
def _read(request: AuthenticatedHttpRequest, chosen: Mapping[str, Any]) -> HttpResponse:
    file, version = chosen["file"], chosen["context_version"]
    contexts = list(version.contexts.values_list("key", "pk", "language"))
    keys = {key: pk for key, pk, _language in contexts}
    languages = {key: language for key, _pk, language in contexts}
    kept = {
        "version": version.pk,
        "system": chosen["system"],
        "origin": file["origin"],
        "parsed": reading.parsed_apart(file["text"], file["ending"], keys, languages),
    }
    return redirect("responses:preview", token=previews.keep(request.user.pk, kept, of=_KEPT))


@login_required
@reading_goes_on_at(lambda request: request.path)
def preview(request: AuthenticatedHttpRequest, token: str) -> HttpResponse:
    """What a file of responses would bring; by POST it is brought."""
    kept = previews.kept(request.user.pk, token, of=_KEPT)
    if kept is None:
        return previews.gone(request, token, "responses:runs")
    version = get_object_or_404(versions_of(request.user), pk=kept["version"])
    parsed = reading.parsed_from(kept["parsed"])
    if request.method == "POST" and parsed.may_be_imported:
        if not previews.forget(request.user.pk, token):  # the button was pressed twice
            return previews.gone(request, token, "responses:runs")
        stored = services.store_file(version, parsed.responses, system=kept["system"], owner=request.user)
        previews.led_to(token, stored.get_absolute_url())
        messages.success(request, _("%(n)s responses are imported.") % {"n": f"{len(parsed.responses):,}"})
        return redirect(stored)
    context = {
        "version": version,
        "parsed": parsed,
        "problems": parsed.problems[:SHOWN],
        "notes": parsed.notes[:SHOWN],
        "origin": kept["origin"],
        "system": kept["system"],
    }
    return render(request, "responses/preview.html", context, status=200 if parsed.may_be_imported else 422)


@require_GET
@login_required
def export(request: HttpRequest, pk: int, ending: str) -> HttpResponse:
    found = get_object_or_404(runs_of(request.user), pk=pk)
    lines, content_type = _FORMATS[ending]
    responses = found.responses.defer("candidates").select_related("context", "run")
    redactor = redactor_of([found.study_id] if found.study_id else [])
    written = lines(responses.order_by("context__position", "repetition").iterator(), redactor)
    disposition = {"Content-Disposition": f'attachment; filename="turnwise-run-{pk}.{ending}"'}
    return HttpResponse("".join(written), content_type=content_type, headers=disposition)
