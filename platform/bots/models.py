from django.conf import settings
from django.db import models
from django.db.models import Q

LONGEST_NOTE = 300


class Bot(models.Model):
    """A chatbot that studies may use: an adapter of `chatbots` with its configuration."""

    name = models.SlugField(max_length=60, unique=True)
    title = models.CharField(
        max_length=120, help_text="Shown to researchers, and to workers if a study is open."
    )
    adapter = models.CharField(max_length=60, help_text="Name in the registry of chatbots/.")
    configuration = models.JSONField(default=dict, blank=True)
    active = models.BooleanField(
        default=True, help_text="Inactive bots are not loaded and get no new workers."
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.title


class BotVersion(models.Model):
    """What exactly answered: every reply points at one of these, stored once per fingerprint."""

    bot = models.ForeignKey(Bot, on_delete=models.PROTECT, related_name="versions")
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the details.")
    details = models.JSONField(help_text="Adapter, code version, configuration, libraries.")
    first_seen_at = models.DateTimeField(auto_now_add=True)

    perplexity = models.FloatField(
        null=True, blank=True, help_text="Per token of held-out responses; at least 1. Empty: not measured."
    )
    perplexity_data = models.CharField(
        max_length=LONGEST_NOTE, blank=True, help_text="The held-out data that it was measured on."
    )
    perplexity_tokenizer = models.CharField(
        max_length=LONGEST_NOTE, blank=True, help_text="What counted as a token. Empty: not known."
    )
    perplexity_entered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="Empty: nobody; the bot reports it itself, or their account is gone.",
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("bot", "fingerprint"), name="bot_version_stored_once"),
            models.CheckConstraint(
                name="bot_version_perplexity_says_on_what",
                # Below a bound, because PostgreSQL sorts infinity and NaN above every number.
                condition=Q(perplexity=None, perplexity_data="", perplexity_tokenizer="")
                | (
                    Q(perplexity__isnull=False, perplexity__gte=1, perplexity__lt=1e12)
                    & ~Q(perplexity_data="")
                ),
                violation_error_message="A perplexity is a number of at least 1, and needs a note of the "
                "data that it was measured on.",
            ),
        )

    def __str__(self) -> str:
        return f"{self.bot_id} {self.fingerprint[:12]}"
