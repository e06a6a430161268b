"""What the database holds of every study, whoever writes it; with what a form says where it does not hold."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from turnwise.studies.models.choices import PrimaryAnalysis, Speaker

CONSTRAINTS = (
    models.CheckConstraint(
        name="study_archived_is_not_open",
        condition=Q(archived_at=None) | ~Q(state__in=("open", "paused")),
    ),
    models.CheckConstraint(
        name="study_turn_limits",
        condition=Q(min_turns__gte=2, max_turns__gte=(F("min_turns") + 1) / 2 * 2),
        violation_error_message=_(
            "The maximum of turns must leave room for the minimum, "
            "which is at least 2; turns come in pairs of a message and its reply."
        ),
    ),
    models.CheckConstraint(
        name="study_exclusions_need_rules",
        condition=Q(primary_analysis=PrimaryAnalysis.ALL) | ~Q(exclusion_rules="") | Q(pilot_size__gt=0),
        violation_error_message=_(
            "Say by which rules workers are excluded, or use all workers as the primary analysis."
        ),
    ),
    models.CheckConstraint(
        name="study_pilot_is_left_out",
        condition=Q(pilot_size=0) | ~Q(primary_analysis=PrimaryAnalysis.ALL),
        violation_error_message=_(
            "A pilot is left out of the primary analysis. Choose the one without "
            "the excluded workers, or set the people of the pilot to 0."
        ),
    ),
    models.CheckConstraint(
        name="study_bot_opening_needs_text",
        condition=Q(opening_speaker=Speaker.HUMAN) | ~Q(opening_text=""),
        violation_error_message=_(
            "A conversation that the chatbot opens needs an opening text, such as “Hi!”."
        ),
    ),
)
