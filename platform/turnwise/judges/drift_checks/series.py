"""Checks of a run as a series for its judge card."""

import json
import logging
from collections.abc import Sequence
from dataclasses import dataclass
from subprocess import SubprocessError

from django.utils.translation import gettext as _

from evaluation.files.writing import figure
from turnwise.judges.drift_checks.services import alarms
from turnwise.judges.models import DriftCheck, JudgeRun
from turnwise.live.subprocesses import run_module

log = logging.getLogger(__name__)

MOST_SHOWN = 60


@dataclass(frozen=True, slots=True)
class Series:
    """Checks of a run, the newest first.

    Attributes:
        checks: the checks.
        alarm: the newest check, if it is an alarm.
        wide: chart of the agreement for a desktop, as SVG; empty with fewer than two comparisons.
        narrow: the same for a phone.
    """

    checks: list[DriftCheck]
    alarm: DriftCheck | None
    wide: str = ""
    narrow: str = ""

    @property
    def rows(self) -> list[tuple[DriftCheck, str, str]]:
        """Each check with its agreement and that of repeated answers, in percent."""
        return [(each, _percent(each.agreement), _percent(each.expected)) for each in self.checks]


def series_of(run: JudgeRun) -> Series:
    """The newest checks of a run with their chart."""
    checks = list(run.drift_checks.all()[:MOST_SHOWN])
    alarm = alarms(JudgeRun.objects.filter(pk=run.pk)).first()
    compared = [each for each in reversed(checks) if each.agreement is not None]
    return Series(checks, alarm, *(_charts_of(run, compared) if len(compared) > 1 else ()))


def _percent(share: float | None) -> str:
    return "" if share is None else figure(100 * share, 0)


def _charts_of(run: JudgeRun, compared: Sequence[DriftCheck]) -> tuple[str, str]:
    """SVG for a desktop and for a phone; empty if drawing fails, since the table has all numbers."""
    described = {
        "name": f"drift-{run.pk}",
        "days": [
            [each.at.date().isoformat(), each.agreement, each.expected, bool(each.reason)]
            for each in compared
        ],
        "same": _("as in the run"),
        "repeats": _("repeated answers among themselves"),
        "up": _("same answers, %"),
    }
    try:
        wide, narrow = json.loads(run_module("turnwise.charts.drift", [], described))
    except SubprocessError as error:
        log.warning("The chart of the daily check could not be drawn: %s", error)
        return "", ""
    return wide, narrow
