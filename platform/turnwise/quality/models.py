"""Tables of quality: qualifications, attention checks, limits, flags, decisions, blocks and messages."""

from typing import Any

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from evaluation.quality.flags import Thresholds
from turnwise.crowd.models import Participation, Worker
from turnwise.studies.models import Study

DEFAULTS = Thresholds()


def _share(default: float, name: Any, says: Any) -> "models.FloatField[float, float]":
    return models.FloatField(
        default=default,
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        verbose_name=name,
        help_text=says,
    )


class Qualification(models.Model):
    """Test with known answers that workers must pass before the work in studies that require it.

    It cannot be changed after the first attempt, so that all workers pass the same test.
    """

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="qualifications"
    )
    title = models.CharField(max_length=120, verbose_name=_("title"))
    questions = models.JSONField(
        help_text=_("Each with `text`, `choices`, `right` (numbers of the right ones, from 0) and `why`.")
    )
    pass_mark = models.PositiveSmallIntegerField(
        validators=[MinValueValidator(1)],
        verbose_name=_("pass mark"),
        help_text=_("This many right answers, or more, pass."),
    )
    tries = models.PositiveSmallIntegerField(
        default=2,
        validators=[MinValueValidator(1), MaxValueValidator(20)],
        verbose_name=_("tries"),
        help_text=_("How often somebody can try, in all studies together."),
    )
    feedback = models.BooleanField(
        default=True,
        verbose_name=_("say what was wrong"),
        help_text=_("After an attempt that does not pass: which answers were wrong, and why."),
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("title", "pk")

    def __str__(self) -> str:
        return self.title

    @property
    def of(self) -> int:
        return len(self.questions)


class Requirement(models.Model):
    """Qualification that a study requires of its workers."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="requirement")
    qualification = models.ForeignKey(Qualification, on_delete=models.PROTECT, related_name="requirements")

    def __str__(self) -> str:
        return f"{self.qualification} for {self.study}"


class Attempt(models.Model):
    """One attempt of a worker at a qualification, in any study."""

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="attempts", db_index=False)
    qualification = models.ForeignKey(Qualification, on_delete=models.PROTECT, related_name="attempts")
    participation = models.ForeignKey(
        Participation, on_delete=models.SET_NULL, null=True, blank=True, related_name="attempts"
    )
    number = models.PositiveSmallIntegerField(help_text=_("From 1."))
    right = models.PositiveSmallIntegerField(help_text=_("How many answers were right."))
    passed = models.BooleanField()
    given = models.JSONField(help_text=_("By question, the numbers of the choices that were given."))
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("worker", "qualification", "number")
        constraints = (
            models.UniqueConstraint(fields=("worker", "qualification", "number"), name="attempt_once"),
        )

    def __str__(self) -> str:
        return f"{self.right} right in try {self.number} of {self.worker_id}"


class Check(models.Model):
    """Attention check: a question that says what to answer, such as “Please answer Yes here”."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="attention_checks")
    question_set = models.CharField(max_length=60)
    question = models.CharField(max_length=60)
    right = models.JSONField(help_text=_("The answer that it asks for."))

    class Meta:
        ordering = ("pk",)
        constraints = (
            models.UniqueConstraint(fields=("study", "question_set", "question"), name="check_once"),
        )

    def __str__(self) -> str:
        return f"{self.question} of {self.study}"


class Limits(models.Model):
    """Limits of one study beyond which a figure becomes a flag."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="quality_limits")
    unread_share = _share(
        DEFAULTS.unread_share,
        _("Answers before reading"),
        _("Share of the answers that came faster than anybody reads."),
    )
    pace = _share(DEFAULTS.pace, _("Pace"), _("Of the others' time on the same items, the median."))
    run_chance = _share(
        DEFAULTS.run_chance, _("Chance of a run"), _("That the same answer comes so often in a row.")
    )
    repeats_least = _share(
        DEFAULTS.repeats_least, _("Same answer twice"), _("Below this share of what comes a second time.")
    )
    peers_gap = _share(
        DEFAULTS.peers_gap, _("Agreement lost"), _("So much less than the others agree among themselves.")
    )
    gold_least = _share(DEFAULTS.gold_least, _("Gold judged correctly"), _("Surely below this share."))
    attention_misses = models.PositiveSmallIntegerField(
        default=DEFAULTS.attention_misses,
        verbose_name=_("Attention checks"),
        help_text=_("More failed than this."),
    )

    class Meta:
        verbose_name_plural = _("limits")

    def __str__(self) -> str:
        return f"Limits of {self.study}"


class Flag(models.Model):
    """Quality flag: a finding about a participation that a person should review."""

    participation = models.ForeignKey(
        Participation, on_delete=models.CASCADE, related_name="flags", db_index=False
    )
    kind = models.CharField(max_length=20)
    figures = models.JSONField(help_text=_("What it rests on, by name."))
    evidence = ArrayField(models.BigIntegerField(), default=list, help_text=_("Labels to look at."))
    found_at = models.DateTimeField()

    class Meta:
        ordering = ("participation", "kind")
        constraints = (models.UniqueConstraint(fields=("participation", "kind"), name="flag_once_per_kind"),)

    def __str__(self) -> str:
        return f"{self.kind} of {self.participation_id}"


class Decision(models.Model):
    """Decision about a worker. A trigger refuses changing or deleting it; `undoes` refers to an undone one.

    It outlives the participation, like an entry of the ledger.
    """

    class Action(models.TextChoices):
        KEEP = "keep", _("Keep")
        EXCLUDE = "exclude", _("Exclude")
        BLOCK = "block", _("Block")
        APPROVE = "approve", _("Approve")
        REJECT = "reject", _("Reject")
        UNDO = "undo", _("Undo")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="decisions")
    participation = models.BigIntegerField(help_text=_("Its key."))
    worker = models.CharField(max_length=20, help_text=_("Pseudonym."))
    action = models.CharField(max_length=10, choices=Action)
    reason = models.CharField(max_length=500, blank=True)
    undoes = models.OneToOneField(
        "self", on_delete=models.PROTECT, null=True, blank=True, related_name="undone_by"
    )
    by = models.CharField(max_length=150)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)
        indexes = (models.Index(fields=("study", "participation"), name="decisions_about"),)
        constraints = (
            models.CheckConstraint(
                name="decision_undoes_one",
                condition=(Q(action="undo") & Q(undoes__isnull=False))
                | (~Q(action="undo") & Q(undoes__isnull=True)),
            ),
            models.CheckConstraint(
                name="decision_against_has_reason",
                condition=~Q(action__in=("exclude", "block", "reject")) | ~Q(reason=""),
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_action_display()} {self.worker}"


class Block(models.Model):
    """Block of a worker from all studies of an owner."""

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="blocks", db_index=False)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    reason = models.CharField(max_length=500)
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("worker", "owner"), name="blocked_once"),)

    def __str__(self) -> str:
        return f"{self.worker}, from studies of {self.owner}"


class MessageTemplate(models.Model):
    """Reusable message to workers."""

    class Kind(models.TextChoices):
        REJECTION = "rejection", _("On rejection")
        BONUS = "bonus", _("With a bonus")
        THANKS = "thanks", _("Thanks")

    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="message_templates", db_index=False
    )
    kind = models.CharField(max_length=10, choices=Kind, default=Kind.REJECTION, verbose_name=_("kind"))
    title = models.CharField(max_length=80, verbose_name=_("title"))
    text = models.TextField(max_length=500, verbose_name=_("text"))

    class Meta:
        ordering = ("owner", "kind", "title")
        constraints = (models.UniqueConstraint(fields=("owner", "title"), name="message_once_per_title"),)

    def __str__(self) -> str:
        return self.title
