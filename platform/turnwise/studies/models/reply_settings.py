"""Settings of a study about replies and messages: display, lengths, and whether reasoning is stored."""

from django.core.exceptions import ValidationError
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.utils.translation import gettext_lazy as _

from evaluation.texts.lengths import MAX_MESSAGE_CHARS, MAX_REPLY_CHARS

LEAST_CHARS = 20
MOST_REPLY_VERSIONS = 10


def check_reply_limit(limit: int) -> None:
    """Refuse a limit that this installation cannot keep."""
    _check(limit, MAX_REPLY_CHARS)


def check_message_limit(limit: int) -> None:
    """Refuse a limit that this installation cannot keep."""
    _check(limit, MAX_MESSAGE_CHARS)


def _check(limit: int, most: int) -> None:
    if not LEAST_CHARS <= limit <= most:
        raise ValidationError(
            _("%(limit)s is not possible: give a number from %(least)s to %(most)s, or nothing."),
            params={"limit": f"{limit:,}", "least": LEAST_CHARS, "most": f"{most:,}"},
        )


class ReplyDisplay(models.TextChoices):
    """When a worker sees a reply."""

    WHEN_DONE = "when_done", _("At once, when it is complete")
    AS_IT_COMES = "as_it_comes", _("As the bot writes it")
    FIXED_PACE = "fixed_pace", _("At the same pace for all bots")


class ReplySettings(models.Model):
    """The part of `Study` about replies and messages. Where a limit is empty, the installation's holds."""

    max_reply_chars = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[check_reply_limit],
        verbose_name=_("longest reply in characters"),
        help_text=_(
            "A longer reply of a chatbot is cut, and its transcript says so. Empty: the installation's limit."
        ),
    )
    max_message_chars = models.PositiveIntegerField(
        null=True,
        blank=True,
        validators=[check_message_limit],
        verbose_name=_("longest message in characters"),
        help_text=_("Of what a worker writes in one go; the page counts. Empty: the installation's limit."),
    )
    stores_reasoning = models.BooleanField(
        default=False,
        verbose_name=_("store the reasoning of chatbots"),
        help_text=_(
            "Text in which a model reasons before it replies, for transcripts and exports. "
            "Workers never see it."
        ),
    )

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

    max_reply_versions = models.PositiveSmallIntegerField(
        default=1,
        validators=[MinValueValidator(1), MaxValueValidator(MOST_REPLY_VERSIONS)],
        verbose_name=_("replies to choose from"),
        help_text=_(
            "With more than 1, workers may ask for another reply to the same message until they judge it or "
            "write on, at most so many in all. They can go back to an earlier one; the one that they keep is "
            "judged, and all are stored. A bot that always answers alike gives itself away."
        ),
    )
    takes_pictures = models.BooleanField(
        default=False,
        verbose_name=_("let people send pictures"),
        help_text=_(
            "One picture with a message, stored without its metadata. Bots that see no pictures get the text "
            "alone. A picture can show people: say so in the consent text."
        ),
    )
    scenario = models.TextField(
        blank=True,
        max_length=2000,
        verbose_name=_("scenario"),
        help_text=_(
            "The situation in which people talk. They read it under “Your situation”; a system prompt gets "
            "it as {scenario}."
        ),
    )
    persona = models.TextField(
        blank=True,
        max_length=4000,
        verbose_name=_("persona of the chatbot"),
        help_text=_("A system prompt gets it as {persona}. People do not see it."),
    )
    scenarios = models.JSONField(
        blank=True,
        default=list,
        verbose_name=_("table of scenarios"),
        help_text=_("Its rows; each conversation gets one."),
    )
    factors = models.JSONField(
        blank=True,
        default=list,
        verbose_name=_("factors"),
        help_text=_("With their levels; each person gets one level of each factor."),
    )

    class Meta:
        abstract = True

    @property
    def reply_limit(self) -> int:
        """Longest reply of a bot in this study, in code points."""
        return min(self.max_reply_chars or MAX_REPLY_CHARS, MAX_REPLY_CHARS)

    @property
    def message_limit(self) -> int:
        """Longest message of a person in this study, in code points."""
        return min(self.max_message_chars or MAX_MESSAGE_CHARS, MAX_MESSAGE_CHARS)
