"""Decisions on conversations: accept, reject with a reason, reset. Pay does not depend on them."""

from collections.abc import Collection, Iterable
from datetime import datetime
from decimal import Decimal
from uuid import UUID

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from evaluation.conversation.grounding import LIMITS
from turnwise.acceptance import queries
from turnwise.acceptance.models import Decision, Limits
from turnwise.accounts.models import User
from turnwise.crowd.pay import ledger
from turnwise.dialogues.models import Dialogue, ReadingSet
from turnwise.dialogues.reading_material import ArticlesUsedUpError, set_counted
from turnwise.studies.models import Study

MOST_WORDS = 500


@transaction.atomic
def accept(dialogues: Iterable[Dialogue], *, by: User, now: datetime | None = None) -> int:
    """Accept the pending ones of these conversations; returns their number."""
    done = 0
    for dialogue in dialogues:
        held = _locked(dialogue.pk)
        if not Decision.objects.filter(dialogue=held).exists():
            _decide(held, Decision.State.ACCEPTED, "", by, now)
            done += 1
    return done


def accept_fitting(study: Study, dialogues: Collection[UUID], *, by: User) -> int:
    """Accept those of these conversations that are pending and within all limits; returns their number."""
    pending = queries.dialogues_to_review(study, queries.PENDING).filter(public_id__in=dialogues)
    rows = queries.review_rows(pending, limits_of(study))
    return accept([row.dialogue for row in rows if not row.broken], by=by)


@transaction.atomic
def reject(dialogue: Dialogue, *, reason: str, by: User, now: datetime | None = None) -> None:
    """Reject a conversation: its article has room for another. Both are paid all the same.

    Raises:
        ValidationError: there is no reason, or it was decided on already.
    """
    text = reason.strip()
    if not text or len(text) > MOST_WORDS:
        raise ValidationError(
            _("Say why, in at most %(most)d characters: the reason stays with the conversation.")
            % {"most": MOST_WORDS}
        )
    held = _locked(dialogue.pk)
    if decision := Decision.objects.filter(dialogue=held).first():
        raise ValidationError(
            _("This conversation has already been decided on: %(state)s. Undo that first.")
            % {"state": decision.get_state_display()}
        )
    _decide(held, Decision.State.REJECTED, text, by, now)
    _set_counted(held, counts=False)


@transaction.atomic
def reset_decision(dialogue: Dialogue) -> None:
    """Reset a conversation to pending. Idempotent.

    Raises:
        ValidationError: others have taken its place among those of its article.
    """
    held = _locked(dialogue.pk)
    decision = Decision.objects.filter(dialogue=held).first()
    if decision is None:
        return
    was_rejected = decision.state == Decision.State.REJECTED
    decision.delete()
    if was_rejected:
        _set_counted(held, counts=True)


@transaction.atomic
def reward(dialogue: Dialogue, amount: Decimal, *, by: User) -> int:
    """Promise both speakers a bonus for an outstanding conversation; returns the number of people.

    Raises:
        ValidationError: it is not accepted, nobody talked here, or one of them cannot have it.
    """
    if not Decision.objects.filter(dialogue=dialogue, state=Decision.State.ACCEPTED).exists():
        raise ValidationError(_("Accept the conversation first: a bonus is for what was done well."))
    seats = dialogue.seats.exclude(assignment=None).order_by("number")
    people = list(seats.values_list("assignment__participation", flat=True))
    if not people:
        raise ValidationError(_("Nobody who is paid here talked in this conversation."))
    ledger.add_bonuses(people, amount, note=_("Outstanding conversation"), by=by)
    return len(people)


def set_limits(study: Study, values: dict[str, float | None]) -> None:
    """Set the limits of a study; earlier decisions stay."""
    Limits.objects.update_or_create(study=study, defaults={"values": values})


def limits_of(study: Study) -> dict[str, float | None]:
    """Limits of a study, or the default ones with its own minimum of turns."""
    usual: dict[str, float | None] = {key: limit.default for key, limit in LIMITS.items()}
    usual["turns"] = float(study.min_turns)
    limits = Limits.objects.filter(study=study).first()
    return usual | (limits.values if limits else {})


def _locked(pk: int) -> Dialogue:
    return Dialogue.objects.select_for_update(of=("self",)).get(pk=pk)


def _decide(dialogue: Dialogue, state: Decision.State, reason: str, by: User, now: datetime | None) -> None:
    Decision.objects.create(dialogue=dialogue, state=state, reason=reason, by=by, at=now or timezone.now())


def _set_counted(dialogue: Dialogue, *, counts: bool) -> None:
    if not ReadingSet.objects.filter(dialogue=dialogue).exists():
        return
    try:
        set_counted(dialogue, counts=counts)
    except ArticlesUsedUpError as error:
        raise ValidationError(str(error)) from error
