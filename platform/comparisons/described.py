"""How large each chart over several studies is, and how it is told in words. Knows no Matplotlib."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from chatbots.meena.sweep import chart_size
from reports.charts.room import short

SWEEP_COLUMNS = 2

Data: TypeAlias = Mapping[str, Any]
Cell: TypeAlias = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Described:
    """What a page knows of a kind of chart before it is drawn: inches across and down, and its words."""

    size: Callable[[Data], tuple[float, float]]
    words: Callable[[Data], str]


def said(cell: Cell, unit: str = " percent", digits: int = 0) -> str:
    if cell["value"] is None:
        return "unknown"
    told = f"{cell['value']:.{digits}f}{unit}"
    if "low" in cell:
        told += f" (interval {cell['low']:.{digits}f} to {cell['high']:.{digits}f})"
    return told


def shares_of(table: Data) -> list[tuple[int, str]]:
    """Index and title of the scores that are percentages, and so share an axis."""
    return [(i, column["title"]) for i, column in enumerate(table["columns"]) if column["percent"]]


def lines_of(rows: Sequence[Data]) -> Iterator[tuple[str, Data | None]]:
    """The labels of the lines from top to bottom: a study without a row, then its bots with theirs."""
    study = None
    for row in rows:
        if row["study"] != study:
            study = row["study"]
            yield short(study), None
        yield short(row["bot"]), row


def _side_by_side_in_words(table: Data) -> str:
    index, title = shares_of(table)[-1]
    told = [f"{row['bot']} in {row['study']} {said(row['cells'][index])}" for row in table["rows"]]
    return f"Chart of the scores of each bot in each study. {title}: {'; '.join(told)}."


def _over_time_in_words(course: Data) -> str:
    main = course["main"]
    told = [
        f"{row['number']}: version {row['version']} in {row['study']} {said(row['cells'][main])}"
        for row in course["rows"]
    ]
    return f"Chart of the scores in order of time. {course['scores'][main]}: {'; '.join(told)}."


def _relation_in_words(data: Data) -> str:
    title, line = data["relation"]["title"], data["relation"]["line"]
    told = [f"{each['name']}: {each['x']['value']:.3g}, {said(each['y'])}" for each in data["points"]]
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
        values = [f"{title} {value:.0f}" for title, value in scores.items()]
        likelihood = "unknown" if each["per_token"] is None else f"{each['per_token']:.2f}"
        told.append(f"{each['system']}: {', '.join([*values, f'log P per token {likelihood}'])}")
    return f"Chart of scores and likelihood against the number of samples. {'; '.join(told)}."


def _sweep_size(data: Data) -> tuple[float, float]:
    shown = {each["system"] for each in data["points"]}
    judged = {key for system, scores in data["scores"].items() if system in shown for key in scores}
    return chart_size(len(judged) + 1, SWEEP_COLUMNS)


DESCRIBED: Mapping[str, Described] = {
    "side-by-side": Described(
        lambda table: (6.4, 1.2 + 0.5 * sum(1 for _ in lines_of(table["rows"]))), _side_by_side_in_words
    ),
    "over-time": Described(
        lambda course: (max(6.0, 2.4 + 0.8 * len(course["rows"])), 4.2), _over_time_in_words
    ),
    "relation": Described(lambda _data: (7.6, 4.8), _relation_in_words),
    "sweep": Described(_sweep_size, _sweep_in_words),
}
