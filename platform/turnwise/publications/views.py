"""Pages on which an owner publishes a study's report."""

import json
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_many, too_often
from turnwise.crowd.redaction import unreviewed
from turnwise.publications import services
from turnwise.publications.forms import PublishForm
from turnwise.publications.metadata import Described
from turnwise.publications.models import Publication, PublishedVersion
from turnwise.publications.public_views import page_context
from turnwise.publications.snapshots import as_text, publishable_report
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.sharing.permissions import Permission


@login_required
def publish(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Show what becomes public, and publish it once its owner has read that."""
    study = get_object_or_404(studies_of(request.user, Permission.SHARE), pk=pk)
    publication = services.current_publication(study)
    try:
        report = publishable_report(study)
    except ValidationError as error:
        context = {"study": study, "publication": publication, "refused": " ".join(error.messages)}
        status = 422 if request.method == "POST" else 200
        return render(request, "publications/publish.html", context, status=status)
    sent = request.POST if request.method == "POST" else None
    form = PublishForm(
        sent,
        initial=_initial(study, publication),
        has_address=publication is not None,
        has_protocol=bool(report.result and report.result.get("protocol_key")),
    )
    if sent is None:
        # The defaults fill the form, so its first preview shows them.
        return _page(request, study, publication, form, draft=None)
    if too_often(request, "publish", rate="60/m", key="user"):
        return too_many(request)
    return _sent(request, study, publication, form)


def _initial(study: Study, publication: Publication | None) -> dict[str, Any]:
    newest = publication.versions.first() if publication else None
    if publication is None or newest is None:
        return {"title": study.title, "rows": "none", "licence": "CC-BY-4.0"}
    snapshot = _snapshot(newest)
    return {
        "title": snapshot["title"],
        "authors": "; ".join(snapshot["authors"]),
        "licence": snapshot["licence"],
        "is_indexed": publication.is_indexed,
        "in_leaderboard": publication.in_leaderboard,
        "rows": "none",
    }


def _sent(
    request: AuthenticatedHttpRequest, study: Study, publication: Publication | None, form: PublishForm
) -> HttpResponse:
    """Publish if the preview was read, else show it."""
    request.changes_nothing = True  # type: ignore[attr-defined]  # for the audit log, until it is published
    if not form.is_valid():
        return _page(request, study, publication, form, draft=None, status=422)
    address = form.cleaned_data.get("address", "")
    wanted = (study, form.details, address, form.listing, form.choice)
    try:
        if "publish" in request.POST:
            version = services.publish(
                *wanted, by=request.user, previewed=request.POST.get("previewed", "")[:64]
            )
            if version:
                request.changes_nothing = False  # type: ignore[attr-defined]
                text = _("Version %(n)s is public now.") % {"n": version.number}
                messages.success(request, text)
                return redirect("publications:publish", pk=study.pk)
        draft = services.draft(*wanted)
    except ValidationError as error:
        form.add_error(None, error)
        return _page(request, study, publication, form, draft=None, status=422)
    changed = "publish" in request.POST
    return _page(
        request, study, publication, form, draft=draft, changed=changed, status=409 if changed else 200
    )


def _page(
    request: HttpRequest,
    study: Study,
    publication: Publication | None,
    form: PublishForm,
    *,
    draft: services.Draft | None,
    changed: bool = False,
    status: int = 200,
) -> HttpResponse:
    context = {"study": study, "publication": publication, "form": form, "draft": draft, "changed": changed}
    if draft:
        context |= page_context(_unpublished(draft)) | {
            "document": as_text(draft.snapshot),
            "unreviewed": unreviewed(study) if form.cleaned_data.get("consents") else "",
        }
    return render(request, "publications/publish.html", context, status=status)


def _unpublished(draft: services.Draft) -> Described:
    """A draft in the shape in which a published version is shown."""
    publication = Publication(slug="…")
    version = PublishedVersion(
        publication=publication, number=draft.number, published_at=timezone.now(), charts=list(draft.charts)
    )
    return Described(version, draft.snapshot, address="…", rows=None)


def _snapshot(version: PublishedVersion) -> dict[str, Any]:
    snapshot: dict[str, Any] = json.loads(version.snapshot)
    return snapshot


@login_required
@require_POST
def change_listing(request: HttpRequest, pk: int) -> HttpResponse:
    """Change where a published report may be found."""
    study = get_object_or_404(studies_of(request.user, Permission.SHARE), pk=pk)
    publication = get_object_or_404(Publication, study=study, revoked_at=None)
    listing = services.Listing("is_indexed" in request.POST, "in_leaderboard" in request.POST)
    services.change_listing(publication, listing)
    messages.success(request, _("Saved."))
    return redirect("publications:publish", pk=pk)


@login_required
@require_POST
def revoke(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user, Permission.SHARE), pk=pk)
    publication = get_object_or_404(Publication, study=study, revoked_at=None)
    services.revoke(publication)
    messages.success(
        request, _("The results are no longer public. Their address says that they were revoked.")
    )
    return redirect("publications:publish", pk=pk)
