"""Tables of workers, their participations and assignments, practice and the lobby."""

import secrets
from datetime import timedelta

from django.conf import settings
from django.core.signing import BadSignature, Signer
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from turnwise.crowd.models.recruitment import CODED, LONGEST_ID, Outcome, StudyPanel
from turnwise.studies.models import CODE_ALPHABET, ConsentVersion, Study, StudyBot

_DATA_LINK_SALT = "crowd.own_link"


def _code(length: int) -> str:
    return "".join(secrets.choice(CODE_ALPHABET) for _ in range(length))


def pseudonym() -> str:
    return "W" + _code(9)


def resume_code() -> str:
    return f"{_code(5)}-{_code(5)}"


def completion_code() -> str:
    return _code(8)


class Worker(models.Model):
    """Person who takes part in studies, without an account: a signed cookie or a code identifies them."""

    pseudonym = models.CharField(max_length=20, unique=True, default=pseudonym, editable=False)
    panel = models.CharField(
        max_length=40, blank=True, help_text=_("By which panel the worker is known; empty without one.")
    )
    panel_id = models.CharField(max_length=LONGEST_ID, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("panel_id", "panel"), condition=~Q(panel_id=""), name="worker_once_per_panel_id"
            ),
        )

    def __str__(self) -> str:
        return self.pseudonym


class Participation(models.Model):
    """A worker in a study, from consent to completion code."""

    worker = models.ForeignKey(Worker, on_delete=models.CASCADE, related_name="participations")
    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="participations", db_index=False)
    consent = models.ForeignKey(ConsentVersion, on_delete=models.PROTECT)
    consented_at = models.DateTimeField(auto_now_add=True)
    number = models.PositiveSmallIntegerField(
        default=1, editable=False, help_text=_("Which time it is that they take part in this study, from 1.")
    )
    pseudonym = models.CharField(
        max_length=20,
        default=pseudonym,
        editable=False,
        help_text=_(
            "What they are called outside the platform, in this study alone, however often they take part."
        ),
    )
    resume_code = models.CharField(max_length=20, unique=True, default=resume_code, editable=False)
    completion_code = models.CharField(max_length=20, unique=True, default=completion_code, editable=False)

    entered_by = models.ForeignKey(
        StudyPanel,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="participations",
        help_text=_("Panel from which they came; empty: by the plain link."),
    )
    submission = models.CharField(
        max_length=LONGEST_ID,
        blank=True,
        editable=False,
        help_text=_("What the panel pays: Prolific's SESSION_ID, MTurk's assignmentId."),
    )
    panel_values = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text=_("Further values of the panel's link that its pages need at the end."),
    )

    address = models.CharField(
        max_length=32,
        blank=True,
        editable=False,
        help_text=_(
            "Keyed hash of the network address from which they agreed, different in every study: equal "
            "hashes mean one address. Anyone who holds the key can test an address. Empty: not known."
        ),
    )
    signs = models.TextField(
        blank=True,
        editable=False,
        help_text=_("Of carelessness or fraud, as the newest report found them; for people to judge."),
    )

    proposed_reason = models.TextField(
        blank=True,
        editable=False,
        help_text=_(
            "Why the study's declared rules propose to exclude them, as the newest report found; a "
            "person decides."
        ),
    )

    known_by = models.CharField(
        max_length=32,
        blank=True,
        editable=False,
        help_text=_("Once their panel id is erased: a keyed hash of it, so that nobody takes part twice."),
    )
    erased_at = models.DateTimeField(
        null=True,
        blank=True,
        editable=False,
        help_text=_("When panel id, submission and address were erased."),
    )

    condition = models.JSONField(
        default=dict,
        blank=True,
        editable=False,
        help_text=_("By name of the study's factors, the level that they were assigned to."),
    )

    pilot = models.BooleanField(
        default=False, editable=False, help_text=_("They are one of the first people, who try the study out.")
    )

    # The worker is paid, and the labels stay; the study declared which analysis is the primary one.
    excluded_reason = models.CharField(
        max_length=500,
        blank=True,
        help_text=_("Why the worker is excluded from one of the report's two analyses. Empty: they are not."),
    )
    excluded_at = models.DateTimeField(null=True, blank=True)
    excluded_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        indexes = (
            models.Index(fields=("study", "consented_at", "id"), name="participation_of_study"),
            models.Index(fields=("study",), condition=Q(pilot=True), name="participation_in_pilot"),
        )
        constraints = (
            models.UniqueConstraint(fields=("worker", "study", "number"), name="worker_once_per_number"),
            # Target of the assignment's foreign key, which keeps both studies equal.
            models.UniqueConstraint(fields=("id", "study"), name="participation_of_its_study"),
            models.UniqueConstraint(fields=("pseudonym", "number"), name="pseudonym_once_per_number"),
            models.UniqueConstraint(
                fields=("entered_by", "submission"), condition=~Q(submission=""), name="submission_once"
            ),
            models.CheckConstraint(
                name="excluded_for_a_reason",
                condition=Q(excluded_at=None, excluded_reason="")
                | (Q(excluded_at__isnull=False) & ~Q(excluded_reason="")),
            ),
        )

    def __str__(self) -> str:
        return f"{self.pseudonym} in {self.study}"

    @property
    def data_link(self) -> str:
        """Address of the page with all data stored about the participant; the signature prevents guessing."""
        token = Signer(salt=_DATA_LINK_SALT).sign(str(self.pk))
        return reverse("privacy:mine", args=[self.study.code, token])

    @property
    def disclosed_code(self) -> str:
        """Completion code that the last page shows or sends; empty before the end, or if there is none."""
        outcome = getattr(getattr(self, "assignment", None), "outcome", "")
        if not outcome:
            return ""
        of_panel = self.entered_by.code_of(outcome) if self.entered_by else ""
        return of_panel or (self.completion_code if outcome in CODED else "")


def participation_by_data_link(token: str, study: Study) -> Participation | None:
    """Find the participation of a signed data link in this study; None if the signature is invalid."""
    try:
        key = int(Signer(salt=_DATA_LINK_SALT).unsign(token))
    except (BadSignature, ValueError):
        return None
    matching = Participation.objects.filter(pk=key, study=study)
    return matching.select_related("study", "worker", "consent", "assignment").first()


class Practice(models.Model):
    """Record that a worker tried all worked examples of a question set; not a label, and never reported."""

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
    """Work given to one participation, with one of the study's bots if it is a conversation.

    It is open until it has an outcome. An open assignment whose worker was active lately occupies one of the
    bot's places; before the first message, only while the worker's page is open. If the worker goes silent,
    the place is free again, and the worker may still finish.
    """

    participation = models.OneToOneField(Participation, on_delete=models.CASCADE, related_name="assignment")
    study = models.ForeignKey(
        Study,
        on_delete=models.PROTECT,
        related_name="assignments",
        db_index=False,
        help_text=_("That of the participation, so that a large study is counted by an index."),
    )
    study_bot = models.ForeignKey(
        StudyBot, on_delete=models.PROTECT, null=True, blank=True, related_name="assignments", db_index=False
    )
    number = models.PositiveIntegerField(
        null=True,
        blank=True,
        help_text=_("The bot's places are counted as they are given, so that the last one says how many."),
    )
    assigned_at = models.DateTimeField()
    active_at = models.DateTimeField(help_text=_("When the worker was last seen at work, to the minute."))
    held_until = models.DateTimeField(
        null=True,
        blank=True,
        help_text=_("Until when the place is held though nothing was sent yet, since the page is open."),
    )
    outcome = models.CharField(max_length=20, choices=Outcome, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)
    due_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When the time for the whole is over. Empty: there is no limit.")
    )
    step_due_at = models.DateTimeField(
        null=True,
        blank=True,
        help_text=_("When the time for the present message is over. Empty: nobody waits for one."),
    )
    extensions = models.PositiveSmallIntegerField(
        default=0, help_text=_("How often the worker asked for more time.")
    )

    class Meta:
        indexes = (
            # Without `active_at`, which changes every minute while the worker is active.
            models.Index(
                fields=("study", "outcome", "study_bot"), include=("participation",), name="assignment_pool"
            ),
            # Only assignments with a time limit: the timer queries them every few seconds.
            models.Index(
                fields=("due_at", "step_due_at"),
                name="assignment_limited",
                condition=Q(outcome="") & (Q(due_at__isnull=False) | Q(step_due_at__isnull=False)),
            ),
        )
        constraints = (
            # So a bot's highest number is an upper bound of its assignments (sql/begin_with_room.sql).
            models.UniqueConstraint(fields=("study_bot", "number"), name="assignment_numbered_once"),
            models.CheckConstraint(
                name="assignment_ended_with_outcome",
                condition=Q(outcome="", ended_at=None) | (~Q(outcome="") & Q(ended_at__isnull=False)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.participation}, bot {self.study_bot_id}"


class Waiting(models.Model):
    """Worker in the lobby, waiting for a partner. The row stays, as it records how long they waited.

    Two workers who are being matched share the same `meeting`. They are seated once both browsers have
    confirmed that they are still there (crowd/running/lobby_queue.py).
    """

    assignment = models.OneToOneField(Assignment, on_delete=models.CASCADE, related_name="waiting")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="waiting", db_index=False)
    tab = models.UUIDField(
        null=True, blank=True, help_text=_("The browser tab in which they wait: the newest one. Empty: none.")
    )
    seen_at = models.DateTimeField(help_text=_("When that tab last said that somebody is there."))
    waited = models.DurationField(default=timedelta, help_text=_("While somebody was there."))
    meeting = models.UUIDField(null=True, blank=True)
    asked_at = models.DateTimeField(null=True, blank=True, help_text=_("Since when the meeting is tried."))
    answered = models.BooleanField(default=False, help_text=_("Whether this side has said that it is there."))
    over_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        verbose_name_plural = _("waiting")
        indexes = (models.Index(fields=("study", "id"), name="waiting_in_study", condition=Q(over_at=None)),)
        constraints = (
            models.CheckConstraint(
                name="waiting_meets_while_asked",
                condition=Q(meeting=None, asked_at=None, answered=False)
                | Q(meeting__isnull=False, asked_at__isnull=False, tab__isnull=False, over_at=None),
            ),
        )

    def __str__(self) -> str:
        return f"{self.assignment}, {self.waited}"
