import uuid
import zlib
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.signals import pre_delete
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from bots.models import Bot, BotVersion
from crowd.models import Assignment, Participation, Worker
from knowledge.models import Article
from knowledge.sections import LONGEST_TITLE
from live.text import MAX_TEXT
from studies.models import Study


class TranscriptImport(models.Model):
    """A file of conversations from elsewhere: uploaded, looked at, then imported at once or thrown away."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="imports")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    file_name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    format = models.CharField(
        max_length=40,
        blank=True,
        help_text=_("A key of transcripts.importers.FORMATS; empty: none fits."),
    )
    uploaded_at = models.DateTimeField()
    content = models.BinaryField(
        null=True, blank=True, help_text=_("The file, compressed, until it is imported.")
    )

    asked_at = models.DateTimeField(null=True, blank=True, help_text=_("When its import was asked for."))
    refusal = models.TextField(blank=True, help_text=_("Why it was not imported when that was asked for."))
    imported_at = models.DateTimeField(null=True, blank=True)
    systems = models.JSONField(
        default=dict, blank=True, help_text=_("By speaker of the file, the system it is; empty for a person.")
    )
    scripted_opening = models.BooleanField(
        default=False, help_text=_("Whether first turns are scripted, so that nobody judges them.")
    )
    language = models.CharField(max_length=35, blank=True, help_text=_("Empty: the only one of the study."))
    conversations = models.PositiveIntegerField(default=0)
    turns = models.PositiveIntegerField(default=0)
    labels = models.PositiveIntegerField(
        default=0, help_text=_("Of raters elsewhere, that came with the file.")
    )
    left_out = models.PositiveIntegerField(default=0, help_text=_("Problems for which something stayed out."))

    class Meta:
        ordering = ("-uploaded_at",)
        constraints = (
            models.CheckConstraint(
                name="import_keeps_file_until_imported",
                condition=Q(imported_at=None, content__isnull=False)
                | Q(imported_at__isnull=False, content=None),
            ),
        )

    def __str__(self) -> str:
        return self.file_name

    @property
    def is_under_way(self) -> bool:
        return self.asked_at is not None and self.imported_at is None

    @property
    def file(self) -> bytes:
        """The file as it was uploaded; nothing once it is imported."""
        return zlib.decompress(self.content) if self.content else b""


def packed(file: bytes) -> bytes:
    """A file as it is kept: a large one would need several times its size on its way into the database."""
    return zlib.compress(file, level=1)


class Dialogue(models.Model):
    """A conversation of two, who speak by turns: seat 0 has the even positions.

    It carries the protocol it began with, so that a study edited later changes no running
    conversation and the database can hold the rules by itself.
    """

    class Ending(models.TextChoices):
        COMPLETE = "complete", _("Complete")
        BOT_FAILED = "bot_failed", _("Ended because the bot could not answer")
        PARTNER_LEFT = "partner_left", _("Ended because one of two people left")

    class Origin(models.TextChoices):
        LIVE = "live", _("Held here")
        IMPORTED = "imported", _("Imported from a file")
        RELAYED = "relayed", _("Relayed by hand from another website")

    public_id = models.UUIDField(unique=True, default=uuid.uuid4, editable=False)
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="dialogues")
    started_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    ending = models.CharField(max_length=20, choices=Ending, blank=True)

    # Where it was held. Of an import: the file, and what the file calls the conversation and says about it.
    origin = models.CharField(max_length=10, choices=Origin, default=Origin.LIVE, db_default=Origin.LIVE)
    imported_in = models.ForeignKey(
        TranscriptImport, on_delete=models.CASCADE, null=True, blank=True, related_name="dialogues"
    )
    source_id = models.CharField(max_length=200, blank=True, default="", db_default="")
    source_details = models.JSONField(null=True, blank=True)
    relayed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    language = models.CharField(
        max_length=10,
        blank=True,
        default="",
        db_default="",
        help_text=_("Code; empty where nobody said which."),
    )

    # The protocol as it was when the conversation began.
    opening_turns = models.PositiveSmallIntegerField(
        help_text=_("1 if position 0 is a scripted opening, else 0.")
    )
    min_turns = models.PositiveSmallIntegerField()
    max_turns = models.PositiveSmallIntegerField()

    # How far it is. Kept in step with the turns and labels by the statements that write those.
    turns = models.PositiveSmallIntegerField(default=0, help_text=_("All turns, the opening included."))
    bot_turns = models.PositiveSmallIntegerField(default=0, help_text=_("Counted turns of bots."))
    # What each seat still has to annotate, as numbers (dialogues/asks.py). In this row and not in the seats':
    # the statement that saves a turn or a label locks and writes one row.
    due_0 = ArrayField(models.IntegerField(), default=list, blank=True)
    due_1 = ArrayField(models.IntegerField(), default=list, blank=True)
    closing = models.BooleanField(
        default=False,
        help_text=_("One of two people has finished: no more turns, but the other's annotations."),
    )

    class Meta:
        indexes = (
            models.Index(fields=("study", "ending"), name="dialogue_of_study"),
            models.Index(fields=("study", "-started_at", "-id"), name="dialogue_newest_of_study"),
        )
        constraints = (
            models.CheckConstraint(
                name="dialogue_within_max_turns",
                condition=Q(origin="imported") | Q(turns__lte=F("max_turns") + F("opening_turns")),
            ),
            models.CheckConstraint(
                name="dialogue_ended_with_ending",
                condition=Q(ending="", ended_at=None) | (~Q(ending="") & Q(ended_at__isnull=False)),
            ),
            models.CheckConstraint(
                name="dialogue_complete_is_whole",
                condition=~Q(ending="complete")
                | Q(origin="imported")
                | Q(due_0=[], due_1=[], bot_turns__gte=(F("min_turns") + 1) / 2)
                | Q(due_0=[], due_1=[], turns__gte=F("min_turns") + F("opening_turns")),
            ),
            models.CheckConstraint(
                name="dialogue_is_imported_in_an_import",
                condition=Q(origin="imported", imported_in__isnull=False)
                | (~Q(origin="imported") & Q(imported_in=None)),
            ),
        )

    def __str__(self) -> str:
        return str(self.public_id)

    @property
    def bot_titles(self) -> str:
        """Who is judged in it."""
        return ", ".join(dict.fromkeys(str(each.bot) for each in self.seats.all() if each.bot))

    @property
    def participation(self) -> Participation | None:
        """Of the worker who talks with a bot here; of the first, if two people talk; None of nobody here."""
        seats = sorted(self.seats.all(), key=lambda seat: seat.number)
        return next((seat.assignment.participation for seat in seats if seat.assignment), None)


@receiver(pre_delete, sender=Assignment)
def _delete_conversation(instance: Assignment, **_: Any) -> None:
    """A conversation goes with the assignment of somebody who talks in it: half of one says nothing."""
    Dialogue.objects.filter(seats__assignment=instance).delete()


class Seat(models.Model):
    """One of the two who talk: a worker, a bot, a member of the team, or somebody elsewhere known by a name.

    A system of an imported or relayed conversation is a bot, too: an inactive one (`bots.Bot.is_outside`).
    Both seats can be bots, as in self-play, or workers.
    """

    dialogue = models.ForeignKey(Dialogue, on_delete=models.CASCADE, related_name="seats")
    number = models.PositiveSmallIntegerField(help_text=_("0 speaks first."))
    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, null=True, blank=True, related_name="seats")
    bot = models.ForeignKey(Bot, on_delete=models.PROTECT, null=True, blank=True, related_name="seats")
    operator = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("Who of the team speaks in a bot's place."),
    )
    name = models.CharField(
        max_length=120, blank=True, default="", db_default="", help_text=_("Of a person elsewhere.")
    )
    assignment = models.OneToOneField(
        Assignment, on_delete=models.CASCADE, null=True, blank=True, related_name="seat"
    )
    seen_at = models.DateTimeField(
        null=True, blank=True, help_text=_("Of two people: when a tab of this one was last known to be open.")
    )
    asks = models.JSONField(
        default=list, blank=True, help_text=_("What this person is asked, as when the conversation began.")
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("dialogue", "number"), name="seat_once_per_number"),
            models.CheckConstraint(name="seat_is_0_or_1", condition=Q(number__in=(0, 1))),
            models.CheckConstraint(
                name="seat_is_taken_by_one",
                condition=Q(worker=None, bot__isnull=False, name="")
                | Q(worker__isnull=False, bot=None, name="")
                | (Q(worker=None, bot=None) & ~Q(name="")),
            ),
            models.CheckConstraint(
                name="seat_of_worker_has_the_assignment",
                condition=Q(assignment=None) | Q(worker__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.bot or self.worker or self.name} in {self.dialogue_id}"


class Material(models.Model):
    """A text that one of the two has beside the conversation. Never changed: the database refuses it."""

    # No index of its own: that of material_once_per_number begins with the seat.
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
    """How many conversations of a study have an article, but for those that do not count."""

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
    """From which article, in which configuration, by which seed the two were given what they read."""

    dialogue = models.OneToOneField(Dialogue, on_delete=models.CASCADE, related_name="reading_set")
    article = models.ForeignKey(Article, on_delete=models.PROTECT, related_name="+")
    configuration = models.CharField(max_length=1)
    seed = models.BigIntegerField()
    counts = models.BooleanField(default=True, help_text=_("Whether it is one of those of its article."))

    def __str__(self) -> str:
        return f"{self.configuration}: {self.article}"


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
        return f"{self.pasted} pasted, {self.typing_ms} ms"


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
