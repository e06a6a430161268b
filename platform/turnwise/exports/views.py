from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from turnwise.accounts.limits import too_many, too_often
from turnwise.exports import bundle_jobs
from turnwise.exports import tasks as jobs
from turnwise.exports.bundle_jobs import newest_and_made
from turnwise.exports.study_files import FILES, bundled_studies_of, exported_studies_of, sent_file
from turnwise.live.downloads import attachment
from turnwise.live.jobs import NOT_STARTED, is_sent
from turnwise.studies.models import Bundle


@require_GET
@login_required
def study_file(request: HttpRequest, pk: int, name: str) -> StreamingHttpResponse:
    """Download the study's labels or conversations in the format that the file's name says."""
    study = get_object_or_404(exported_studies_of(request.user), pk=pk)
    file = FILES[name]
    if not file.suits(study):
        raise Http404
    return sent_file(request, study, file)


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
