from django.conf import settings
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from turnwise.bots.models import Bot, BotVersion
from turnwise.responses.bot_jobs import BotJob
from turnwise.responses.models import ResponseRun
from turnwise.studies.models import Study


class Audit(BotJob):
    """An audit: questions of `chatbots.identity.audit` to a bot version about its identity."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting to start")
        RUNNING = "running", _("Under way")
        DONE = "done", _("Complete")
        FAILED = "failed", _("Stopped with errors")
        CANCELLED = "cancelled", _("Stopped")

    bot = models.ForeignKey(Bot, on_delete=models.CASCADE, related_name="audits")
    version = models.ForeignKey(
        BotVersion,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="audits",
        help_text=_("Version that answered first. If the bot changes on the way, the audit stops."),
    )
    questions = models.CharField(max_length=12, help_text=_("The first digits of the hash of what is asked."))
    seed = models.PositiveIntegerField(default=0)
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("Empty: the daily timer, or somebody whose account is gone."),
    )
    by_timer = models.BooleanField(default=False)
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    rules_accuracy = models.JSONField(
        null=True,
        blank=True,
        editable=False,
        help_text=_(
            "Agreement of the rules that sorted the replies with labelled replies, as an `Accuracy` of "
            "`chatbots.identity.rule_accuracy`; empty until the audit is complete."
        ),
    )

    # The run and the study in which raters judge the replies.
    run = models.OneToOneField(
        ResponseRun,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="audit",
        help_text=_("The replies that people are asked about, as responses to contexts."),
    )
    study = models.OneToOneField(
        Study,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="audit",
        help_text=_("Where they are asked."),
    )

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("bot",), condition=Q(state__in=("queued", "running")), name="audit_one_at_a_time"
            ),
            models.CheckConstraint(
                name="audit_failed_for_a_reason", condition=~Q(state="failed") | ~Q(reason="")
            ),
            models.CheckConstraint(
                name="audit_done_is_of_a_version", condition=~Q(state="done") | Q(version__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return f"Audit {self.pk} of {self.bot}"

    def get_absolute_url(self) -> str:
        return reverse("audits:audit", args=[self.bot.name, self.pk])


class AuditedReply(models.Model):
    """A reply of an audit, to a question or to a line of the talk before it.

    For a line of a talk, `question` is the name of the talk and `label` is empty; such replies are not
    judged.
    """

    # No index of its own: that of audited_once_per_turn begins with the audit.
    audit = models.ForeignKey(Audit, on_delete=models.CASCADE, related_name="replies", db_index=False)
    question = models.CharField(max_length=20, help_text=_("Of the set that ships, or the talk."))
    turn = models.PositiveSmallIntegerField(
        help_text=_("Of the dialogue, from 1; the person says the odd ones.")
    )
    label = models.CharField(max_length=1, blank=True, help_text=_("p, a or n: whether it asks."))
    asked = models.TextField(blank=True)
    text = models.TextField(
        blank=True, help_text=_("Empty: the bot failed, or ended its reply without a text.")
    )
    outcome = models.CharField(
        max_length=20, blank=True, help_text=_("How the reply ended; empty: complete, or the bot failed.")
    )
    category = models.CharField(max_length=20, blank=True, help_text=_("What the rules say of it."))
    start = models.PositiveIntegerField(default=0, help_text=_("Where the words begin that decided."))
    end = models.PositiveIntegerField(default=0, help_text=_("Where they end; as the start if none did."))
    error = models.TextField(blank=True, help_text=_("Why the bot failed when it was asked last."))
    attempts = models.PositiveSmallIntegerField(default=1)

    class Meta:
        verbose_name_plural = _("audited replies")
        ordering = ("audit", "pk")
        constraints = (
            models.UniqueConstraint(fields=("audit", "question", "turn"), name="audited_once_per_turn"),
            models.CheckConstraint(
                name="audited_reply_or_error", condition=Q(text="", category="", outcome="") ^ Q(error="")
            ),
            models.CheckConstraint(name="audited_span_in_order", condition=Q(start__lte=F("end"))),
        )

    def __str__(self) -> str:
        return self.text[:60]
