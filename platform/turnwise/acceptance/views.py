"""The page *Review* of a study, where conversations are accepted or rejected."""

from collections.abc import Callable
from decimal import Decimal
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext
from django.views.decorators.http import require_GET, require_POST

from evaluation.conversation.grounding import LIMITS
from turnwise.acceptance import queries, services
from turnwise.acceptance.models import Decision
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.crowd.pay.ledger import LARGEST_BONUS
from turnwise.dialogues.models import Dialogue
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.sharing.permissions import Permission, may
from turnwise.studies.tasks import keys_with_conversations

_MOST = 1_000_000


class LimitsForm(forms.Form):
    """A limit for each measure; an empty one is not checked. Shares are in percent."""

    def __init__(self, values: dict[str, float | None], data: Any = None) -> None:
        super().__init__(data, prefix="limit")
        for key, limit in LIMITS.items():
            value = values.get(key)
            self.fields[key] = forms.FloatField(
                label=_("%(measure)s, at least") % {"measure": _(limit.title)}
                if limit.is_least
                else _("%(measure)s, at most") % {"measure": _(limit.title)},
                help_text=_("in percent") if limit.is_share else "",
                required=False,
                min_value=0,
                max_value=100 if limit.is_share else _MOST,
                initial=value if value is None else round(value * (100 if limit.is_share else 1), 2),
            )

    @property
    def values(self) -> dict[str, float | None]:
        """Limits of the valid form, with percentages converted to shares."""
        return {
            key: None if value is None else value / (100 if LIMITS[key].is_share else 1)
            for key, value in self.cleaned_data.items()
        }


class BonusForm(forms.Form):
    """Bonus for both speakers of an outstanding conversation."""

    amount = forms.DecimalField(
        label=gettext_lazy("Bonus for each"),
        min_value=Decimal("0.01"),
        max_value=LARGEST_BONUS,
        decimal_places=2,
    )


PER_PAGE = 25
STATES = (queries.PENDING, *Decision.State.values)


@require_GET
@login_required
def review(request: HttpRequest, pk: int) -> HttpResponse:
    study = _study(request, pk)
    return _page(request, study, LimitsForm(services.limits_of(study)))


def _study(request: HttpRequest, pk: int) -> Study:
    talks = studies_of(request.user).filter(task__in=keys_with_conversations())
    return get_object_or_404(talks, pk=pk)


def _page(request: HttpRequest, study: Study, form: LimitsForm, status: int = 200) -> HttpResponse:
    counts = queries.count_by_state(study)
    state = _state(request)
    there = counts | {"all": sum(counts.values())}
    page = Paginator(range(there[state]), PER_PAGE).get_page(request.GET.get("page"))
    matching = queries.dialogues_to_review(study, "" if state == "all" else state).values_list(
        "pk", flat=True
    )
    keys = list(matching[page.start_index() - 1 : page.end_index()] if page else ())
    rows = queries.review_rows(Dialogue.objects.filter(pk__in=keys).order_by("pk"), services.limits_of(study))
    context = {
        "study": study,
        "page": page,
        "rows": rows,
        "fitting": sum(not row.broken and row.decision is None for row in rows),
        "limits": LIMITS,
        "state": state,
        "states": [
            (queries.PENDING, _("Pending"), counts["pending"]),
            *((each.value, each.label, counts[each.value]) for each in Decision.State),
            ("all", _("All"), there["all"]),
        ],
        "form": form,
        "pays": bool(study.pay_amount) and may(request.user, Permission.PAY, study),
    }
    return render(request, "acceptance/review.html", context, status=status)


def _state(request: HttpRequest) -> str:
    requested = request.GET.get("state", queries.PENDING)
    return requested if requested in (*STATES, "all") else queries.PENDING


@require_POST
@login_required
def set_limits(request: HttpRequest, pk: int) -> HttpResponse:
    study = _study(request, pk)
    form = LimitsForm(services.limits_of(study), request.POST)
    if not form.is_valid():
        return _page(request, study, form, status=422)
    services.set_limits(study, form.values)
    messages.success(request, _("The limits are saved. Earlier decisions do not change."))
    return redirect("acceptance:review", pk=pk)


@require_POST
@login_required
def accept_fitting(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Accept the conversations named in the form that are within all limits."""
    study = _study(request, pk)
    named = [UUID(key) for key in request.POST.getlist("conversation")[:PER_PAGE] if _is_uuid(key)]
    done = services.accept_fitting(study, named, by=request.user)
    message = ngettext("%(n)d conversation is accepted.", "%(n)d conversations are accepted.", done)
    messages.success(request, message % {"n": done})
    return redirect("acceptance:review", pk=pk)


def _is_uuid(text: str) -> bool:
    try:
        UUID(text)
    except ValueError:
        return False
    return True


@require_POST
@login_required
def decide(request: AuthenticatedHttpRequest, pk: int, public_id: UUID) -> HttpResponse:
    """Accept, reject, take a decision back, or give a bonus."""
    study = _study(request, pk)
    dialogue = get_object_or_404(queries.dialogues_to_review(study), public_id=public_id)
    what = request.POST.get("what", "")
    try:
        message = _CHANGES[what](request, dialogue) if what in _CHANGES else ""
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        if message:
            messages.success(request, message)
    state = request.POST.get("state", "")
    query = f"?state={state}" if state in (*STATES, "all") else ""
    return redirect(reverse("acceptance:review", args=[pk]) + query)


def _accept(request: AuthenticatedHttpRequest, dialogue: Dialogue) -> str:
    done = services.accept([dialogue], by=request.user)
    return _("The conversation is accepted.") if done else _("It has already been decided on.")


def _reject(request: AuthenticatedHttpRequest, dialogue: Dialogue) -> str:
    services.reject(dialogue, reason=request.POST.get("reason", ""), by=request.user)
    return _("The conversation is rejected. Both people are still paid.")


def _take_back(request: AuthenticatedHttpRequest, dialogue: Dialogue) -> str:
    services.reset_decision(dialogue)
    return _("The conversation is pending again.")


def _reward(request: AuthenticatedHttpRequest, dialogue: Dialogue) -> str:
    form = BonusForm(request.POST)
    if not may(request.user, Permission.PAY, dialogue.study):
        raise ValidationError(_("You may not handle the payments of this study. Its owner can allow it."))
    if not form.is_valid():
        raise ValidationError(_("The bonus: enter an amount above 0, in whole cents."))
    n = services.reward(dialogue, form.cleaned_data["amount"], by=request.user)
    return ngettext("%(n)d person gets the bonus.", "%(n)d people get the bonus.", n) % {"n": n}


_CHANGES: dict[str, Callable[[AuthenticatedHttpRequest, Dialogue], str]] = {
    "accept": _accept,
    "reject": _reject,
    "take_back": _take_back,
    "bonus": _reward,
}
