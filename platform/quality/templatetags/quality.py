"""What pages of other apps show of flags."""

from django import template

from studies.models import Study

register = template.Library()


@register.simple_tag
def flagged_in(study: Study) -> int:
    """How many workers of a study have flags."""
    return study.participations.filter(flags__isnull=False).distinct().count()
