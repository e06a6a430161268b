"""Numbers and description of the planner's chart: the smallest difference told, by the size of the study."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext as _

from turnwise.charts.marks import Plot, mark

Data = Mapping[str, Any]


def plan_data(curve: list[dict[str, Any]], units: str, power: str) -> dict[str, Any]:
    """Data of the chart.

    Args:
        curve: `units`, `workers` and `told` of each size, rising.
        units: title of the horizontal axis, such as "conversations with each bot".
        power: the wanted power, as shown.
    """
    points = [each for each in curve if each["told"] is not None]
    return {"points": points, "across": units, "power": power}


def describe_plan(data: Data) -> str:
    """Sentences with every point of the curve."""
    points = "; ".join(f"{each['units']}: {each['told']:.1f} points" for each in data["points"])
    return f"Chart of the smallest difference told with {data['power']} power by {data['across']}. {points}."


def plan_plot(data: Data, links: Mapping[Any, str]) -> Plot:
    """Numbers for the page's script."""
    del links
    name = _("power %(power)s") % {"power": data["power"]}
    points = []
    for each in data["points"]:
        words = [
            f"{data['across']}: {each['units']}",
            _("tells %(told).1f points") % {"told": each["told"]},
            _("workers: %(workers)d") % {"workers": each["workers"]},
        ]
        if made := mark({"value": each["told"]}, words, ""):
            points.append({"x": each["units"], **made})
    line = {"name": name, "system": name, "band": False, "points": points}
    title = _("smallest difference told, points")
    panel = {"title": title, "low": 0, "high": None, "lines": [line]}
    return {
        "kind": "lines", "systems": [name], "across": data["across"], "axis": "", "panels": [panel],
    }  # fmt: skip
