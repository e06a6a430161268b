"""How a study's workers see the replies of chatbots: fields of a study."""

from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _


class ReplyDisplay(models.TextChoices):
    """When a worker sees a reply."""

    WHEN_DONE = "when_done", _("At once, when it is complete")
    AS_IT_COMES = "as_it_comes", _("As the bot writes it")
    FIXED_PACE = "fixed_pace", _("At the same pace for all bots")


class ReplyDisplayFields(models.Model):
    """Base of `Study` with the fields about the display of replies."""

    reply_display = models.CharField(
        max_length=20,
        choices=ReplyDisplay,
        default=ReplyDisplay.WHEN_DONE,
        verbose_name=_("how replies appear"),
        help_text=_(
            "Questions about a reply open when it is complete, in any case. At the same pace, each reply is "
            "first awaited as a whole, so that the speed of a bot does not give it away."
        ),
    )
    reply_pace = models.PositiveSmallIntegerField(
        default=60,
        validators=[MinValueValidator(10), MaxValueValidator(2000)],
        verbose_name=_("characters per second"),
        help_text=_("Applies only with “At the same pace for all bots”. People read about 20."),
    )
    may_stop_replies = models.BooleanField(
        default=False,
        verbose_name=_("let workers stop a reply"),
        help_text=_(
            "While a reply grows, a button ends it; what was shown stays, and is marked as stopped. Applies "
            "only where replies grow."
        ),
    )

    class Meta:
        abstract = True
