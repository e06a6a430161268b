"""Staff pages of a study's participants: the list, what is done to one or several of them, and the file."""

from collections.abc import Generator
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db.models import Count, F, OrderBy, Q
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from evaluation.files.writing import csv_text
from turnwise.crowd.models import Outcome, Participation
from turnwise.crowd.panels.base import shortened
from turnwise.crowd.panels.panel_views import OUTCOMES
from turnwise.crowd.pay.payment_views import parse_amount
from turnwise.crowd.places import ending
from turnwise.crowd.queries import participations_of
from turnwise.crowd.running import bulk_actions
from turnwise.crowd.running.bulk_actions import ENDS, exclusion_message
from turnwise.live.downloads import attachment
from turnwise.live.list_pages import back_to_list, query_choice, sought_text, ticked_keys
from turnwise.studies.conditions.factors import chosen_level, column_of, level_choices
from turnwise.studies.models import ReEntry, Study
from turnwise.studies.queries import studies_of
from turnwise.studies.sharing.permissions import Permission, may

PER_PAGE = 50
SIGNED, EXCLUDED = ~Q(signs=""), Q(excluded_at__isnull=False)
PROPOSED = ~Q(proposed_reason="") & ~EXCLUDED
MOST_LISTED = 50
ROWS_AT_ONCE = 500
COLUMNS = (
    "worker", "panel", "panel_id", "submission", "consented_at", "began_at", "ended_at", "outcome",
    "completion_code", "pilot", "signs", "number",
)  # fmt: skip
"""Columns of the CSV file; the last one only if the study allows re-entry. Those of conditions follow."""

STATES = {
    "working": (gettext_lazy("At work"), Q(assignment__outcome="")),
    "complete": (gettext_lazy("Complete"), Q(assignment__outcome=Outcome.COMPLETE)),
    "ended": (
        gettext_lazy("Ended early"),
        Q(assignment__isnull=False) & ~Q(assignment__outcome__in=("", Outcome.COMPLETE)),
    ),
    "not-started": (gettext_lazy("Not started"), Q(assignment=None)),
    "excluded": (gettext_lazy("Excluded"), EXCLUDED),
    "signs": (gettext_lazy("With signs of carelessness or fraud"), SIGNED),
}
"""Filters of the list by key: title and condition."""

SORTS: dict[str, tuple[Any, tuple[OrderBy, ...]]] = {
    "newest": (gettext_lazy("Newest first"), (F("consented_at").desc(),)),
    "oldest": (gettext_lazy("Oldest first"), (F("consented_at").asc(),)),
    "ended": (gettext_lazy("Ended last first"), (F("assignment__ended_at").desc(nulls_last=True),)),
    "outcome": (
        gettext_lazy("By outcome"),
        (F("assignment__outcome").asc(nulls_first=True), F("consented_at").desc()),
    ),
    "worker": (gettext_lazy("By worker"), (F("pseudonym").asc(), F("number").asc())),
}
"""Orders of the list by key: title and columns."""


@require_GET
@login_required
def participants(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    sought = sought_text(request.GET)
    state = query_choice(request.GET, "state", STATES)
    sort = query_choice(request.GET, "sort", SORTS, "newest")
    levels = level_choices(study.factors)
    condition = query_choice(request.GET, "condition", levels)
    matching = participations_of(study, sought)
    if condition:
        matching = matching.filter(condition__contains=chosen_level(condition))
    proposed, excluded = matching.filter(PROPOSED), matching.filter(EXCLUDED)
    counts = matching.aggregate(
        all=Count("pk"),
        proposed=Count("pk", filter=PROPOSED),
        **{key: Count("pk", filter=condition) for key, (_title, condition) in STATES.items()},
    )
    # Paginate keys only: full rows are read for the fifty of the page, not for thousands.
    listed = (matching.filter(STATES[state][1]) if state else matching).select_related(None)
    order = (*SORTS[sort][1], F("pk").desc())
    pages = Paginator(listed.order_by(*order).values_list("pk", flat=True), PER_PAGE)
    pages.count = counts[state or "all"]
    page = pages.get_page(request.GET.get("page"))
    context = {
        "study": study,
        "sought": sought,
        "state": state,
        "sort": sort,
        "levels": levels.items(),
        "condition": condition,
        "states": [(key, title, counts[key]) for key, (title, _condition) in STATES.items()],
        "sorts": [(key, title) for key, (title, _order) in SORTS.items()],
        "all_counted": counts["all"],
        "with_signs": counts["signs"],
        "page": page,
        "rows": list(matching.filter(pk__in=list(page.object_list)).order_by(*order)),
        "recurs": study.re_entry != ReEntry.ONCE,
        "ends": [(end.value, OUTCOMES[end]) for end in ENDS],
        "actions": [(key, action.title) for key, action in bulk_actions.ACTIONS.items()],
        "pays": bool(study.pay_amount) and may(request.user, Permission.PAY, study),
        "query": request.GET.urlencode(),
        "proposed": proposed[:MOST_LISTED] if counts["proposed"] else (),
        "proposals": counts["proposed"],
        "excluded": excluded[:MOST_LISTED] if counts["excluded"] else (),
        "exclusions": counts["excluded"],
        "most_listed": MOST_LISTED,
    }
    return render(request, "crowd/participants.html", context)


@require_POST
@login_required
def act(request: HttpRequest, pk: int) -> HttpResponse:
    """Carry out an action on the ticked participants."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    try:
        details = bulk_actions.Request(
            request.POST.get("note", ""), _amount(request.POST.get("amount", "")), request.user
        )
        keys = ticked_keys(request.POST.getlist("participation"))
        messages.success(
            request, bulk_actions.carry_out(study, request.POST.get("action", ""), keys, details)
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return back_to_list(
        request, "crowd:participants", study.pk, ("find", "state", "sort", "condition", "page")
    )


def _amount(text: str) -> Decimal | None:
    """Parse an amount of money, also with a comma; None if none was typed.

    Raises:
        ValidationError: the text is not an amount.
    """
    return parse_amount(text.replace(",", ".")) if text.strip() else None


@require_POST
@login_required
def exclude(request: HttpRequest, pk: int) -> HttpResponse:
    """Exclude one worker or all workers that the study's rules propose, or undo an exclusion."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    named, undo = request.POST.get("worker", "")[:20], "undo" in request.POST
    # A worker's first participation represents all of them: `exclude` covers the others.
    first = Participation.objects.filter(study=study, number=1).select_related("worker")
    selected = list(first.filter(excluded_at__isnull=not undo, pseudonym=named))
    if "all" in request.POST:
        selected = list(first.filter(excluded_at=None).exclude(proposed_reason=""))
    for each in selected:
        ending.exclude(each.pk, reason="" if undo else each.proposed_reason, by=request.user)
    messages.success(request, exclusion_message(len(selected), undo=undo))
    return redirect("crowd:participants", pk=pk)


@require_GET
@login_required
def participants_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    return attachment(
        request, _lines(study), "text/csv; charset=utf-8", f"turnwise-{study.code}-participants.csv"
    )


@require_POST
@login_required
def end(request: HttpRequest, pk: int, participation: int) -> HttpResponse:
    """End a participation whose task was returned or timed out at the panel; its place is free at once."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    ended = get_object_or_404(study.participations.select_related("worker"), pk=participation)
    outcome = request.POST.get("outcome", "")
    if outcome not in ENDS:
        messages.error(
            request,
            _("“%(outcome)s” is not an outcome that you can choose.") % {"outcome": shortened(outcome)},
        )
    elif ending.end(ended.pk, Outcome(outcome)):
        messages.success(
            request, _("The work of %(who)s is ended; the place is free.") % {"who": ended.pseudonym}
        )
    else:
        messages.error(
            request,
            _("The work of %(who)s had already ended. No changes were made.") % {"who": ended.pseudonym},
        )
    return redirect("crowd:participants", pk=study.pk)


def _lines(study: Study) -> Generator[str]:
    columns = len(COLUMNS) if study.re_entry != ReEntry.ONCE else len(COLUMNS) - 1
    factors = [factor["name"] for factor in study.factors]
    yield csv_text([[*COLUMNS[:columns], *map(column_of, factors)]])
    for each in participations_of(study).iterator(ROWS_AT_ONCE):
        levels = [each.condition.get(factor, "") for factor in factors]
        yield csv_text([[*_row(each)[:columns], *levels]])


def _row(each: Participation) -> tuple[str, ...]:
    assignment = getattr(each, "assignment", None)
    began_at, ended_at = (assignment.assigned_at, assignment.ended_at) if assignment else (None, None)
    times = [at.isoformat(timespec="seconds") if at else "" for at in (each.consented_at, began_at, ended_at)]
    outcome = assignment.outcome if assignment else ""
    who = each.pseudonym, each.worker.panel, each.worker.panel_id, each.submission
    pilot = "yes" if each.pilot else ""
    return *who, *times, outcome, each.disclosed_code, pilot, each.signs, str(each.number)
