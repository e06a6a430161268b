"""Tables of webhooks and mails: receivers, deliveries, and conditions that were found to hold."""

from datetime import timedelta
from uuid import uuid4

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from turnwise.live.encryption.fields import EncryptedCharField
from turnwise.live.published_events import EventType
from turnwise.webhooks.signing import new_secret

EVENT_TITLES = {
    EventType.STUDY_FILLED: _("A study has everything that it wanted"),
    EventType.REPORT_READY: _("A report is ready"),
    EventType.BUNDLE_READY: _("A bundle is ready"),
    EventType.PARTICIPANT_WAITING: _("A participant waits for your decision"),
    EventType.BOT_FAILING: _("A bot keeps failing"),
    EventType.BUDGET_REACHED: _("A bot's budget is reached"),
    EventType.JUDGE_DRIFTED: _("A machine judge no longer answers as it did"),
}
TEST = "test"
"""Event that the owner sends to try the address."""
LONGEST_ADDRESS = 500
OLD_SECRET_SIGNS_FOR = timedelta(days=1)


class Webhook(models.Model):
    """A receiver of the events of a person's studies and bots: an address, or the person's own mailbox."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="webhooks")
    study = models.ForeignKey(
        "studies.Study",
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("Empty: all studies on which the owner works, and their bots."),
    )
    address = models.CharField(max_length=LONGEST_ADDRESS, help_text=_("Empty if events are mailed."))
    by_mail = models.BooleanField(
        default=False, db_default=False,
        help_text=_("Events are mailed to the owner's confirmed address instead."),
    )  # fmt: skip
    events = ArrayField(models.CharField(max_length=30), help_text=_("Kinds of events that are sent."))
    active = models.BooleanField(default=True, help_text=_("Otherwise nothing is stored or sent."))
    site = models.CharField(
        max_length=200, help_text=_("Address of this installation, with which the links in events begin.")
    )
    secret = EncryptedCharField(max_length=80, default=new_secret, editable=False)
    old_secret = EncryptedCharField(max_length=80, blank=True, default="", editable=False)
    rotated_at = models.DateTimeField(null=True, blank=True, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("owner",), condition=Q(by_mail=True), name="webhook_by_mail_once"
            ),
        )

    def __str__(self) -> str:
        return self.address

    def get_absolute_url(self) -> str:
        """Page of the webhook with its deliveries."""
        return reverse("webhooks:webhook", args=[self.pk])

    @property
    def event_titles(self) -> list[str]:
        """Titles of its events."""
        return [str(title) for kind, title in EVENT_TITLES.items() if kind in self.events]

    @property
    def signing_secrets(self) -> list[str]:
        """The secret, and for a day after a rotation the one before."""
        is_recent = self.rotated_at is not None and self.rotated_at > timezone.now() - OLD_SECRET_SIGNS_FOR
        return [self.secret, *([self.old_secret] if self.old_secret and is_recent else [])]


class Delivery(models.Model):
    """An event for one webhook, and what became of it."""

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting")
        DELIVERED = "delivered", _("Delivered")
        FAILED = "failed", _("Failed")

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries")
    message = models.UUIDField(
        default=uuid4, unique=True, help_text=_("The header webhook-id; the same in every attempt.")
    )
    event = models.CharField(max_length=30)
    subject = models.CharField(max_length=40, help_text=_("The study or bot, as in “study 3”."))
    body = models.TextField(help_text=_("JSON as it is sent."))
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField(
        help_text=_("Time of the next attempt; during an attempt, when it counts as lost.")
    )
    tried_at = models.DateTimeField(null=True, blank=True, help_text=_("Time of the last attempt."))
    status = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text=_("HTTP status of the last answer; empty without one.")
    )
    says = models.TextField(blank=True, help_text=_("What happened at the last attempt."))
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        verbose_name_plural = _("deliveries")
        ordering = ("-pk",)
        indexes = (
            models.Index(fields=("due_at",), condition=Q(state="waiting"), name="delivery_due"),
            models.Index(fields=("created_at",), name="delivery_age"),
        )

    def __str__(self) -> str:
        return f"{self.event} {self.message}"

    @property
    def message_id(self) -> str:
        """Value of the header webhook-id."""
        return f"msg_{self.message.hex}"

    @property
    def event_title(self) -> str:
        """Title of its event."""
        return str(EVENT_TITLES.get(EventType(self.event), "")) if self.event != TEST else str(_("Test"))


class Sighting(models.Model):
    """A condition that `watching` found to hold, so that it is published once until it is over."""

    kind = models.CharField(max_length=30)
    subject = models.CharField(max_length=40)
    seen_at = models.DateTimeField(help_text=_("When it was last found to hold."))

    class Meta:
        constraints = (models.UniqueConstraint(fields=("kind", "subject"), name="sighting_once"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.subject}"
