"""Numbers and description of the planner's chart: the detectable difference by the size of the study."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from turnwise.charts.marks import Plot, mark

Data = Mapping[str, Any]


def plan_data(curve: list[dict[str, Any]], units: str, power: str) -> dict[str, Any]:
    """Data of the chart.

    Args:
        curve: `units`, `workers` and `detectable` of each size, rising.
        units: title of the horizontal axis, such as "conversations with each bot".
        power: the wanted power, as shown.
    """
    points = [each for each in curve if each["detectable"] is not None]
    return {"points": points, "across": units, "power": power}


def describe_plan(data: Data) -> str:
    """Sentences with every point of the curve."""
    points = "; ".join(f"{each['units']}: {each['detectable']:.1f} points" for each in data["points"])
    shown = f"smallest detectable difference with {data['power']} power by {data['across']}"
    return f"Chart of the {shown}. {points}."


def plan_plot(data: Data, links: Mapping[Any, str]) -> Plot:
    """Numbers for the page's script."""
    del links
    name = _("power %(power)s") % {"power": data["power"]}
    points = []
    for each in data["points"]:
        words = [
            f"{data['across']}: {each['units']}",
            _("detects %(points).1f points") % {"points": each["detectable"]},
            _("workers: %(workers)d") % {"workers": each["workers"]},
        ]
        if made := mark({"value": each["detectable"]}, words, ""):
            points.append({"x": each["units"], **made})
    line = {"name": name, "system": name, "band": False, "points": points}
    title = _("smallest detectable difference, points")
    panel = {"title": title, "low": 0, "high": None, "lines": [line]}
    return {
        "kind": "lines", "systems": [name], "across": data["across"], "axis": "", "panels": [panel],
        "hint": _("Point at a mark for its numbers."),
    }  # fmt: skip
