"""Template tags and filters of a study: summaries of form sections, flags, and measures of *Review*."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any

from django import template
from django.forms import BoundField, ChoiceField
from django.utils.translation import gettext as _

from evaluation.conversation.grounding import LIMITS
from turnwise.acceptance.queries import ReviewRow
from turnwise.crowd.models import Participation
from turnwise.quality.flagging import describe_flag
from turnwise.quality.models import Flag
from turnwise.studies.models import Study

register = template.Library()


@register.filter
def option_label(field: BoundField) -> str:
    """Label of the chosen option of a select field; the raw value if it is no option."""
    assert isinstance(field.field, ChoiceField)
    value = str(field.value())
    return _words(field.field.choices).get(value, value)


def _words(choices: Any) -> dict[str, str]:
    """The words by value; groups of choices have a list for words."""
    found: dict[str, str] = {}
    for key, words in choices:
        found |= _words(words) if isinstance(words, list | tuple) else {str(key): str(words)}
    return found


@register.simple_tag
def flagged_in(study: Study) -> int:
    """Number of workers of a study with flags."""
    return study.participations.filter(flags__isnull=False).distinct().count()


@register.simple_tag
def flags_of(study: Study, rows: Iterable[Participation]) -> dict[int, list[str]]:
    """Flags in words by worker, from all of their participations in the study."""
    theirs = Flag.objects.filter(
        participation__study=study, participation__worker__in={r.worker_id for r in rows}
    )
    found: dict[int, list[str]] = defaultdict(list)
    for flag in theirs.select_related("participation"):
        found[flag.participation.worker_id].append(describe_flag(flag.kind, flag.figures))
    return dict(found)


@register.filter
def of_worker(flags: dict[int, list[str]], worker: int) -> list[str]:
    """Flags of one worker in the result of `flags_of`."""
    return flags.get(worker, [])


@register.filter
def measures_of(row: ReviewRow) -> list[tuple[str, str, bool]]:
    """Title, value and whether it is beyond its limit, of each measure that is known."""
    return [
        (_(LIMITS[key].title), _format_value(value, LIMITS[key].is_share), is_broken)
        for key, (value, is_broken) in row.measured.items()
        if value is not None
    ]


def _format_value(value: float, is_share: bool) -> str:
    if is_share:
        return f"{100 * value:.0f}\u00a0%"
    return f"{value:.0f}" if value == int(value) else f"{value:.1f}"
