"""Charts over several studies: their sizes, their descriptions, and their numbers for the page's script.

static/js/charts draws the numbers as interactive charts; `plots` draws the same sheets as pictures and files.
Free of Matplotlib.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatbots.meena.sweep import Panels, chart_size
from turnwise.charts.layout import LINE, WIDE, Viewport, legend_lines, letter, shorten, square_height
from turnwise.charts.marks import Plot, between, format_score, labels, mark, plain_words, scatter

# More of the study's own names would fill the chart; the table has them all.
MOST_NAMES = 16

Data: TypeAlias = Mapping[str, Any]
Cell: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class ChartDescription:
    """Size (width, height in inches) and text description of a kind of chart, known before it is drawn."""

    size: Callable[[Data, Viewport], tuple[float, float]]
    words: Callable[[Data], str]


def score_sentence(cell: Cell, unit: str = " percent", digits: int = 0) -> str:
    if cell["value"] is None:
        return "unknown"
    text = f"{cell['value']:.{digits}f}{unit}"
    if "low" in cell:
        text += f" (interval {cell['low']:.{digits}f} to {cell['high']:.{digits}f})"
    return text


def table_lines(rows: Sequence[Data], viewport: Viewport) -> Iterator[tuple[str, Data | None]]:
    """Lines of a table's chart from top to bottom: a study's heading (without a row), then its bots' rows."""
    study = None
    for row in rows:
        if row["study"] != study:
            study = row["study"]
            yield shorten(study, viewport.letters * 9 // 10), None  # in bold
        yield shorten(row["bot"], viewport.letters), row


def history_lines(rows: Sequence[Data], viewport: Viewport) -> Iterator[tuple[str, Data | None]]:
    """Lines of the chart of a bot over time: label and row, from top to bottom."""
    for row in rows:
        yield shorten(f"{row['number']}  {row['version']}  {row['study']}", viewport.letters), row


def key_entries(data: Data) -> list[tuple[str, str, bool]]:
    """Entries of a relation's key: sign, name, and whether it is one of the studies' systems."""
    numbered = [(str(each["number"]), each["name"], True) for each in data["points"]]
    published = [
        *(each["name"] for each in data["marks"]),
        *(f"{each['name']}, paper: {each['y']:g}" for each in data["lines"]),
    ]
    line = data["relation"]["line"]
    fit = [("R²", f"of the line: {line['r_squared']['value']:.2f}", False)] if "at" in line else []
    listed = numbered if len(numbered) <= MOST_NAMES else []
    return [*listed, *((letter(n), name, False) for n, name in enumerate(published)), *fit]


def _describe_side_by_side(table: Data) -> str:
    index, title = table["scores"][-1]
    unit, digits = (" percent", 0) if table["percent"] else (" points", 1)
    text = [
        f"{row['bot']} in {row['study']} {score_sentence(row['cells'][index], unit, digits)}"
        for row in table["rows"]
    ]
    return f"Chart of the scores of each bot in each study. {title}: {'; '.join(text)}."


def _describe_over_time(course: Data) -> str:
    main = course["main"]
    of = (" percent", 0) if course["percent"] else (" points", 1)
    text = [
        f"{row['number']}: version {row['version']} in {row['study']} "
        f"{score_sentence(row['cells'][main], *of)}"
        for row in course["rows"]
    ]
    return f"Chart of the scores in order of time. {course['scores'][main]}: {'; '.join(text)}."


def _describe_relation(data: Data) -> str:
    title, line = data["relation"]["title"], data["relation"]["line"]
    unit, digits = (" percent", 0) if data["percent"] else (" points", 1)
    text = [
        f"{each['name']}: {each['x']['value']:.3g}, {score_sentence(each['y'], unit, digits)}"
        for each in data["points"]
    ]
    fit = f"R squared of the line {line['r_squared']['value']:.2f}. " if "at" in line else "No line. "
    lines = ", ".join(f"{each['name']} {each['y']:g}" for each in data["lines"])
    across = f" Published, as lines across: {lines}." if lines else ""
    marks = "; ".join(f"{each['name']}: {each['x']:.3g}, {each['y']:g} percent" for each in data["marks"])
    published = f" Published: {marks}." if marks else ""
    return f"Scatter plot of {title} against {data['x']}. {fit}{'; '.join(text)}.{published}{across}"


def _describe_sweep(data: Data) -> str:
    text = []
    for each in data["points"]:
        scores = data["scores"].get(each["system"], {})
        values = [
            f"{title} {value:.0f}" if data["scales"][title]["percent"] else f"{title} {value:.1f} points"
            for title, value in scores.items()
        ]
        likelihood = "unknown" if each["per_token"] is None else f"{each['per_token']:.2f}"
        text.append(f"{each['system']}: {', '.join([*values, f'log P per token {likelihood}'])}")
    return f"Chart of scores and likelihood against the number of samples. {'; '.join(text)}."


def _sweep_size(data: Data, viewport: Viewport) -> tuple[float, float]:
    return chart_size(len(data["scales"]) + 1, sweep_panels(viewport))


def sweep_panels(viewport: Viewport) -> Panels:
    return Panels(2, viewport.width / 2, 3.2) if viewport is WIDE else Panels(1, viewport.width, 2.5)


def _side_by_side_size(table: Data, viewport: Viewport) -> tuple[float, float]:
    titles = [title for _, title in table["scores"]]
    return viewport.width, _lines_height(
        sum(1 for _ in table_lines(table["rows"], viewport)), titles, viewport
    )


def _over_time_size(course: Data, viewport: Viewport) -> tuple[float, float]:
    rows, titles = len(course["rows"]), list(course["scores"].values())
    return (
        (max(6.0, 2.4 + 0.8 * rows), 4.2)
        if viewport is WIDE
        else (viewport.width, _lines_height(rows, titles, viewport))
    )


def _lines_height(lines: int, titles: Sequence[str], viewport: Viewport) -> float:
    return 1.0 + LINE * legend_lines(titles, viewport) + 0.5 * lines


def plan_data(curve: list[dict[str, Any]], units: str, power: str) -> dict[str, Any]:
    """Data of the planner's chart: the detectable difference by the size of the study.

    Args:
        curve: `units`, `workers` and `detectable` of each size, rising.
        units: title of the horizontal axis, such as "conversations with each bot".
        power: the wanted power, as shown.
    """
    points = [each for each in curve if each["detectable"] is not None]
    return {"points": points, "across": units, "power": power}


def _describe_plan(data: Data) -> str:
    """Sentences with every point of the curve."""
    points = "; ".join(f"{each['units']}: {each['detectable']:.1f} points" for each in data["points"])
    shown = f"smallest detectable difference with {data['power']} power by {data['across']}"
    return f"Chart of the {shown}. {points}."


CHART_DESCRIPTIONS: Mapping[str, ChartDescription] = {
    "side-by-side": ChartDescription(_side_by_side_size, _describe_side_by_side),
    "over-time": ChartDescription(_over_time_size, _describe_over_time),
    "relation": ChartDescription(
        lambda data, viewport: (viewport.width, square_height(len(key_entries(data)), viewport)),
        _describe_relation,
    ),
    "sweep": ChartDescription(_sweep_size, _describe_sweep),
    "plan": ChartDescription(lambda data, viewport: (viewport.width, 3.4), _describe_plan),
}


MOST_SWITCHES = 12
"""Greatest number of versions with a button to hide each; more buttons would crowd out the chart."""

Links = Mapping[Any, str]
"""Addresses of the data behind rows or points, by the row's or point's name, or by (name, score)."""


def plot(kind: str, data: Data, links: Links) -> Plot:
    """Numbers of a sheet for the page's script; `kind` is a key of `CHART_DESCRIPTIONS`."""
    return plain_words() | _KINDS[kind](data, links)


def _side_by_side(table: Data, links: Links) -> Plot:
    scores, (low, high) = table["scores"], table["ends"]
    unit = "percent" if table["percent"] else "points"
    rows, study = [], None
    for row in table["rows"]:
        marks = []
        for nth, (index, title) in enumerate(scores):
            cell = row["cells"][index]
            words = [f"{row['bot']}, {row['study']}", format_score(title, cell, unit), labels(row["labels"])]
            if made := mark(cell, words, links.get(row["study"], "")):
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


def _over_time(course: Data, links: Links) -> Plot:
    """Scores over time: a point with its whisker for each row of the table."""
    low, high = course["ends"]
    unit = "percent" if course["percent"] else "points"
    lines = []
    for key, title in course["scores"].items():
        points = []
        for row in course["rows"]:
            words = [
                f"{row['number']}: {row['version']}, {row['study']}",
                format_score(title, row["cells"][key], unit),
            ]
            if made := mark(row["cells"][key], words, links.get(str(row["number"]), "")):
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


def _relation(data: Data, links: Links) -> Plot:
    relation, line = data["relation"], data["relation"]["line"]
    unit = "percent" if data["percent"] else "points"
    points = []
    for each in data["points"]:
        words = [
            each["name"],
            f"{data['x']}: {between(each['x'], 2)}",
            format_score(relation["title"], each["y"], unit),
        ]
        if made := mark(each["y"], words, links.get(each["name"], "")):
            points.append({"system": each["name"], "published": False, "across": each["x"], **made})
    for each in data["marks"]:
        cell = {"value": each["y"]}
        words = [each["name"], f"{data['x']}: {each['x']:g}", format_score(relation["title"], cell, unit)]
        made = mark(cell, words, "") or {}
        points.append({"system": each["name"], "published": True, "across": {"value": each["x"]}, **made})
    axis = f"{relation['title']}, {_('percent') if data['percent'] else _('points')}"
    data_of_plot = scatter(data["x"], axis, points, data["x_limits"], data["ends"])
    return data_of_plot | {"fit": _fit(line) if "at" in line else None, "rules": list(data["lines"])}


def _fit(line: Data) -> Plot:
    slope, intercept = line["slope"]["value"], line["intercept"]["value"]
    middle = [intercept + slope * x for x in line["at"]]
    return {"at": line["at"], "middle": middle, "low": line["low"], "high": line["high"]}


def _sweep(data: Data, links: Links) -> Plot:
    """Scores and likelihood against N: a panel for each, a line for each T."""
    panels = [
        _against_n(
            data,
            title if scale["percent"] else _("%(title)s, points") % {"title": title},
            {name: got.get(title) for name, got in data["scores"].items()},
            scale["ends"],
            {name: links.get((name, title), "") for name in data["scores"]},
        )
        for title, scale in data["scales"].items()
    ]
    likelihoods = {each["system"]: each["per_token"] for each in data["points"]}
    panels.append(_against_n(data, _("log P per token"), likelihoods, (None, None), links))
    systems = [*dict.fromkeys(line["name"] for panel in panels for line in panel["lines"])]
    across = _("samples, N")
    return {"kind": "lines", "systems": systems, "across": across, "axis": "", "log": True, "panels": panels}


def _against_n(
    data: Data,
    title: str,
    values: Mapping[str, float | None],
    ends: Sequence[float | None],
    links: Links,
) -> Plot:
    lines: dict[float, list[Plot]] = {}
    for each in sorted(data["points"], key=lambda each: (each["temperature"], each["samples"])):
        cell = {"value": values.get(each["system"])}
        text = "" if cell["value"] is None else f"{title} {between(cell, 2)}"
        contexts = ngettext("%(n)d context", "%(n)d contexts", each["contexts"]) % {"n": each["contexts"]}
        if made := mark(cell, [each["system"], text, contexts], links.get(each["system"], "")):
            lines.setdefault(each["temperature"], []).append({"x": each["samples"], **made})
    named = {f"T = {temperature:g}": points for temperature, points in lines.items()}
    drawn = [
        {"name": name, "system": name, "band": False, "points": points} for name, points in named.items()
    ]
    return {"title": title, "low": ends[0], "high": ends[1], "lines": drawn}


def _plan(data: Data, links: Mapping[Any, str]) -> Plot:
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


_KINDS: Mapping[str, Callable[[Data, Links], dict[str, Any]]] = {
    "side-by-side": _side_by_side,
    "over-time": _over_time,
    "relation": _relation,
    "sweep": _sweep,
    "plan": _plan,
}
