"""Public pages and files of published versions, for readers who are not signed in."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.cache import get_conditional_response
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext as _
from django.views.decorators.http import require_safe

from turnwise.accounts.limits import too_many, too_often
from turnwise.publications.badge import NoBadgeError, badge, badged_systems
from turnwise.publications.leaderboards import leaderboard_page
from turnwise.publications.metadata import Described, citation, croissant, dataset
from turnwise.publications.models import Publication, PublishedRows, PublishedVersion
from turnwise.publications.snapshots import LICENCES

RATE = "240/m"
CACHE_SECONDS = 60
# Characters that end a script element or an HTML comment, as in Django's json_script.
_ESCAPES = {ord(">"): "\\u003E", ord("<"): "\\u003C", ord("&"): "\\u0026"}

Answer = Callable[[HttpRequest, PublishedVersion], HttpResponse]


def _published(answer: Answer) -> Callable[..., HttpResponse]:
    """Find the version that the address names, and answer once for each state of it.

    The answer may be kept for a minute, and is sent again only if it has changed. Unknown addresses and
    versions get 404; revoked ones, and those of deleted studies, 410.
    """

    @wraps(answer)
    def view(request: HttpRequest, slug: str, number: int | None = None) -> HttpResponse:
        if too_often(request, "published", rate=RATE):
            return too_many(request)
        publication = Publication.objects.filter(slug=slug).first()
        if publication is None:
            return _missing(
                request, 404, _("Nothing is published at this address. Check that you copied the whole link.")
            )
        if not publication.is_available:
            return _missing(request, 410, _gone(publication))
        versions = PublishedVersion.objects.filter(publication=publication).select_related("publication")
        version = (versions.filter(number=number) if number else versions).first()
        if version is None:
            newest = versions.first()
            says = _("There is no version %(number)s of these results; the newest is version %(newest)s.")
            values = {"number": number, "newest": newest.number if newest else 0}
            return _missing(request, 404, says % values, address=reverse("publications:page", args=[slug]))
        etag = _etag(request, version)
        response = get_conditional_response(request, etag=etag) or answer(request, version)
        response["ETag"] = etag
        response["Cache-Control"] = f"public, max-age={CACHE_SECONDS}"
        response["Access-Control-Allow-Origin"] = "*"
        if not publication.is_indexed:
            response["X-Robots-Tag"] = "noindex"
        return response

    return require_safe(view)


def _gone(publication: Publication) -> str:
    if publication.revoked_at:
        return _("The people who published these results have revoked them.")
    return _("The study with these results has been deleted.")


def _missing(request: HttpRequest, status: int, says: str, *, address: str = "") -> HttpResponse:
    context = {"gone": status == 410, "says": says, "address": address}
    response = render(request, "publications/missing.html", context, status=status)
    response["X-Robots-Tag"] = "noindex"
    return response


def _etag(request: HttpRequest, version: PublishedVersion) -> str:
    """Changes with whatever the answers show: the snapshot itself, its rows, and newer versions."""
    shown = (
        request.get_full_path(), request.get_host(), version.sha256, version.rows_removed_at,
        _newest_number(version), version.publication.is_indexed,
    )  # fmt: skip
    return f'"{hashlib.sha256(repr(shown).encode()).hexdigest()[:32]}"'


def _newest_number(version: PublishedVersion) -> int:
    numbers = PublishedVersion.objects.filter(publication=version.publication_id).values_list(
        "number", flat=True
    )
    return numbers.first() or version.number


def described(request: HttpRequest, version: PublishedVersion) -> Described:
    """The version with what its page and its metadata need."""
    path = reverse("publications:version", args=[version.publication.slug, version.number])
    return Described(
        version=version,
        snapshot=json.loads(version.snapshot),
        address=request.build_absolute_uri(path),
        rows=PublishedRows.objects.filter(version=version).defer("content").first(),
    )


@_published
def page(request: HttpRequest, version: PublishedVersion) -> HttpResponse:
    found = described(request, version)
    newest = _newest_number(version)
    context = page_context(found) | {
        "newest": newest if newest > version.number else None,
        "newest_address": reverse("publications:page", args=[version.publication.slug]),
        "linked_data": _as_script(dataset(found)),
    }
    return render(request, "publications/page.html", context)


def page_context(found: Described) -> dict[str, Any]:
    """What the template of the results shows, on the public page and in the preview."""
    return results_context(found.snapshot, found.version.charts) | {
        "found": found,
        "citation": citation(found),
        "badges": badged_systems(found.snapshot)[:12],
    }


def results_context(snapshot: Mapping[str, Any], charts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """What the template `publications/results.html` shows of a snapshot and its charts."""
    by_name = {each["name"]: each for each in charts}
    sets = {each["key"]: each for each in snapshot["question_sets"]}
    return {
        "snapshot": snapshot,
        "asks": [
            {
                "figures": each,
                "questions": sets[each["question_set"]],
                "charts": [by_name[name] for name in _chart_names(number) if name in by_name],
                "has_ranks": any("rank" in bot for bot in each["bots"]),
            }
            for number, each in enumerate(snapshot["results"]["asks"])
        ],
        "licence": LICENCES[snapshot["licence"]],
        "closed": {"state": "closed"},  # a snapshot gets no further conversations
    }


def _chart_names(ask: int) -> list[str]:
    return [f"{kind}-{ask}" if ask else kind for kind in ("scores", "preferences")]


def _as_script(document: dict[str, Any]) -> SafeString:
    """JSON for a script element: nothing in it can end the element."""
    return mark_safe(json.dumps(document, ensure_ascii=False).translate(_ESCAPES))


@_published
def results(request: HttpRequest, version: PublishedVersion) -> HttpResponse:
    """The snapshot byte for byte."""
    return HttpResponse(version.snapshot.encode(), content_type="application/json")


@_published
def croissant_file(request: HttpRequest, version: PublishedVersion) -> HttpResponse:
    document = json.dumps(croissant(described(request, version)), ensure_ascii=False, indent=2)
    return HttpResponse(document.encode(), content_type="application/ld+json")


@_published
def badge_image(request: HttpRequest, version: PublishedVersion) -> HttpResponse:
    try:
        drawn = badge(json.loads(version.snapshot), request.GET.get("system", ""))
    except NoBadgeError as error:
        return HttpResponse(str(error), content_type="text/plain; charset=utf-8", status=404)
    return HttpResponse(drawn, content_type="image/svg+xml")


@_published
def row_archive(request: HttpRequest, version: PublishedVersion) -> HttpResponse:
    found = PublishedRows.objects.filter(version=version).first()
    if found is None and version.rows_removed_at:
        return _missing(
            request, 410, _("The rows were removed, because data of the study were withdrawn or deleted.")
        )
    if found is None:
        return _missing(request, 404, _("These results were published without rows."))
    response = HttpResponse(bytes(found.content), content_type="application/zip")
    name = f"{version.publication.slug}-v{version.number}-rows.zip"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


@require_safe
def leaderboards(request: HttpRequest) -> HttpResponse:
    """Published results of studies with the same protocol, side by side."""
    if too_often(request, "published", rate=RATE):
        return too_many(request)
    return render(request, "publications/leaderboards.html", leaderboard_page(request.GET.get("page", "1")))
