import secrets

from django.conf import settings
from django.db import models
from django.db.models import Q

from studies.models import CODE_ALPHABET, ConsentVersion, Study, StudyBot


def _code(length: int) -> str:
    return "".join(secrets.choice(CODE_ALPHABET) for _ in range(length))


def pseudonym() -> str:
    return "W" + _code(9)


def resume_code() -> str:
    return f"{_code(5)}-{_code(5)}"


def completion_code() -> str:
    return _code(8)


class Worker(models.Model):
    """Someone of the crowd. No account: a signed cookie, or a resume code, says who it is."""

    pseudonym = models.CharField(max_length=20, unique=True, default=pseudonym, editable=False)
    panel = models.CharField(
        max_length=40, blank=True, help_text="Parameter by which a panel named the worker."
    )
    panel_id = models.CharField(max_length=120, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("panel", "panel_id"), condition=~Q(panel_id=""), name="worker_once_per_panel_id"
            ),
        )

    def __str__(self) -> str:
        return self.pseudonym


class Participation(models.Model):
    """A worker in a study, from consent to completion code."""

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="participations")
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="participations")
    consent = models.ForeignKey(ConsentVersion, on_delete=models.PROTECT)
    consented_at = models.DateTimeField(auto_now_add=True)
    resume_code = models.CharField(max_length=20, unique=True, default=resume_code, editable=False)
    completion_code = models.CharField(max_length=20, unique=True, default=completion_code, editable=False)

    address = models.CharField(
        max_length=32,
        blank=True,
        editable=False,
        help_text="Keyed hash of the network address from which they agreed, another in every study: it "
        "tells who came from the same one, and nothing else. Empty: not known.",
    )
    signs = models.TextField(
        blank=True,
        editable=False,
        help_text="Of carelessness or fraud, as the newest report found them; for people to judge.",
    )

    # The worker is paid, and the labels stay; the study declared which analysis is the primary one.
    excluded_reason = models.CharField(
        max_length=500,
        blank=True,
        help_text="Why the worker is excluded from one of the report's two analyses. Empty: they are not.",
    )
    excluded_at = models.DateTimeField(null=True, blank=True)
    excluded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("worker", "study"), name="worker_once_per_study"),
            models.CheckConstraint(
                name="excluded_for_a_reason",
                condition=Q(excluded_at=None, excluded_reason="")
                | (Q(excluded_at__isnull=False) & ~Q(excluded_reason="")),
            ),
        )

    def __str__(self) -> str:
        return f"{self.worker} in {self.study}"


class Practice(models.Model):
    """The worked examples of a question set, tried to the end by a worker: no label, and never reported."""

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="practices", db_index=False)
    question_set = models.CharField(max_length=60)
    passed_at = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("worker", "question_set"), name="practice_once_per_question_set"),
        )

    def __str__(self) -> str:
        return f"{self.worker}: {self.question_set}"


class Assignment(models.Model):
    """A worker's place in the study, with one of its bots if they are to talk. Open until it has an outcome.

    While it is open and the worker was active lately it holds one of the bot's wanted
    conversations, for a few minutes only until they send something; when they go silent the place returns to
    the pool, yet they may still finish.
    """

    class Outcome(models.TextChoices):
        COMPLETE = "complete", "Complete"
        BOT_FAILED = "bot_failed", "Ended because the bot could not answer"

    participation = models.OneToOneField(Participation, on_delete=models.CASCADE, related_name="assignment")
    study_bot = models.ForeignKey(
        StudyBot, on_delete=models.PROTECT, null=True, blank=True, related_name="assignments"
    )
    assigned_at = models.DateTimeField()
    active_at = models.DateTimeField(help_text="When the worker was last seen at work, to the minute.")
    outcome = models.CharField(max_length=20, choices=Outcome, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (models.Index(fields=("study_bot", "outcome", "active_at"), name="assignment_pool"),)
        constraints = (
            models.CheckConstraint(
                name="assignment_ended_with_outcome",
                condition=Q(outcome="", ended_at=None) | (~Q(outcome="") & Q(ended_at__isnull=False)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.participation}, bot {self.study_bot_id}"
