"""Pages behind a participant's data link: all stored data, a file of them, and withdrawal."""

import json
from collections.abc import Callable
from functools import wraps

from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.cache import add_never_cache_headers
from django.utils.translation import override
from django.views.decorators.http import require_http_methods, require_safe

from turnwise.accounts.limits import too_many, too_often
from turnwise.crowd import refusals
from turnwise.crowd.entry.worker_views import refused
from turnwise.crowd.languages import language_of_pages
from turnwise.crowd.models import Participation, participation_by_data_link
from turnwise.privacy import withdrawal
from turnwise.privacy.stored_data import stored_data_of
from turnwise.studies.models import Study

DataView = Callable[[HttpRequest, Participation], HttpResponse]


def data_page(view: DataView) -> Callable[[HttpRequest, str, str], HttpResponse]:
    """Decorate a view for data links: find the participation and set the language.

    Anyone with the link may see the page.
    """

    @wraps(view)
    def page(request: HttpRequest, code: str, token: str) -> HttpResponse:
        if too_often(request, "own_link", rate="60/m"):
            return too_many(request)
        study = Study.objects.filter(code=code).exclude(state=Study.State.DRAFT).first()
        participation = participation_by_data_link(token, study) if study else None
        with override(language_of_pages(study, request)):
            response = (
                view(request, participation)
                if participation
                else refused(request, refusals.unknown_data_link(), study)
            )
        response["Referrer-Policy"] = "no-referrer"
        response["X-Robots-Tag"] = "noindex"
        add_never_cache_headers(response)
        return response

    return page


@require_safe
@data_page
def mine(request: HttpRequest, participation: Participation) -> HttpResponse:
    return render(request, "privacy/mine.html", _page_context(request, participation))


def _page_context(request: HttpRequest, participation: Participation) -> dict[str, object]:
    late = withdrawal.why_too_late(participation, timezone.now())
    return {
        "study": participation.study,
        "own": participation,
        "stored": stored_data_of(participation),
        "withdrawal": getattr(participation, "withdrawal", None),
        "until": withdrawal.last_day(participation),
        "late": late,
        "base": participation.data_link,
    }


@require_safe
@data_page
def file(request: HttpRequest, participation: Participation) -> HttpResponse:
    text = json.dumps(stored_data_of(participation), ensure_ascii=False, indent=1) + "\n"
    name = f"turnwise-{participation.study.code}-{participation.pseudonym}.json"
    return HttpResponse(
        text,
        content_type="application/json",
        headers={
            "Content-Disposition": f'attachment; filename="{name}"',
            "X-Content-Type-Options": "nosniff",
        },
    )


@require_http_methods(["GET", "HEAD", "POST"])
@data_page
def withdraw(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Withdraw from the study, after a confirmation."""
    if hasattr(participation, "withdrawal"):
        return redirect(participation.data_link)
    context = _page_context(request, participation)
    if request.method != "POST":
        return render(request, "privacy/withdraw.html", context, status=403 if context["late"] else 200)
    if request.POST.get("sure") != "yes":
        return render(request, "privacy/withdraw.html", context | {"unsure": True}, status=422)
    try:
        withdrawal.withdraw(participation.pk)
    except ValidationError:
        return render(request, "privacy/withdraw.html", context, status=403)
    return redirect(participation.data_link)
