"""Tables of user accounts: users, API tokens, invitations and the audit log."""

from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy as _

from turnwise.accounts.audit_actions import describe_action


class User(AbstractUser):
    """Person who signs in: a researcher, or an admin (`is_superuser`), who sees everything.

    Crowd workers have no account; see `turnwise.crowd.models.Worker`.
    """

    has_first_password = models.BooleanField(
        default=False, help_text=_("An admin made their password, which they replace before anything else.")
    )


class ApiToken(models.Model):
    """API token, with which a program acts for its owner. Only a hash is stored."""

    owner = models.ForeignKey(User, on_delete=models.CASCADE, related_name="api_tokens")
    title = models.CharField(max_length=80, help_text=_("What it is for, such as: script on the GPU server"))
    digest = models.CharField(
        max_length=64, unique=True, editable=False, help_text=_("SHA-256 of the token.")
    )
    created_at = models.DateTimeField(auto_now_add=True)
    used_at = models.DateTimeField(null=True, blank=True, help_text=_("To the minute."))

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return self.title


class Colleague(models.Model):
    """Invitation of a colleague by a link that admits one person once. Only a hash of the link is stored."""

    whom = models.CharField(max_length=80, help_text=_("What the list of invitations calls them."))
    digest = models.CharField(
        max_length=64, unique=True, editable=False, help_text=_("SHA-256 of the secret.")
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

    class Meta:
        ordering = ("-pk",)
        indexes = (models.Index(fields=("name", "-id"), name="event_of_person"),)

    def __str__(self) -> str:
        return f"{self.name} {self.description}"

    @property
    def description(self) -> str:
        """Description of the action."""
        return describe_action(self.action)
