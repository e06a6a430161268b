"""Conversations, their two seats, and imported files of conversations."""

import uuid
import zlib
from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Greatest
from django.db.models.lookups import GreaterThanOrEqual
from django.db.models.signals import pre_delete
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from turnwise.bots.models import Bot
from turnwise.crowd.models import Assignment, Participation, Worker
from turnwise.live.sql import both_or_neither
from turnwise.studies.models import Study


class TranscriptImport(models.Model):
    """An uploaded file of conversations, which is checked and then imported as a whole or discarded."""

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

    columns = models.JSONField(
        default=dict, blank=True, help_text=_("Of a table: by part of a turn, its column; empty: guessed.")
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
    def is_in_progress(self) -> bool:
        return self.asked_at is not None and self.imported_at is None

    @property
    def file(self) -> bytes:
        """The uploaded file; empty once it is imported."""
        return zlib.decompress(self.content) if self.content else b""


def packed(file: bytes) -> bytes:
    """Compress a file for storage: sending a large one to the database takes several times its size."""
    return zlib.compress(file, level=1)


class Dialogue(models.Model):
    """A conversation of two seats that alternate: seat 0 has the even positions.

    It stores the protocol with which it began. So a later edit of the study changes no running conversation,
    and the database can enforce the rules by itself.
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

    # Origin. For an import also the file, the file's id of the conversation, and its further details.
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
    scenario = models.JSONField(
        null=True, blank=True, help_text=_("Its row of the study's table of scenarios; empty without one.")
    )
    opening_turns = models.SmallIntegerField(help_text=_("1 if position 0 is a scripted opening, else 0."))
    min_turns = models.SmallIntegerField()
    max_turns = models.SmallIntegerField()

    # Progress, updated by the statements that write turns and labels.
    turns = models.SmallIntegerField(default=0, help_text=_("All turns, the opening included."))
    bot_turns = models.SmallIntegerField(default=0, help_text=_("Counted turns of bots."))
    # Due annotations of each seat, as numbers (dialogues/progress.py). They are in this row, so that the
    # statement that saves a turn or a label locks and writes one row.
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
                condition=both_or_neither(Q(ending=""), Q(ended_at=None)),
            ),
            models.CheckConstraint(
                name="dialogue_complete_is_whole",
                condition=~Q(ending="complete")
                | Q(origin="imported")
                | Q(
                    GreaterThanOrEqual(
                        Greatest(F("bot_turns") * 2, F("turns") - F("opening_turns")), F("min_turns")
                    ),
                    due_0=[],
                    due_1=[],
                ),
            ),
            models.CheckConstraint(
                name="dialogue_is_imported_in_an_import",
                condition=both_or_neither(Q(origin="imported"), Q(imported_in__isnull=False)),
            ),
        )

    def __str__(self) -> str:
        return str(self.public_id)

    @property
    def counted_turns(self) -> int:
        """Number of turns without the scripted opening, which study limits refer to."""
        return self.turns - min(self.turns, self.opening_turns)

    @property
    def bot_titles(self) -> str:
        """Titles of the bots in it."""
        return ", ".join(dict.fromkeys(str(each.bot) for each in self.seats.all() if each.bot))

    @property
    def participation(self) -> Participation | None:
        """Participation of its worker (of the first one, if two people talk); None if it has no worker."""
        seats = sorted(self.seats.all(), key=lambda seat: seat.number)
        return next((seat.assignment.participation for seat in seats if seat.assignment), None)


@receiver(pre_delete, sender=Assignment)
def _delete_conversation(instance: Assignment, **_: Any) -> None:
    """Delete a conversation with an assignment in it: half a conversation is useless."""
    Dialogue.objects.filter(seats__assignment=instance).delete()


class Seat(models.Model):
    """One side of a conversation, occupied by a worker, a bot, a team member, or an outside person's name.

    A system of an imported or relayed conversation is an inactive bot (`bots.Bot.is_outside`). Both occupants
    can be bots, as in self-play, or workers.
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
