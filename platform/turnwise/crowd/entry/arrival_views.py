"""Pages of arrival: the first page with the consent text, resuming by code, and taking part again."""

from typing import Any

from csp.decorators import csp_replace
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from turnwise.accounts.limits import guessed_too_often, too_many, too_often
from turnwise.crowd import refusals
from turnwise.crowd.entry import enrolment, visits
from turnwise.crowd.entry.enrolment import EntryKey
from turnwise.crowd.entry.sessions import remember, session_of
from turnwise.crowd.entry.worker_views import (
    allow_form_to_panel,
    current_participation,
    page_of,
    return_path_after,
    sent_arrival,
    worker_page,
)
from turnwise.crowd.models import Participation, Worker
from turnwise.crowd.panels import (
    Arrival,
    arrival_of_participation,
    is_preview,
    load_signed_arrival,
    plain_link_arrival,
    sign_arrival,
)
from turnwise.crowd.panels.mturk import FRAMED_BY
from turnwise.crowd.places import pilot, re_entry
from turnwise.crowd.queries import participation_by_resume_code, participation_of
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.crowd.worker_task import are_bots_unavailable, is_full, may_become_free, work_of
from turnwise.live.repeating import once
from turnwise.studies.models import ReEntry, Study


@require_safe
@worker_page
def enter(request: HttpRequest, study: Study) -> HttpResponse:
    if is_preview(request.GET, study):
        return _framed(request, _welcome(request, study, preview=True))
    arrival = sent_arrival(request, study)
    if request.headers.get("Sec-Fetch-Dest") == "iframe":  # browsers keep no third-party cookies there
        here = {"study": study, "address": request.get_full_path()}
        return _framed(request, render(request, "crowd/framed.html", here))
    participation = participation_of(session_of(request.COOKIES), study)
    if participation and not _is_other_person(participation, arrival):
        if (
            arrival
            and arrival.submission not in ("", participation.submission)
            and _can_re_enter(participation)
        ):
            return _re_entry_page(request, participation, arrival)
        if arrival:
            enrolment.record_return(participation.pk, arrival)
        return redirect(page_of(participation), code=study.code)
    if arrival and enrolment.begun_participation(arrival, study):
        return _welcome(request, study, arrival, recognised=True)
    try:
        arrival = arrival or plain_link_arrival(study)
        _refuse_early(arrival, study)
    except EntryRefusedError as refusal:
        return _closed(request, study, arrival, refusal)
    return _welcome(request, study, arrival)


def _can_re_enter(participation: Participation) -> bool:
    return re_entry.is_over(participation) and participation.study.re_entry != ReEntry.ONCE


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def re_enter(request: HttpRequest, study: Study) -> HttpResponse:
    """Start another participation, after consent to a text that has changed."""
    participation = re_entry.newest_participation(current_participation(request, study))
    if not re_entry.is_over(participation):
        return _go_on(request, participation)
    text = request.POST.get("arrival", "")
    arrival = load_signed_arrival(text, study) if text else None
    if arrival and _is_other_person(participation, arrival):
        raise refusals.stale_page()
    # A page that stayed open since an earlier participation starts nothing.
    if request.method != "POST" or request.POST.get("after") != str(participation.number):
        return _re_entry_page(request, participation, arrival)
    version = study.consent_versions.last()
    is_read = version == participation.consent or request.POST.get("consent") == str(
        version and version.number
    )
    if (
        version is None
        or not is_read
        or (version != participation.consent and request.POST.get("agree") != "yes")
    ):
        return _re_entry_page(request, participation, arrival, status=422)
    _refuse_re_entry(participation, arrival)
    newest = enrolment.create_re_entry(
        participation, version, arrival=arrival, address=request.META.get("REMOTE_ADDR", "")
    )
    return _go_on(request, newest)


def _go_on(request: HttpRequest, participation: Participation) -> HttpResponse:
    """Redirect to the worker's current page, and set the session cookie."""
    response = redirect(page_of(participation), code=participation.study.code)
    remember(response, participation, known=session_of(request.COOKIES))
    return response


def _re_entry_page(
    request: HttpRequest, participation: Participation, arrival: Arrival | None, *, status: int = 200
) -> HttpResponse:
    """Render the page on which a worker who has finished may start again.

    Raises:
        EntryRefusedError: the worker may not start again, or the study admits no one now.
    """
    _refuse_re_entry(participation, arrival)
    study = participation.study
    version = study.consent_versions.last()
    context = {
        "study": study,
        "after": participation.number,
        "arrival": sign_arrival(arrival, study) if arrival else "",
        "consent": version if version != participation.consent else None,
        "is_error": status != 200,
    }
    return render(request, "crowd/re_entry.html", context, status=status)


def _refuse_re_entry(participation: Participation, arrival: Arrival | None) -> None:
    """Refuse workers who cannot start again, or not now.

    Raises:
        EntryRefusedError: names the reason.
    """
    re_entry.refuse_re_entry(participation)
    if arrival is None and participation.submission:
        raise refusals.re_enter_from_panel()
    _refuse_early(arrival or arrival_of_participation(participation), participation.study)


def _framed(request: HttpRequest, response: HttpResponse) -> HttpResponse:
    """Allow Mechanical Turk to frame the page, which has no controls."""
    allowed = csp_replace({"frame-ancestors": [FRAMED_BY]})(lambda _request: response)
    xframe_options_exempt(allowed)(request)  # both note it in the response
    return response


def _is_other_person(participation: Participation, arrival: Arrival | None) -> bool:
    """True if the link names another person than the browser's session, as on a shared computer."""
    named = arrival.worker if arrival else ""
    return bool(named) and (participation.worker.panel, participation.worker.panel_id) != (
        arrival and arrival.panel,
        named,
    )


def _refuse_early(arrival: Arrival, study: Study) -> None:
    """Refuse before the worker reads the consent text.

    Raises:
        EntryRefusedError: the study is closed or full, the worker is not eligible, or the bots are down.
    """
    if study.state != Study.State.OPEN:
        raise refusals.not_taking(study)
    if pilot.is_full(study, timezone.now()):
        raise refusals.paused()
    enrolment.refuse_erased_participant(arrival, study)
    if arrival.worker:  # without an ID the query would match every worker without a panel
        worker = Worker.objects.filter(panel=arrival.panel, panel_id=arrival.worker).first()
        if worker:
            enrolment.refuse_ineligible(worker, study)
    if is_full(study):
        raise refusals.full(may_become_free=may_become_free(study))
    if are_bots_unavailable(study):
        raise refusals.bots_unavailable()


def _closed(
    request: HttpRequest, study: Study, arrival: Arrival | None, refusal: EntryRefusedError
) -> HttpResponse:
    """Render the first page with a refusal in place of the consent form."""
    back = return_path_after(request, study, refusal.outcome) if refusal.outcome else None
    response = _welcome(request, study, arrival, refusal=refusal, back=back, status=refusal.status)
    return allow_form_to_panel(request, response, back)


def _welcome(
    request: HttpRequest, study: Study, arrival: Arrival | None = None, *, status: int = 200, **more: Any
) -> HttpResponse:
    """Render the first page.

    Args:
        request: the request.
        study: the study.
        arrival: the worker's arrival, which the forms carry along.
        status: HTTP status.
        more: `error`, `resume_error` and `typed` about a form that was sent; `refusal` and `back` of a
            refused worker; `recognised`: the worker started in another browser; `preview`: a panel shows
            the page.
    """
    context = {
        "study": study,
        "task": work_of(study),
        "consent": study.consent_versions.last(),
        "arrival": sign_arrival(arrival, study) if arrival else "",
    }
    if request.method != "POST" and not more.keys() & {"recognised", "preview"}:
        refusal = more.get("refusal")
        context["visit"] = visits.visit_ticket(study, refusal.reason if refusal else visits.ADMITTED)
    return render(request, "crowd/welcome.html", context | more, status=status)


@require_POST
@worker_page
def seen(request: HttpRequest, study: Study) -> HttpResponse:
    """Count a visit, sent by the first page once it is visible."""
    if too_often(request, "seen", rate="300/m"):
        return HttpResponse(status=429)
    was_counted = visits.count_visit(study, request.POST.get("visit", "")[:200])
    return HttpResponse(status=204 if was_counted else 422)


@require_POST
@worker_page
def consent(request: HttpRequest, study: Study) -> HttpResponse:
    if too_often(request, "consent", rate="300/m"):
        return too_many(request)
    arrival = sent_arrival(request, study) or plain_link_arrival(study)
    if request.POST.get("agree") != "yes":
        error = _("To take part, please tick that you agree.")
        return _welcome(request, study, arrival, error=error, status=422)
    session = session_of(request.COOKIES)
    if participation_of(session, study) is None and are_bots_unavailable(study):
        return _closed(request, study, arrival, refusals.bots_unavailable())
    version = study.consent_versions.last()
    if version is None or request.POST.get("consent") != str(version.number):
        error = _("The text has changed since you opened it. Please read it again.")
        return _welcome(request, study, arrival, error=error, status=422)
    address = request.META.get("REMOTE_ADDR", "")
    try:
        participation = once(
            request,
            lambda: enrolment.consent(
                study, version, known=session, arrival=arrival, address=address, key=_key_of(request)
            ),
            is_idempotent=True,
        )
    except EntryRefusedError as refusal:
        if refusal.reason != "already_started":
            raise
        return _welcome(request, study, arrival, recognised=True, status=refusal.status)
    response = redirect(page_of(participation), code=study.code)
    remember(response, participation, known=session)
    return response


def _key_of(request: HttpRequest) -> EntryKey:
    """The key of this request: the same if it is answered once more, because PostgreSQL was lost."""
    key: EntryKey | None = getattr(request, "entry_key", None)
    request.entry_key = EntryKey(key.code, is_used=True) if key else EntryKey()  # type: ignore[attr-defined]
    found: EntryKey = request.entry_key  # type: ignore[attr-defined]
    return found


@require_POST
@worker_page
def resume(request: HttpRequest, study: Study) -> HttpResponse:
    if guessed_too_often(request, "resume", rate="20/m"):
        return too_many(request)
    arrival = sent_arrival(request, study)
    typed = request.POST.get("code", "")[:40]
    participation = participation_by_resume_code(typed, study)
    if participation is None:
        error = _(
            "Nobody in this study has that resume code. Codes look like ABCDE-FGHJK. Check it and try again."
        )
        recognised = bool(arrival and enrolment.begun_participation(arrival, study))
        return _welcome(
            request, study, arrival, resume_error=error, typed=typed, recognised=recognised, status=422
        )
    if arrival and not _is_other_person(participation, arrival):
        enrolment.record_return(participation.pk, arrival)
    response = redirect(page_of(participation), code=study.code)
    remember(response, participation, known=session_of(request.COOKIES))
    return response
