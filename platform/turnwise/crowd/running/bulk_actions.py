"""Actions on several participants of a study at once: exclude, include again, end, give a bonus, write."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from turnwise.accounts.models import User
from turnwise.crowd.models import Outcome, Participation
from turnwise.crowd.pay import ledger, panel_acts
from turnwise.crowd.places import ending
from turnwise.live.list_pages import MOST_TICKED
from turnwise.studies.models import Study
from turnwise.studies.sharing.permissions import Permission, may

ENDS = (Outcome.WITHDRAWN, Outcome.TIMED_OUT, Outcome.SCREENED_OUT)
"""Outcomes with which staff may end a participation, such as a task returned or timed out at the panel."""


@dataclass(frozen=True, slots=True)
class Request:
    """Details of an action.

    Attributes:
        note: reason of an exclusion or a bonus, or the text of a message.
        amount: the bonus for each participant; None if no amount was typed.
        by: the member of staff.
    """

    note: str
    amount: Decimal | None
    by: User


Participants = Sequence[Participation]


def exclude(participants: Participants, request: Request) -> str:
    """Exclude the workers from the analysis of included workers. All are excluded, or none."""
    if not request.note.strip():
        raise ValidationError(_("Give a reason for the exclusion: it is shown beside the excluded workers."))
    workers = _by_worker(participants)
    with transaction.atomic():
        for each in workers:
            ending.exclude(each.pk, reason=request.note, by=request.by)
    return exclusion_message(len(workers), undo=False)


def include(participants: Participants, request: Request) -> str:
    """Undo the exclusion of the workers who are excluded."""
    excluded = [each for each in _by_worker(participants) if each.excluded_at]
    with transaction.atomic():
        for each in excluded:
            ending.exclude(each.pk, reason="", by=request.by)
    return exclusion_message(len(excluded), undo=True)


def give_bonus(participants: Participants, request: Request) -> str:
    """Give each participant the same bonus. All get it, or none."""
    if not may(request.by, Permission.PAY, participants[0].study):
        raise ValidationError(_("You may not handle the payments of this study. Its owner can allow it."))
    if request.amount is None:
        raise ValidationError(_("Type the bonus for each of them as an amount, such as 0.50."))
    ledger.add_bonuses([each.pk for each in participants], request.amount, note=request.note, by=request.by)
    return ngettext(
        "%(n)d participant gets a bonus of %(amount)s.",
        "%(n)d participants get a bonus of %(amount)s each.",
        len(participants),
    ) % {"n": len(participants), "amount": request.amount}


def write(participants: Participants, request: Request) -> str:
    """Send the same message to each participant over their panel. If one cannot be reached, none is sent."""
    with transaction.atomic():
        for each in participants:
            panel_acts.send_message(each, request.note, by=request.by.get_username())
    return ngettext(
        "The message to %(n)d participant is on its way.",
        "The message to %(n)d participants is on its way.",
        len(participants),
    ) % {"n": len(participants)}


def end_as(outcome: Outcome) -> Callable[[Participants, Request], str]:
    """Action that ends the work of those who are still at work; their places are free at once."""

    def end(participants: Participants, request: Request) -> str:
        del request
        # One transaction each: a worker's row is locked only while this work ends.
        ended = sum(ending.end(each.pk, outcome) for each in participants)
        if not ended:
            return _("All of them had already ended. No changes were made.")
        return ngettext(
            "The work of %(n)d participant is ended; the place is free.",
            "The work of %(n)d participants is ended; the places are free.",
            ended,
        ) % {"n": ended}

    return end


@dataclass(frozen=True, slots=True)
class BulkAction:
    """An action on several participants, with its title on the page."""

    title: str | Promise
    carry_out: Callable[[Participants, Request], str]


ACTIONS = {
    "exclude": BulkAction(gettext_lazy("Exclude, with a reason"), exclude),
    "include": BulkAction(gettext_lazy("Take back in"), include),
    "bonus": BulkAction(gettext_lazy("Give a bonus to each"), give_bonus),
    "write": BulkAction(gettext_lazy("Write to them over Prolific"), write),
} | {
    f"end-{outcome.value}": BulkAction(title, end_as(outcome))
    for outcome, title in zip(
        ENDS,
        (
            gettext_lazy("End: they left"),
            gettext_lazy("End: they ran out of time"),
            gettext_lazy("End: they were screened out"),
        ),
        strict=True,
    )
}
"""Actions by key, in the order of the menu."""


def carry_out(study: Study, action: str, keys: Sequence[int], request: Request) -> str:
    """Carry out an action on the participations with these keys; returns a sentence about the result.

    Raises:
        ValidationError: nothing is selected, the action is unknown, or it is refused; nothing was changed.
    """
    found = list(
        study.participations.filter(pk__in=keys[: MOST_TICKED + 1])
        .select_related("worker", "entered_by", "study")
        .order_by("pk")
    )
    if not found:
        raise ValidationError(_("No participant is selected. Tick at least one in the list."))
    if len(keys) > MOST_TICKED:
        raise ValidationError(
            _("%(n)d participants are selected. Select up to %(most)d at once.")
            % {"n": len(keys), "most": MOST_TICKED}
        )
    if action not in ACTIONS:
        raise ValidationError(_("Choose what to do with the selected participants."))
    return ACTIONS[action].carry_out(found, request)


def exclusion_message(workers: int, *, undo: bool) -> str:
    """Sentence about excluded workers, or about workers whose exclusion was undone."""
    if not workers:
        return _("No changes were made: it had already been done.")
    if undo:
        return _("The exclusion is undone. The report is being updated.")
    return ngettext(
        "%(workers)d worker is excluded, and still paid. The report is being updated.",
        "%(workers)d workers are excluded, and still paid. The report is being updated.",
        workers,
    ) % {"workers": workers}


def _by_worker(participants: Participants) -> Participants:
    """One participation of each worker: an exclusion covers the others."""
    return list({each.worker_id: each for each in participants}.values())
