from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from evaluation.machine_judges.panels import Rule
from evaluation.machine_judges.template import MOST_DRAWS
from turnwise.bots.budgets import amount_phrase
from turnwise.bots.models import Bot, BotVersion
from turnwise.judging.models import Item
from turnwise.live.sql import both_or_neither
from turnwise.responses.bot_jobs import BotJob
from turnwise.studies.models import Ask, Study


class Judge(models.Model):
    """A machine that answers a question set; it never changes.

    A bot has the template that it gets; a judge from elsewhere has the file of its labels; the members of a
    panel are runs, to which its own run points.
    """

    class Source(models.TextChoices):
        BOT = "bot", _("Bot")
        FILE = "file", _("File")
        PANEL = "panel", _("Panel")

    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="judges")
    source = models.CharField(max_length=10, choices=Source, default=Source.BOT)
    bot = models.ForeignKey(Bot, on_delete=models.PROTECT, null=True, blank=True, related_name="judges")
    title = models.CharField(max_length=120, blank=True, help_text=_("Name of a judge that is no bot."))
    file_name = models.CharField(max_length=255, blank=True)
    rule = models.CharField(
        max_length=10,
        blank=True,
        choices=[(Rule.VOTE.value, _("Vote")), (Rule.MEAN.value, _("Mean"))],
        help_text=_("How the labels of a panel's members become its own."),
    )
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
        max_length=64,
        editable=False,
        help_text=_(
            "SHA-256 of question set, instructions and draws; of the file; or of a panel's members and rule."
        ),
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(fields=("owner", "bot", "fingerprint"), name="judge_once"),
            models.UniqueConstraint(
                fields=("owner", "fingerprint", "title", "question_set", "draws"),
                condition=Q(source="file"),
                name="judge_of_file_once",
            ),
            models.CheckConstraint(name="judge_draws", condition=Q(draws__range=(1, MOST_DRAWS))),
            models.CheckConstraint(
                name="judge_has_bot_or_title",
                condition=both_or_neither(Q(source="bot"), Q(bot__isnull=False)),
            ),
            models.CheckConstraint(
                name="judge_without_bot_has_title", condition=Q(source="bot") | ~Q(title="")
            ),
            models.CheckConstraint(
                name="judge_panel_has_rule", condition=both_or_neither(Q(source="panel"), ~Q(rule=""))
            ),
        )

    def __str__(self) -> str:
        return f"{self.shown_title} as a judge"

    @property
    def shown_title(self) -> str:
        """Name for pages."""
        return self.bot.title if self.bot else self.title

    @property
    def exported_name(self) -> str:
        """Name in files and reports."""
        return self.bot.name if self.bot else self.title


class JudgeRun(BotJob):
    """A judge's labels of the items of one ask of a judging study."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting to start")
        RUNNING = "running", _("Under way")
        DONE = "done", _("Complete")
        FAILED = "failed", _("Stopped with errors")
        PAUSED = "paused", _("At its budget")
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
    members = models.ManyToManyField(
        "self", symmetrical=False, blank=True, related_name="panels", help_text=_("Of a panel: its members.")
    )
    seed = models.PositiveIntegerField(default=0, help_text=_("Seeds of all draws are derived from it."))
    started_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    calls = models.PositiveIntegerField(default=0, help_text=_("Requests to the bot, failed ones included."))
    most_calls = models.PositiveIntegerField(
        null=True, blank=True, help_text=_("Requests after which the run stops; none: no limit.")
    )
    most_cost = models.DecimalField(
        max_digits=12,
        decimal_places=4,
        null=True,
        blank=True,
        help_text=_("Amount after which the run stops, by the typed prices; none: no limit."),
    )
    currency = models.CharField(max_length=3, blank=True, help_text=_("That of the amount."))
    is_watched = models.BooleanField(
        default=False, db_default=False, help_text=_("Whether it answers some of its items again every day.")
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
            models.CheckConstraint(
                name="judge_run_cost_has_currency",
                condition=both_or_neither(Q(most_cost__isnull=False), ~Q(currency="")),
            ),
        )  # fmt: skip

    def __str__(self) -> str:
        return f"{self.judge} in {self.study_id}"

    @property
    def most_cost_phrase(self) -> str:
        """The largest amount, as in "3.20 USD"; empty without one."""
        return "" if self.most_cost is None else amount_phrase(self.most_cost, self.currency)

    def get_absolute_url(self) -> str:
        return reverse("judges:run", args=[self.study_id, self.pk])


class MachineLabel(models.Model):
    """One answer of a judge about one item: exactly one for each item, order of its sides and draw."""

    class Outcome(models.TextChoices):
        ANSWERED = "answered", _("Answered")
        REFUSED = "refused", _("Refused")
        OUTSIDE = "outside", _("Outside the choices")
        FAILED = "failed", _("Failed")
        UNDECIDED = "undecided", _("Undecided by the panel")

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
    probabilities = models.JSONField(
        null=True,
        blank=True,
        help_text=_("By question key, a list with the probability of each choice; null where it is unknown."),
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


class DriftCheck(models.Model):
    """Some items of a complete run that its judge answered again, and whether it answers as it did."""

    class Verdict(models.TextChoices):
        REPEATED = "repeated", _("Repeated answers to compare with")
        SAME = "same", _("As before")
        DEPARTED = "departed", _("Answers have changed")
        OTHER_VERSION = "other", _("Another version of the bot")
        FAILED = "failed", _("Not done")

    run = models.ForeignKey(JudgeRun, on_delete=models.CASCADE, related_name="drift_checks")
    at = models.DateTimeField(auto_now_add=True)
    verdict = models.CharField(max_length=10, choices=Verdict)
    reason = models.TextField(blank=True, help_text=_("The verdict in words."))
    agreement = models.FloatField(
        null=True, blank=True, help_text=_("Share of answers, from 0 to 1, that are those of the run.")
    )
    expected = models.FloatField(
        null=True,
        blank=True,
        help_text=_("Share of answers, from 0 to 1, that repeats have in common."),
    )
    p = models.FloatField(null=True, blank=True)

    class Meta:
        ordering = ("run", "-pk")
        constraints = (
            models.CheckConstraint(
                name="drift_check_agreement_if_compared",
                condition=both_or_neither(Q(verdict__in=("same", "departed")), Q(p__isnull=False)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.run_id}: {self.verdict}"


class RepeatedAnswer(models.Model):
    """What a judge answered about an item in a drift check; its first answer is a label of the run."""

    # Without an index of its own: that of repeated_answer_once begins with the check.
    drift_check = models.ForeignKey(
        DriftCheck, on_delete=models.CASCADE, related_name="answers", db_index=False
    )
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="repeated_answers")
    is_swapped = models.BooleanField(default=False)
    repeat = models.PositiveSmallIntegerField(default=1, help_text=_("From 1, within the check."))
    outcome = models.CharField(max_length=10, choices=MachineLabel.Outcome)
    answers = models.JSONField(null=True, blank=True, help_text=_("By question key; only if it answered."))
    generation = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ("drift_check", "item", "is_swapped", "repeat")
        constraints = (
            models.UniqueConstraint(
                fields=("drift_check", "item", "is_swapped", "repeat"), name="repeated_answer_once"
            ),
            models.CheckConstraint(
                name="repeated_answer_answers_if_answered",
                condition=both_or_neither(Q(outcome="answered"), Q(answers__isnull=False)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.outcome} about {self.item_id}"
