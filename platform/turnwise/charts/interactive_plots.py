"""Charts of a report as numbers, which static/js/charts draws as interactive charts.

All numbers come from the stored result; nothing is computed here. Each mark carries its text and its link, so
that the script only places it.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.files.writing import figure
from evaluation.protocols.facts import HUMAN
from turnwise.charts.layout import (
    MOST_PANELS,
    Cell,
    Panel,
    Result,
    headline,
    main_panel,
    panels_of,
    published_cells,
    published_in,
    ranked,
)
from turnwise.charts.marks import (
    DrilldownLink,
    Plot,
    between,
    conversations,
    format_score,
    labels,
    mark,
    plain_words,
    scatter,
)

# As many as there are colours.
_MOST_LINES = 3


def plot(kind: str, result: Result, link: DrilldownLink) -> Plot | None:
    """Numbers of one kind of chart; None if the page's script does not draw that kind."""
    make = _KINDS.get(kind)
    return plain_words() | make(result, link) if make else None


# --- scores ---------------------------------------------------------------------------------------


def _scores(result: Result, link: DrilldownLink) -> Plot:
    return {
        "kind": "forest",
        "systems": [bot["bot"] for bot in ranked(result)],
        "panels": [_forest(result, panel, link) for panel in panels_of(result)],
    }


def _forest(result: Result, panel: Panel, link: DrilldownLink) -> Plot:
    bot_rows = [_row_of(result, panel, bot, link) for bot in ranked(result)]
    others = [
        {
            "system": system,
            "says": "",
            "published": True,
            "marks": list(_published_marks(panel, system, cells)),
        }
        for system, cells in published_cells(result, panel, published_in(result))
    ]
    return {
        "axis": panel.axis,
        "low": panel.low,
        "high": panel.high,
        "series": [title for _column, title in panel.scores],
        "main": result["columns"][headline(result)]["title"],
        "guide": _guide(result, panel),
        "rows": bot_rows + others,
    }


def _row_of(result: Result, panel: Panel, bot: Mapping[str, Any], link: DrilldownLink) -> Plot:
    marks = []
    for nth, (column, title) in enumerate(panel.scores):
        words = [bot["bot"], format_score(title, bot["cells"][column], panel.unit), labels(bot["labels"])]
        if made := mark(bot["cells"][column], words, link(bot["bot"], score=_key(result, column))):
            marks.append({"series": nth, **made})
    is_main, cell = panel == main_panel(result), bot["cells"][headline(result)]
    says = format_score("", cell, "").strip() if is_main and cell["value"] is not None else ""
    return {"system": bot["bot"], "says": says, "published": False, "marks": marks}


def _key(result: Result, column: int) -> str:
    key: str = result["columns"][column]["key"]
    return key


def _published_marks(panel: Panel, system: str, cells: Sequence[Cell]) -> Iterator[Plot]:
    for nth, ((_column, title), cell) in enumerate(zip(panel.scores, cells, strict=True)):
        words = [system, format_score(title, cell, panel.unit), _("Published elsewhere")]
        if made := mark(cell, words, ""):
            yield {"series": nth, **made}


def _guide(result: Result, panel: Panel) -> Plot | None:
    """Line at the people's main score, if people were judged, too."""
    column = headline(result)
    human = next((bot["cells"][column] for bot in result["bots"] if bot["bot"] == HUMAN), None)
    if human is None or human["value"] is None or column not in dict(panel.scores):
        return None
    series = [index for index, _title in panel.scores].index(column)
    return {"series": series, "value": human["value"], "low": human.get("low"), "high": human.get("high")}


# --- two scores -----------------------------------------------------------------------------------


def _plane(result: Result, link: DrilldownLink) -> Plot:
    x, y = result["plane"]["x"], result["plane"]["y"]
    titles = [result["columns"][column]["title"] for column in (x, y)]
    points = []
    for bot in result["bots"]:
        cells = [bot["cells"][column] for column in (x, y)]
        words = [bot["bot"], *_both(titles, cells), labels(bot["labels"])]
        made = mark(cells[1], words, link(bot["bot"], score=_key(result, y)))
        if made and cells[0]["value"] is not None:
            points.append({"system": bot["bot"], "published": False, "across": cells[0], **made})
    every = [*points, *_published_points(result, titles)]
    return scatter(titles[0], titles[1], every, (0, 100), (0, 100)) | {"shaded": True}


def _published_points(result: Result, titles: Sequence[str]) -> Iterator[Plot]:
    keys = [_key(result, result["plane"][axis]) for axis in ("x", "y")]
    for each in published_in(result):
        if all(key in each.scores for key in keys):
            cells = [{"value": each.scores[key]} for key in keys]
            words = [each.system, *_both(titles, cells), _("Published elsewhere")]
            made = mark(cells[1], words, "") or {}
            yield {"system": each.system, "published": True, "across": cells[0], **made}


def _both(titles: Sequence[str], cells: Sequence[Cell]) -> list[str]:
    return [format_score(title, cell, "percent") for title, cell in zip(titles, cells, strict=True)]


# --- the course of conversations ------------------------------------------------------------------


def _by_reply(result: Result, link: DrilldownLink) -> Plot:
    panel = main_panel(result)
    panels = []
    for bot in result["by_reply"]:
        lines = []
        for nth, (column, title) in enumerate(panel.scores):
            score = (column, title, _key(result, column))
            points = _replies(bot, score, panel.unit, link)
            band = nth == len(panel.scores) - 1  # bands of all scores would cover each other
            lines.append({"name": title, "system": bot["bot"], "band": band, "points": points})
        panels.append({"title": bot["bot"], "low": panel.low, "high": panel.high, "lines": lines})
    systems = [bot["bot"] for bot in result["by_reply"]]
    across = _("reply of the conversation")
    return {"kind": "lines", "systems": systems, "across": across, "axis": panel.axis, "panels": panels}


def _replies(
    bot: Mapping[str, Any], score: tuple[int, str, str], unit: str, link: DrilldownLink
) -> list[Plot]:
    (column, title, key), points = score, []
    for row in bot["replies"]:
        reply = row["reply"]
        words = [
            _("%(system)s, reply %(reply)d") % {"system": bot["bot"], "reply": reply},
            format_score(title, row["cells"][column], unit),
            labels(row["labels"]),
        ]
        if made := mark(row["cells"][column], words, link(bot["bot"], reply=reply, score=key)):
            points.append({"x": reply, **made})
    return points


def _by_turn(result: Result, link: DrilldownLink) -> Plot:
    """A panel for each figure; the last one counts ongoing conversations."""
    figures = result["by_turn"]
    panels = [
        {"title": each["title"], "low": None, "high": None, "lines": [*_turns(each, link)]}
        for each in figures
    ]
    # Votes are optional and may lack turns, so the figure with most points is counted.
    fullest = max(figures, key=lambda each: sum(len(line["points"]) for line in each["bots"]))
    going_on = [*_going_on(fullest, link)]
    panels.append({"title": _("Conversations still going on"), "low": 0, "high": None, "lines": going_on})
    systems = [line["bot"] for line in fullest["bots"][:_MOST_LINES]]
    across = _("turn of the conversation")
    return {"kind": "lines", "systems": systems, "across": across, "axis": "", "panels": panels}


def _turns(figures: Mapping[str, Any], link: DrilldownLink) -> Iterator[Plot]:
    for line in figures["bots"][:_MOST_LINES]:
        points = []
        for point in line["points"]:
            words = [_turn_label(line["bot"], point["turn"]), f"{figures['title']} {between(point, 2)}"]
            if values := point.get("values"):  # in self-play every turn has one
                words.append(ngettext("%(n)d value", "%(n)d values", values) % {"n": values})
            if made := mark(point, words, link(line["bot"], reply=point["turn"])):
                points.append({"x": point["turn"], **made})
        yield {"name": line["bot"], "system": line["bot"], "band": True, "points": points}


def _going_on(figures: Mapping[str, Any], link: DrilldownLink) -> Iterator[Plot]:
    for line in figures["bots"][:_MOST_LINES]:
        points = []
        for point in line["points"]:
            n = point["going_on"]
            words = [_turn_label(line["bot"], point["turn"]), conversations(n)]
            address = link(line["bot"], reply=point["turn"])
            points.append({"x": point["turn"], "value": n, "words": words, "href": address})
        yield {"name": line["bot"], "system": line["bot"], "band": False, "points": points}


def _turn_label(system: str, turn: int) -> str:
    return _("%(system)s, turn %(turn)d") % {"system": system, "turn": turn}


# --- votes on pairs -------------------------------------------------------------------------------


def _preferences(result: Result, link: DrilldownLink) -> Plot:
    panels, systems = [], dict[str, None]()
    for figures in result["preferences"][:MOST_PANELS]:
        rows = []
        for pair in figures["meetings"]:
            systems |= {pair["first"]: None, pair["second"]: None}
            address = link(pair["bot"], question=figures["key"])
            parts = [*_parts(pair, address)]
            rows.append({"first": pair["first"], "second": pair["second"], "parts": parts})
        panels.append({"title": figures["question"], "rows": rows})
    titles = [_("named left is better"), _("tied"), _("named right is better")]
    axis = _("percent of judgments")
    return {"kind": "shares", "systems": [*systems], "series": titles, "axis": axis, "panels": panels}


def _parts(pair: Mapping[str, Any], address: str) -> Iterator[Plot]:
    """Parts of a pair's bar: wins, ties, losses."""
    start = 0.0
    outcomes = (
        ("wins", _("%(first)s is better") % pair),
        ("ties", _("tied")),
        ("losses", _("%(second)s is better") % pair),
    )
    for nth, (key, says) in enumerate(outcomes):
        share = 100 * pair[key] / pair["labels"]
        counted = {"n": pair[key], "of": pair["labels"]}
        of = ngettext("%(n)d of %(of)d judgment", "%(n)d of %(of)d judgments", pair["labels"]) % counted
        words = [_("%(first)s against %(second)s") % pair, f"{says}: {figure(share)}\u00a0%", of]
        yield {"series": nth, "from": start, "to": start + share, "words": words, "href": address}
        start += share


_KINDS: Mapping[str, Callable[[Result, DrilldownLink], Plot]] = {
    "scores": _scores,
    "plane": _plane,
    "by-reply": _by_reply,
    "by-turn": _by_turn,
    "preferences": _preferences,
}
