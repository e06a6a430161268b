"""Turns with their typing, faults and operator replies, and the reading material of seats."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.bots.generation import SAYS_SOMETHING, Generation
from turnwise.bots.models import BotVersion
from turnwise.dialogues.models.conversations import Dialogue, Seat
from turnwise.knowledge.models import Article
from turnwise.knowledge.reading_sets import LONGEST_TITLE
from turnwise.studies.models import Study


class Turn(models.Model):
    """One utterance. Its speaker is the seat `position % 2`, so speakers always alternate.

    The database refuses a turn after the end of its dialogue (trigger turn_only_in_open_dialogue).
    """

    # No separate index: that of turn_once_per_position begins with the dialogue.
    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="turn_set", db_index=False)
    position = models.PositiveSmallIntegerField()
    text = models.TextField()
    created_at = models.DateTimeField()
    key = models.UUIDField(
        null=True, blank=True, help_text=_("Made by the worker's browser; a resent frame has it again.")
    )

    # For a bot's reply: the data needed to reproduce it.
    bot_version = models.ForeignKey(BotVersion, on_delete=models.PROTECT, null=True, blank=True)
    latency_ms = models.PositiveIntegerField(null=True, blank=True)
    seed = models.BigIntegerField(null=True, blank=True)
    candidates = models.JSONField(
        null=True, blank=True, help_text=_("Other responses with their scores, if the bot gives them.")
    )
    generation = models.JSONField(
        null=True, blank=True, help_text=_("How the reply came about: see bots/generation.py.")
    )

    class Meta:
        ordering = ("dialogue", "position")
        constraints = (
            models.UniqueConstraint(fields=("dialogue", "position"), name="turn_once_per_position"),
            models.UniqueConstraint(fields=("dialogue", "key"), name="turn_once_per_key"),
            models.CheckConstraint(name="turn_says_something", condition=SAYS_SOMETHING),
        )

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def how(self) -> Generation:
        """Typed record of how a bot's reply was generated."""
        return Generation.from_json(self.generation)


class ReplyVersion(models.Model):
    """Reply among several to the same message, if the worker asked for another; see reply_versions.py.

    The turn holds the kept version with all its facts, so whatever reads turns knows nothing of versions. A
    turn without rows here was answered once.
    """

    # No separate index: that of reply_version_once_per_number begins with the turn.
    turn = models.ForeignKey(Turn, on_delete=models.CASCADE, related_name="versions", db_index=False)
    number = models.PositiveSmallIntegerField(help_text=_("From 1, in the order in which they came."))
    is_kept = models.BooleanField(help_text=_("Whether the conversation continues with this one."))
    key = models.UUIDField(
        null=True,
        blank=True,
        help_text=_("Of the request, made by the worker's browser; the first has none."),
    )

    text = models.TextField()
    created_at = models.DateTimeField()
    bot_version = models.ForeignKey(BotVersion, on_delete=models.PROTECT, related_name="+")
    latency_ms = models.PositiveIntegerField(null=True, blank=True)
    seed = models.BigIntegerField(null=True, blank=True)
    candidates = models.JSONField(null=True, blank=True)
    generation = models.JSONField(null=True, blank=True, help_text=_("As of a turn."))

    class Meta:
        ordering = ("turn", "number")
        constraints = (
            models.UniqueConstraint(fields=("turn", "number"), name="reply_version_once_per_number"),
            models.UniqueConstraint(fields=("turn", "key"), name="reply_version_once_per_key"),
            models.UniqueConstraint(fields=("turn",), condition=Q(is_kept=True), name="one_version_is_kept"),
            models.CheckConstraint(name="reply_version_says_something", condition=SAYS_SOMETHING),
        )

    def __str__(self) -> str:
        return f"{self.number}: {self.text[:60]}"

    @property
    def how(self) -> Generation:
        """Typed record of how the reply was generated."""
        return Generation.from_json(self.generation)


class Typing(models.Model):
    """Typing of a message, if the study records it; see dialogues/turn_taking.py."""

    turn = models.OneToOneField(Turn, on_delete=models.CASCADE, primary_key=True, related_name="typing")
    pasted = models.PositiveIntegerField(help_text=_("Characters that came in by pasting."))
    typing_ms = models.PositiveIntegerField(help_text=_("Time of typing, without pauses."))

    def __str__(self) -> str:
        return f"{self.pasted} pasted, {self.typing_ms}\u00a0ms"


class OperatorReply(models.Model):
    """An operator's reply in a bot's place. It becomes the bot's turn when it may be shown."""

    # No separate index: that of operator_reply_once_per_position begins with the dialogue.
    dialogue = models.ForeignKey(
        Dialogue, on_delete=models.CASCADE, related_name="operator_replies", db_index=False
    )
    position = models.PositiveSmallIntegerField()
    text = models.TextField()
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


class Material(models.Model):
    """A text that a seat has to read beside the conversation. The database refuses changes."""

    # No separate index: that of material_once_per_number begins with the seat.
    seat = models.ForeignKey(Seat, on_delete=models.CASCADE, related_name="materials", db_index=False)
    number = models.PositiveSmallIntegerField(help_text=_("Its place among what the seat reads, from 1."))
    key = models.CharField(max_length=20, help_text=_("Short name in files: FS1"))
    title = models.CharField(max_length=LONGEST_TITLE, help_text=_("What the reader knows it by."))
    heading = models.CharField(max_length=300, blank=True, help_text=_("What it is about."))
    text = models.TextField(blank=True)
    points = ArrayField(
        models.TextField(), default=list, blank=True, help_text=_("Single facts after the text.")
    )
    variant = models.CharField(
        max_length=20,
        blank=True,
        help_text=_("Which version of a text that has several: shortened, summarized."),
    )

    class Meta:
        ordering = ("seat", "number")
        constraints = (
            models.UniqueConstraint(fields=("seat", "number"), name="material_once_per_number"),
            models.UniqueConstraint(fields=("seat", "key"), name="material_once_per_key"),
            models.CheckConstraint(name="material_says_something", condition=~Q(text="", points=[])),
        )

    def __str__(self) -> str:
        return f"{self.title}: {self.heading}" if self.heading else self.title


MOST_USES = 4
"""Conversations of a study about the same article, as in the paper."""


class ArticleUse(models.Model):
    """Number of counted conversations of a study that use an article."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="article_uses", db_index=False)
    article = models.ForeignKey(Article, on_delete=models.PROTECT, related_name="+")
    uses = models.PositiveSmallIntegerField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("study", "article"), name="article_use_once_per_study"),
            models.CheckConstraint(name="article_is_not_overused", condition=Q(uses__lte=MOST_USES)),
        )

    def __str__(self) -> str:
        return f"{self.article}: {self.uses} of {MOST_USES}"


class ReadingSet(models.Model):
    """Article, configuration and seed from which both seats' reading material was drawn."""

    dialogue = models.OneToOneField(Dialogue, on_delete=models.CASCADE, related_name="reading_set")
    article = models.ForeignKey(Article, on_delete=models.PROTECT, related_name="+")
    configuration = models.CharField(max_length=1)
    seed = models.BigIntegerField()
    counts = models.BooleanField(default=True, help_text=_("Whether it is one of those of its article."))

    def __str__(self) -> str:
        return f"{self.configuration}: {self.article}"
