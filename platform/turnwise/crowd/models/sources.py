"""Where the people of a study come from: its panels, and links of their own."""

import secrets

from django.db import models
from django.utils.translation import gettext_lazy as _

from turnwise.crowd.models.outcomes import PAID_IN_FULL, Outcome
from turnwise.studies.models import Study

LONGEST_ID = 120


def invitation_token() -> str:
    return secrets.token_urlsafe(16)


class StudyPanel(models.Model):
    """A panel from which a study takes people, with what the study agreed with it: `crowd/panels` says what.

    A study without any takes whoever has its link.
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="panels")
    panel = models.CharField(max_length=20, help_text=_("Key of a panel: crowd/panels."))
    parameter = models.CharField(
        max_length=30, blank=True, help_text=_("Of the link, with the worker's id. Letters, digits, _ and -.")
    )
    secret = models.CharField(
        max_length=100,
        blank=True,
        help_text=_("Shared with the panel, which signs its links with it. Empty: links are not signed."),
    )
    return_url = models.CharField(
        max_length=500,
        blank=True,
        help_text=_(
            "Where people go at the end. {id}, {session}, {outcome} and {code} are filled in. Empty: "
            "they are shown a code to copy."
        ),
    )
    codes = models.JSONField(
        default=dict, blank=True, help_text=_("By outcome: the code that the panel expects.")
    )
    token = models.CharField(
        max_length=60,
        blank=True,
        help_text=_(
            "Name of the environment variable that holds the token for the panel's API: never the "
            "token itself. Empty: the API is not used."
        ),
    )
    their_study = models.CharField(
        max_length=LONGEST_ID, blank=True, help_text=_("The panel's own id of the study.")
    )

    class Meta:
        ordering = ("study", "pk")
        constraints = (models.UniqueConstraint(fields=("study", "panel"), name="panel_once_per_study"),)

    def __str__(self) -> str:
        return f"{self.panel} of {self.study}"

    def code_of(self, outcome: str) -> str:
        """The code of an outcome; whom the platform let down gets that of complete work, if none is set."""
        code = self.codes.get(outcome, "")
        if not code and outcome in PAID_IN_FULL:
            code = self.codes.get(Outcome.COMPLETE, "")
        return str(code)


class Invitation(models.Model):
    """One person's own link into a study; it lets in one person, once."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="invitations")
    name = models.CharField(
        max_length=254, help_text=_("Whom the researcher invited: an e-mail address, a name.")
    )
    token = models.CharField(max_length=30, unique=True, default=invitation_token, editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("study", "pk")
        constraints = (models.UniqueConstraint(fields=("study", "name"), name="invited_once"),)

    def __str__(self) -> str:
        return f"{self.name} to {self.study}"

    @property
    def panel_id(self) -> str:
        """How the worker who comes by it is known."""
        return f"invitation-{self.pk}"
