import secrets
from decimal import Decimal

from django.conf import settings
from django.conf.locale import LANG_INFO
from django.contrib.postgres.fields import ArrayField
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.urls import reverse

from bots.models import Bot
from contexts.models import ContextSetVersion
from evaluation.questions import QUESTION_SETS

# Unambiguous when read aloud or copied by hand: no 0/O, 1/I/L.
CODE_ALPHABET = "23456789ABCDEFGHJKMNPQRSTUVWXYZ"


def entry_code() -> str:
    return "".join(secrets.choice(CODE_ALPHABET.lower()) for _ in range(10))


def question_set_choices() -> list[tuple[str, str]]:
    return [(key, QUESTION_SETS[key].title) for key in sorted(QUESTION_SETS)]


class Speaker(models.TextChoices):
    BOT = "bot", "The chatbot"
    HUMAN = "human", "The worker"


class Task(models.TextChoices):
    """What the workers of a study do."""

    CONVERSATION = "conversation", "Talk with a chatbot and judge its replies"
    JUDGING = "judging", "Judge responses, turns or conversations of others"
    WRITING = "writing", "Write responses to given contexts"


class LabellingMoment(models.TextChoices):
    EACH_TURN = "each_turn", "Every reply is labelled before the next message can be sent"
    BEFORE_FINISH = "before_finish", "Every reply is labelled before the conversation can be finished"


class Study(models.Model):
    """What is evaluated, and how: the protocol, its wording, and the bots with their targets."""

    class State(models.TextChoices):
        DRAFT = "draft", "Draft"
        OPEN = "open", "Open"
        CLOSED = "closed", "Closed"

    code = models.CharField(max_length=20, unique=True, default=entry_code, editable=False)
    title = models.CharField(max_length=120)
    owner = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="studies")
    task = models.CharField(max_length=20, choices=Task, default=Task.CONVERSATION)
    state = models.CharField(max_length=10, choices=State, default=State.DRAFT)
    created_at = models.DateTimeField(auto_now_add=True)

    opening_speaker = models.CharField(max_length=10, choices=Speaker, default=Speaker.BOT)
    opening_text = models.CharField(
        max_length=500,
        default="Hi!",
        blank=True,
        help_text="Said by the opening speaker before the conversation; neither counted nor labelled. "
        "Empty with the worker opening: the worker's first message is an ordinary turn.",
    )
    min_turns = models.PositiveSmallIntegerField(
        default=14,
        validators=[MinValueValidator(2), MaxValueValidator(500)],
        help_text="The opening is not counted.",
    )
    max_turns = models.PositiveSmallIntegerField(
        default=28,
        validators=[MinValueValidator(2), MaxValueValidator(500)],
        help_text="The opening is not counted.",
    )
    question_set = models.CharField(max_length=60, default="ssa", choices=question_set_choices)
    labelling_moment = models.CharField(
        max_length=20, choices=LabellingMoment, default=LabellingMoment.EACH_TURN
    )
    blind = models.BooleanField(default=True, help_text="Workers do not learn which bot they talk to.")
    languages = ArrayField(models.CharField(max_length=10), default=list, help_text="For example: en, zh")
    instructions = models.TextField(max_length=8000, blank=True)
    pay_amount = models.DecimalField(
        max_digits=8, decimal_places=2, default=Decimal(0), validators=[MinValueValidator(Decimal(0))]
    )
    pay_currency = models.CharField(max_length=3, default="USD")
    expected_minutes = models.PositiveSmallIntegerField(default=15, validators=[MinValueValidator(1)])

    rehearsal_of = models.OneToOneField(
        "self",
        on_delete=models.PROTECT,
        null=True,
        blank=True,
        editable=False,
        related_name="rehearsal",
        help_text="The study that simulated workers try out here. Never counted with studies of people.",
    )
    results_version = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="Grows with every commit that changes the report."
    )

    class Meta:
        ordering = ("-created_at",)
        verbose_name_plural = "studies"
        constraints = (
            models.CheckConstraint(
                name="study_turn_limits",
                condition=Q(min_turns__gte=2, max_turns__gte=(F("min_turns") + 1) / 2 * 2),
                violation_error_message="The maximum of turns must leave room for the minimum, "
                "which is at least 2; turns come in pairs of a message and its reply.",
            ),
            models.CheckConstraint(
                name="study_bot_opening_needs_text",
                condition=Q(opening_speaker=Speaker.HUMAN) | ~Q(opening_text=""),
                violation_error_message="A conversation that the chatbot opens needs an opening text, "
                "such as “Hi!”.",
            ),
        )

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("reports:overview", args=[self.pk])

    def get_entry_url(self) -> str:
        return reverse("crowd:enter", args=[self.code])

    @property
    def pay(self) -> str:
        return f"{self.pay_amount} {self.pay_currency}" if self.pay_amount else ""

    @property
    def language_names(self) -> str:
        return ", ".join(LANG_INFO.get(code, {}).get("name", code) for code in self.languages)


class StudyBot(models.Model):
    """A bot in a study, with the number of finished conversations that is wanted of it."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="study_bots")
    bot = models.ForeignKey(Bot, on_delete=models.PROTECT, related_name="study_bots")
    target = models.PositiveIntegerField(default=100, help_text="0: no further workers for this bot.")

    class Meta:
        ordering = ("study", "bot__name")
        constraints = (models.UniqueConstraint(fields=("study", "bot"), name="bot_once_per_study"),)

    def __str__(self) -> str:
        return f"{self.bot} in {self.study}"


class WritingPlan(models.Model):
    """Of a study whose workers write: to which contexts, how many responses, and how many each worker."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="writing")
    context_version = models.ForeignKey(
        ContextSetVersion, on_delete=models.PROTECT, related_name="writing_plans", verbose_name="contexts"
    )
    responses_per_context = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(20)],
        help_text="Each by another worker.",
    )
    batch_size = models.PositiveSmallIntegerField(
        default=10,
        validators=[MinValueValidator(1), MaxValueValidator(200)],
        verbose_name="responses per worker",
        help_text="After so many the worker is done and gets the completion code.",
    )

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="writing_plan_wants_something",
                condition=Q(responses_per_context__gte=1, batch_size__gte=1),
            ),
        )

    def __str__(self) -> str:
        return f"{self.responses_per_context} per context of {self.context_version}"

    @property
    def wanted(self) -> int:
        """All responses that the study asks for."""
        return self.context_version.size * self.responses_per_context


class ConsentVersion(models.Model):
    """A consent text as it was shown. A changed text is a new version; old ones stay."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="consent_versions")
    number = models.PositiveIntegerField()
    text = models.TextField(max_length=20_000)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("study", "number")
        constraints = (models.UniqueConstraint(fields=("study", "number"), name="consent_version_once"),)

    def __str__(self) -> str:
        return f"Consent {self.number} of {self.study}"
