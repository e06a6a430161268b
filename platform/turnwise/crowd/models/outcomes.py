"""How somebody's part in a study ends."""

from django.db import models
from django.utils.translation import gettext_lazy as _


class Outcome(models.TextChoices):
    """How it ended, whatever the panel calls that."""

    COMPLETE = "complete", _("Complete")
    SCREENED_OUT = "screened_out", _("Screened out")
    STUDY_FULL = "study_full", _("No places left")
    BOT_FAILED = "bot_failed", _("Ended because the bot could not answer")
    TIMED_OUT = "timed_out", _("Ran out of time")
    WITHDRAWN = "withdrawn", _("Left the study")
    PARTNER_LEFT = "partner_left", _("Partner left")
    NO_PARTNER = "no_partner", _("No partner came")


PAID_IN_FULL = frozenset({Outcome.BOT_FAILED, Outcome.PARTNER_LEFT})
"""Ends that were nobody's fault but ours."""

PAID = PAID_IN_FULL | {Outcome.COMPLETE}

CODED = PAID | {Outcome.NO_PARTNER}
"""Ends at which people get their completion code; for a wait in vain they are paid its share."""
