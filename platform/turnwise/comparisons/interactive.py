"""The charts over several studies as numbers, which the page draws anew so that they can be pointed at.

Drawn by static/js/charts, as those of a report; the same sheets are also drawn as pictures and files.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from turnwise.charts.interactive.marks import Plot, between, labels, mark, plain_words, said, scatter
from turnwise.comparisons.described import Data

MOST_SWITCHES = 12
"""So many versions can be hidden one by one; of more, the buttons would take the chart's place."""

Leads = Mapping[Any, str]
"""By what a row or point is told apart by, the address of what is behind it; that of one of the scores of a
point by both."""


def plot(kind: str, data: Data, leads: Leads) -> Plot:
    """A sheet of one of `described.DESCRIBED` as the page's script takes it."""
    return plain_words() | _KINDS[kind](data, leads)


def _side_by_side(table: Data, leads: Leads) -> Plot:
    scores, (low, high) = table["scores"], table["ends"]
    unit = "percent" if table["percent"] else "points"
    rows, study = [], None
    for row in table["rows"]:
        marks = []
        for nth, (index, title) in enumerate(scores):
            cell = row["cells"][index]
            words = [f"{row['bot']}, {row['study']}", said(title, cell, unit), labels(row["labels"])]
            if made := mark(cell, words, leads.get(row["study"], "")):
                marks.append({"series": nth, **made})
        heading = row["study"] if row["study"] != study else ""
        study = row["study"]
        rows.append(
            {"system": row["bot"], "heading": heading, "says": "", "published": False, "marks": marks}
        )
    panel = {
        "axis": _axis(table), "low": low, "high": high,
        "series": [title for _index, title in scores], "main": "", "guide": None, "rows": rows,
    }  # fmt: skip
    return {"kind": "forest", "systems": [*dict.fromkeys(row["system"] for row in rows)], "panels": [panel]}


def _over_time(course: Data, leads: Leads) -> Plot:
    """Each score from left to right, a point for each row of the table, with its whisker."""
    low, high = course["ends"]
    unit = "percent" if course["percent"] else "points"
    lines = []
    for key, title in course["scores"].items():
        points = []
        for row in course["rows"]:
            words = [
                f"{row['number']}: {row['version']}, {row['study']}",
                said(title, row["cells"][key], unit),
            ]
            if made := mark(row["cells"][key], words, leads.get(str(row["number"]), "")):
                points.append({"x": row["number"], "part": row["version"], **made})
        lines.append({"name": title, "system": title, "band": False, "whiskers": True, "points": points})
    panel = {"title": "", "low": low, "high": high, "lines": lines}
    across = _("row of the table")
    systems = [line["name"] for line in lines]
    versions = [*dict.fromkeys(row["version"] for row in course["rows"])]
    parts = {"parts": versions, "show_parts": _("Versions")} if len(versions) <= MOST_SWITCHES else {}
    return {
        "kind": "lines", "systems": systems, "across": across, "axis": _axis(course), "panels": [panel],
        **parts,
    }  # fmt: skip


def _axis(data: Data) -> str:
    return _("percent of labels") if data["percent"] else _("mean, points")


def _relation(data: Data, leads: Leads) -> Plot:
    relation, line = data["relation"], data["relation"]["line"]
    unit = "percent" if data["percent"] else "points"
    points = []
    for each in data["points"]:
        words = [
            each["name"],
            f"{data['x']}: {between(each['x'], 2)}",
            said(relation["title"], each["y"], unit),
        ]
        if made := mark(each["y"], words, leads.get(each["name"], "")):
            points.append({"system": each["name"], "published": False, "across": each["x"], **made})
    for each in data["marks"]:
        cell = {"value": each["y"]}
        words = [each["name"], f"{data['x']}: {each['x']:g}", said(relation["title"], cell, unit)]
        made = mark(cell, words, "") or {}
        points.append({"system": each["name"], "published": True, "across": {"value": each["x"]}, **made})
    axis = f"{relation['title']}, {_('percent') if data['percent'] else _('points')}"
    found = scatter(data["x"], axis, points, data["x_limits"], data["ends"])
    return found | {"fit": _fit(line) if "at" in line else None, "rules": list(data["lines"])}


def _fit(line: Data) -> Plot:
    slope, intercept = line["slope"]["value"], line["intercept"]["value"]
    middle = [intercept + slope * x for x in line["at"]]
    return {"at": line["at"], "middle": middle, "low": line["low"], "high": line["high"]}


def _sweep(data: Data, leads: Leads) -> Plot:
    """Against N, a panel for each score and for the likelihood, a line for each T."""
    panels = [
        _against_n(
            data,
            title if scale["percent"] else _("%(title)s, points") % {"title": title},
            {name: got.get(title) for name, got in data["scores"].items()},
            scale["ends"],
            {name: leads.get((name, title), "") for name in data["scores"]},
        )
        for title, scale in data["scales"].items()
    ]
    likelihoods = {each["system"]: each["per_token"] for each in data["points"]}
    panels.append(_against_n(data, _("log P per token"), likelihoods, (None, None), leads))
    systems = [*dict.fromkeys(line["name"] for panel in panels for line in panel["lines"])]
    across = _("samples, N")
    return {"kind": "lines", "systems": systems, "across": across, "axis": "", "log": True, "panels": panels}


def _against_n(
    data: Data,
    title: str,
    values: Mapping[str, float | None],
    ends: Sequence[float | None],
    leads: Leads,
) -> Plot:
    lines: dict[float, list[Plot]] = {}
    for each in sorted(data["points"], key=lambda each: (each["temperature"], each["samples"])):
        cell = {"value": values.get(each["system"])}
        told = "" if cell["value"] is None else f"{title} {between(cell, 2)}"
        contexts = ngettext("%(n)d context", "%(n)d contexts", each["contexts"]) % {"n": each["contexts"]}
        if made := mark(cell, [each["system"], told, contexts], leads.get(each["system"], "")):
            lines.setdefault(each["temperature"], []).append({"x": each["samples"], **made})
    named = {f"T = {temperature:g}": points for temperature, points in lines.items()}
    drawn = [
        {"name": name, "system": name, "band": False, "points": points} for name, points in named.items()
    ]
    return {"title": title, "low": ends[0], "high": ends[1], "lines": drawn}


_KINDS: Mapping[str, Callable[[Data, Leads], dict[str, Any]]] = {
    "side-by-side": _side_by_side,
    "over-time": _over_time,
    "relation": _relation,
    "sweep": _sweep,
}
