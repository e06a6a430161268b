"""What is said, and how it came to be said."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.bots.models import BotVersion
from turnwise.dialogues.models.conversations import Dialogue
from turnwise.live.text import MAX_TEXT


class Turn(models.Model):
    """One utterance. Its speaker is the seat `position % 2`, so speakers always alternate.

    The database refuses a turn after the end of its dialogue (trigger turn_only_in_open_dialogue).
    """

    # No index of its own: that of turn_once_per_position begins with the dialogue.
    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="turn_set", db_index=False)
    position = models.PositiveSmallIntegerField()
    text = models.CharField(max_length=MAX_TEXT)
    created_at = models.DateTimeField()
    key = models.UUIDField(
        null=True, blank=True, help_text=_("Made by the worker's browser; a resent frame has it again.")
    )

    # Of a bot's reply: what is needed to reproduce it.
    bot_version = models.ForeignKey(BotVersion, on_delete=models.PROTECT, null=True, blank=True)
    latency_ms = models.PositiveIntegerField(null=True, blank=True)
    seed = models.BigIntegerField(null=True, blank=True)
    candidates = models.JSONField(
        null=True, blank=True, help_text=_("Other responses with their scores, if the bot gives them.")
    )
    remarks = models.JSONField(
        null=True,
        blank=True,
        help_text=_(
            "Of its filters or service: {texts: […], fallback: whether a prepared sentence was said}."
        ),
    )

    class Meta:
        ordering = ("dialogue", "position")
        constraints = (
            models.UniqueConstraint(fields=("dialogue", "position"), name="turn_once_per_position"),
            models.UniqueConstraint(fields=("dialogue", "key"), name="turn_once_per_key"),
            models.CheckConstraint(name="turn_says_something", condition=~Q(text="")),
        )
        indexes = (
            # Only of the few that have remarks: reports count them without reading all turns.
            models.Index(fields=("dialogue",), name="turn_with_remarks", condition=Q(remarks__isnull=False)),
        )

    def __str__(self) -> str:
        return self.text[:60]


class Typing(models.Model):
    """How a message came to be written, where the study notes that; see dialogues/typing.py."""

    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, primary_key=True, related_name="typing")
    pasted = models.PositiveIntegerField(help_text=_("Characters that came in by pasting."))
    typing_ms = models.PositiveIntegerField(help_text=_("Time of typing, without pauses."))

    def __str__(self) -> str:
        return f"{self.pasted} pasted, {self.typing_ms}\u00a0ms"


class OperatorReply(models.Model):
    """What an operator wrote in a bot's place. It becomes the bot's turn once it may be shown."""

    # No index of its own: that of operator_reply_once_per_position begins with the dialogue.
    dialogue = models.ForeignKey(
        Dialogue, on_delete=models.CASCADE, related_name="operator_replies", db_index=False
    )
    position = models.PositiveSmallIntegerField()
    text = models.CharField(max_length=MAX_TEXT)
    key = models.UUIDField(help_text=_("Made by the operator's browser; a resent frame has it again."))
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    bot_version = models.ForeignKey(BotVersion, on_delete=models.PROTECT, related_name="+")
    written_at = models.DateTimeField()
    due_at = models.DateTimeField(help_text=_("Not shown before, lest its speed give the operator away."))

    class Meta:
        verbose_name_plural = _("operator replies")
        ordering = ("dialogue", "position")
        constraints = (
            models.UniqueConstraint(fields=("dialogue", "position"), name="operator_reply_once_per_position"),
            models.CheckConstraint(name="operator_reply_says_something", condition=~Q(text="")),
        )

    def __str__(self) -> str:
        return self.text[:60]


class Fault(models.Model):
    """A reply that the bot failed to give. It never counts against the worker."""

    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="faults")
    position = models.PositiveSmallIntegerField(help_text=_("Where the reply was due."))
    kind = models.CharField(max_length=40)
    detail = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ("dialogue", "at")

    def __str__(self) -> str:
        return f"{self.kind} at {self.position}"
