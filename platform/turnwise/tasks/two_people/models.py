from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.studies.models import Study


class TwoPeoplePlan(models.Model):
    """Plan of a study of two people: number of conversations, and the end of a wait without a partner."""

    class Alone(models.TextChoices):
        """Options for a worker who found no partner."""

        LEAVE = "leave", _("They leave, and are paid for the time they waited")
        BOT = "bot", _("They talk with a chatbot of the study instead")

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="two_people")
    conversations = models.PositiveIntegerField(
        default=50,
        validators=[MinValueValidator(1), MaxValueValidator(100_000)],
        verbose_name=_("conversations of two people"),
        help_text=_("Finished ones; each needs two people."),
    )
    wait_minutes = models.PositiveSmallIntegerField(
        default=5,
        validators=[MinValueValidator(1), MaxValueValidator(60)],
        verbose_name=_("longest wait in minutes"),
        help_text=_("For another person. People are told, and can see how long they have waited."),
    )
    alone = models.CharField(
        max_length=10, choices=Alone, default=Alone.LEAVE, verbose_name=_("if nobody comes by then")
    )
    disclosed = models.BooleanField(
        default=True,
        verbose_name=_("Tell people whom they talk with"),
        help_text=_(
            "Both know that they are talking with a person, and see whether the other is typing. Otherwise "
            "they are told that their partner may be a person or a chatbot; say so in the consent text, too."
        ),
    )

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="two_people_plan_wants_something",
                condition=Q(conversations__gte=1, wait_minutes__gte=1),
            ),
        )

    def __str__(self) -> str:
        return f"{self.conversations} conversations of two people in {self.study}"
