"""Points in time on pages, always with their zone."""

from datetime import UTC, date, datetime

from django import template
from django.utils.formats import date_format

register = template.Library()


@register.filter
def utc_time(at: date | None, pattern: str = "Y-m-d H:i") -> str:
    """Format a time in UTC and name the zone; empty for no time.

    Args:
        at: an aware time; a date, which has no zone, is formatted without one.
        pattern: a pattern of Django's filter `date`, or the name of a format such as DATETIME_FORMAT.
    """
    if not at:
        return ""
    if not isinstance(at, datetime):
        return date_format(at, pattern)
    return f"{date_format(at.astimezone(UTC), pattern)}\N{NO-BREAK SPACE}UTC"
