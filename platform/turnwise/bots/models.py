from decimal import Decimal

from django.conf import settings
from django.core.validators import MinValueValidator, RegexValidator
from django.db import models
from django.db.models import Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from turnwise.live.encryption.fields import SettingsField

# Adapter of outside systems, which only speak in imported or relayed conversations. It is not registered.
OUTSIDE = "transcript"
# The adapter of a bot in whose place a person of the team answers.
OPERATED = "operator"
LONGEST_NOTE = 300
# Names that are addresses of other pages.
RESERVED_NAMES = ("new", "side-by-side", "found", "small-model")


class Bot(models.Model):
    """A chatbot for studies: an adapter of `chatbots` with the configuration of its newest revision."""

    name = models.SlugField(max_length=60, unique=True)
    title = models.CharField(
        max_length=120, help_text=_("Shown to researchers, and to workers if a study is open.")
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="bots",
        help_text=_("May change and share it, as admins may. Empty: nobody but admins may."),
    )
    open_to_all = models.BooleanField(
        _("everybody can use it"),
        default=False,
        help_text=_(
            "Everybody who signs in can see its settings and figures, talk with it and use it in their "
            "studies."
        ),
    )
    shared_with = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        blank=True,
        related_name="shared_bots",
        help_text=_("Who may do so besides the owner and admins."),
    )
    operators = models.ManyToManyField(
        settings.AUTH_USER_MODEL,
        blank=True,
        related_name="operated_bots",
        help_text=_("Who may answer in its place besides the owner and admins, if a person does."),
    )
    adapter = models.CharField(max_length=60, help_text=_("Name in the registry of chatbots/."))
    configuration = SettingsField(default=dict, blank=True)
    active = models.BooleanField(
        default=True, help_text=_("Inactive bots are not loaded and get no new workers.")
    )
    watched = models.BooleanField(
        default=True, help_text=_("Asked the same twenty things every day, to notice when it changes.")
    )
    memory_bytes = models.PositiveBigIntegerField(
        null=True, blank=True, editable=False, help_text=_("Measured when it was last loaded.")
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.title

    def get_absolute_url(self) -> str:
        return reverse("bots:bot", args=[self.name])

    @property
    def is_outside(self) -> bool:
        """True if the bot only speaks in imported and relayed conversations; it is never loaded or active."""
        return self.adapter == OUTSIDE

    @property
    def is_operated(self) -> bool:
        """True if a person of the team answers in its place; it is never loaded."""
        return self.adapter == OPERATED


class OperatorPresence(models.Model):
    """A person at the operator's page of a bot. Only their newest tab counts."""

    bot = models.ForeignKey(Bot, on_delete=models.CASCADE, related_name="presences")
    operator = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    tab = models.UUIDField(null=True, blank=True, help_text=_("Empty: they closed it."))
    takes_new = models.BooleanField(default=True, help_text=_("Whether new conversations are given to them."))
    seen_at = models.DateTimeField(help_text=_("When their browser last said that it is there."))

    class Meta:
        constraints = (models.UniqueConstraint(fields=("bot", "operator"), name="operator_once_per_bot"),)

    def __str__(self) -> str:
        return f"{self.operator_id} at {self.bot_id}"


class BotRevision(models.Model):
    """A configuration of a bot. A change creates a new revision; old ones stay."""

    bot = models.ForeignKey(Bot, on_delete=models.CASCADE, related_name="revisions")
    number = models.PositiveIntegerField()
    configuration = SettingsField(default=dict)
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    made_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("bot", "-number")
        constraints = (models.UniqueConstraint(fields=("bot", "number"), name="bot_revision_once"),)

    def __str__(self) -> str:
        return f"Revision {self.number} of {self.bot_id}"


class BotVersion(models.Model):
    """A version of a bot, stored once per fingerprint; every reply refers to one."""

    bot = models.ForeignKey(Bot, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField(help_text=_("Of the bot's versions, in the order of their coming."))
    fingerprint = models.CharField(max_length=64, help_text=_("SHA-256 of the details."))
    details = models.JSONField(help_text=_("Adapter, code version, configuration, libraries."))
    first_seen_at = models.DateTimeField(auto_now_add=True)

    perplexity = models.FloatField(
        null=True,
        blank=True,
        help_text=_("Per token of held-out responses; at least 1. Empty: not measured."),
    )
    perplexity_data = models.CharField(
        max_length=LONGEST_NOTE, blank=True, help_text=_("The held-out data that it was measured on.")
    )
    perplexity_tokenizer = models.CharField(
        max_length=LONGEST_NOTE, blank=True, help_text=_("What counted as a token. Empty: not known.")
    )
    perplexity_entered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("Empty: nobody; the bot reports it itself, or their account is gone."),
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("bot", "fingerprint"), name="bot_version_stored_once"),
            models.UniqueConstraint(fields=("bot", "number"), name="bot_version_has_its_number"),
            models.CheckConstraint(
                name="bot_version_perplexity_says_on_what",
                # Below a bound, because PostgreSQL sorts infinity and NaN above every number.
                condition=Q(perplexity=None, perplexity_data="", perplexity_tokenizer="")
                | (
                    Q(perplexity__isnull=False, perplexity__gte=1, perplexity__lt=1e12)
                    & ~Q(perplexity_data="")
                ),
                violation_error_message=_(
                    "A perplexity is a number of at least 1, and needs a note of the "
                    "data that it was measured on."
                ),
            ),
        )

    def __str__(self) -> str:
        return f"{self.bot_id} {self.name}"

    @property
    def name(self) -> str:
        """Name on pages: "v3 · e2fb34b"."""
        return f"v{self.number} · {self.fingerprint[:7]}"


class BotPrice(models.Model):
    """Price of a bot's tokens at a service from a day on, entered by a researcher. Rows never change.

    A correction is a new row: of several rows for one day, the one entered last counts.
    """

    bot = models.ForeignKey(Bot, on_delete=models.CASCADE, related_name="prices")
    valid_from = models.DateField(
        verbose_name=_("valid from"), help_text=_("A day, which begins at midnight UTC.")
    )
    currency = models.CharField(
        max_length=3,
        default="USD",
        validators=[RegexValidator("^[A-Z]{3}$", _("Give the three letters of a currency, such as USD."))],
        verbose_name=_("currency"),
    )
    prompt = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        validators=[MinValueValidator(0)],
        verbose_name=_("prompt"),
        help_text=_("For a million tokens of requests."),
    )
    cached = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        null=True,
        blank=True,
        validators=[MinValueValidator(0)],
        verbose_name=_("cached prompt"),
        help_text=_("For a million tokens from the service's cache. Empty: as all other prompt tokens."),
    )
    completion = models.DecimalField(
        max_digits=12,
        decimal_places=6,
        validators=[MinValueValidator(0)],
        verbose_name=_("completion"),
        help_text=_("For a million tokens that are generated, reasoning included."),
    )
    typed_at = models.DateTimeField(auto_now_add=True)
    typed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ("bot", "valid_from", "pk")
        constraints = (
            models.CheckConstraint(
                name="bot_price_is_not_negative",
                condition=Q(prompt__gte=0, completion__gte=0) & (Q(cached=None) | Q(cached__gte=0)),
            ),
        )

    def __str__(self) -> str:
        return f"{self.bot_id} from {self.valid_from}: {self.prompt}, {self.completion} {self.currency}"


class BotUsage(models.Model):
    """Tokens of the replies of a bot on one day, whoever asked for them; the basis of what it has spent.

    Replies without known numbers of tokens are counted in `unknown` alone.
    """

    bot = models.ForeignKey(Bot, on_delete=models.CASCADE, related_name="usage")
    day = models.DateField(help_text=_("In UTC."))
    replies = models.PositiveBigIntegerField(default=0, help_text=_("With known numbers of tokens."))
    unknown = models.PositiveBigIntegerField(default=0, help_text=_("Replies of unknown numbers of tokens."))
    prompt = models.PositiveBigIntegerField(default=0, help_text=_("Tokens, cached ones included."))
    cached = models.PositiveBigIntegerField(default=0, help_text=_("Those of the prompts that were cached."))
    completion = models.PositiveBigIntegerField(default=0, help_text=_("Tokens, reasoning included."))

    class Meta:
        verbose_name_plural = _("bot usage")
        constraints = (
            models.UniqueConstraint(fields=("bot", "day"), name="bot_usage_once_a_day"),
            models.CheckConstraint(
                name="bot_usage_cached_are_prompts", condition=Q(cached__lte=models.F("prompt"))
            ),
        )

    def __str__(self) -> str:
        return f"{self.bot_id} on {self.day}: {self.replies}"


class BotBudget(models.Model):
    """The most that a bot may spend in a calendar month (UTC). Once it is reached, the bot is not asked."""

    bot = models.OneToOneField(Bot, on_delete=models.CASCADE, related_name="budget")
    amount = models.DecimalField(
        max_digits=12,
        decimal_places=2,
        validators=[MinValueValidator(Decimal("0.01"))],
        verbose_name=_("budget of a month"),
    )
    currency = models.CharField(max_length=3, help_text=_("That of the bot's prices."))
    reached_in = models.DateField(
        null=True, blank=True, editable=False, help_text=_("First day of the month in which it was reached.")
    )
    typed_at = models.DateTimeField(auto_now=True)
    typed_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        constraints = (models.CheckConstraint(name="bot_budget_is_positive", condition=Q(amount__gt=0)),)

    def __str__(self) -> str:
        return f"{self.bot_id}: {self.amount} {self.currency} a month"


class BotCopy(models.Model):
    """A bot resident in one process, which renews this row every second."""

    bot = models.ForeignKey(Bot, on_delete=models.CASCADE, related_name="copies")
    channel = models.CharField(max_length=120, help_text=_("Where the process takes requests."))
    host = models.CharField(max_length=120, help_text=_("Machine and process."))
    state = models.CharField(max_length=20)
    health = models.JSONField(help_text=_("chatbots.health.Health, and the memory it takes."))
    seen_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = _("bot copies")
        constraints = (models.UniqueConstraint(fields=("bot", "channel"), name="bot_copy_once_per_channel"),)

    def __str__(self) -> str:
        return f"{self.bot_id} on {self.host}: {self.state}"


class CanaryRun(models.Model):
    """The twenty fixed contexts put to a version of a bot, and whether it still answers as it used to."""

    class Verdict(models.TextChoices):
        BASELINE = "baseline", _("First answers of this version")
        SAME = "same", _("As before")
        CHANGED = "changed", _("Answers have changed")
        SHIFTED = "shifted", _("Length or likelihood has shifted")
        FAILED = "failed", _("Too few answers")

    bot = models.ForeignKey(Bot, on_delete=models.CASCADE, related_name="canary_runs")
    version = models.ForeignKey(BotVersion, on_delete=models.CASCADE, null=True, related_name="canary_runs")
    at = models.DateTimeField(auto_now_add=True)
    verdict = models.CharField(max_length=20, choices=Verdict)
    said = models.TextField(blank=True, help_text=_("The verdict in words."))
    replies = models.JSONField(help_text=_("Per context: text, tokens, score; null where there was none."))
    repeatable = models.JSONField(
        default=list, help_text=_("Of a baseline, per context: whether asking twice gave the same.")
    )

    class Meta:
        ordering = ("bot", "-at")
        indexes = (models.Index(fields=("version", "verdict"), name="canary_of_version"),)

    def __str__(self) -> str:
        return f"{self.bot_id}: {self.verdict}"
