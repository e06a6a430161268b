"""Requests to a panel's API about its participants: approve, reject, bonus or message.

Each request is a row, stored in the transaction of the decision and sent by a background job afterwards.
Idempotent requests (approve, reject) are retried until the panel answers; payments and messages are sent
once.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from turnwise.crowd.models import PanelAct, Participation, StudyPanel
from turnwise.crowd.panels.prolific import (
    CATEGORIES,
    SHORTEST_REASON,
    NoTokenError,
    OutcomeUnknownError,
    ProlificApi,
    RefusedByPanelError,
)
from turnwise.crowd.pay import ledger
from turnwise.studies.models import Study

Kind, State = PanelAct.Kind, PanelAct.State

MOST_TRIES = 12
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=30), timedelta(hours=2)
# A job that has not finished by then has died.
LEASE = timedelta(minutes=5)
AT_ONCE = 20
LONGEST_MESSAGE = 2000


def api_panel(participation: Participation) -> StudyPanel | None:
    """Panel of the participation if its API can be used; None without a panel, submission or token."""
    panel = participation.entered_by
    has_api = panel is not None and panel.panel == "prolific" and panel.token and participation.submission
    return panel if has_api else None


def refuse_short(participation: Participation, reason: str) -> None:
    """Refuse a reason that the panel's API would refuse.

    Raises:
        ValidationError: the reason is too short for the panel.
    """
    if api_panel(participation) and len(reason) < SHORTEST_REASON:
        raise ValidationError(
            _("Prolific requires a reason of at least %(least)d characters; this one has %(n)d. Say more.")
            % {"least": SHORTEST_REASON, "n": len(reason)}
        )


def request_act(
    participation: Participation,
    kind: PanelAct.Kind,
    *,
    by: str,
    text: str = "",
    category: str = "",
    amount: Decimal | None = None,
) -> PanelAct | None:
    """Store a request, to be sent once the caller's transaction is committed. Idempotent except for messages.

    Returns:
        None if the panel's API cannot be used.
    """
    if api_panel(participation) is None:
        return None
    values = {
        "study": participation.study, "text": text, "amount": amount, "by": by, "next_at": timezone.now(),
        "category": category if category in CATEGORIES else "OTHER" if kind == Kind.REJECT else "",
    }  # fmt: skip
    if kind == Kind.MESSAGE:
        return PanelAct.objects.create(participation=participation, kind=kind, **values)
    act, _new = PanelAct.objects.get_or_create(participation=participation, kind=kind, defaults=values)
    return act


def cancel_act(participation: Participation, kind: PanelAct.Kind) -> None:
    """Delete a request that has not been sent."""
    PanelAct.objects.filter(
        participation=participation, kind=kind, state__in=(State.WAITING, State.FAILED)
    ).delete()


@transaction.atomic
def pay_bonuses(study: Study, *, by: str) -> tuple[int, Decimal]:
    """Request bonuses at Prolific for amounts that approval does not pay: bonuses and partial pay.

    Each amount is fixed now. As with any payment, a person marks them as paid in the ledger afterwards.

    Returns:
        Number of people and total amount, without requests that exist already.
    """
    ledger.lock(study.pk)
    people = 0
    total = ledger.NOTHING
    for each, amount in due_beyond_approval(study, panel="prolific"):
        if api_panel(each) is None or PanelAct.objects.filter(participation=each, kind=Kind.BONUS).exists():
            continue
        request_act(each, Kind.BONUS, by=by, amount=amount)
        people, total = people + 1, total + amount
    return people, total


def due_beyond_approval(study: Study, *, panel: str) -> Iterable[tuple[Participation, Decimal]]:
    """Participations of a panel with the amount due that approving their submission does not pay."""
    due = {account.participation: account for account in ledger.unpaid_accounts(study)}
    rows = Participation.objects.filter(pk__in=due, worker__panel=panel).exclude(submission="")
    rows = rows.select_related("worker", "assignment", "entered_by__study__owner", "study").order_by("pk")
    for each in rows:
        account = due[each.pk]
        approved = account.promised if account.earned == account.promised else ledger.NOTHING
        if (amount := account.due - approved) > 0:
            yield each, amount


def paid_by_approval(study: Study, *, panel: str) -> list[Participation]:
    """Unpaid participations of a panel that earned the full pay, so that approval pays it."""
    due = {
        account.participation
        for account in ledger.unpaid_accounts(study)
        if account.earned and account.earned == account.promised
    }
    rows = Participation.objects.filter(pk__in=due, worker__panel=panel).exclude(submission="")
    return list(rows.select_related("worker").order_by("pk"))


# --- sending -----------------------------------------------------------------------------------------


def send_due_acts(*, now: datetime | None = None) -> int:
    """Send due requests; returns the number of attempts. Safe to call concurrently."""
    now = now or timezone.now()
    tried = 0
    while tried < AT_ONCE and (act := _claim_act(now)):
        _attempt(act, now)
        tried += 1
    return tried


@transaction.atomic
def _claim_act(now: datetime) -> PanelAct | None:
    """Claim the next due request, so that no other job sends it."""
    waiting = PanelAct.objects.select_for_update(of=("self",), skip_locked=True).filter(
        state__in=(State.WAITING, State.SENDING), next_at__lte=now
    )
    joined = waiting.select_related("participation__entered_by__study__owner", "participation__worker")
    act = joined.order_by("pk").first()
    if act is None:
        return None
    if act.state == State.SENDING and (act.kind == Kind.MESSAGE or act.their_key):
        # The job died before it stored the panel's answer.
        act.state, act.problem = State.UNSURE, _("The connection ended before the panel answered.")
    else:
        act.state, act.tries, act.next_at = State.SENDING, act.tries + 1, now + LEASE
    act.save()
    return act


def _attempt(act: PanelAct, now: datetime) -> None:
    if act.state != State.SENDING:
        return
    try:
        _send(act)
    except (NoTokenError, RefusedByPanelError) as error:
        act.state, act.problem = State.FAILED, str(error)[:1000]
    except OutcomeUnknownError as error:
        act.problem = str(error)[:1000]
        if act.kind == Kind.MESSAGE or act.their_key:
            act.state = State.UNSURE
        elif act.tries >= MOST_TRIES:
            act.state = State.FAILED
        else:
            act.state = State.WAITING
            act.next_at = now + min(FIRST_PAUSE * 2 ** (act.tries - 1), LONGEST_PAUSE)
    else:
        act.state, act.problem, act.done_at = State.DONE, "", timezone.now()
    act.save()


def _send(act: PanelAct) -> None:
    participation = act.participation
    panel = api_panel(participation)
    if panel is None:
        raise RefusedByPanelError(_("No token is set for this panel any more."))
    api = ProlificApi(panel)
    if act.kind == Kind.APPROVE:
        if api.status_of(participation.submission) != "APPROVED":
            api.approve(participation.submission)
    elif act.kind == Kind.REJECT:
        if api.status_of(participation.submission) != "REJECTED":
            api.reject(participation.submission, reason=act.text, category=act.category)
    elif act.kind == Kind.MESSAGE:
        api.message(participation.worker.panel_id, act.text)
    else:
        assert act.amount is not None
        key = api.prepare_bonus(participation.submission, act.amount)
        act.their_key = key
        act.save(update_fields=["their_key"])  # from here on it may have been paid
        api.pay_bonus(key)


def settle(act: PanelAct, *, was_done: bool) -> None:
    """Record what a person found at the panel about a request with unknown outcome.

    Raises:
        ValidationError: the outcome is known, or the request waits to be sent.
    """
    with transaction.atomic():
        locked = PanelAct.objects.select_for_update().get(pk=act.pk)
        if locked.state not in (State.UNSURE, State.FAILED):
            raise ValidationError(_("That is “%(state)s”.") % {"state": locked.get_state_display()})
        if was_done:
            locked.state, locked.problem, locked.done_at = State.DONE, "", timezone.now()
        else:
            locked.state, locked.problem, locked.their_key = State.WAITING, "", ""
            locked.tries, locked.next_at = 0, timezone.now()
        locked.save()


def send_message(participation: Participation, text: str, *, by: str) -> PanelAct:
    """Send a message to a worker over their panel's API.

    Raises:
        ValidationError: the API cannot be used, or the text is empty or too long.
    """
    text = text.replace("\x00", "").strip()
    if not text or len(text) > LONGEST_MESSAGE:
        raise ValidationError(
            _("A message has 1 to %(most)d characters; this one has %(n)d.")
            % {"most": LONGEST_MESSAGE, "n": len(text)}
        )
    act = request_act(participation, Kind.MESSAGE, by=by, text=text)
    if act is None:
        raise ValidationError(
            _("%(who)s cannot be reached: they did not come from Prolific, or no token is named there.")
            % {"who": participation.pseudonym}
        )
    return act
