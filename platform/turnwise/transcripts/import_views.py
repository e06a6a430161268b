"""Staff pages to upload a file of conversations, preview it, import it and undo the import."""

from collections.abc import Iterable, Mapping
from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy as _lazy
from django.views.decorators.http import require_GET, require_POST, require_safe

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import limit_file_reading, reads_a_file
from turnwise.dialogues.models import Dialogue, TranscriptImport
from turnwise.dialogues.queries import has_labelled_turns, imports_of
from turnwise.live.jobs import NOT_STARTED, is_sent
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.tasks import SetupStep, task_of
from turnwise.transcripts import import_progress, importing, undoing
from turnwise.transcripts import tasks as jobs
from turnwise.transcripts.file_reading import Preview
from turnwise.transcripts.import_attempts import attempt
from turnwise.transcripts.importers import FORMATS, turn_table
from turnwise.transcripts.importing import ImportRefusedError
from turnwise.trash.views import offer_undo

SHOWN_TURNS = 8


@require_GET
@login_required
def imports(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    return _list(request, study)


def _list(request: HttpRequest, study: Study, *, error: str = "") -> HttpResponse:
    relayed = study.dialogues.filter(origin=Dialogue.Origin.RELAYED).select_related("relayed_by")
    context = {
        "study": study,
        "imports": study.imports.defer("content").select_related("by"),
        "relayed": relayed.prefetch_related("seats__bot").order_by("-started_at"),
        "formats": FORMATS.values(),
        "most_mb": importing.MAX_UPLOAD // 1024**2,
        "error": error,
    }
    return render(request, "transcripts/imports.html", context, status=422 if error else 200)


@require_POST
@login_required
@reads_a_file
def upload(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    file = request.FILES.get("file")
    if file is None or file.file is None:
        return _list(request, study, error=_("Choose a file, then upload it."))
    beside = request.FILES.get("reading_sets")
    name = " + ".join(each.name or "file" for each in (file, beside) if each)
    try:
        draft = importing.upload(
            study, file.file, name=name, by=request.user, beside=beside.file if beside else None
        )
    except ImportRefusedError as error:
        return _list(request, study, error=str(error))
    return redirect("transcripts:import", pk=draft.pk)


@require_safe
@login_required
@reads_a_file
def one(request: HttpRequest, pk: int) -> HttpResponse:
    return _one(request, get_object_or_404(imports_of(request.user), pk=pk))


def _one(request: HttpRequest, record: TranscriptImport, *, error: str = "") -> HttpResponse:
    record = import_progress.refresh(record)
    error = error or record.refusal
    context = {"study": record.study, "record": record, "formats": FORMATS.values(), "stamp": _stamp(record)}
    if record.is_in_progress:
        context["progress"] = import_progress.progress(record)
    elif record.imported_at:
        context["is_labelled"] = has_labelled_turns(record)
        context["next_step"] = _next_step(record.study)
    else:
        try:
            seen = importing.preview_of(record)
        except ImportRefusedError as refused:
            seen, error = Preview(), error or str(refused)
        context |= _languages(record, seen, request.POST.get("language"))
        speakers = _speakers(request, record, seen)
        context |= {"seen": seen, "speakers": speakers, "first": _first(seen)}
        context |= _labels(request, record, seen, speakers)
        context["parts"] = _parts(seen)
        if not record.format:
            context["found"] = importing.describe_upload(record)
    return render(
        request, "transcripts/import.html", context | {"error": error}, status=422 if error else 200
    )


def _next_step(study: Study) -> SetupStep | None:
    """Next open step of a study that starts with an import."""
    return next((step for step in task_of(study).first_steps(study) if not step.is_done), None)


def _stamp(record: TranscriptImport) -> str:
    done = import_progress.progress(record).get("done", 0) if record.is_in_progress else 0
    return f"{record.asked_at}-{record.imported_at}-{done}"


@require_GET
@login_required
def stamp(request: HttpRequest, pk: int) -> JsonResponse:
    """Stamp that changes while a file is imported; its page polls it."""
    record = get_object_or_404(imports_of(request.user).defer("content"), pk=pk)
    return JsonResponse({"stamp": _stamp(import_progress.refresh(record))})


def _languages(record: TranscriptImport, seen: Preview, sent: str | None) -> dict[str, object]:
    """Context for choosing the language: the guess, and the conversations that cannot be in it."""
    guessed = importing.language_guessed(record.study, seen)
    language = (record.language or guessed) if sent is None else sent
    compared_with = language if language in record.study.languages else record.study.languages[0]
    return {
        "language": language,
        "is_guessed": bool(guessed) and language == guessed and sent is None,
        "compared_with": compared_with,
        "in_others": importing.others_than(compared_with, seen),
        "other": importing.OTHER,
    }


def _labels(
    request: HttpRequest, record: TranscriptImport, seen: Preview, speakers: Iterable[Mapping[str, object]]
) -> dict[str, object]:
    """Context for the labels that would be stored, and those that would not, by reason."""
    systems = {str(each["name"]): str(each["system"]) for each in speakers}
    sent, stored = "scripted_opening" in request.POST, record.scripted_opening
    is_scripted = sent if request.method == "POST" else stored
    left_out = seen.labels_left_out(systems, scripted_opening=is_scripted)
    of_people = sum(number for name, number in left_out.items() if not systems[name].strip())
    return {
        "labels": seen.labels - sum(left_out.values()),
        "is_scripted": is_scripted,
        "labels_of_people": of_people,
        "labels_of_openings": sum(left_out.values()) - of_people,
    }


def _speakers(request: HttpRequest, record: TranscriptImport, seen: Preview) -> list[dict[str, object]]:
    guessed = importing.guessed_systems(seen.speakers, talkers_judge=seen.talkers_judge) | record.systems
    return [
        {
            "field": f"system-{number}",
            "name": name,
            "turns": turns,
            "labels": seen.labels_of.get(name, 0),
            "system": request.POST.get(f"system-{number}", guessed[name]),
        }
        for number, (name, turns) in enumerate(seen.speakers.items())
    ]


def _first(seen: Preview) -> list[dict[str, object]]:
    return [
        {
            "id": each.id,
            "line": each.line,
            "turns": [
                (each.speakers[position % 2], text) for position, text in enumerate(each.texts[:SHOWN_TURNS])
            ],
            "more": max(0, len(each.texts) - SHOWN_TURNS),
        }
        for each in seen.first
    ]


@require_POST
@login_required
def set_format(request: HttpRequest, pk: int) -> HttpResponse:
    drafts = imports_of(request.user).filter(imported_at=None, asked_at=None)
    record = get_object_or_404(drafts, pk=pk)
    attempt(request, partial(importing.set_format, record, request.POST.get("format", "")))
    return redirect("transcripts:import", pk=record.pk)


_PART_TITLES = {
    turn_table.CONVERSATION: _lazy("Conversation"),
    turn_table.SPEAKER: _lazy("Speaker"),
    turn_table.TEXT: _lazy("Text"),
    turn_table.TIME: _lazy("Time"),
}
_NO_COLUMN = {
    turn_table.CONVERSATION: _lazy("None: the whole file is one conversation"),
    turn_table.TIME: _lazy("None: times are not known"),
}


def _parts(seen: Preview) -> list[dict[str, object]]:
    """Choices of columns for a table: each part of a turn with the column that it is read from."""
    return [
        {
            "field": f"column-{part}",
            "title": title,
            "column": seen.columns.get(part, ""),
            "none": _NO_COLUMN.get(part, _lazy("Choose one")),
        }
        for part, title in _PART_TITLES.items()
        if seen.header
    ]


@require_POST
@login_required
def set_columns(request: HttpRequest, pk: int) -> HttpResponse:
    drafts = imports_of(request.user).filter(imported_at=None, asked_at=None)
    record = get_object_or_404(drafts, pk=pk)
    chosen = {part: request.POST.get(f"column-{part}", "")[:500] for part in turn_table.PARTS}
    importing.set_columns(record, chosen)
    return redirect("transcripts:import", pk=record.pk)


def _import_page(request: HttpRequest) -> str:
    match = request.resolver_match
    assert match
    return reverse("transcripts:import", kwargs=match.kwargs)


@require_POST
@login_required
@limit_file_reading(_import_page)
def confirm(request: HttpRequest, pk: int) -> HttpResponse:
    record = get_object_or_404(imports_of(request.user), pk=pk)
    if record.imported_at or record.is_in_progress:
        return redirect("transcripts:import", pk=pk)
    try:
        seen = importing.preview_of(record)
        if seen.conversations:
            importing.refuse_unsaid(record.study, request.POST.get("language", ""))
        systems = {
            name: request.POST.get(f"system-{number}", "") for number, name in enumerate(seen.speakers)
        }
        is_new = importing.ask_for(
            pk,
            systems=systems,
            scripted_opening="scripted_opening" in request.POST,
            language=request.POST.get("language", ""),
            parts=seen.conversations + len(seen.rated) + seen.problem_count,
        )
    except ImportRefusedError as error:
        return _one(request, record, error=str(error))
    if is_new and not is_sent(partial(jobs.import_upload.delay, pk)):
        import_progress.record_refusal(pk, str(NOT_STARTED))
    return redirect("transcripts:import", pk=pk)


@require_POST
@login_required
def undo(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    record = get_object_or_404(imports_of(request.user), pk=pk)
    undone, discarded = _("The import is undone: %(file)s"), _("The upload is discarded: %(file)s")
    message = undone if record.imported_at else discarded
    try:
        deletion = undoing.undo(pk, by=request.user)
    except ImportRefusedError as error:
        messages.error(request, str(error))
        return redirect("transcripts:import", pk=pk)
    offer_undo(request, message % {"file": record.file_name}, deletion)
    return redirect("transcripts:imports", pk=record.study_id)
