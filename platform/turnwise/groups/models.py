"""Tables of groups: groups, memberships and invitations."""

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _


class Group(models.Model):
    """A group of accounts, such as a lab. Only members and admins of the installation see that it exists.

    Names are not unique: a refused name would tell other labs of the group.
    """

    name = models.CharField(max_length=80, verbose_name=_("name"))
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name", "pk")

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("groups:group", args=[self.pk])


class Membership(models.Model):
    """A member of a group; admins of the group invite, remove and rename."""

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="memberships", db_index=False)
    person = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    is_admin = models.BooleanField(default=False)
    joined_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("person__username",)
        constraints = (models.UniqueConstraint(fields=("group", "person"), name="member_once_per_group"),)

    def __str__(self) -> str:
        return f"{self.person} in {self.group}"


class GroupInvitation(models.Model):
    """Invitation by a link that admits one account once. Only a hash of the link is stored."""

    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="invitations")
    whom = models.CharField(max_length=80, help_text=_("What the list of invitations calls them."))
    digest = models.CharField(
        max_length=64, unique=True, editable=False, help_text=_("SHA-256 of the secret.")
    )
    is_admin = models.BooleanField(default=False)
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True, help_text=_("When it was used or revoked."))

    class Meta:
        ordering = ("-pk",)

    def __str__(self) -> str:
        return self.whom
