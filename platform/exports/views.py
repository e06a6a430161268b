import logging
import os
from collections.abc import Callable, Generator
from typing import IO

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.http import HttpRequest, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from accounts.limits import too_many, too_often
from exports import neural_chat, topical_chat, turns
from live import apart
from live.streaming import T, attachment
from reports.reported import ReportedTask, TaskWithReport
from studies.asks import About
from studies.models import Ask, Study
from studies.queries import readable_studies_of, studies_of
from studies.tasks import keys_of, keys_with_conversations

log = logging.getLogger(__name__)

_CHUNK = 1 << 16

_TYPES = {"csv": "text/csv; charset=utf-8", "json": "application/json", "jsonl": "application/jsonl"}


def _reported_studies(request: HttpRequest) -> QuerySet[Study]:
    mine = readable_studies_of(request.user)
    asked = Ask.objects.filter(study=OuterRef("pk"), about=About.PERSON)
    return mine.filter(Q(task__in=keys_of(ReportedTask)) | Exists(asked))


@require_GET
@login_required
def turns_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export(request, pk, turns.csv_lines, "csv")


@require_GET
@login_required
def turns_jsonl(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export(request, pk, turns.jsonl_lines, "jsonl")


@require_GET
@login_required
def neural_chat_records(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _of_talks(request, pk, neural_chat.records, "chatrecords", "csv")


@require_GET
@login_required
def neural_chat_ratings(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _of_talks(request, pk, neural_chat.ratings, "chat_ratings", "csv")


@require_GET
@login_required
def topical_chat_conversations(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _of_talks(request, pk, topical_chat.conversations, "conversations", "json")


@require_GET
@login_required
def topical_chat_reading_sets(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _of_talks(request, pk, topical_chat.reading_sets, "reading_sets", "json")


def _of_talks(
    request: HttpRequest, pk: int, lines: Callable[[Study], Generator[str]], name: str, ending: str
) -> StreamingHttpResponse:
    """A file of conversations in another platform's layout, under the name that it has there."""
    talks = _reported_studies(request).filter(task__in=keys_with_conversations())
    study = get_object_or_404(talks, pk=pk)
    return attachment(request, lines(study), _TYPES[ending], f"{name}_{study.code}.{ending}")


def _export(
    request: HttpRequest, pk: int, lines: Callable[[Study], Generator[T]], ending: str
) -> StreamingHttpResponse:
    study = get_object_or_404(_reported_studies(request), pk=pk)
    return attachment(request, lines(study), _TYPES[ending], f"turnwise-{study.code}-turns.{ending}")


@require_GET
@login_required
def bundle(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The study as one archive, which a process of its own makes.

    None of it is sent before all is there: what breaks off amid a download can look like the whole. Not for
    readers: it has the settings of the study's bots, which may be their owner's alone.
    """
    studies = studies_of(request.user).filter(task__in=keys_of(TaskWithReport))
    study = get_object_or_404(studies, pk=pk)
    if too_often(request, "bundle", rate="6/m", key="user"):
        return too_many(request)
    try:
        whole = apart.made("-m", "django", "bundle", str(study.pk))
    except apart.BusyError:
        messages.error(request, _("Other bundles are being made at the moment. Try again in a minute."))
        return redirect("reports:study", pk=pk)
    except RuntimeError:
        log.exception("No bundle of study %s.", study.pk)
        messages.error(
            request,
            _(
                "The bundle could not be made. If the report says why it failed, fix that first; otherwise "
                "ask an admin for the server's log."
            ),
        )
        return redirect("reports:study", pk=pk)
    length = whole.seek(0, os.SEEK_END)
    whole.seek(0)
    response = attachment(request, _chunks(whole), "application/zip", f"turnwise-{study.code}.zip")
    response["Content-Length"] = str(length)  # so that a browser knows whether it got all
    return response


def _chunks(file: IO[bytes]) -> Generator[bytes]:
    with file:
        while chunk := file.read(_CHUNK):
            yield chunk
