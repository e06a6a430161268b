from django.db import models

# Not in the registry: what such a bot said comes in as transcripts.
OUTSIDE = "transcript"


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

    @property
    def is_outside(self) -> bool:
        """Whether it only speaks in imported and relayed conversations: never loaded, never active."""
        return self.adapter == OUTSIDE


class BotVersion(models.Model):
    """What exactly answered: every reply points at one of these, stored once per fingerprint."""

    bot = models.ForeignKey(Bot, on_delete=models.PROTECT, related_name="versions")
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of the details.")
    details = models.JSONField(help_text="Adapter, code version, configuration, libraries.")
    first_seen_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("bot", "fingerprint"), name="bot_version_stored_once"),
        )

    def __str__(self) -> str:
        return f"{self.bot_id} {self.fingerprint[:12]}"
