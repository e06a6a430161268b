"""Tables of user accounts: users, API tokens, invitations and the audit log."""

from datetime import datetime

from django.contrib.auth.models import AbstractUser
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from turnwise.accounts.audit_actions import describe_action
from turnwise.live.encryption.fields import EncryptedBytesField


class User(AbstractUser):
    """Person who signs in: a researcher, or an admin (`is_superuser`), who sees everything.

    Crowd workers have no account; see `turnwise.crowd.models.Worker`.
    """

    has_first_password = models.BooleanField(
        default=False, help_text=_("An admin made their password, which they replace before anything else.")
    )


class Scope(models.TextChoices):
    """Permissions of a token."""

    READ = "read", _("Read bots, question sets, studies and reports")
    BOTS = "bots", _("Register, change and ask bots")
    STUDIES = "studies", _("Make, change and run studies and question sets")
    PEOPLE = "people", _("People\u2019s data: participants, conversations, labels, bundles, invitations")
    PAYMENTS = "payments", _("Read and note payments")


def all_scopes() -> list[str]:
    """Every scope: the default of a token."""
    return [str(scope.value) for scope in Scope]


class ApiToken(models.Model):
    """API token, with which a program acts for its owner. Only a hash is stored."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    title = models.CharField(max_length=80, help_text=_("What it is for, such as: script on the GPU server"))
    digest = models.CharField(
        max_length=64, unique=True, editable=False, help_text=_("SHA-256 of the token.")
    )
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True, blank=True, help_text=_("To the minute."))
    scopes = ArrayField(
        models.CharField(max_length=10, choices=Scope),
        default=all_scopes,
        blank=True,
        help_text=_("What it may be used for."),
    )
    expires_at = models.DateTimeField(
        null=True, blank=True, help_text=_("From when it is refused; empty: never.")
    )
    revoked_at = models.DateTimeField(null=True, blank=True, editable=False)

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return self.title

    @property
    def is_valid(self) -> bool:
        """True if it is neither revoked nor expired."""
        return self.revoked_at is None and not self.has_expired

    @property
    def has_expired(self) -> bool:
        expires_at: datetime | None = self.expires_at
        return expires_at is not None and expires_at <= timezone.now()

    @property
    def scope_labels(self) -> list[str]:
        """Its scopes in words, in their order."""
        return [str(scope.label) for scope in Scope if scope in self.scopes]


class RepeatableRequest(models.Model):
    """A POST of a program with an idempotency key, and its answer once it was carried out."""

    token = models.ForeignKey(ApiToken, on_delete=models.CASCADE, related_name="+", db_index=False)
    key = models.CharField(max_length=200, help_text=_("The header Idempotency-Key."))
    digest = models.CharField(max_length=64, help_text=_("SHA-256 of address and body."))
    status = models.PositiveSmallIntegerField(
        null=True, blank=True, help_text=_("HTTP status of the answer; empty until there is one.")
    )
    body = EncryptedBytesField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("token", "key"), name="request_once_per_key"),)

    def __str__(self) -> str:
        return self.key


class Colleague(models.Model):
    """Invitation of a colleague by a link that admits one person once. Only a hash of the link is stored."""

    whom = models.CharField(max_length=80, help_text=_("What the list of invitations calls them."))
    digest = models.CharField(
        max_length=64, unique=True, editable=False, help_text=_("SHA-256 of the secret.")
    )
    email = models.EmailField(
        blank=True, default="", db_default="", help_text=_("To which the link was mailed; empty: nowhere.")
    )
    is_admin = models.BooleanField(default=False)
    invited_by = models.ForeignKey(User, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, help_text=_("When it was used or revoked."))
    joined = models.OneToOneField(
        User, on_delete=models.SET_NULL, null=True, blank=True, related_name="invitation"
    )

    class Meta:
        verbose_name = _("invitation of a colleague")
        verbose_name_plural = _("invitations of colleagues")
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.whom


class Event(models.Model):
    """Entry of the audit log. A trigger refuses changing or deleting rows.

    The user is stored without a foreign key, so that the entry stays when the user is deleted.
    """

    at = models.DateTimeField()
    person = models.BigIntegerField(help_text=_("Key of the user."))
    name = models.CharField(max_length=150, help_text=_("As they signed in then."))
    action = models.CharField(max_length=80, help_text=_("Name of the page or call."))
    path = models.CharField(max_length=500)
    token = models.CharField(
        max_length=80, blank=True, default="", help_text=_("Title of the token, if a program did it.")
    )

    class Meta:
        ordering = ("-pk",)
        indexes = (models.Index(fields=("name", "-id"), name="event_of_person"),)

    def __str__(self) -> str:
        return f"{self.name} {self.description}"

    @property
    def description(self) -> str:
        """Description of the action."""
        return describe_action(self.action)


class Erasure(models.Model):
    """Entry of the log of erasures: a transaction that changed or deleted records of participants.

    Turns, replies, responses, labels and decisions of adjudicators stay as they are. The database lets them
    be changed or deleted only in a transaction that wrote such an entry, with `erasures.begin`, and counts
    what it does here. Not even the application's role can write, change or delete an entry otherwise.
    """

    class Reason(models.TextChoices):
        WITHDRAWAL = "withdrawal", _("A participant withdrew")
        IDENTIFIERS = "identifiers", _("Identifiers of a participant were erased")
        DELETION = "deletion", _("Deleted by a team member, who can undo it for a day")
        WORKERS = "workers", _("An administrator deleted workers")
        RELEASED = "released", _("A place was given up before the work began")

    at = models.DateTimeField(help_text=_("Beginning of the transaction."))
    xact = models.BigIntegerField(db_index=True, help_text=_("Number of the transaction in PostgreSQL."))
    reason = models.CharField(max_length=20, choices=Reason)
    person = models.BigIntegerField(null=True, blank=True, help_text=_("Key of the user, if one did it."))
    study = models.BigIntegerField(null=True, blank=True, help_text=_("Key of the study, if it is one."))
    rows = models.JSONField(default=dict, help_text=_("Number of rows changed or deleted, by table."))

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return f"{self.get_reason_display()}: {self.rows}"
