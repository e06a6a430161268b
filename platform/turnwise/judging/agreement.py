"""The comparison of both parties about an ask as a job: wanted, worked out once, kept with what it covers."""

import logging
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import InterfaceError, OperationalError, connection
from django.db.models import F
from django.utils.translation import gettext as _

from turnwise.judging.models import Agreement
from turnwise.judging.readers import OfBoth, judged_by_both, labels_of_both, parties
from turnwise.live.errors import why_ended
from turnwise.live.locks import AGREEMENTS, is_worked_on, only_here
from turnwise.questions.resolving import question_set
from turnwise.studies.models import Ask

log = logging.getLogger(__name__)

AT_WORK = (Agreement.State.QUEUED, Agreement.State.RUNNING)
# A message that starts the job can be lost with Redis, and a process can die: then it can be sent once more.
RESEND_AFTER = timedelta(seconds=60)
MOST_ATTEMPTS = 3


class Standing(NamedTuple):
    """How the comparison about an ask stands.

    Attributes:
        agreement: as it was asked for last; None: never.
        is_of_old: whether labels have come or changed since.
        is_lost: whether it was asked for and nobody is at it.
    """

    agreement: Agreement | None
    is_of_old: bool = False
    is_lost: bool = False


def standing(ask: Ask, *, now: datetime) -> Standing | None:
    """What is known of the agreement about an ask; None where both parties have judged nothing in common."""
    covers = labels_of_both(ask)
    if not covers:
        return None
    known = Agreement.objects.filter(ask=ask).defer("things").first()
    if known is None:
        return Standing(None)
    if known.is_under_way:
        is_lost = known.wanted_at < now - RESEND_AFTER and not is_worked_on(AGREEMENTS, ask.pk)
        return Standing(known, is_lost=is_lost)
    return Standing(known, is_of_old=known.state == Agreement.State.READY and known.covers != covers)


def want(ask: Ask, *, now: datetime) -> bool:
    """Have it worked out; whether a worker has to be told, as it is wanted anew or its message was lost.

    The result so far stays until then.
    """
    found = standing(ask, now=now)
    if found is None:
        return False
    if found.agreement is None:
        return Agreement.objects.get_or_create(ask=ask, defaults={"wanted_at": now})[1]
    same = Agreement.objects.filter(pk=found.agreement.pk, wanted_at=found.agreement.wanted_at)
    if found.is_lost:
        return bool(same.filter(state__in=AT_WORK).update(wanted_at=now))
    fresh = {"state": Agreement.State.QUEUED, "attempts": 0, "done": 0, "bots": 0, "reason": ""}
    return bool(same.exclude(state__in=AT_WORK).update(wanted_at=now, **fresh))


def work_out(ask_id: int) -> None:
    """Work out what is wanted. Runs at most once at a time; what is done stays as it is."""
    with only_here(AGREEMENTS, ask_id) as mine:
        if not mine or not _begin(ask_id):
            return
        try:
            _compare(Ask.objects.get(pk=ask_id))
        except (OperationalError, InterfaceError):
            # The database went away: that says nothing of the labels. The page offers to ask again.
            log.exception("The agreement about ask %s was broken off.", ask_id)
            connection.close()
        except Exception as error:
            log.exception("The agreement about ask %s could not be worked out.", ask_id)
            give_up(ask_id, why_ended(error))


def give_up(ask_id: int, why: str) -> None:
    """It is not worked out for this reason, and may be asked for again."""
    _store(ask_id, state=Agreement.State.FAILED, reason=why)


def _begin(ask_id: int) -> bool:
    waiting = Agreement.objects.filter(ask_id=ask_id, state__in=AT_WORK)
    died = _("The process that compared them ended %(times)s times before it was done.")
    waiting.filter(attempts__gte=MOST_ATTEMPTS).update(
        state=Agreement.State.FAILED, reason=died % {"times": MOST_ATTEMPTS}
    )
    return bool(waiting.update(state=Agreement.State.RUNNING, attempts=F("attempts") + 1))


def _compare(ask: Ask) -> None:
    covers = labels_of_both(ask)  # before the labels: what comes in between is compared again
    judged = judged_by_both(ask)
    _store(ask.pk, bots=len({each.bot for each in judged}))
    figures = []
    for done, of_bot in enumerate(parties(question_set(ask.question_set), judged), 1):
        figures.append(of_bot)
        _store(ask.pk, done=done)
    _store(
        ask.pk,
        state=Agreement.State.READY,
        covers=covers,
        figures=figures,
        things=[each.pk for each in judged],
    )


def _store(ask_id: int, **values: object) -> None:
    Agreement.objects.filter(ask_id=ask_id).update(**values)


def number_compared(ask: Ask) -> int:
    return Agreement.objects.filter(ask=ask).values_list("things__len", flat=True).first() or 0


def disputed(ask: Ask, start: int, end: int) -> list[OfBoth]:
    """Some of what both parties judged, what they see most differently first."""
    of_page = Agreement.objects.filter(ask=ask).values_list(f"things__{start}_{end}", flat=True).first()
    if not of_page:
        return []
    found = {each.pk: each for each in judged_by_both(ask, of_page)}
    return [found[pk] for pk in of_page if pk in found]
