"""How large each chart over several studies is, and how it is told in words. Knows no Matplotlib.

The charts over several studies as numbers, which the page draws anew so that they can be pointed at.

Drawn by static/js/charts, as those of a report; the same sheets are also drawn as pictures and files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from chatbots.meena.sweep import Panels, chart_size
from turnwise.charts.layout import LINE, WIDE, Room, legend_lines, letter, short, square_height
from turnwise.charts.marks import Plot, between, labels, mark, plain_words, said, scatter

# More names of our own than this would fill the chart; the table has them.
MOST_NAMES = 16

Data: TypeAlias = Mapping[str, Any]
Cell: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Described:
    """What a page knows of a kind of chart before it is drawn: inches across and down, and its words."""

    size: Callable[[Data, Room], tuple[float, float]]
    words: Callable[[Data], str]


def score_sentence(cell: Cell, unit: str = " percent", digits: int = 0) -> str:
    if cell["value"] is None:
        return "unknown"
    told = f"{cell['value']:.{digits}f}{unit}"
    if "low" in cell:
        told += f" (interval {cell['low']:.{digits}f} to {cell['high']:.{digits}f})"
    return told


def lines_of(rows: Sequence[Data], room: Room) -> Iterator[tuple[str, Data | None]]:
    """The labels of the lines from top to bottom: a study without a row, then its bots with theirs."""
    study = None
    for row in rows:
        if row["study"] != study:
            study = row["study"]
            yield short(study, room.letters * 9 // 10), None  # in bold
        yield short(row["bot"], room.letters), row


def times_of(rows: Sequence[Data], room: Room) -> Iterator[tuple[str, Data | None]]:
    """The labels of a bot's course from top to bottom, with their rows."""
    for row in rows:
        yield short(f"{row['number']}  {row['version']}  {row['study']}", room.letters), row


def names_of(data: Data) -> list[tuple[str, str, bool]]:
    """The key of a relation: sign, name, and whether it is one of our own."""
    own = [(str(each["number"]), each["name"], True) for each in data["points"]]
    published = [
        *(each["name"] for each in data["marks"]),
        *(f"{each['name']}, paper: {each['y']:g}" for each in data["lines"]),
    ]
    line = data["relation"]["line"]
    fit = [("R²", f"of the line: {line['r_squared']['value']:.2f}", False)] if "at" in line else []
    listed = own if len(own) <= MOST_NAMES else []
    return [*listed, *((letter(n), name, False) for n, name in enumerate(published)), *fit]


def _side_by_side_in_words(table: Data) -> str:
    index, title = table["scores"][-1]
    unit, digits = (" percent", 0) if table["percent"] else (" points", 1)
    told = [
        f"{row['bot']} in {row['study']} {score_sentence(row['cells'][index], unit, digits)}"
        for row in table["rows"]
    ]
    return f"Chart of the scores of each bot in each study. {title}: {'; '.join(told)}."


def _over_time_in_words(course: Data) -> str:
    main = course["main"]
    of = (" percent", 0) if course["percent"] else (" points", 1)
    told = [
        f"{row['number']}: version {row['version']} in {row['study']} "
        f"{score_sentence(row['cells'][main], *of)}"
        for row in course["rows"]
    ]
    return f"Chart of the scores in order of time. {course['scores'][main]}: {'; '.join(told)}."


def _relation_in_words(data: Data) -> str:
    title, line = data["relation"]["title"], data["relation"]["line"]
    unit, digits = (" percent", 0) if data["percent"] else (" points", 1)
    told = [
        f"{each['name']}: {each['x']['value']:.3g}, {score_sentence(each['y'], unit, digits)}"
        for each in data["points"]
    ]
    fit = f"R squared of the line {line['r_squared']['value']:.2f}. " if "at" in line else "No line. "
    lines = ", ".join(f"{each['name']} {each['y']:g}" for each in data["lines"])
    across = f" Published, as lines across: {lines}." if lines else ""
    marks = "; ".join(f"{each['name']}: {each['x']:.3g}, {each['y']:g} percent" for each in data["marks"])
    published = f" Published: {marks}." if marks else ""
    return f"Scatter plot of {title} against {data['x']}. {fit}{'; '.join(told)}.{published}{across}"


def _sweep_in_words(data: Data) -> str:
    told = []
    for each in data["points"]:
        scores = data["scores"].get(each["system"], {})
        values = [
            f"{title} {value:.0f}" if data["scales"][title]["percent"] else f"{title} {value:.1f} points"
            for title, value in scores.items()
        ]
        likelihood = "unknown" if each["per_token"] is None else f"{each['per_token']:.2f}"
        told.append(f"{each['system']}: {', '.join([*values, f'log P per token {likelihood}'])}")
    return f"Chart of scores and likelihood against the number of samples. {'; '.join(told)}."


def _sweep_size(data: Data, room: Room) -> tuple[float, float]:
    return chart_size(len(data["scales"]) + 1, sweep_panels(room))


def sweep_panels(room: Room) -> Panels:
    return Panels(2, room.width / 2, 3.2) if room is WIDE else Panels(1, room.width, 2.5)


def _side_by_side_size(table: Data, room: Room) -> tuple[float, float]:
    titles = [title for _, title in table["scores"]]
    return room.width, _lines_height(sum(1 for _ in lines_of(table["rows"], room)), titles, room)


def _over_time_size(course: Data, room: Room) -> tuple[float, float]:
    rows, titles = len(course["rows"]), list(course["scores"].values())
    return (
        (max(6.0, 2.4 + 0.8 * rows), 4.2) if room is WIDE else (room.width, _lines_height(rows, titles, room))
    )


def _lines_height(lines: int, titles: Sequence[str], room: Room) -> float:
    return 1.0 + LINE * legend_lines(titles, room) + 0.5 * lines


DESCRIBED: Mapping[str, Described] = {
    "side-by-side": Described(_side_by_side_size, _side_by_side_in_words),
    "over-time": Described(_over_time_size, _over_time_in_words),
    "relation": Described(
        lambda data, room: (room.width, square_height(len(names_of(data)), room)), _relation_in_words
    ),
    "sweep": Described(_sweep_size, _sweep_in_words),
}


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
