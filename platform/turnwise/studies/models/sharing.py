"""Sharing of a study: roles of people and groups, and transfers to another owner."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.groups.models import Group


class Role(models.TextChoices):
    """Role in which a study is shared; what each may do stands in `studies.sharing.permissions`."""

    EDITOR = "editor", _("editor")
    REVIEWER = "reviewer", _("reviewer")
    READER = "reader", _("reader")


class Share(models.Model):
    """A person or a group with whom a study is shared."""

    study = models.ForeignKey("studies.Study", on_delete=models.CASCADE, related_name="shares")
    person = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.CASCADE,
        null=True,
        blank=True,
        related_name="shared_studies",
    )
    group = models.ForeignKey(
        Group, on_delete=models.CASCADE, null=True, blank=True, related_name="shared_studies"
    )
    role = models.CharField(max_length=10, choices=Role, default=Role.READER)
    may_pay = models.BooleanField(
        default=False,
        help_text=_("Whether an editor may see and note payments, give bonuses, approve and reject."),
    )
    may_bundle = models.BooleanField(
        default=False,
        help_text=_("Whether a reviewer or reader may download the bundle, which has personal data."),
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("group__name", "person__username")
        constraints = (
            models.UniqueConstraint(fields=("study", "person"), name="study_shared_once"),
            models.UniqueConstraint(fields=("study", "group"), name="study_shared_once_with_group"),
            models.CheckConstraint(
                name="shared_with_a_person_or_a_group",
                condition=Q(person__isnull=False, group=None) | Q(person=None, group__isnull=False),
            ),
            models.CheckConstraint(name="shared_in_a_role", condition=Q(role__in=Role.values)),
            models.CheckConstraint(name="only_editors_pay", condition=Q(may_pay=False) | Q(role=Role.EDITOR)),
            models.CheckConstraint(
                name="editors_bundle_anyway", condition=Q(may_bundle=False) | ~Q(role=Role.EDITOR)
            ),
        )

    def __str__(self) -> str:
        return f"{self.study} with {self.party}"

    @property
    def party(self) -> str:
        """Name of the person or the group."""
        return str(self.group or self.person)


class Transfer(models.Model):
    """An offer of a study to another account; ended ones stay as its history."""

    class Outcome(models.TextChoices):
        ACCEPTED = "accepted", _("accepted")
        WITHDRAWN = "withdrawn", _("withdrawn")
        DECLINED = "declined", _("declined")

    study = models.ForeignKey("studies.Study", on_delete=models.CASCADE, related_name="transfers")
    offered_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+"
    )
    from_name = models.CharField(max_length=150, help_text=_("Name of the owner at the time."))
    to = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="offered_studies"
    )
    to_name = models.CharField(max_length=150)
    keeps_editing = models.BooleanField(default=True, help_text=_("Whether the old owner becomes an editor."))
    offered_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True, blank=True)
    outcome = models.CharField(max_length=10, choices=Outcome, blank=True, default="")

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("study",), condition=Q(ended_at=None), name="one_open_transfer_per_study"
            ),
            models.CheckConstraint(
                name="transfer_ended_with_an_outcome",
                condition=Q(ended_at=None, outcome="") | (Q(ended_at__isnull=False) & ~Q(outcome="")),
            ),
        )

    def __str__(self) -> str:
        return f"{self.study} to {self.to_name}"
