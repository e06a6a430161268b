"""What may be chosen for a study."""

from django.conf.locale import LANG_INFO
from django.core.exceptions import ValidationError
from django.db import models
from django.utils.translation import get_language_info, gettext
from django.utils.translation import gettext_lazy as _

from evaluation.protocols import protocols
from evaluation.report.analysis import Analysis


class Speaker(models.TextChoices):
    BOT = "bot", _("The chatbot")
    HUMAN = "human", _("The worker")


class PrimaryAnalysis(models.TextChoices):
    """Whose labels a report's numbers rest on, declared before anybody has answered."""

    ALL = Analysis.ALL.value, _("All workers")
    WITHOUT_EXCLUDED = Analysis.WITHOUT_EXCLUDED.value, _("Without the workers excluded by the rules below")


def refuse_unknown_protocol(key: str) -> None:
    """Validate the published protocol by which a study is made."""
    if key not in protocols():
        raise ValidationError(
            gettext("“%(key)s” is not a published protocol. There are %(known)s.")
            % {"key": key, "known": ", ".join(protocols())}
        )


class ReEntry(models.TextChoices):
    """How often the same person may take part in a study."""

    ONCE = "once", _("Once")
    PER_BOT = "per_bot", _("Once with each chatbot")
    UP_TO = "up_to", _("Up to a number of times")


def language_name(code: str, *, in_itself: bool = False) -> str:
    """A language in the words of the reader, or in its own; the code, if nobody has a name for it."""
    known = {"zh": "zh-hans"}.get(code, code.lower())  # Django knows Chinese by its script only
    if known not in LANG_INFO:
        return code
    return str(get_language_info(known)["name_local" if in_itself else "name_translated"])
