from django.contrib.auth.models import AbstractUser
from django.db import models
from django.utils.translation import gettext_lazy as _

from turnwise.accounts.audit_actions import describe_action


class User(AbstractUser):
    """Someone who signs in: a researcher, or an admin (`is_superuser`), who sees everything.

    Crowd workers have no account; see `turnwise.crowd.models.Worker`.
    """

    has_first_password = models.BooleanField(
        default=False, help_text=_("An admin made their password, which they replace before anything else.")
    )


class ApiToken(models.Model):
    """Lets a program act for its owner. The token itself is known only in the moment it is made."""

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
    """An invitation by a link, which lets in one person once. The link is known only when it is made."""

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
    """What somebody who signs in did. Rows are only ever added: a trigger refuses everything else.

    It names the person without a foreign key: who they were stays said when they are gone.
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
        """What was done."""
        return describe_action(self.action)
