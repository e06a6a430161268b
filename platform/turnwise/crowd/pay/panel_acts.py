"""What a panel is told over its API about those who came from it: approved, rejected, a bonus, a message.

Each act is a row, noted in the transaction of the decision and done by the timer's job afterwards. What may
be repeated (approve, reject) is tried again until the panel answers; a payment or a message is sent once.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from turnwise.crowd.models import PanelAct, Participation, StudyPanel
from turnwise.crowd.panels.prolific_api import (
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
# A job that has not come back by then has died.
LEASE = timedelta(minutes=5)
AT_ONCE = 20
LONGEST_MESSAGE = 2000


def api_panel(participation: Participation) -> StudyPanel | None:
    """The panel that can be told about them over its API; None: they came otherwise, or no token is named."""
    taken = participation.entered_by
    is_told = taken is not None and taken.panel == "prolific" and taken.token and participation.submission
    return taken if is_told else None


def refuse_short(participation: Participation, reason: str) -> None:
    """Refuse a rejection that the panel would not take.

    Raises:
        ValidationError: its reason is too short for the panel.
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
    """Have the panel told, once the caller's transaction is committed. Safe to repeat, but for messages.

    Returns:
        None if no API reaches the panel.
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
    """Do not tell the panel what it has not been told yet."""
    PanelAct.objects.filter(
        participation=participation, kind=kind, state__in=(State.WAITING, State.FAILED)
    ).delete()


@transaction.atomic
def pay_bonuses(study: Study, *, by: str) -> tuple[int, Decimal]:
    """Have Prolific pay what is due beyond the approval: bonuses, and shares of work that was not completed.

    Each act's amount is fixed now. The ledger is noted by hand as for any payment, once all are done.

    Returns:
        To how many people how much in all is to be paid; who is being paid already is not among them.
    """
    ledger.lock(study.pk)
    people = 0
    total = ledger.NOTHING
    for own, amount in due_beyond_approval(study, panel="prolific"):
        if api_panel(own) is None or PanelAct.objects.filter(participation=own, kind=Kind.BONUS).exists():
            continue
        request_act(own, Kind.BONUS, by=by, amount=amount)
        people, total = people + 1, total + amount
    return people, total


def due_beyond_approval(study: Study, *, panel: str) -> Iterable[tuple[Participation, Decimal]]:
    """To whom of a panel something is due that approving their submission does not pay, and how much."""
    due = {account.participation: account for account in ledger.unpaid_accounts(study)}
    rows = Participation.objects.filter(pk__in=due, worker__panel=panel).exclude(submission="")
    rows = rows.select_related("worker", "assignment", "entered_by__study__owner", "study").order_by("pk")
    for own in rows:
        account = due[own.pk]
        approved = account.promised if account.earned == account.promised else ledger.NOTHING
        if (amount := account.due - approved) > 0:
            yield own, amount


def paid_by_approval(study: Study, *, panel: str) -> list[Participation]:
    """Those of a panel who have earned all that was promised, so that approving them pays it."""
    due = {
        account.participation
        for account in ledger.unpaid_accounts(study)
        if account.earned and account.earned == account.promised
    }
    rows = Participation.objects.filter(pk__in=due, worker__panel=panel).exclude(submission="")
    return list(rows.select_related("worker").order_by("pk"))


# --- doing them --------------------------------------------------------------------------------------


def send_due_acts(*, now: datetime | None = None) -> int:
    """Do what waits; returns how many acts were tried. Several may call it at once."""
    now = now or timezone.now()
    tried = 0
    while tried < AT_ONCE and (act := _claim_act(now)):
        _attempt(act, now)
        tried += 1
    return tried


@transaction.atomic
def _claim_act(now: datetime) -> PanelAct | None:
    """One that is due, which nobody else takes meanwhile."""
    waiting = PanelAct.objects.select_for_update(of=("self",), skip_locked=True).filter(
        state__in=(State.WAITING, State.SENDING), next_at__lte=now
    )
    joined = waiting.select_related("participation__entered_by__study__owner", "participation__worker")
    act = joined.order_by("pk").first()
    if act is None:
        return None
    if act.state == State.SENDING and (act.kind == Kind.MESSAGE or act.their_key):
        # Whoever sent it died before the answer was noted.
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
    own = act.participation
    taken = api_panel(own)
    if taken is None:
        raise RefusedByPanelError(_("No token is set for this panel any more."))
    api = ProlificApi(taken)
    if act.kind == Kind.APPROVE:
        if api.status_of(own.submission) != "APPROVED":
            api.approve(own.submission)
    elif act.kind == Kind.REJECT:
        if api.status_of(own.submission) != "REJECTED":
            api.reject(own.submission, reason=act.text, category=act.category)
    elif act.kind == Kind.MESSAGE:
        api.message(own.worker.panel_id, act.text)
    else:
        assert act.amount is not None
        key = api.prepare_bonus(own.submission, act.amount)
        act.their_key = key
        act.save(update_fields=["their_key"])  # from here on it may have been paid
        api.pay_bonus(key)


def settle(act: PanelAct, *, was_done: bool) -> None:
    """A person has looked at the panel: whether what nobody knew of was carried out there.

    Raises:
        ValidationError: it is known already, or waits to be sent.
    """
    with transaction.atomic():
        own = PanelAct.objects.select_for_update().get(pk=act.pk)
        if own.state not in (State.UNSURE, State.FAILED):
            raise ValidationError(_("That is “%(state)s”.") % {"state": own.get_state_display()})
        if was_done:
            own.state, own.problem, own.done_at = State.DONE, "", timezone.now()
        else:
            own.state, own.problem, own.their_key = State.WAITING, "", ""
            own.tries, own.next_at = 0, timezone.now()
        own.save()


def send_message(participation: Participation, text: str, *, by: str) -> PanelAct:
    """Write to somebody over their panel.

    Raises:
        ValidationError: no API reaches them, or there is no text, or too much.
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
