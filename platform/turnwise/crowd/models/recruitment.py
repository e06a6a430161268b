"""Tables of recruitment: outcomes, panels, invitations, pauses, visits and notices to workers."""

import secrets

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from turnwise.live.encryption.fields import EncryptedCharField
from turnwise.studies.models import Study


class Outcome(models.TextChoices):
    """Outcome of a participation, independent of the panel's own terms."""

    COMPLETE = "complete", _("Complete")
    SCREENED_OUT = "screened_out", _("Screened out")
    STUDY_FULL = "study_full", _("No places left")
    BOT_FAILED = "bot_failed", _("Ended because the bot could not answer")
    TIMED_OUT = "timed_out", _("Ran out of time")
    WITHDRAWN = "withdrawn", _("Left the study")
    PARTNER_LEFT = "partner_left", _("Partner left")
    NO_PARTNER = "no_partner", _("No partner came")


PAID_IN_FULL = frozenset({Outcome.BOT_FAILED, Outcome.PARTNER_LEFT})
"""Outcomes that are the platform's or the partner's fault: the worker gets full pay."""

PAID = PAID_IN_FULL | {Outcome.COMPLETE}

CODED = PAID | {Outcome.NO_PARTNER}
"""Outcomes with a completion code; after a wait without a partner the worker is paid for the time waited."""


LONGEST_ID = 120


def invitation_token() -> str:
    return secrets.token_urlsafe(16)


class StudyPanel(models.Model):
    """Panel from which a study recruits, with the study's settings there (see `crowd/panels`).

    A study without any panel admits anyone who has its link.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="panels")
    panel = models.CharField(max_length=20, help_text=_("Key of a panel: crowd/panels."))
    parameter = models.CharField(
        max_length=30, blank=True, help_text=_("Of the link, with the worker's id. Letters, digits, _ and -.")
    )
    secret = EncryptedCharField(
        max_length=100,
        blank=True,
        help_text=_("Shared with the panel, which signs its links with it. Empty: links are not signed."),
    )
    return_url = models.CharField(
        max_length=500,
        blank=True,
        help_text=_(
            "Where people go at the end. {id}, {session}, {outcome} and {code} are filled in. Empty: "
            "they are shown a code to copy."
        ),
    )
    codes = models.JSONField(
        default=dict, blank=True, help_text=_("By outcome: the code that the panel expects.")
    )
    token = models.CharField(
        max_length=60,
        blank=True,
        help_text=_(
            "Name of the environment variable that holds the token for the panel's API: never the "
            "token itself. Empty: the API is not used."
        ),
    )
    their_study = models.CharField(
        max_length=LONGEST_ID, blank=True, help_text=_("The panel's own id of the study.")
    )

    class Meta:
        ordering = ("study", "pk")
        constraints = (models.UniqueConstraint(fields=("study", "panel"), name="panel_once_per_study"),)

    def __str__(self) -> str:
        return f"{self.panel} of {self.study}"

    def code_of(self, outcome: str) -> str:
        """Code for an outcome; outcomes with full pay fall back to the code for complete work."""
        code = self.codes.get(outcome, "")
        if not code and outcome in PAID_IN_FULL:
            code = self.codes.get(Outcome.COMPLETE, "")
        return str(code)


class Invitation(models.Model):
    """Personal link into a study; it admits one person, once.

    Of an expert's link only a hash is stored. An adjudicator's link leads to the pages of adjudication and
    admits no worker.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    name = models.CharField(
        max_length=254, help_text=_("Whom the researcher invited: an e-mail address, a name.")
    )
    token = models.CharField(
        max_length=30, unique=True, null=True, blank=True, default=invitation_token, editable=False
    )
    created_at = models.DateTimeField(auto_now_add=True)
    email = models.EmailField(
        blank=True, db_default="", help_text=_("Of an expert, for the researcher's own letters.")
    )
    digest = models.CharField(
        max_length=64,
        unique=True,
        null=True,
        blank=True,
        editable=False,
        help_text=_("Of an expert: SHA-256 of the secret in the link, which is not stored."),
    )
    share = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text=_("Items of this expert; 0: all. Empty: as many as every worker.")
    )
    is_adjudicator = models.BooleanField(db_default=False)
    revoked_at = models.DateTimeField(null=True, blank=True, help_text=_("Since when the link is invalid."))

    class Meta:
        ordering = ("study", "pk")
        constraints = (
            models.UniqueConstraint(fields=("study", "name"), name="invited_once"),
            models.CheckConstraint(
                name="invitation_has_one_secret",
                condition=Q(token__isnull=False, digest=None, is_adjudicator=False)
                | Q(token=None, digest__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.name} to {self.study}"

    @property
    def panel_id(self) -> str:
        """Panel ID of the worker who uses the invitation."""
        return f"invitation-{self.pk}"


class Pause(models.Model):
    """Period in which a study admitted no new workers; participants continued, or were on hold."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="pauses", db_index=False)
    began_at = models.DateTimeField()
    began_by = models.CharField(max_length=150, blank=True)
    holds = models.BooleanField(default=False, help_text=_("Whether those who had begun were held, too."))
    turned_away = models.PositiveIntegerField(default=0, help_text=_("Visits of people who had not begun."))
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.CharField(max_length=150, blank=True)

    class Meta:
        ordering = ("study", "-pk")
        constraints = (
            models.UniqueConstraint(
                fields=("study",), condition=Q(ended_at=None), name="paused_once_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None) | Q(ended_at__gte=F("began_at")), name="pause_ends_after_it_began"
            ),
        )
        indexes = (models.Index(fields=("study", "-id"), name="pauses_of_study"),)

    def __str__(self) -> str:
        return f"{self.study}, {self.began_at:%Y-%m-%d %H:%M}"


class VisitCount(models.Model):
    """Number of visits to a study's first page, by what it showed; visitors are not recorded."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="visit_counts", db_index=False)
    saw = models.CharField(max_length=40, help_text=_("“admitted”, or why they could not take part."))
    visits = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("study", "saw")
        constraints = (models.UniqueConstraint(fields=("study", "saw"), name="visits_counted_once"),)

    def __str__(self) -> str:
        return f"{self.study}, {self.saw}: {self.visits}"


class Notice(models.Model):
    """Message from the research team to all workers who are active in a study; the newest is shown."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="notices", db_index=False)
    text = models.CharField(max_length=300)
    at = models.DateTimeField()
    by = models.CharField(max_length=150, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True, help_text=_("When another replaced it, or none."))

    class Meta:
        ordering = ("study", "-pk")
        constraints = (
            models.UniqueConstraint(
                fields=("study",), condition=Q(ended_at=None), name="one_notice_at_a_time"
            ),
            models.CheckConstraint(condition=~Q(text=""), name="notice_says_something"),
        )
        indexes = (models.Index(fields=("study", "-id"), name="notices_of_study"),)

    def __str__(self) -> str:
        return f"{self.study}: {self.text[:40]}"
