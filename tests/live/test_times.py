"""Times on pages name their zone."""

import re
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path

import pytest
from django.conf import settings

from turnwise.live.templatetags.times import utc_time

TEMPLATES = Path(settings.ROOT) / "templates"
# Patterns of Django's filters `date` and `time` with an hour, and the formats that have one.
_HOURS = re.compile(r'\|(?:date|time)(?::"(?:[^"]*[GHghPf][^"]*|(?:SHORT_)?DATETIME_FORMAT|TIME_FORMAT)")')
_BARE_TIME = re.compile(r"\|time\b")


def test_a_time_is_shown_in_utc_with_its_zone() -> None:
    east = timezone(timedelta(hours=8))

    assert utc_time(datetime(2026, 5, 4, 7, 30, tzinfo=UTC)) == "2026-05-04 07:30\u00a0UTC"
    assert utc_time(datetime(2026, 5, 4, 7, 30, tzinfo=east), "j M Y, H:i") == "3 May 2026, 23:30\u00a0UTC"
    assert utc_time(date(2026, 5, 4), "Y-m-d") == "2026-05-04"
    assert utc_time(None) == ""


@pytest.mark.parametrize(
    "template", sorted(TEMPLATES.rglob("*.html")), ids=lambda path: str(path.relative_to(TEMPLATES))
)
def test_no_template_shows_an_hour_without_its_zone(template: Path) -> None:
    text = template.read_text()

    assert not _HOURS.search(text), "Use the filter utc_time, which names the zone."
    assert not _BARE_TIME.search(text)
    assert not re.search(r"\|utc_time[^}]*\}\} UTC", text), "The filter adds the zone itself."
