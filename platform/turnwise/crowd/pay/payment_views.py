"""Pages *Payments* and *Prolific* of a study, and the CSV file of payments due.

*Payments* shows costs, hourly pay and accounts. *Prolific* shows the study's state there and the requests
sent to Prolific's API. The file is streamed while it is read from the database.
"""

from collections import Counter
from collections.abc import Generator, Iterator
from decimal import Decimal, InvalidOperation
from typing import Any, NamedTuple

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.db import connection, transaction
from django.http import Http404, HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_POST

from evaluation.files.writing import csv_text
from turnwise.crowd.models import PanelAct, StudyPanel
from turnwise.crowd.panels.base import shortened
from turnwise.crowd.panels.prolific import (
    NoTokenError,
    OutcomeUnknownError,
    ProlificApi,
    RefusedByPanelError,
    Submission,
)
from turnwise.crowd.pay import ledger, ledger_accounts, panel_acts
from turnwise.crowd.pay.ledger import UNPAID
from turnwise.live.downloads import attachment
from turnwise.live.list_pages import back_to_list, query_choice, sought_text, ticked_keys
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.sharing.permissions import Permission

_STATEMENT = f"""
SELECT who.panel, who.panel_id, who.submission, who.pseudonym, claim.due, coalesce(claim.earned, 0.00),
       coalesce(claim.bonus, 0.00)
  FROM ({UNPAID}) AS claim
 CROSS JOIN LATERAL (
       SELECT w.panel, w.panel_id, p.submission, p.pseudonym
         FROM crowd_participation AS p JOIN crowd_worker AS w ON w.id = p.worker_id
        WHERE p.id = claim.participation LIMIT 1) AS who
 WHERE claim.due > 0 AND (%s::text IS NULL OR who.panel = %s)
 ORDER BY claim.participation
"""


class PaymentRow(NamedTuple):
    """One row of the payment file."""

    panel: str
    panel_id: str
    submission: str
    worker: str
    amount: Decimal
    earned: Decimal
    bonus: Decimal


def iter_payments(study: Study, panel: str | None, *, batch: int = 1000) -> Iterator[list[PaymentRow]]:
    """Yield the payments due of one panel or of all in chunks, from one database snapshot.

    Only existing participations are included. A server-side cursor yields the first rows immediately.
    """
    with transaction.atomic():
        connection.ensure_connection()
        with connection.connection.cursor(name="to_pay") as cursor:
            cursor.execute(_STATEMENT, [study.pk, panel, panel])
            while rows := cursor.fetchmany(batch):
                yield [PaymentRow(*row) for row in rows]


PER_PAGE = 50
COLUMNS = ("panel", "panel_id", "submission", "worker", "amount", "currency", "earned", "bonus")


@require_GET
@login_required
def payments(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user, Permission.PAY), pk=pk)
    due, rates = ledger.amount_due(study), ledger.rates(study)
    sought = sought_text(request.GET)
    state = query_choice(request.GET, "state", ledger_accounts.STATES)
    sort = query_choice(request.GET, "sort", ledger_accounts.SORTS, "newest")
    keys = ledger_accounts.account_keys(study, sought)
    totals = ledger_accounts.totals_by_state(keys)
    pages = Paginator(ledger_accounts.listed_keys(keys, state, sort), PER_PAGE)
    pages.count = totals[state].accounts
    page = pages.get_page(request.GET.get("page"))
    context = {
        "study": study,
        "rates": rates,
        "is_low": rates.hourly is not None and study.hourly_target and rates.hourly < study.hourly_target,
        "owed": due.people,
        "total": due.total,
        "panels": due.panels,
        "page": page,
        "rows": ledger_accounts.listed_rows(study, page.object_list),
        "totals": totals[state],
        "sought": sought,
        "state": state,
        "sort": sort,
        "all_counted": totals[""].accounts,
        "states": [(key, title, totals[key].accounts) for key, (title, _q) in ledger_accounts.STATES.items()],
        "sorts": [(key, title) for key, (title, _order) in ledger_accounts.SORTS.items()],
        "actions": [(key, title) for key, (title, _act) in ledger_accounts.ACTIONS.items()],
        "query": request.GET.urlencode(),
    }
    return render(request, "crowd/payments.html", context)


@require_POST
@login_required
def pay_chosen(request: HttpRequest, pk: int) -> HttpResponse:
    """Carry out an action on the ticked accounts."""
    study = get_object_or_404(studies_of(request.user, Permission.PAY), pk=pk)
    assert request.user.is_authenticated
    try:
        typed = request.POST.get("amount", "").replace(",", ".")
        details = ledger_accounts.Request(
            shown=_ticked_amounts(request.POST.getlist("account")),
            amount=parse_amount(typed) if typed.strip() else None,
            note=request.POST.get("note", "").replace("\x00", ""),
            by=request.user,
        )
        messages.success(request, ledger_accounts.carry_out(study, request.POST.get("action", ""), details))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return _back_to_ledger(request, study)


def _ticked_amounts(sent: list[str]) -> dict[int, Decimal]:
    """Amounts due of the ticked rows as the page showed them, by participation; sent as `key:amount`."""
    rows = [each.partition(":") for each in sent]
    amounts = {key: amount for key, _colon, amount in rows}
    return {key: parse_amount(amounts.get(str(key), "")) for key in ticked_keys(amounts)}


def _back_to_ledger(request: HttpRequest, study: Study) -> HttpResponse:
    return back_to_list(request, "crowd:payments", study.pk, ("find", "state", "sort", "page"))


@require_GET
@login_required
def payment_file(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Download the payments due, of one panel or of all."""
    study = get_object_or_404(studies_of(request.user, Permission.PAY), pk=pk)
    panel = request.GET.get("panel")
    name = f"turnwise-{study.code}-payments.csv"
    return attachment(request, _lines(study, panel), "text/csv; charset=utf-8", name)


def _lines(study: Study, panel: str | None) -> Generator[str]:
    yield csv_text([COLUMNS])
    for people in iter_payments(study, panel):
        yield csv_text([_cells(each, study.pay_currency) for each in people])


def _cells(each: PaymentRow, currency: str) -> tuple[str, ...]:
    who = each.panel, each.panel_id, each.submission, each.worker
    return (*who, str(each.amount), currency, str(each.earned), str(each.bonus))


@require_POST
@login_required
def pay(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user, Permission.PAY), pk=pk)
    assert request.user.is_authenticated
    try:
        people = ledger.pay(study, total=parse_amount(request.POST.get("total", "")), by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(
            request,
            ngettext("%(n)d person is marked as paid.", "%(n)d people are marked as paid.", people)
            % {"n": people},
        )
    return redirect("crowd:payments", pk=study.pk)


@require_POST
@login_required
def change(request: HttpRequest, pk: int, participation: int) -> HttpResponse:
    """Add a bonus to a participation, or reverse its claim."""
    study = get_object_or_404(studies_of(request.user, Permission.PAY), pk=pk)
    changed = get_object_or_404(study.participations.select_related("worker"), pk=participation)
    assert request.user.is_authenticated
    note = request.POST.get("note", "")
    try:
        if request.POST.get("what") == "reverse":
            ledger.reverse(changed.pk, note=note, by=request.user)
        else:
            amount = parse_amount(request.POST.get("amount", ""))
            ledger.add_bonus(changed.pk, amount, note=note, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("The ledger has a new entry for %(who)s.") % {"who": changed.pseudonym})
    return _back_to_ledger(request, study)


def parse_amount(text: str) -> Decimal:
    """Parse an amount of money.

    Raises:
        ValidationError: the text is not an amount.
    """
    try:
        amount = Decimal(text.strip())
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or abs(amount) > ledger.MOST_IN_ALL:
        raise ValidationError(_("“%(text)s” is not an amount, such as: 1.50") % {"text": shortened(text)})
    return amount


MOST_PLACES = 100_000
TRANSITIONS = {
    "PUBLISH": gettext_lazy("Published at Prolific."),
    "PAUSE": gettext_lazy("Paused at Prolific: it sends nobody new."),
    "START": gettext_lazy("Prolific sends people again."),
    "STOP": gettext_lazy("Stopped at Prolific."),
}
_API_ERRORS = (NoTokenError, RefusedByPanelError, OutcomeUnknownError)


def _prolific_panel(request: HttpRequest, pk: int, permission: Permission = Permission.CHANGE) -> StudyPanel:
    study = get_object_or_404(studies_of(request.user, permission), pk=pk)
    setup = study.panels.select_related("study__owner").filter(panel="prolific").exclude(token="").first()
    if setup is None:
        raise Http404("No token for Prolific is set in this study.")
    return setup


@require_GET
@login_required
def prolific(request: HttpRequest, pk: int) -> HttpResponse:
    setup = _prolific_panel(request, pk)
    acts = setup.study.panel_acts.select_related("participation")
    context: dict[str, Any] = {
        "study": setup.study,
        "page": Paginator(acts, PER_PAGE).get_page(request.GET.get("page")),
        "due": list(panel_acts.due_beyond_approval(setup.study, panel="prolific")),
    }
    try:
        api = ProlificApi(setup)
        context["theirs"] = api.study()
        if "compare" in request.GET:
            context["compared"] = _compared(setup, api.submissions())
    except _API_ERRORS as error:
        context["problem"] = str(error)
    return render(request, "crowd/prolific.html", context)


def _compared(setup: StudyPanel, theirs: list[Submission]) -> dict[str, Any]:
    """Compare Prolific's submissions with our participations: counts per state, and those on one side."""
    ours = dict(setup.participations.exclude(submission="").values_list("submission", "pseudonym"))
    their_keys = {each.key for each in theirs}
    return {
        "states": sorted(Counter(each.status for each in theirs).items()),
        "only_there": [each for each in theirs if each.key not in ours][:PER_PAGE],
        "only_here": [name for key, name in ours.items() if key not in their_keys][:PER_PAGE],
    }


@require_POST
@login_required
def steer(request: HttpRequest, pk: int) -> HttpResponse:
    """Publish, pause, start or stop the study at Prolific, or change its number of places."""
    setup, action = _prolific_panel(request, pk), request.POST.get("action", "")
    try:
        if action == "places":
            places = _places(request.POST.get("places", ""))
            ProlificApi(setup).set_places(places)
            messages.success(request, _("The study has %(n)d places at Prolific.") % {"n": places})
        elif action in TRANSITIONS:
            ProlificApi(setup).transition(action)
            messages.success(request, str(TRANSITIONS[action]))
        else:
            messages.error(request, _("“%(action)s” cannot be done at Prolific.") % {"action": action[:40]})
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    except _API_ERRORS as error:
        messages.error(request, str(error))
    return redirect("crowd:prolific", pk=pk)


def _places(text: str) -> int:
    if not text.strip().isdecimal() or not 1 <= len(text.strip()) <= 6 or not 0 < int(text) <= MOST_PLACES:
        raise ValidationError(
            _("“%(text)s” is not a number of places. Write one from 1 to %(most)d.")
            % {"text": text[:20], "most": MOST_PLACES}
        )
    return int(text)


@require_POST
@login_required
def bonuses(request: HttpRequest, pk: int) -> HttpResponse:
    """Request bonuses at Prolific for amounts that approval does not pay."""
    study, name = _prolific_panel(request, pk, Permission.PAY).study, request.user.get_username()
    people, total = panel_acts.pay_bonuses(study, by=name)
    says = ngettext(
        "%(n)d person gets %(total)s in total through Prolific.",
        "%(n)d people get %(total)s in total through Prolific.",
        people,
    ) % {"n": people, "total": f"{total} {study.pay_currency}"}
    messages.success(request, says if people else _("Nobody is owed any more."))
    return redirect("crowd:prolific", pk=pk)


@require_POST
@login_required
def settle(request: HttpRequest, pk: int, act: int) -> HttpResponse:
    """Record whether a request was carried out at Prolific; if not, it is sent again."""
    setup = _prolific_panel(request, pk, Permission.PAY)
    sent: PanelAct = get_object_or_404(setup.study.panel_acts, pk=act)
    try:
        panel_acts.settle(sent, was_done=request.POST.get("was_done") == "yes")
        messages.success(request, _("Noted."))
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("crowd:prolific", pk=pk)


@require_POST
@login_required
def write(request: HttpRequest, pk: int, participation: int) -> HttpResponse:
    """Send a message to a worker over their panel's API."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    recipient = get_object_or_404(
        study.participations.select_related("entered_by", "study"), pk=participation
    )
    try:
        panel_acts.send_message(recipient, request.POST.get("text", ""), by=request.user.get_username())
        messages.success(request, _("The message to %(who)s is on its way.") % {"who": recipient.pseudonym})
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    return redirect("quality:history", pk=pk, participation=participation)
