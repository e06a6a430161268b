from django.conf import settings
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from chatbots.base import Drawing
from turnwise.bots.generation import SAYS_SOMETHING, Generation
from turnwise.bots.models import Bot, BotVersion
from turnwise.contexts.models import Context, ContextSetVersion
from turnwise.crowd.models import Participation
from turnwise.responses.bot_jobs import BotJob
from turnwise.studies.models import Study


class Source(models.TextChoices):
    """Sources of the responses of a run."""

    BOT = "bot", _("A bot")
    PERSON = "person", _("People")
    FILE = "file", _("A file")


class Sweep(models.Model):
    """A bot's responses at several numbers of samples N and temperatures T, with a run for each pair."""

    bot = models.ForeignKey(Bot, on_delete=models.PROTECT, related_name="sweeps")
    context_version = models.ForeignKey(ContextSetVersion, on_delete=models.PROTECT, related_name="sweeps")
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="sweeps")
    seed = models.BigIntegerField(help_text=_("Of every run: each pair is asked with the same."))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"N and T of {self.bot} on {self.context_version}"

    def get_absolute_url(self) -> str:
        return reverse("comparisons:sweep", args=[self.bot.name, self.pk])


class ResponseRun(BotJob):
    """One system's responses to every context of a set's version, once or several times.

    The system is a bot at one version, the people of a writing study, or the source of an uploaded file.
    Judging and reports treat all three alike.
    """

    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting to start")
        RUNNING = "running", _("Under way")
        DONE = "done", _("Complete")
        FAILED = "failed", _("Stopped with errors")
        CANCELLED = "cancelled", _("Cancelled")

    context_version = models.ForeignKey(ContextSetVersion, on_delete=models.PROTECT, related_name="runs")
    source = models.CharField(max_length=10, choices=Source)
    system = models.CharField(max_length=120, help_text=_("What reports call whoever responded."))
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="runs")
    repetitions = models.PositiveSmallIntegerField(
        default=1, help_text=_("Responses wanted for each context.")
    )
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)

    # Only for runs of bots: everything needed to repeat the run.
    bot = models.ForeignKey(Bot, on_delete=models.PROTECT, null=True, blank=True, related_name="runs")
    bot_version = models.ForeignKey(
        BotVersion,
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        related_name="runs",
        help_text=_("Who answered first. A bot that changes on the way stops the run."),
    )
    decoding = models.JSONField(
        default=dict, blank=True, help_text=_("The bot's configuration when the run began.")
    )
    seed = models.BigIntegerField(
        null=True, blank=True, help_text=_("Seeds of all responses are derived from it.")
    )

    # Only for runs of sweeps: overrides of the bot's configuration.
    sweep = models.ForeignKey(Sweep, on_delete=models.PROTECT, null=True, blank=True, related_name="runs")
    samples = models.PositiveSmallIntegerField(null=True, blank=True, help_text="N.")
    temperature = models.FloatField(null=True, blank=True, help_text="T.")

    # Only for runs of people: the study in which they write.
    study = models.OneToOneField(
        Study, on_delete=models.PROTECT, null=True, blank=True, related_name="response_run"
    )

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(
                name="run_belongs_to_its_source",
                condition=Q(source="bot", bot__isnull=False, seed__isnull=False, study=None)
                | Q(source="person", bot=None, bot_version=None, seed=None, study__isnull=False)
                | Q(source="file", bot=None, bot_version=None, seed=None, study=None),
            ),
            models.CheckConstraint(
                name="run_of_sweep_has_n_and_t",
                condition=Q(sweep=None, samples=None, temperature=None)
                | Q(sweep__isnull=False, source="bot", samples__gte=1, temperature__gt=0),
            ),
            models.UniqueConstraint(
                fields=("sweep", "samples", "temperature"), name="run_once_per_n_and_t_of_sweep"
            ),
            models.CheckConstraint(name="run_wants_responses", condition=Q(repetitions__gte=1)),
            models.CheckConstraint(
                name="run_failed_for_a_reason", condition=~Q(state="failed") | ~Q(reason="")
            ),
        )

    def __str__(self) -> str:
        return f"{self.system} on {self.context_version}"

    def get_absolute_url(self) -> str:
        return reverse("responses:run", args=[self.pk])

    @property
    def drawing(self) -> Drawing | None:
        """Settings by which the bot draws its responses; None: as configured."""
        if self.samples is None or self.temperature is None:
            return None
        return Drawing(self.samples, self.temperature)


class Response(models.Model):
    """A system's response to a context: exactly one for each context and repetition of its run."""

    # Without an own index: that of response_once_per_repetition begins with the run.
    run = models.ForeignKey(ResponseRun, on_delete=models.CASCADE, related_name="responses", db_index=False)
    context = models.ForeignKey(Context, on_delete=models.PROTECT, related_name="responses")
    repetition = models.PositiveSmallIntegerField(default=1, help_text=_("From 1."))
    text = models.TextField()
    created_at = models.DateTimeField()

    # Only for responses of bots: everything needed to reproduce them.
    bot_version = models.ForeignKey(
        BotVersion, on_delete=models.PROTECT, null=True, blank=True, related_name="responses"
    )
    latency_ms = models.PositiveIntegerField(null=True, blank=True)
    seed = models.BigIntegerField(null=True, blank=True)
    candidates = models.JSONField(
        null=True, blank=True, help_text=_("Other responses with their scores, if the bot gives them.")
    )
    generation = models.JSONField(
        null=True, blank=True, help_text=_("How the reply came about: see bots/generation.py.")
    )

    # Only for responses of people: the author.
    author = models.ForeignKey(
        Participation, on_delete=models.CASCADE, null=True, blank=True, related_name="responses"
    )

    class Meta:
        ordering = ("run", "context", "repetition")
        constraints = (
            models.UniqueConstraint(
                fields=("run", "context", "repetition"), name="response_once_per_repetition"
            ),
            models.UniqueConstraint(
                fields=("run", "context", "author"),
                condition=Q(author__isnull=False),
                name="response_once_per_author",
            ),
            models.CheckConstraint(name="response_says_something", condition=SAYS_SOMETHING),
            models.CheckConstraint(name="response_repetition_from_1", condition=Q(repetition__gte=1)),
            models.CheckConstraint(
                name="response_of_bot_or_person", condition=Q(author=None) | Q(bot_version=None)
            ),
        )

    def __str__(self) -> str:
        return self.text[:60]

    @property
    def how(self) -> Generation:
        """Typed record of how the response was generated."""
        return Generation.from_json(self.generation)


class ResponseFault(models.Model):
    """A response that a bot failed to give, with the number of attempts."""

    run = models.ForeignKey(ResponseRun, on_delete=models.CASCADE, related_name="faults", db_index=False)
    context = models.ForeignKey(Context, on_delete=models.CASCADE, related_name="+")
    repetition = models.PositiveSmallIntegerField()
    attempts = models.PositiveSmallIntegerField(default=1)
    kind = models.CharField(max_length=40)
    detail = models.TextField(blank=True)
    at = models.DateTimeField()

    class Meta:
        ordering = ("run", "context", "repetition")
        constraints = (
            models.UniqueConstraint(
                fields=("run", "context", "repetition"), name="fault_once_per_repetition"
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} at {self.context}"


class WritingPlace(models.Model):
    """The context that a worker is writing for, held until the response comes or the hold expires."""

    participation = models.OneToOneField(
        Participation, on_delete=models.CASCADE, related_name="writing_place"
    )
    run = models.ForeignKey(ResponseRun, on_delete=models.CASCADE, related_name="places", db_index=False)
    context = models.ForeignKey(Context, on_delete=models.CASCADE, related_name="+")
    repetition = models.PositiveSmallIntegerField()
    held_since = models.DateTimeField()

    class Meta:
        constraints = (
            models.UniqueConstraint(
                fields=("run", "context", "repetition"), name="place_once_per_repetition"
            ),
        )

    def __str__(self) -> str:
        return f"{self.participation} at {self.context}"
