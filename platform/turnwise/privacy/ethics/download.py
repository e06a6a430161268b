"""Download of the document for an ethics board, from its page and by the API."""

from django.http import HttpResponse
from django.utils.translation import gettext as _

from turnwise.accounts.limits import limit_concurrency
from turnwise.privacy.ethics.document import EthicsDocument
from turnwise.privacy.ethics.pdf import render_pdf, undrawable_characters
from turnwise.studies.models import Study


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
