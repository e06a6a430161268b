"""Choices of a study's fields, and its check constraints with the messages that forms show."""

from collections.abc import Iterable

from django.conf import settings
from django.conf.locale import LANG_INFO
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.utils.translation import get_language, get_language_info, gettext, override
from django.utils.translation import gettext_lazy as _

from evaluation.protocols import protocols
from evaluation.report.label_columns import Analysis
from turnwise.languages.live_texts import live_language


class Speaker(models.TextChoices):
    BOT = "bot", _("The chatbot")
    HUMAN = "human", _("The worker")


class PrimaryAnalysis(models.TextChoices):
    """Primary analysis of the report, declared before data collection."""

    ALL = Analysis.ALL.value, _("All workers")
    WITHOUT_EXCLUDED = Analysis.WITHOUT_EXCLUDED.value, _("Without the workers excluded by the rules below")


def refuse_unknown_protocol(key: str) -> None:
    """Validate the protocol by which a study is made."""
    if key not in protocols():
        raise ValidationError(
            gettext("“%(key)s” is not the key of a protocol. There are %(known)s.")
            % {"key": key, "known": ", ".join(protocols())}
        )


class ReEntry(models.TextChoices):
    """Options for taking part in a study more than once."""

    ONCE = "once", _("Once")
    PER_BOT = "per_bot", _("Once with each chatbot")
    UP_TO = "up_to", _("Up to a number of times")


def language_name(code: str, *, in_itself: bool = False) -> str:
    """Name of a language in the active language, or in itself; the code if it has no name."""
    known = {"zh": "zh-hans"}.get(code, code.lower())  # Django knows Chinese by its script only
    if "name" not in LANG_INFO.get(known, {}):
        written = live_language(code)
        if written is None:
            return code
        return written.local_name if in_itself or get_language() == written.catalog else written.name
    return str(get_language_info(known)["name_local" if in_itself else "name_translated"])


def is_read_by_a_native_speaker(code: str) -> bool:
    """Whether a native speaker has read the pages for workers in this language, if there are any."""
    return code.lower().partition("-")[0] not in settings.NOT_READ_BY_A_NATIVE_SPEAKER


def english_names(codes: Iterable[str]) -> str:
    """English names of languages, as prompts of models have them, whatever language is active."""
    with override("en"):
        return ", ".join(language_name(code) for code in codes)


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
