from collections.abc import Callable, Generator
from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from turnwise.accounts.limits import too_many, too_often
from turnwise.exports import bundle_jobs, preference_pairs, published_formats, turn_files
from turnwise.exports import tasks as jobs
from turnwise.exports.access import bundled_studies_of, exported_studies_of, note_export
from turnwise.exports.bundle_jobs import newest_and_made
from turnwise.exports.chat_files import data_set as data_sets
from turnwise.exports.chat_files import inspect_logs as logs
from turnwise.exports.chat_files import messages as chat_messages
from turnwise.exports.chat_files import turn_table
from turnwise.live.http_responses import T, attachment
from turnwise.live.jobs import NOT_STARTED, is_sent
from turnwise.studies.models import Bundle, Study
from turnwise.studies.tasks import keys_with_conversations

_TYPES = {
    "csv": "text/csv; charset=utf-8",
    "json": "application/json",
    "jsonl": "application/jsonl",
    "xlsx": "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet",
    "zip": "application/zip",
}


@require_GET
@login_required
def turns_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export(request, pk, turn_files.csv_lines, "csv")


@require_GET
@login_required
def turns_jsonl(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export(request, pk, turn_files.jsonl_lines, "jsonl")


@require_GET
@login_required
def neural_chat_records(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export_conversations(request, pk, published_formats.neural_chat_records, "chatrecords", "csv")


@require_GET
@login_required
def neural_chat_ratings(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export_conversations(request, pk, published_formats.neural_chat_ratings, "chat_ratings", "csv")


@require_GET
@login_required
def topical_chat_conversations(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export_conversations(
        request, pk, published_formats.topical_chat_conversations, "conversations", "json"
    )


@require_GET
@login_required
def topical_chat_reading_sets(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export_conversations(
        request, pk, published_formats.topical_chat_reading_sets, "reading_sets", "json"
    )


@require_GET
@login_required
def openai_messages(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export_chats(request, pk, chat_messages.openai_lines, "openai", "jsonl")


@require_GET
@login_required
def sharegpt(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export_chats(request, pk, chat_messages.sharegpt_lines, "sharegpt", "jsonl")


@require_GET
@login_required
def data_set(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Download the conversations as Parquet with a data card, zipped."""
    return _export_chats(request, pk, data_sets.data_set, "dataset", "zip")


@require_GET
@login_required
def turn_table_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export_chats(request, pk, turn_table.csv_lines, "turn_table", "csv")


@require_GET
@login_required
def turn_table_workbook(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export_chats(request, pk, turn_table.workbook, "turn_table", "xlsx")


@require_GET
@login_required
def inspect_logs(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export_chats(request, pk, logs.inspect_logs, "inspect_logs", "zip")


@require_GET
@login_required
def preferences(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Download the preferences of a study of pairs, for training with DPO."""
    study = get_object_or_404(exported_studies_of(request.user), pk=pk)
    lines = preference_pairs.lines(study)
    note_export(study)
    return attachment(request, lines, _TYPES["jsonl"], f"preferences_{study.code}.jsonl")


def _export_chats(
    request: HttpRequest, pk: int, lines: Callable[[Study], Generator[T]], name: str, ending: str
) -> StreamingHttpResponse:
    """Export the conversations of a study of any task, because every study may have imported some."""
    study = get_object_or_404(exported_studies_of(request.user), pk=pk)
    note_export(study)
    return attachment(request, lines(study), _TYPES[ending], f"{name}_{study.code}.{ending}")


def _export_conversations(
    request: HttpRequest, pk: int, lines: Callable[[Study], Generator[str]], name: str, ending: str
) -> StreamingHttpResponse:
    """Export conversations in a published format, under its usual file name."""
    talks = exported_studies_of(request.user).filter(task__in=keys_with_conversations())
    study = get_object_or_404(talks, pk=pk)
    note_export(study)
    return attachment(request, lines(study), _TYPES[ending], f"{name}_{study.code}.{ending}")


def _export(
    request: HttpRequest, pk: int, lines: Callable[[Study], Generator[T]], ending: str
) -> StreamingHttpResponse:
    study = get_object_or_404(exported_studies_of(request.user), pk=pk)
    note_export(study)
    return attachment(request, lines(study), _TYPES[ending], f"turnwise-{study.code}-turns.{ending}")


@require_GET
@login_required
def bundle(request: HttpRequest, pk: int) -> HttpResponse:
    """Page of a study's bundle: a button to make it, its progress, and the archive."""
    study = get_object_or_404(bundled_studies_of(request.user), pk=pk)
    newest, made = newest_and_made(study)
    context = {
        "study": study,
        "newest": newest,
        "made": made,
        "kept_until": made.made_at + bundle_jobs.KEEP_FOR if made and made.made_at else None,
        "is_stale": made is not None and bundle_jobs.is_stale(made),
        "progress": bundle_jobs.progress(newest) if newest and newest.is_in_progress else {},
        "stamp": _stamp(newest, made),
    }
    return render(request, "exports/bundle.html", context)


def _stamp(newest: Bundle | None, made: Bundle | None) -> str:
    if newest and newest.is_in_progress:
        return "-".join(map(str, (newest.pk, newest.begun_at, *bundle_jobs.progress(newest).values())))
    is_stale = made is not None and bundle_jobs.is_stale(made)
    return f"{newest.pk}-{bool(newest.reason)}-{is_stale}" if newest else "none"


@require_GET
@login_required
def bundle_stamp(request: HttpRequest, pk: int) -> JsonResponse:
    """Version string of the bundle's page, which asks for it every few seconds."""
    study = get_object_or_404(bundled_studies_of(request.user), pk=pk)
    return JsonResponse({"stamp": _stamp(*newest_and_made(study))})


@require_POST
@login_required
def make_bundle(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(bundled_studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    if too_often(request, "bundle", rate="6/m", key="user"):
        return too_many(request)
    try:
        wanted, is_new = bundle_jobs.request_bundle(study, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect("exports:bundle", pk=pk)
    if is_new and not is_sent(partial(jobs.make_bundle.delay, wanted.pk)):
        bundle_jobs.mark_failed(wanted.pk, str(NOT_STARTED))
    return redirect("exports:bundle", pk=pk)


@require_GET
@login_required
def bundle_file(request: HttpRequest, pk: int) -> HttpResponseBase:
    """Download the archive; redirect to the bundle's page if there is none."""
    study = get_object_or_404(bundled_studies_of(request.user), pk=pk)
    if too_often(request, "bundle file", rate="6/m", key="user"):
        return too_many(request)
    _newest, made = newest_and_made(study)
    if made is None:
        return redirect("exports:bundle", pk=pk)
    response = attachment(request, bundle_jobs.chunks(made), "application/zip", f"turnwise-{study.code}.zip")
    response["Content-Length"] = str(made.size)  # lets a browser detect an incomplete download
    return response
