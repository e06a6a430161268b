from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.contexts.models import ContextSetVersion
from turnwise.studies.models import Study


class WritingPlan(models.Model):
    """Plan of a writing study: its contexts, responses per context, and responses per worker."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="writing")
    context_version = models.ForeignKey(
        ContextSetVersion, on_delete=models.PROTECT, related_name="writing_plans", verbose_name=_("contexts")
    )
    responses_per_context = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(20)],
        verbose_name=_("responses per context"),
        help_text=_("Each by a different worker."),
    )
    batch_size = models.PositiveSmallIntegerField(
        default=10,
        validators=[MinValueValidator(1), MaxValueValidator(200)],
        verbose_name=_("responses per worker"),
        help_text=_("After this many the worker is done and gets the completion code."),
    )

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="writing_plan_wants_something",
                condition=Q(responses_per_context__gte=1, batch_size__gte=1),
            ),
        )

    def __str__(self) -> str:
        return f"{self.responses_per_context} per context of {self.context_version}"

    @property
    def target(self) -> int:
        """Number of responses that the study asks for."""
        return self.context_version.size * self.responses_per_context
