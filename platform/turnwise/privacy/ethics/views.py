"""The page for an ethics board, and the download of its PDF, also by the API."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from turnwise.accounts.limits import TooManyAtOnceError, limit_concurrency, too_many
from turnwise.privacy.ethics.document import EthicsDocument, ethics_document, has_ethics_document
from turnwise.privacy.ethics.pdf import render_pdf, undrawable_characters
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of


def _study(request: HttpRequest, pk: int) -> Study:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    if not has_ethics_document(study):
        raise Http404("No workers take part in such a study.")
    return study


@require_safe
@login_required
def page(request: HttpRequest, pk: int) -> HttpResponse:
    """The document as a page, which prints without the controls around it."""
    study = _study(request, pk)
    return _page(request, study, ethics_document(study, request.user))


def _page(
    request: HttpRequest, study: Study, document: EthicsDocument, *, status: int = 200, **more: Any
) -> HttpResponse:
    context = {"study": study, "document": document, **more}
    return render(request, "privacy/ethics.html", context, status=status)


@require_safe
@login_required
def file(request: HttpRequest, pk: int) -> HttpResponse:
    """The document as PDF; the page with an explanation if the font lacks some of its characters."""
    study = _study(request, pk)
    document = ethics_document(study, request.user)
    if refused := why_no_pdf(document):
        return _page(request, study, document, status=422, refused=refused)
    try:
        return pdf_response(document, study, request.user.pk)
    except TooManyAtOnceError:
        return too_many(request)


def why_no_pdf(document: EthicsDocument) -> str:
    """Return why the PDF cannot be made, with the cure; empty if it can."""
    missing = undrawable_characters(document)
    if not missing:
        return ""
    return _(
        "The PDF cannot be made: its font has no sign for %(characters)s. Print this page instead; the "
        "browser can save it as PDF."
    ) % {"characters": " ".join(missing[:8])}


def pdf_response(document: EthicsDocument, study: Study, user: int | None) -> HttpResponse:
    """Make the PDF, one at a time for each user.

    Raises:
        TooManyAtOnceError: another one is being made for them.
    """
    with limit_concurrency(1, "pdf", user or 0):
        made = render_pdf(document)
    response = HttpResponse(made, content_type="application/pdf")
    response["Content-Disposition"] = f'attachment; filename="turnwise-{study.code}-ethics.pdf"'
    return response
