from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.bots.models import Bot, BotVersion
from turnwise.dialogues.models import Dialogue
from turnwise.studies.models import Study


class SelfPlayPlan(models.Model):
    """Plan of a self-play study: its bots, and the number of conversations.

    While the study is open, background jobs work on it.
    """

    class Opener(models.TextChoices):
        TEXT = "text", _("The opening text is the first turn")
        OWN = "own", _("What the bot answers to the opening text is the first turn")

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="self_play")
    first = models.ForeignKey(
        Bot,
        on_delete=models.PROTECT,
        related_name="+",
        verbose_name=_("chatbot"),
        help_text=_("Each begins every other conversation."),
    )
    second = models.ForeignKey(
        Bot,
        on_delete=models.PROTECT,
        related_name="+",
        verbose_name=_("talks with"),
        help_text=_("The same one again: it talks with itself."),
    )
    opener = models.CharField(
        max_length=10, choices=Opener, default=Opener.OWN, verbose_name=_("how conversations begin")
    )
    opening_text = models.CharField(
        max_length=500,
        blank=True,
        default="Hi!",
        verbose_name=_("opening text"),
        help_text=_("Neither counted nor judged. Empty: the chatbot that begins answers an empty turn."),
    )
    conversations = models.PositiveIntegerField(
        default=100,
        validators=[MinValueValidator(1), MaxValueValidator(10_000)],
        verbose_name=_("conversations"),
        help_text=_("How many, at most 10,000."),
    )
    utterances = models.PositiveSmallIntegerField(
        default=10,
        validators=[MinValueValidator(2), MaxValueValidator(500)],
        verbose_name=_("turns of each"),
        help_text=_("Of both together."),
    )
    seed = models.BigIntegerField(
        default=1,
        validators=[MinValueValidator(0), MaxValueValidator(2**53)],
        verbose_name=_("seed"),
        help_text=_("The same seed gives the same conversations, where the bots can."),
    )

    first_version = models.ForeignKey(
        BotVersion, on_delete=models.PROTECT, null=True, blank=True, editable=False, related_name="+"
    )
    second_version = models.ForeignKey(
        BotVersion, on_delete=models.PROTECT, null=True, blank=True, editable=False, related_name="+"
    )
    active_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text=_("When a bot last said something.")
    )
    reason = models.TextField(blank=True, editable=False, help_text=_("Why it waits or stopped."))

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="self_play_wants_conversations",
                condition=Q(conversations__gte=1, utterances__gte=2),
            ),
            models.CheckConstraint(
                name="self_play_opening_says_something",
                condition=Q(opener="own") | ~Q(opening_text=""),
                violation_error_message=_(
                    "A text that is the first turn cannot be empty. Write one, such as "
                    "“Hi!”, or let the chatbot answer it."
                ),
            ),
        )

    def __str__(self) -> str:
        return f"{self.first} with {'itself' if self.is_alone else self.second}"

    @property
    def is_alone(self) -> bool:
        """True if one bot has both seats."""
        return self.first_id == self.second_id


class SelfPlayed(models.Model):
    """One self-play conversation, from its first turn on."""

    plan = models.ForeignKey(SelfPlayPlan, on_delete=models.CASCADE, related_name="played", db_index=False)
    number = models.PositiveIntegerField(help_text=_("From 1. The first bot begins those with odd numbers."))
    dialogue = models.OneToOneField(Dialogue, on_delete=models.CASCADE, related_name="self_played")
    attempts = models.PositiveSmallIntegerField(
        default=0, help_text=_("How often the next turn has failed, in a row.")
    )
    fell_silent = models.BooleanField(
        default=False, help_text=_("A bot said nothing, each time it was asked.")
    )
    repeated = models.PositiveSmallIntegerField(
        default=0, help_text=_("Turns that repeat an earlier one; counted at the end.")
    )

    measures = models.JSONField(
        null=True,
        blank=True,
        editable=False,
        help_text=_("Its metrics, by turn, and their encoders; once it has ended."),
    )

    class Meta:
        verbose_name_plural = _("self-played")
        constraints = (
            models.UniqueConstraint(fields=("plan", "number"), name="self_played_once_per_number"),
        )

    def __str__(self) -> str:
        return f"{self.number} of {self.plan_id}"
