from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from evaluation.machine_judges.template import MOST_DRAWS
from turnwise.bots.models import Bot, BotVersion
from turnwise.judging.models import Item
from turnwise.live.sql import both_or_neither
from turnwise.responses.bot_jobs import BotJob
from turnwise.studies.models import Ask, Study


class Judge(models.Model):
    """A bot that answers a question set, with the template that it gets; it never changes."""

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="judges")
    bot = models.ForeignKey(Bot, on_delete=models.PROTECT, related_name="judges")
    question_set = models.CharField(max_length=60)
    instructions = models.TextField(
        editable=False, help_text=_("The part of the prompt that is the same for all items.")
    )
    draws = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_DRAWS)],
        help_text=_("Answers about each item, from which the mean is taken."),
    )
    fingerprint = models.CharField(
        max_length=64, editable=False, help_text=_("SHA-256 of question set, instructions and draws.")
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(fields=("owner", "bot", "fingerprint"), name="judge_once"),
            models.CheckConstraint(name="judge_draws", condition=Q(draws__range=(1, MOST_DRAWS))),
        )

    def __str__(self) -> str:
        return f"{self.bot} as a judge"


class JudgeRun(BotJob):
    """A judge's labels of the items of one ask of a judging study."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting to start")
        RUNNING = "running", _("Under way")
        DONE = "done", _("Complete")
        FAILED = "failed", _("Stopped with errors")
        CANCELLED = "cancelled", _("Cancelled")

    judge = models.ForeignKey(Judge, on_delete=models.PROTECT, related_name="runs")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="judge_runs")
    ask = models.ForeignKey(Ask, on_delete=models.CASCADE, related_name="judge_runs")
    bot_version = models.ForeignKey(
        BotVersion,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="judge_runs",
        help_text=_("Version that answered first. If the bot changes on the way, the run stops."),
    )
    seed = models.PositiveIntegerField(default=0, help_text=_("Seeds of all draws are derived from it."))
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("judge", "ask"), condition=Q(state__in=("queued", "running")),
                name="judge_run_one_at_a_time",
            ),
            models.CheckConstraint(
                name="judge_run_failed_for_a_reason", condition=~Q(state="failed") | ~Q(reason="")
            ),
        )  # fmt: skip

    def __str__(self) -> str:
        return f"{self.judge} in {self.study_id}"

    def get_absolute_url(self) -> str:
        return reverse("judges:run", args=[self.study_id, self.pk])


class MachineLabel(models.Model):
    """One answer of a judge about one item: exactly one for each item, order of its sides and draw."""

    class Outcome(models.TextChoices):
        ANSWERED = "answered", _("Answered")
        REFUSED = "refused", _("Refused")
        OUTSIDE = "outside", _("Outside the choices")
        FAILED = "failed", _("Failed")

    # Without an index of its own: that of machine_label_once_per_order_and_draw begins with the run.
    run = models.ForeignKey(JudgeRun, on_delete=models.CASCADE, related_name="labels", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="machine_labels")
    is_swapped = models.BooleanField(
        default=False, help_text=_("Of a pair: whether the judge saw its second side first.")
    )
    draw = models.PositiveSmallIntegerField(default=1, help_text=_("From 1."))
    outcome = models.CharField(max_length=10, choices=Outcome)
    answers = models.JSONField(
        null=True, blank=True, help_text=_("By question key, as those of people; only if it answered.")
    )
    has_seen = models.BooleanField(
        default=False,
        help_text=_("Whether the prompt had the right answers about this item; then it is not compared."),
    )
    text = models.TextField(blank=True, help_text=_("The beginning of what the bot wrote."))
    characters = models.PositiveIntegerField(default=0, help_text=_("Length of all that the bot wrote."))
    why = models.TextField(blank=True, help_text=_("Why there are no answers."))
    attempts = models.PositiveSmallIntegerField(default=1)
    at = models.DateTimeField()
    latency_ms = models.PositiveIntegerField(null=True, blank=True)
    generation = models.JSONField(
        null=True, blank=True, help_text=_("How the reply came about: see bots/generation.py.")
    )

    class Meta:
        ordering = ("run", "item", "is_swapped", "draw")
        constraints = (
            models.UniqueConstraint(
                fields=("run", "item", "is_swapped", "draw"), name="machine_label_once_per_order_and_draw"
            ),
            models.CheckConstraint(name="machine_label_draws_from_1", condition=Q(draw__gte=1)),
            models.CheckConstraint(
                name="machine_label_answers_if_answered",
                condition=both_or_neither(Q(outcome="answered"), Q(answers__isnull=False)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.outcome} about {self.item_id}"
