"""How large each chart over several studies is, and how it is told in words. Knows no Matplotlib."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from chatbots.meena.sweep import Panels, chart_size
from turnwise.charts.room import LINE, WIDE, Room, legend_lines, letter, short, square_height

# More names of our own than this would fill the chart; the table has them.
MOST_NAMES = 16

Data: TypeAlias = Mapping[str, Any]
Cell: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Described:
    """What a page knows of a kind of chart before it is drawn: inches across and down, and its words."""

    size: Callable[[Data, Room], tuple[float, float]]
    words: Callable[[Data], str]


def said(cell: Cell, unit: str = " percent", digits: int = 0) -> str:
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
        f"{row['bot']} in {row['study']} {said(row['cells'][index], unit, digits)}" for row in table["rows"]
    ]
    return f"Chart of the scores of each bot in each study. {title}: {'; '.join(told)}."


def _over_time_in_words(course: Data) -> str:
    main = course["main"]
    of = (" percent", 0) if course["percent"] else (" points", 1)
    told = [
        f"{row['number']}: version {row['version']} in {row['study']} {said(row['cells'][main], *of)}"
        for row in course["rows"]
    ]
    return f"Chart of the scores in order of time. {course['scores'][main]}: {'; '.join(told)}."


def _relation_in_words(data: Data) -> str:
    title, line = data["relation"]["title"], data["relation"]["line"]
    unit, digits = (" percent", 0) if data["percent"] else (" points", 1)
    told = [
        f"{each['name']}: {each['x']['value']:.3g}, {said(each['y'], unit, digits)}"
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
