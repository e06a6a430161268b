"""Charts of a judge card, drawn by a process of their own."""

import json
import logging
from subprocess import SubprocessError

from django.utils.translation import gettext as _

from evaluation.machine_judges.calibration import Calibration
from turnwise.live.subprocesses import run_module

log = logging.getLogger(__name__)


def charts_of(found: Calibration) -> tuple[str, str]:
    """SVG for a desktop and for a phone; empty if drawing fails, since the table has all numbers."""
    described = {
        "name": f"calibration-{found.question}",
        "bins": [[each.items, each.probability, each.agreed] for each in found.bins],
        "across": _("probability of the machine, %"),
        "up": _("people agree, %"),
    }
    try:
        wide, narrow = json.loads(run_module("turnwise.charts.calibration", [], described))
    except SubprocessError as error:
        log.warning("The calibration chart could not be drawn: %s", error)
        return "", ""
    return wide, narrow
