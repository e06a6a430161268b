"""Pages of runs: list, start, progress, cancel, retry, upload and download."""

import secrets
from collections.abc import Mapping
from functools import partial
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import UploadedFile
from django.core.paginator import Paginator
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST
from typing_extensions import override

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import limit_file_reading, reads_a_file, too_many, too_often
from turnwise.accounts.models import User
from turnwise.bots.models import OPERATED
from turnwise.bots.queries import visible_bots
from turnwise.bots.search import BotField
from turnwise.contexts import uploads
from turnwise.contexts.models import ContextSetVersion
from turnwise.contexts.queries import versions_of
from turnwise.contexts.tables import FileRefusedError, decoded
from turnwise.contexts.uploads import text_of_workbook
from turnwise.crowd.redaction import redactor_of
from turnwise.live.jobs import send_or_warn
from turnwise.responses import files, model_files, services, tasks
from turnwise.responses.bot_jobs import AT_WORK, MOST_ATTEMPTS
from turnwise.responses.files import ENDINGS
from turnwise.responses.model_files import names_models
from turnwise.responses.models import ResponseRun
from turnwise.responses.queries import listed_runs, progress, real_runs_of, runs_of
from turnwise.responses.services import MOST_REPETITIONS


def _versions(user: User) -> "forms.ModelChoiceField[ContextSetVersion]":
    return forms.ModelChoiceField(queryset=versions_of(user), label=_("Contexts"), empty_label=None)


class RunForm(forms.Form):
    """A bot that is to respond to all contexts of a set."""

    repetitions = forms.IntegerField(
        label=_("Repetitions"),
        min_value=1,
        max_value=MOST_REPETITIONS,
        initial=1,
        help_text=_(
            "Several, each with samples of its own, give the standard deviation of a score. The Meena paper "
            "had 7."
        ),
    )
    seed = forms.IntegerField(
        label=_("Seed"),
        min_value=0,
        max_value=2**53,
        required=False,
        help_text=_("The same seed gives the same responses, where the bot can. Empty: one is drawn."),
    )
    stores_reasoning = forms.BooleanField(
        label=_("Store the reasoning of the chatbot"),
        required=False,
        help_text=_(
            "Text in which a model reasons before it responds, for the run's page and files. Workers who "
            "judge the responses never see it."
        ),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        usable = visible_bots(user).filter(active=True).exclude(adapter=OPERATED)
        selected = [self.data.get("bot"), self.initial.get("bot")]
        bot: forms.Field = BotField(usable, user, chosen=selected, label=_("Bot"))
        self.fields = {"context_version": _versions(user), "bot": bot} | self.fields

    def clean_seed(self) -> int:
        seed: int | None = self.cleaned_data["seed"]
        return secrets.randbits(31) if seed is None else seed


class ResponseFileForm(forms.Form):
    """A file of responses by a system that cannot run here."""

    system = forms.CharField(
        label=_("System"),
        max_length=120,
        required=False,
        help_text=_(
            "What reports call it, such as Cleverbot 2019. Empty: the file names its models, in a column "
            "model or with a column for each."
        ),
    )
    file = forms.FileField(
        label=_("File"),
        help_text=_(
            "CSV, Excel or JSON Lines with the fields context (its id) or prompt (its text), response and, "
            "for several responses to each context, repetition from 1."
        ),
    )

    def __init__(self, user: User, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields = {"context_version": _versions(user)} | self.fields

    def clean_file(self) -> dict[str, str]:
        """The file's text, with its name and format."""
        upload: UploadedFile[bytes] = self.cleaned_data["file"]
        name = upload.name or ""
        ending = ENDINGS.get(name.lower().rpartition(".")[2])
        if ending is None:
            raise ValidationError(
                gettext("“%(value)s” does not end in any of .%(value_2)s. Save it as one of these.")
                % {"value": name[-60:], "value_2": ", .".join(ENDINGS)}
            )
        too_large = gettext(
            "Leave out all columns but context, repetition and response, or some of the repetitions."
        )
        try:
            if ending == "xlsx":
                return {"text": text_of_workbook(upload.read()), "origin": name, "ending": "jsonl"}
            return {"text": decoded(upload.read(), too_large=too_large), "origin": name, "ending": ending}
        except FileRefusedError as error:
            raise ValidationError(str(error)) from None

    @override
    def clean(self) -> dict[str, Any] | None:
        """Ask for the system if the file names no models."""
        file = self.cleaned_data.get("file")
        if file and not self.cleaned_data.get("system") and not names_models(file["text"], file["ending"]):
            self.add_error("system", gettext("Name the system: the file has no column “model”."))
        return self.cleaned_data


PER_PAGE = 50
SHOWN = 50  # findings of a preview, faults of a run

_UPLOAD_KIND = f"responses of models {files.SHAPE}"
_FORMATS = {
    "jsonl": (files.jsonl_lines, "application/jsonl"),
    "csv": (files.csv_lines, "text/csv; charset=utf-8"),
}


@require_GET
@login_required
def runs(request: HttpRequest) -> HttpResponse:
    page = Paginator(real_runs_of(request.user), PER_PAGE).get_page(request.GET.get("page"))
    shown = [{"run": run, "progress": progress(run)} for run in page]
    imported = listed_runs(request.user, request.GET.get("imported", ""))
    return render(request, "responses/runs.html", {"runs": shown, "page": page, "imported": imported})


@login_required
def new(request: AuthenticatedHttpRequest) -> HttpResponse:
    initial = {name: request.GET[name] for name in ("context_version", "bot") if name in request.GET}
    form = RunForm(request.user, request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid():
        chosen = form.cleaned_data
        try:
            run = services.start_run(
                chosen["context_version"],
                chosen["bot"],
                owner=request.user,
                seed=chosen["seed"],
                repetitions=chosen["repetitions"],
                stores_reasoning=chosen["stores_reasoning"],
            )
        except ValidationError as error:
            form.add_error(None, error)
        else:
            send_or_warn(request, partial(tasks.send, run.pk))
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
        "is_at_work": found.state in AT_WORK,
        "stamp": _stamp(found),
        "faults": found.faults.select_related("context").order_by("-attempts", "-at")[:SHOWN],
        "most_attempts": MOST_ATTEMPTS,
        "page": Paginator(responses, PER_PAGE).get_page(request.GET.get("page")),
    }
    return render(request, "responses/run.html", context)


@require_GET
@login_required
def stamp(request: HttpRequest, pk: int) -> JsonResponse:
    """A text that changes whenever the run's page does; the page asks for it every few seconds."""
    return JsonResponse({"stamp": _stamp(get_object_or_404(runs_of(request.user), pk=pk))})


def _stamp(run: ResponseRun) -> str:
    return f"{run.state}-{run.responses.count()}-{run.faults.count()}-{len(run.reason)}"


@require_POST
@login_required
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    found = get_object_or_404(runs_of(request.user), pk=pk)
    if found.study_id:
        messages.error(request, gettext("People write in this run. Close its study to stop it."))
    elif services.cancel(found, now=timezone.now()):
        messages.success(request, gettext("The run is cancelled. Its responses so far are kept."))
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
        send_or_warn(request, partial(tasks.send, run.pk))
    return redirect(found)


@login_required
def upload(request: AuthenticatedHttpRequest) -> HttpResponse:
    initial = {"context_version": request.GET.get("context_version")}
    form = ResponseFileForm(request.user, request.POST or None, request.FILES or None, initial=initial)
    if request.method == "POST" and too_often(request, "upload", rate="30/m", key="user"):
        return too_many(request)
    if request.method == "POST" and form.is_valid():
        return _read(request, form.cleaned_data)
    status = 200 if request.method == "GET" else 422
    return render(request, "responses/upload.html", {"form": form}, status=status)


@reads_a_file
def _read(request: AuthenticatedHttpRequest, chosen: Mapping[str, Any]) -> HttpResponse:
    file, version = chosen["file"], chosen["context_version"]
    parsed = model_files.parse_for(version, file["text"], file["ending"], chosen["system"])
    stored = {"version": version.pk, "origin": file["origin"], "parsed": parsed}
    return redirect("responses:preview", token=uploads.store_upload(request.user.pk, stored, of=_UPLOAD_KIND))


@login_required
@limit_file_reading(lambda request: request.path)
def preview(request: AuthenticatedHttpRequest, token: str) -> HttpResponse:
    """Show what a file of responses would add; by POST, import it."""
    uploaded = uploads.get_upload(request.user.pk, token, of=_UPLOAD_KIND)
    if uploaded is None:
        return uploads.redirect_expired(request, token, "responses:runs")
    version = get_object_or_404(versions_of(request.user), pk=uploaded["version"])
    parsed = model_files.from_json(uploaded["parsed"])
    if request.method == "POST" and parsed.may_be_imported:
        if not uploads.delete_upload(request.user.pk, token):  # the button was pressed twice
            return uploads.redirect_expired(request, token, "responses:runs")
        with transaction.atomic():
            runs = [
                services.store_file(version, each.responses, system=system, owner=request.user)
                for system, each in parsed.models.items()
            ]
        imported = ",".join(str(run.pk) for run in runs)
        address = f"{reverse('responses:runs')}?imported={imported}"
        uploads.record_import(token, address)
        messages.success(request, gettext("%(n)s responses are imported.") % {"n": f"{parsed.responses:,}"})
        return redirect(address)
    context = {
        "version": version,
        "content": parsed,
        "choose_at": f"{reverse('responses:upload')}?context_version={version.pk}",
        "problems": parsed.problems[:SHOWN],
        "notes": parsed.notes[:SHOWN],
        "origin": uploaded["origin"],
        "system": ", ".join(parsed.models),
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
