from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q

from bots.models import Bot, BotVersion
from dialogues.models import Dialogue
from studies.models import Study


class SelfPlayPlan(models.Model):
    """Of a study in which bots talk with each other: which ones, and how many conversations.

    While the study is open, jobs work on it.
    """

    class Opener(models.TextChoices):
        TEXT = "text", "The opening text is the first turn"
        OWN = "own", "What the bot answers to the opening text is the first turn"

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="self_play")
    first = models.ForeignKey(
        Bot,
        on_delete=models.PROTECT,
        related_name="+",
        verbose_name="chatbot",
        help_text="Each begins every other conversation.",
    )
    second = models.ForeignKey(
        Bot,
        on_delete=models.PROTECT,
        related_name="+",
        verbose_name="talks with",
        help_text="The same one again: it talks with itself.",
    )
    opener = models.CharField(
        max_length=10, choices=Opener, default=Opener.OWN, verbose_name="how conversations begin"
    )
    opening_text = models.CharField(
        max_length=500,
        blank=True,
        default="Hi!",
        help_text="Neither counted nor judged. Empty: the chatbot that begins answers an empty turn.",
    )
    conversations = models.PositiveIntegerField(
        default=100,
        validators=[MinValueValidator(1), MaxValueValidator(10_000)],
        help_text="How many, at most 10,000.",
    )
    utterances = models.PositiveSmallIntegerField(
        default=10,
        validators=[MinValueValidator(2), MaxValueValidator(500)],
        verbose_name="turns of each",
        help_text="Of both together.",
    )
    seed = models.BigIntegerField(
        default=1,
        validators=[MinValueValidator(0), MaxValueValidator(2**53)],
        help_text="The same seed gives the same conversations, where the bots can.",
    )

    first_version = models.ForeignKey(
        BotVersion, on_delete=models.PROTECT, null=True, blank=True, editable=False, related_name="+"
    )
    second_version = models.ForeignKey(
        BotVersion, on_delete=models.PROTECT, null=True, blank=True, editable=False, related_name="+"
    )
    active_at = models.DateTimeField(
        null=True, blank=True, editable=False, help_text="When a bot last said something."
    )
    reason = models.TextField(blank=True, editable=False, help_text="Why it waits or stopped.")

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="self_play_wants_conversations",
                condition=Q(conversations__gte=1, utterances__gte=2),
            ),
            models.CheckConstraint(
                name="self_play_opening_says_something",
                condition=Q(opener="own") | ~Q(opening_text=""),
                violation_error_message="A text that is the first turn cannot be empty. Write one, such as "
                "“Hi!”, or let the chatbot answer it.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.first} with {'itself' if self.is_alone else self.second}"

    @property
    def is_alone(self) -> bool:
        """Whether one bot has both parts."""
        return self.first_id == self.second_id


class SelfPlayed(models.Model):
    """One of the conversations, from its first turn on."""

    plan = models.ForeignKey(SelfPlayPlan, on_delete=models.CASCADE, related_name="played", db_index=False)
    number = models.PositiveIntegerField(help_text="From 1. The first bot begins those with odd numbers.")
    dialogue = models.OneToOneField(Dialogue, on_delete=models.CASCADE, related_name="self_played")
    attempts = models.PositiveSmallIntegerField(
        default=0, help_text="How often the next turn has failed, in a row."
    )
    fell_silent = models.BooleanField(default=False, help_text="A bot said nothing, each time it was asked.")
    repeated = models.PositiveSmallIntegerField(
        default=0, help_text="Turns that repeat an earlier one; counted at the end."
    )

    measures = models.JSONField(
        null=True,
        blank=True,
        editable=False,
        help_text="Its metrics, by turn, and their encoders; once it has ended.",
    )

    class Meta:
        verbose_name_plural = "self-played"
        constraints = (
            models.UniqueConstraint(fields=("plan", "number"), name="self_played_once_per_number"),
        )

    def __str__(self) -> str:
        return f"{self.number} of {self.plan_id}"
