"""Withdrawal: remove a participant's texts and answers from a study, and leave marks in their place."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _

from evaluation.texts.cleaning import WITHDRAWN
from turnwise.accounts import erasures
from turnwise.accounts.models import Erasure, User
from turnwise.crowd.models import Outcome, Participation, Withdrawal, Worker
from turnwise.crowd.places.ending import end
from turnwise.dialogues.models import Dialogue, MessagePicture, Seat, Turn, Typing, sides_of
from turnwise.experts.models import Adjudication
from turnwise.judges.models import MachineLabel
from turnwise.judging.models import Agreement, Batch, Item, Slot, Training
from turnwise.labels.models import Label, Pair
from turnwise.privacy.erasure import anonymize, has_unpaid_amount
from turnwise.quality.models import Attempt, Flag
from turnwise.responses.models import Response, WritingPlace
from turnwise.studies import bundles
from turnwise.studies.services import results_changed
from turnwise.trash import soft_delete as trash


def last_day(participation: Participation) -> datetime | None:
    """Deadline for withdrawal; None while a participation is open, when there is none.

    With several participations, the period begins at the end of the last one.
    """
    every = Participation.objects.filter(worker=participation.worker_id, study=participation.study_id)
    if every.filter(assignment__ended_at=None).exists():
        return None
    ended = every.values_list("assignment__ended_at", flat=True)
    return max(at for at in ended if at) + timedelta(days=participation.study.withdrawal_days)


def why_too_late(participation: Participation, now: datetime) -> str:
    """Sentence for a participant whose deadline has passed; empty if they can withdraw."""
    until = last_day(participation)
    if until is None or now <= until:
        return ""
    text = _("You could withdraw your texts and answers until %(day)s. They are part of the results now.") % {
        "day": date_format(until, "DATE_FORMAT")
    }
    if participation.study.contact_address:
        text += " " + _("To ask for it anyway, write to %(contact)s.") % {
            "contact": participation.study.contact_address
        }
    return text


@transaction.atomic
def withdraw(participation_id: int, *, by: User | None = None, now: datetime | None = None) -> Withdrawal:
    """Remove all texts and answers of a worker in a study, from all participations. Idempotent.

    A conversation with a chatbot is deleted with all labels about it. In a conversation with another person,
    the partner's messages stay, and the withdrawn messages are replaced by a mark. Participations keep their
    outcome and pay. Once nothing is to be paid, the worker's IDs are erased.

    Args:
        participation_id: any participation of the worker in the study.
        by: team member who does it at the worker's request, without a deadline; None for the worker.
        now: time of the withdrawal.

    Raises:
        ValidationError: the worker's deadline has passed. Nothing was changed.
    """
    now = now or timezone.now()
    rows = Participation.objects.select_related("study", "worker", "assignment")
    participation = rows.get(pk=participation_id)
    # Prevents another participation meanwhile.
    Worker.objects.select_for_update(no_key=True).get(pk=participation.worker_id)
    of_worker = rows.filter(worker=participation.worker_id, study=participation.study_id).order_by("number")
    every = list(of_worker.select_for_update(of=("self",)))
    earlier = Withdrawal.objects.filter(participation=participation).first()
    if earlier:
        return earlier
    if by is None and (late := why_too_late(participation, now)):
        raise ValidationError(late)
    erasures.begin(Erasure.Reason.WITHDRAWAL, by=by, study_id=participation.study_id)
    _lock_batches(every)
    made = {each.pk: _withdraw_one(each, by, now) for each in every}
    if not has_unpaid_amount(participation):
        anonymize(participation, now=now)
    bundles.delete_bundles_quoting([participation.study_id])
    trash.purge_studies([participation.study_id])
    return made[participation.pk]


def _lock_batches(every: Sequence[Participation]) -> None:
    """Wait for the worker's judgments that are being saved; later ones are refused.

    Call this before any lock of the study: saving a judgment locks its batch, then the study.
    """
    batches = Batch.objects.filter(
        assignment__participation__in=[participation.pk for participation in every]
    )
    list(batches.select_for_update(no_key=True, of=("self",)).order_by("pk").values_list("pk"))


def _withdraw_one(participation: Participation, by: User | None, now: datetime) -> Withdrawal:
    end(participation.pk, Outcome.WITHDRAWN, now=now)  # where their part has not ended before
    withdrawal = _remove_contributions(participation, by, now)
    Flag.objects.filter(participation=participation).delete()
    participation.signs = participation.proposed_reason = participation.excluded_reason = ""
    participation.excluded_at = participation.excluded_by = None
    participation.save(
        update_fields=["signs", "proposed_reason", "excluded_reason", "excluded_at", "excluded_by"]
    )
    return withdrawal


def _remove_contributions(participation: Participation, by: User | None, now: datetime) -> Withdrawal:
    """Remove the participation's texts and answers, and record how many there were."""
    seat = Seat.objects.filter(assignment__participation=participation).select_related("dialogue").first()
    turns, sides = _turns_of(seat), list(sides_of(participation).select_for_update(of=("self",)))
    written = Response.objects.filter(author=participation)
    given = Label.objects.filter(rater=participation.worker_id, study=participation.study_id)
    goes_whole = seat is not None and not _is_shared(seat)
    withdrawal = Withdrawal.objects.create(
        participation=participation,
        at=now,
        by=by,
        conversations=[
            *([seat.dialogue.public_id] if seat and goes_whole else []),
            *(side.public_id for side in sides),
        ],
        texts=len(turns) + written.count() + _messages_in(sides),
        labels=given.count(),
    )
    held = [*([seat.dialogue_id] if seat else []), *(side.pk for side in sides)]
    about = _about(held, list(written.values_list("pk", flat=True)))
    _lock_slots(about)
    touched = _studies_touched(participation, about)
    _free_slots(participation)
    given.delete()
    written.delete()
    WritingPlace.objects.filter(participation=participation).delete()
    Training.objects.filter(worker=participation.worker_id, study=participation.study_id).delete()
    # Attempts stay, as they are counted; their answers are deleted.
    Attempt.objects.filter(participation=participation).update(given={})
    for side in sides:
        side.delete()
    if seat and goes_whole:
        seat.dialogue.delete()
    elif seat:
        _blank_turns(turns)
        seat.pictures.all().delete()
        _blank_texts_about(seat)
    # These figures include deleted labels; the page computes them again.
    settled = Agreement.State.READY, Agreement.State.FAILED
    Agreement.objects.filter(ask__study__in=touched, state__in=settled).delete()
    for study_id in sorted(touched):
        results_changed(study_id)
    return withdrawal


def _turns_of(seat: Seat | None) -> list[int]:
    """Keys of the participant's own turns, without a scripted opening."""
    if seat is None:
        return []
    Dialogue.objects.select_for_update().get(pk=seat.dialogue_id)
    turns = Turn.objects.filter(dialogue=seat.dialogue_id, position__gte=seat.dialogue.opening_turns)
    return [pk for pk, position in turns.values_list("pk", "position") if position % 2 == seat.number]


def _is_shared(seat: Seat) -> bool:
    """True if the conversation has another person who has not withdrawn."""
    others = Seat.objects.filter(dialogue=seat.dialogue_id, assignment__isnull=False).exclude(pk=seat.pk)
    return others.filter(assignment__participation__withdrawal=None).exists()


def _messages_in(sides: Sequence[Dialogue]) -> int:
    """Number of messages in battles, each of which is stored on both sides."""
    return Turn.objects.filter(dialogue__in=sides, key__isnull=False).values("key").distinct().count()


def _about(held: list[int], written: list[int]) -> dict[str, Any]:
    """Lookups of items and labels about the withdrawn content: field path to values.

    Args:
        held: keys of the conversations.
        written: keys of the responses.
    """
    pairs = Pair.objects.filter(
        Q(first_dialogue__in=held) | Q(second_dialogue__in=held)
        | Q(first_response__in=written) | Q(second_response__in=written)
    )  # fmt: skip
    # Separate queries: one combined condition would read every label.
    return {"turn__dialogue__in": held, "dialogue__in": held, "response__in": written, "pair__in": pairs}


def _lock_slots(about: Mapping[str, Any]) -> None:
    """Wait for judgments about this content that are being saved, so that they are deleted, too."""
    for path, those in about.items():
        slots = Slot.objects.filter(**{f"item__{path}": those})
        list(slots.select_for_update(of=("self",)).order_by("pk").values_list("pk"))


def _studies_touched(participation: Participation, about: Mapping[str, Any]) -> set[int]:
    """The study itself, and all studies that judge the withdrawn content."""
    touched = {participation.study_id}
    for path, those in about.items():
        touched.update(Label.objects.filter(**{path: those}).values_list("study", flat=True))
        touched.update(Item.objects.filter(**{path: those}).values_list("study", flat=True))
    return touched


def _free_slots(participation: Participation) -> None:
    """Free the judging slots that the worker judged or held, for other workers."""
    judged = Slot.objects.filter(label__rater=participation.worker_id, study=participation.study_id)
    had = Slot.objects.filter(batch__assignment__participation=participation)
    slots = {*judged.values_list("pk", flat=True), *had.values_list("pk", flat=True)}
    Slot.objects.filter(pk__in=slots, is_gold=True).delete()
    Slot.objects.filter(pk__in=slots).update(batch=None, leased_until=None)


def _blank_turns(turns: list[int]) -> None:
    """Replace the turns' texts by a mark, and delete labels, items and typing data about them."""
    # First, because saving typing data looks up the turn by its key.
    Turn.objects.filter(pk__in=turns).update(text=WITHDRAWN, key=None)
    Item.objects.filter(turn__in=turns).delete()
    Label.objects.filter(turn__in=turns).delete()
    Typing.objects.filter(turn__in=turns).delete()
    MessagePicture.objects.filter(turn__in=turns).delete()


def _blank_texts_about(seat: Seat) -> None:
    """Delete what machine judges and adjudicators wrote about the rest of the conversation.

    It may quote the texts.
    """
    about_rest = Q(item__turn__dialogue=seat.dialogue_id) | Q(item__dialogue=seat.dialogue_id)
    MachineLabel.objects.filter(about_rest).update(text="", why="")
    Adjudication.objects.filter(about_rest).exclude(reason="").update(reason=WITHDRAWN)
