"""Actions of an operator: take a conversation over, and answer in it."""

from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from turnwise.accounts.models import User
from turnwise.bots import operators
from turnwise.bots.models import Bot
from turnwise.dialogues.models import Dialogue, OperatorReply, Seat
from turnwise.dialogues.operator_replies import live_seats, turn_time
from turnwise.dialogues.services import checked_text
from turnwise.live.frames import RefusedError

REFUSALS = {
    "over": _("This conversation is over: it has ended, or the participant has left. Nothing was sent."),
    "with_another": _("Another operator already has this conversation. No changes were made."),
    "answered": _("This message has been answered already. Your text was not sent."),
    "not_due": _("It is the participant's turn. Your text was not sent."),
}


def refused(reason: str) -> RefusedError:
    return RefusedError(reason, REFUSALS[reason])


@transaction.atomic
def take(bot: Bot, operator: User, public_id: UUID, *, now: datetime | None = None) -> Seat:
    """Assign a conversation to this operator, unless another present operator has it. Idempotent.

    Returns:
        The bot's seat; its conversation is locked until the end of the transaction.

    Raises:
        RefusedError: the conversation is over, or another operator has it.
    """
    now = now or timezone.now()
    dialogue = Dialogue.objects.select_for_update().filter(public_id=public_id, ended_at=None).first()
    seat = live_seats(bot).filter(dialogue=dialogue).select_related("dialogue").first() if dialogue else None
    if seat is None:
        raise refused("over")
    if seat.operator_id == operator.pk:
        return seat
    if operators.present_operators(now=now).filter(bot=bot, operator=seat.operator_id).exists():
        raise refused("with_another")
    seat.operator = operator
    seat.save(update_fields=["operator"])
    return seat


@transaction.atomic
def answer(
    bot: Bot,
    operator: User,
    public_id: UUID,
    *,
    position: int,
    text: str,
    key: UUID,
    now: datetime | None = None,
) -> OperatorReply:
    """Store the operator's reply at this position, once per key.

    Raises:
        RefusedError: the text is empty or too long, no reply is due there, or another operator has the
            conversation.
    """
    text, now = checked_text(text), now or timezone.now()
    seat = take(bot, operator, public_id, now=now)
    dialogue = seat.dialogue
    written = OperatorReply.objects.filter(dialogue=dialogue, position=position).first()
    if written:
        if (written.key, written.text) == (key, text):
            return written
        raise refused("answered")
    if position != dialogue.turns or position % 2 != seat.number:
        raise refused("answered" if position < dialogue.turns else "not_due")
    least = timedelta(seconds=operators.settings_of(bot).least_seconds(text))
    message_time = turn_time(dialogue.pk, position - 1) or now
    return OperatorReply.objects.create(
        dialogue=dialogue,
        position=position,
        text=text,
        key=key,
        by=operator,
        bot_version=operators.version_now(bot),
        written_at=now,
        due_at=max(now, message_time + least),
    )
