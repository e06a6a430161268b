"""The page *Payments* of a study: what it costs, what it pays by the hour, who is to be paid."""

from collections.abc import Generator
from decimal import Decimal, InvalidOperation

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import ngettext
from django.views.decorators.http import require_GET, require_POST

from evaluation.spreadsheets import csv_text
from turnwise.crowd import ledger
from turnwise.crowd.panels.base import shortened
from turnwise.crowd.payment_file import ToPay, to_pay
from turnwise.live.streaming import attachment
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of

PER_PAGE = 50
COLUMNS = ("panel", "panel_id", "submission", "worker", "amount", "currency", "earned", "bonus")


@require_GET
@login_required
def payments(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    owed = ledger.owed(study)
    page = Paginator(ledger.participations(study), PER_PAGE).get_page(request.GET.get("page"))
    rates = ledger.rates(study)
    shown = {
        "study": study,
        "rates": rates,
        "is_low": rates.hourly is not None and study.hourly_target and rates.hourly < study.hourly_target,
        "owed": owed.people,
        "total": owed.total,
        "panels": owed.panels,
        "page": page,
        "accounts": ledger.accounts(study, only=page.object_list)[::-1],
    }
    return render(request, "crowd/payments.html", shown)


@require_GET
@login_required
def payment_file(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    """Who is to be paid what, of one panel or of all."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    panel = request.GET.get("panel")
    name = f"turnwise-{study.code}-payments.csv"
    return attachment(request, _lines(study, panel), "text/csv; charset=utf-8", name)


def _lines(study: Study, panel: str | None) -> Generator[str]:
    yield csv_text([COLUMNS])
    for people in to_pay(study, panel):
        yield csv_text([_cells(each, study.pay_currency) for each in people])


def _cells(each: ToPay, currency: str) -> tuple[str, ...]:
    who = each.panel, each.panel_id, each.submission, each.worker
    return (*who, str(each.amount), currency, str(each.earned), str(each.bonus))


@require_POST
@login_required
def pay(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    try:
        people = ledger.pay(study, total=_amount(request.POST.get("total", "")), by=request.user)
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
    """Add a bonus, or take back what somebody has a claim to."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    own = get_object_or_404(study.participations.select_related("worker"), pk=participation)
    assert request.user.is_authenticated
    note = request.POST.get("note", "")
    try:
        if request.POST.get("what") == "reverse":
            ledger.reverse(own.pk, note=note, by=request.user)
        else:
            ledger.add_bonus(own.pk, _amount(request.POST.get("amount", "")), note=note, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("The ledger has a new entry for %(who)s.") % {"who": own.pseudonym})
    return redirect("crowd:payments", pk=study.pk)


def _amount(text: str) -> Decimal:
    """An amount as somebody wrote it.

    Raises:
        ValidationError: it is none.
    """
    try:
        amount = Decimal(text.strip())
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or abs(amount) > ledger.MOST_IN_ALL:
        raise ValidationError(_("“%(text)s” is not an amount, such as: 1.50") % {"text": shortened(text)})
    return amount
