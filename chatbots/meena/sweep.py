"""A sweep over the number of samples N and the temperature T: the paper's figures 6 to 8.

For each N and T it writes one file of responses to the same contexts, to upload and judge, and their
likelihood; with people's scores it draws a chart of both.
"""

from __future__ import annotations

import csv
import itertools
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from chatbots.meena.responder import Responder

MOST_AT_ONCE = 32


@dataclass(frozen=True, slots=True)
class Point:
    """Results for one N and one T.

    Attributes:
        samples: N.
        temperature: T.
        contexts: number of answered contexts; without any there is no point.
        per_token: mean over contexts of log P / tokens of the responses, in nats.
        tokens: mean length of the responses.
    """

    samples: int
    temperature: float
    contexts: int
    per_token: float
    tokens: float

    @property
    def system(self) -> str:
        """Name of the system under which its file of responses is uploaded."""
        return f"N={self.samples}, T={self.temperature:g}"


def read_contexts(path: Path) -> dict[str, list[str]]:
    """Read turns by id from JSON Lines with `id` and `turns`, as the platform exports contexts.

    Raises:
        ValueError: a line has another form, or an id occurs twice; the message names the line.
    """
    contexts: dict[str, list[str]] = {}
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        try:
            row = json.loads(line)
            name, turns = row["id"], row["turns"]
        except (ValueError, KeyError, TypeError):
            raise ValueError(f"{path}, line {number}: not a JSON object with “id” and “turns”.") from None
        if not (isinstance(turns, list) and turns and all(isinstance(turn, str) for turn in turns)):
            raise ValueError(f"{path}, line {number}: “turns” must be a list of texts, one or more.")
        if str(name) in contexts:
            raise ValueError(f"{path}, line {number}: the id {name} occurs before. Ids must be different.")
        contexts[str(name)] = turns
    if not contexts:
        raise ValueError(f"{path}: there is no context in it.")
    return contexts


def sweep(
    responder: Responder,
    contexts: dict[str, list[str]],
    samples: Sequence[int],
    temperatures: Sequence[float],
    output: Path,
) -> Iterator[Point]:
    """Answer all contexts with each N and T; existing files in `output` are kept.

    Args:
        responder: with the model and all other decoding settings.
        contexts: turns by id.
        samples: numbers N, each from 1 on.
        temperatures: T, each above 0.
        output: folder of the files `n20-t0.88.jsonl`, which say `context`, `response`, `log_likelihood` and
            `tokens` in each line; `sweep.csv` there gets all points.

    Yields:
        Each point when its file is complete.
    """
    output.mkdir(parents=True, exist_ok=True)
    points = []
    for temperature in temperatures:
        for n in samples:
            path = output / f"n{n}-t{temperature:g}.jsonl"
            if not path.exists():
                responder.settings = replace(responder.settings, samples=n, temperature=temperature)
                _write(path, _answered(responder, contexts))
            points.append(_point(path, n, temperature))
            yield points[-1]
    with (output / "sweep.csv").open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["system", "samples", "temperature", "contexts", "log_likelihood_per_token", "tokens"])
        for each in points:
            row = [each.system, each.samples, each.temperature, each.contexts, each.per_token, each.tokens]
            table.writerow(row)


def _answered(responder: Responder, contexts: dict[str, list[str]]) -> Iterator[dict[str, Any]]:
    names = list(contexts)
    for start in range(0, len(names), MOST_AT_ONCE):
        some = names[start : start + MOST_AT_ONCE]
        seeds = list(range(start, start + len(some)))
        replies = responder.reply([contexts[name] for name in some], seeds)
        for name, reply in zip(some, replies, strict=True):
            candidate = next((each for each in reply.candidates if each.text == reply.text), None)
            likelihood = (
                {"log_likelihood": candidate.log_likelihood, "tokens": candidate.tokens} if candidate else {}
            )
            yield {"context": name, "response": reply.text, **likelihood}


def _write(path: Path, rows: Iterator[dict[str, Any]]) -> None:
    """Write a file that appears under its name only when complete."""
    unfinished = path.with_suffix(".part")
    with unfinished.open("w", encoding="utf-8") as file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    unfinished.replace(path)


def _point(path: Path, samples: int, temperature: float) -> Point:
    rows = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    figures = [(row["log_likelihood"] / row["tokens"], row["tokens"]) for row in rows if "tokens" in row]
    number = max(1, len(figures))
    per_token, tokens = (sum(each[k] for each in figures) / number for k in (0, 1))
    return Point(samples, temperature, len(rows), per_token, tokens)


def read_scores(path: Path) -> dict[str, dict[str, float]]:
    """Read each system's scores by title from the CSV of *Studies side by side*.

    If two question sets have a score of the same title, the key of the second set is appended to its title.

    Raises:
        ValueError: the file lacks a column; the message names it.
    """
    with path.open(newline="", encoding="utf-8-sig") as file:
        table = csv.DictReader(file)
        lacking = {"bot", "score", "value"} - set(table.fieldnames or ())
        if lacking:
            raise ValueError(f"{path}: there is no column {', '.join(sorted(lacking))}.")
        scores: dict[str, dict[str, float]] = {}
        sets: dict[str, str] = {}
        for row in table:
            if row["value"]:
                title, question_set = row.get("title") or row["score"], row.get("question_set") or ""
                if sets.setdefault(title, question_set) != question_set:
                    title = f"{title} ({question_set})"
                scores.setdefault(row["bot"], {})[title] = float(row["value"])
    return scores


MARKERS = "osD^v*PX"


@dataclass(frozen=True, slots=True)
class Panels:
    """Layout of a chart: panels side by side (0: all), and inches across and down of each."""

    beside: int = 0
    width: float = 3.4
    height: float = 3.2

    def of(self, number: int) -> tuple[int, int]:
        """Numbers of columns and rows for this many panels."""
        columns = min(number, self.beside or number)
        return columns, -(-number // columns)


_LEGEND = 0.3  # inches
EACH_BESIDE = Panels()


def chart_size(number: int, panels: Panels = EACH_BESIDE) -> tuple[float, float]:
    """Inches across and down of a chart with this many panels."""
    columns, below = panels.of(number)
    return panels.width * columns, panels.height * below + _LEGEND


@dataclass(frozen=True, slots=True)
class Drawn:
    """The axis of a score: its label, and its ends."""

    says: str
    low: float
    high: float


def chart(
    points: Sequence[Point],
    scores: dict[str, dict[str, float]],
    *,
    scales: Mapping[str, Drawn] | None = None,
    panels: Panels = EACH_BESIDE,
    colours: Sequence[str] = ("C0", "C1", "C2"),
) -> Figure:
    """Draw a panel for each score and one for the likelihood, against N, with a line for each T.

    Args:
        points: from `sweep`; NaN for a missing likelihood.
        scores: from `read_scores`; other systems are left out.
        scales: the panels of scores with their axes; None: one for each score, over the range of its values.
        panels: their layout.
        colours: colours of the lines in turn; each line also has its own mark.
    """
    from matplotlib.figure import Figure

    scored = dict.fromkeys(key for point in points for key in scores.get(point.system, {}))
    judged = list(scored if scales is None else scales)
    titles = [*judged, "log P per token"]
    columns, below = panels.of(len(titles))
    figure = Figure(figsize=chart_size(len(titles), panels), layout="constrained")
    each = list(figure.subplots(below, columns, squeeze=False).flat)
    for nth, temperature in enumerate(sorted({point.temperature for point in points})):
        line = sorted((p for p in points if p.temperature == temperature), key=lambda p: p.samples)
        style: dict[str, Any] = {
            "color": colours[nth % len(colours)],
            "marker": MARKERS[nth % len(MARKERS)],
            "linestyle": "-" if nth < len(colours) else "--",
            "label": f"T = {temperature:g}",
        }
        for axes, key in zip(each, titles, strict=False):
            there = [p for p in line if key in scores.get(p.system, {})] if key in judged else line
            values = [scores[p.system][key] if key in judged else p.per_token for p in there]
            axes.plot([p.samples for p in there], values, **style)
    for axes, title in itertools.zip_longest(each, titles):
        if title is None:
            axes.remove()
            continue
        axes.set(xscale="log", xlabel="samples N", ylabel=title)
        if scales and title in scales:
            axes.set(ylabel=scales[title].says, ylim=(scales[title].low, scales[title].high))
        sample_counts = sorted({point.samples for point in points})
        axes.set_xticks(sample_counts, [str(n) for n in sample_counts])
        axes.minorticks_off()
        axes.spines[["top", "right"]].set_visible(False)
    figure.legend(
        *each[0].get_legend_handles_labels(), loc="outside upper left", ncols=columns * 2, frameon=False
    )
    return figure
