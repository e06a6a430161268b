from django.db import models

from studies.models import Study


class Rehearsal(models.Model):
    """What came of a rehearsal: everything that was planted, compared with its report."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="outcome")
    findings = models.JSONField(
        help_text="Of each a sentence, and whether it holds; null if that cannot be told."
    )
    holds = models.BooleanField(help_text="Whether all of them hold.")
    verdict = models.TextField(help_text="What came of it, in a sentence.")
    agreement = models.TextField(blank=True, help_text="Why nothing is said about alpha; empty if it is.")
    finished_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"Outcome of {self.study}"
