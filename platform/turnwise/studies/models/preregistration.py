"""The plan of a study, frozen when it first opens."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Preregistration(models.Model):
    """A study's plan as it was at the first opening. A row never changes."""

    study = models.OneToOneField("studies.Study", on_delete=models.CASCADE, related_name="preregistration")
    frozen_at = models.DateTimeField()
    plan = models.JSONField(help_text=_("What the study declared."))
    sha256 = models.CharField(max_length=64, help_text=_("Of the plan's JSON file."))

    def __str__(self) -> str:
        return f"Plan of {self.study}"
