"""Pages that bring in a judge's labels from a file: choose it, choose its columns, preview, import."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from evaluation.machine_judges.imported import Imported, missing_columns, suggested_columns
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import limit_file_reading
from turnwise.contexts import uploads
from turnwise.judges import queries
from turnwise.judges.forms import ColumnsForm, LabelFileForm
from turnwise.judges.label_imports import files as label_files
from turnwise.judges.label_imports import services as label_imports
from turnwise.judging.views import judging_study
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Ask, Study

SHOWN = 20
_UPLOAD_KIND = f"labels of a judge {label_files.SHAPE}"


@login_required
@limit_file_reading(lambda request: request.path if request.method == "GET" else "")
def choose_file(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Form for the file; by POST, read it and go on to its columns."""
    study = judging_study(request, pk)
    asks = queries.judgeable_asks(study)
    if not asks:
        messages.error(request, _("A machine cannot judge the items of this study."))
        return redirect("judges:judges", pk=pk)
    form = LabelFileForm(asks, request.POST or None, request.FILES or None)
    if request.method == "POST" and form.is_valid():
        ask, file = form.selected_ask(), form.cleaned_data["file"]
        upload = {"study": study.pk, "ask": ask.pk, "title": form.cleaned_data["title"], **file}
        token = uploads.store_upload(request.user.pk, upload, of=_UPLOAD_KIND)
        return redirect("judges:preview_import", pk=pk, token=token)
    context = {"study": study, "form": form, "asks": asks}
    status = 200 if request.method == "GET" else 422
    return render(request, "judges/import.html", context, status=status)


@login_required
@limit_file_reading(lambda request: request.get_full_path())
def preview_import(request: AuthenticatedHttpRequest, pk: int, token: str) -> HttpResponse:
    """Choose the columns, and see what they would bring; by POST, import it."""
    study = judging_study(request, pk)
    uploaded = uploads.get_upload(request.user.pk, token, of=_UPLOAD_KIND)
    if uploaded is None or uploaded["study"] != pk:
        return uploads.redirect_expired(request, token, reverse("judges:import", args=[pk]))
    ask = next((each for each in queries.judgeable_asks(study) if each.pk == uploaded["ask"]), None)
    if ask is None:
        messages.error(request, _("The study no longer asks these questions. Choose the file again."))
        return redirect("judges:import", pk=pk)
    table, questions = label_files.table_from_json(uploaded["table"]), question_set(ask.question_set)
    suggested = suggested_columns(questions, table.header)
    form = ColumnsForm(questions, table.header, suggested, request.POST or request.GET)
    columns = form.columns()
    missing = missing_columns(questions, columns)
    problems = [(each.line, each.say) for each in table.problems]
    found = Imported([], problems, [])
    if not problems and not missing:
        found = label_imports.read_table(ask, table, columns)
    error = ""
    if request.method == "POST" and not missing:
        try:
            return _import(request, token, ask, found, uploaded)
        except ValidationError as refused:
            error = " ".join(refused.messages)
    is_usable = not missing and not found.problems and not error
    context = _context(study, ask, found, uploaded) | {
        "form": form,
        "missing": missing,
        "error": error,
        "is_log": table.is_log,
        "is_usable": is_usable,
        "has_columns": bool(table.header),
    }
    return render(request, "judges/import_preview.html", context, status=200 if is_usable else 422)


def _import(
    request: AuthenticatedHttpRequest, token: str, ask: Ask, found: Imported, uploaded: dict[str, Any]
) -> HttpResponse:
    run = label_imports.store(
        ask,
        found,
        title=uploaded["title"],
        file_name=uploaded["name"],
        sha256=uploaded["sha256"],
        by=request.user,
        now=timezone.now(),
    )
    uploads.delete_upload(request.user.pk, token)
    uploads.record_import(token, run.get_absolute_url())
    messages.success(request, _("%(n)s labels are imported.") % {"n": f"{len(found.labels):,}"})
    return redirect(run)


def _context(study: Study, ask: Ask, found: Imported, uploaded: dict[str, Any]) -> dict[str, Any]:
    outside = sum(label.answers is None for label in found.labels)
    rows = partial(label_imports.preview_rows, question_set(ask.question_set))
    return {
        "study": study,
        "ask": ask,
        "title": uploaded["title"],
        "file_name": uploaded["name"],
        "labels": len(found.labels),
        "items": len({label.item for label in found.labels}),
        "outside": outside,
        "rows": rows(found.labels[:SHOWN]),
        "all_problems": found.problems,
        "problems": _findings(found.problems[:SHOWN], uploaded),
        "notes": _findings(found.notes, uploaded),
    }


def _findings(found: list[tuple[int, str]], uploaded: dict[str, Any]) -> list[dict[str, Any]]:
    """Problems or notes with their line, or the number of their sample in a log."""
    is_log = uploaded["table"]["is_log"]
    return [
        {"line": number, "say": say, **({"where": _("Sample %d") % number} if is_log else {})}
        for number, say in found
    ]


@require_GET
@login_required
def items_file(request: HttpRequest, pk: int, number: int) -> HttpResponse:
    """The items of an ask, to be judged elsewhere."""
    study = judging_study(request, pk)
    ask = next((each for each in queries.judgeable_asks(study) if each.number == number), None)
    if ask is None:
        raise Http404("A machine cannot judge the items of this ask.")
    disposition = {
        "Content-Disposition": f'attachment; filename="turnwise-items-{study.code}-{number}.jsonl"'
    }
    lines = label_imports.item_lines(ask)
    return HttpResponse("".join(lines), content_type="application/jsonl", headers=disposition)
