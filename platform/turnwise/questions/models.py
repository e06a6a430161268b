from typing import Any

from django.conf import settings
from django.db import models
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

# A version's key is the set's name, "-v" and its number, at most 40 characters in all.
LONGEST_NAME = 34


class OwnSet(models.Model):
    """A question set of a researcher; its versions hold the declarations."""

    name = models.CharField(
        max_length=LONGEST_NAME, unique=True, help_text=_("Begins the key of every version; never changes.")
    )
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="question_sets"
    )
    shared = models.BooleanField(default=False, help_text=_("Every researcher here can read it and use it."))
    created_at = models.DateTimeField(auto_now_add=True)
    archived_at = models.DateTimeField(
        null=True, blank=True, help_text=_("Since when lists and new studies leave it out.")
    )

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("questions:set", args=[self.name])


class SetVersion(models.Model):
    """A declaration as it was saved once. Never changed or deleted: the database refuses both."""

    own_set = models.ForeignKey(OwnSet, on_delete=models.PROTECT, related_name="versions")
    number = models.PositiveIntegerField()
    key = models.CharField(max_length=40, unique=True, help_text=_("As studies, labels and files name it."))
    declaration = models.JSONField(help_text=_("As evaluation.questions.QuestionSet.to_json gives it."))
    made_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("own_set", "-number")
        constraints = (
            models.UniqueConstraint(fields=("own_set", "number"), name="question_set_version_once"),
        )

    def __str__(self) -> str:
        return self.key

    def get_absolute_url(self) -> str:
        return reverse("questions:questions", args=[self.key])

    @property
    def title(self) -> str:
        return str(self.declaration["title"])

    @property
    def questions(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.declaration["questions"]
        return found
