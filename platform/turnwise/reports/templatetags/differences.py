"""Differences between systems as a matrix and as a table of pairs, for the page of a report.

The rows are written here and not in a template: 30 systems have 435 pairs by each score and analysis, and the
template language takes seconds for them. Every text from others is escaped.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Any

from django import template
from django.utils.translation import gettext as _

from evaluation.files.writing import MINUS, figure, p_equals, p_value, signed
from turnwise.charts.templatetags.figures import of_two

register = template.Library()
Pair = Mapping[str, Any]
DASH = "\u2013"
NO_CELL = f'<td class="matrix__none">{DASH}</td>'
MOST_WITH_INTERVALS = 6
"""Most systems whose matrix shows the intervals; in a larger one they are in the title of each cell."""


@dataclass(frozen=True, slots=True)
class PairTable:
    """Pairs of one analysis: of one score, or two systems by every score.

    Attributes:
        is_other: true for the analysis that the study did not declare as primary.
        pairs: the comparisons.
        is_of_two: true if the rows are scores, of the same two systems.
        systems: systems of the matrix, best first; empty without a matrix.
        level: level of the intervals.
    """

    is_other: bool
    pairs: Sequence[Pair]
    is_of_two: bool
    systems: Sequence[str]
    level: float

    @property
    def odds(self) -> bool:
        cells = (cell for pair in self.pairs for cell in (pair, pair.get("mixed") or {}))
        return any(cell.get("odds_ratio") is not None for cell in cells)

    @property
    def is_corrected(self) -> bool:
        return not self.is_of_two and len(self.pairs) > 1

    @property
    def is_wide(self) -> bool:
        return len(self.systems) > MOST_WITH_INTERVALS

    @property
    def matrix_rows(self) -> str:
        """Rows of the matrix, as HTML: how far the system of the row is ahead of that of the column."""
        cells = dict(_cells(self.pairs, self.level, not self.is_wide))
        return "".join(
            f'<tr><th scope="row">{escape(row)}</th>'
            + "".join(cells.get((row, column), NO_CELL) for column in self.systems)
            + "</tr>"
            for row in self.systems
        )

    @property
    def pair_rows(self) -> str:
        """Rows of the table of pairs, as HTML."""
        labels, odds = _Labels(self.is_corrected), self.odds
        return "".join(_row(self._head(pair, labels), pair, labels, odds) for pair in self.pairs)

    @property
    def sentences(self) -> str:
        """Each pair in a sentence, with what it rests on, as items of a list in HTML."""
        without_model = _("No mixed model: %(reason)s")  # looked up once for all pairs
        return "".join(self._sentence(pair, without_model) for pair in self.pairs)

    def _sentence(self, pair: Pair, without_model: str) -> str:
        title = f"<strong>{escape(pair['title'])}</strong>: " if self.is_of_two else ""
        basis = f'<span class="small soft">{escape(_basis(pair, without_model))}</span>'
        return f"<li>{title}{escape(pair['words'])} {basis}</li>"

    def _head(self, pair: Pair, labels: "_Labels") -> str:
        if self.is_of_two:
            return escape(pair["title"])
        return f'{escape(pair["first"])} <span class="soft">{labels.against}</span> {escape(pair["second"])}'


@dataclass(frozen=True, slots=True)
class ScoreDifferences:
    """Differences by one score, in both analyses; or of two systems by every score.

    Attributes:
        title: title of the score.
        is_shown: true for the score that the page shows first.
        tables: the primary analysis, and the other one if there is one.
    """

    title: str
    is_shown: bool
    tables: Sequence[PairTable]


@register.simple_tag
def differences_by_score(result: Mapping[str, Any]) -> list[ScoreDifferences]:
    """Differences of a report or of an ask: by each score, or of two systems once for all scores."""
    parts = [part for part in (result, result.get("other")) if part and part["comparisons"]]
    if not parts:
        return []
    if all(of_two(part["comparisons"]) for part in parts):
        return [
            ScoreDifferences("", True, [_table(result, part, part["comparisons"], True) for part in parts])
        ]
    by_score: dict[str, list[PairTable]] = {}
    titles = {}
    for part in parts:
        for key, pairs in groupby(part["comparisons"], lambda pair: pair["score"]):
            of_score = list(pairs)
            titles[key] = of_score[0]["title"]
            by_score.setdefault(key, []).append(_table(result, part, of_score, False))
    main = (result.get("answer") or {}).get("score")
    shown = next((key for key, title in titles.items() if title == main), next(iter(titles)))
    return [ScoreDifferences(titles[key], key == shown, tables) for key, tables in by_score.items()]


@register.filter
def any_odds(scores: Sequence[ScoreDifferences]) -> bool:
    """True if a table of differences has odds ratios."""
    return any(table.odds for score in scores for table in score.tables)


@dataclass(frozen=True, slots=True)
class ScoreChoice:
    """A score to choose at the top of a report.

    Attributes:
        title: title of the score, or the question about pairs.
        is_shown: true for the score that the page shows first.
    """

    title: str
    is_shown: bool


@register.simple_tag
def score_choices(result: Mapping[str, Any]) -> list[ScoreChoice]:
    """Scores whose differences the page shows one at a time; empty if it shows all of them at once."""
    if result.get("preferences"):
        choices = [ScoreChoice(each["question"], not n) for n, each in enumerate(result["preferences"])]
    else:
        scores = differences_by_score(result)
        choices = [ScoreChoice(score.title, score.is_shown) for score in scores]
    return choices if len(choices) > 1 else []


@register.simple_tag
def matrix_of_leads(preference: Mapping[str, Any], level: float) -> PairTable:
    """Leads of the systems of a study of pairs by one question; without systems if there are only two."""
    pairs = [row | {"difference": row["lead"]} for row in preference["meetings"]]
    systems = _ranked_by_lead(pairs) if len(pairs) > 1 else []
    return PairTable(False, pairs, False, systems, level)


def _ranked_by_lead(pairs: Sequence[Pair]) -> list[str]:
    """Systems by their mean lead over those that they met, the best first."""
    leads: dict[str, list[float]] = {}
    for pair in pairs:
        leads.setdefault(pair["first"], []).append(pair["difference"])
        leads.setdefault(pair["second"], []).append(-pair["difference"])
    return sorted(leads, key=lambda name: -sum(leads[name]) / len(leads[name]))


def _table(
    result: Mapping[str, Any], part: Mapping[str, Any], pairs: list[Pair], is_of_two: bool
) -> PairTable:
    systems = [] if is_of_two or len(pairs) == 1 else _ranked(result["columns"], part["bots"], pairs)
    return PairTable(part is not result, pairs, is_of_two, systems, result["level"])


def _ranked(
    columns: Sequence[Mapping[str, Any]], bots: Sequence[Mapping[str, Any]], pairs: Sequence[Pair]
) -> list[str]:
    """Systems of these pairs, the best first."""
    column = next(n for n, each in enumerate(columns) if each["key"] == pairs[0]["score"])
    compared = {name for pair in pairs for name in (pair["first"], pair["second"])}
    values = {bot["bot"]: bot["cells"][column]["value"] for bot in bots if bot["bot"] in compared}
    return sorted(values, key=lambda name: -values[name])


def _cells(pairs: Sequence[Pair], level: float, has_intervals: bool) -> Iterator[tuple[tuple[str, str], str]]:
    """Cells of the matrix by their row and column: two for each pair, seen from either side."""
    clear, from_to = escape(_("statistically clear")), _("%(low)s to %(high)s")
    up, down = (f'<i role="img" aria-label="{clear}">{mark}</i>' for mark in "▲▼")
    for pair in pairs:
        first, second, difference, p = pair["first"], pair["second"], pair["difference"], pair["p_holm"]
        is_clear = p is not None and p < 1 - level
        exact, by, ends = p_equals(p).replace("<", "&lt;"), figure(difference), None
        if pair.get("low") is not None:
            ends = figure(pair["low"]), figure(pair["high"])
        for key, is_ahead in (((first, second), difference > 0), ((second, first), difference < 0)):
            says, below = "", ""
            if ends:
                says = from_to % {"low": ends[0], "high": ends[1]}
                below = f'<span class="interval nowrap">{says}</span>' if has_intervals else ""
                says += ", "
            kind, mark = ("open", "") if not is_clear else ("ahead", up) if is_ahead else ("behind", down)
            yield key, f'<td class="matrix__{kind}" title="{says}{exact}">{mark}{_with_plus(by)}{below}</td>'
            # The same pair, seen from the other side.
            by, ends = _negated(by), (_negated(ends[1]), _negated(ends[0])) if ends else None


def _negated(text: str) -> str:
    """Return a printed number with the other sign; zero has none."""
    if text.startswith(MINUS):
        return text[1:]
    return MINUS + text if float(text) else text


def _with_plus(text: str) -> str:
    """Return a printed number with a plus sign if it is positive."""
    return f"+{text}" if not text.startswith(MINUS) and float(text) else text


class _Labels:
    """Titles of columns, escaped, which phones show beside each cell."""

    def __init__(self, is_corrected: bool) -> None:
        # Looked up once for all rows.
        self.against = escape(_("against"))
        self.from_to = _("%(low)s to %(high)s")
        self.difference = escape(_("Difference"))
        self.none = escape(_("no interval"))
        self.odds = escape(_("Odds ratio"))
        self.mixed = escape(_("Mixed model"))
        self.p = escape(_("p, corrected") if is_corrected else "p")
        self.equal = escape(_("Equal within"))
        self.more = escape(_("More needed"))

    def ends(self, pair: Pair, digits: int = 1) -> str:
        """Interval of a figure, such as 61.1 to 85.0."""
        return self.from_to % {"low": figure(pair["low"], digits), "high": figure(pair["high"], digits)}


def _row(head: str, pair: Pair, labels: _Labels, odds: bool) -> str:
    ends = labels.none if pair.get("low") is None else f'<span class="nowrap">{labels.ends(pair)}</span>'
    mixed = pair.get("mixed") or {}
    model = (
        DASH
        if mixed.get("odds_ratio") is None
        else f'{figure(mixed["odds_ratio"], 2)} <span class="interval nowrap">{labels.ends(mixed, 2)}</span>'
    )
    equal = _or_dash(pair["equal_within"], 1)
    if pair.get("p_equivalent") is not None:
        equal += f' <span class="interval nowrap">{escape(p_equals(pair["p_equivalent"]))}</span>'
    ratios = (
        f'<td data-label="{labels.odds}">{_effect_size(pair, "odds_ratio", labels)}</td>'
        f'<td data-label="{labels.mixed}">{model}</td>'
        if odds
        else ""
    )
    return (
        f'<tr><th scope="row">{head}</th><td data-label="{labels.difference}">'
        f'<strong>{signed(pair["difference"])}</strong> <span class="interval">{ends}</span></td>'
        f'<td data-label="d">{_effect_size(pair, "effect", labels)}</td>{ratios}'
        f'<td data-label="{labels.p}" class="nowrap">{escape(p_value(pair["p_holm"]))}</td>'
        f'<td data-label="{labels.equal}">{equal}</td>'
        f'<td data-label="{labels.more}">{DASH if pair["more"] is None else pair["more"]}</td></tr>'
    )


def _effect_size(pair: Pair, key: str, labels: _Labels) -> str:
    """An effect size with its interval; reports of older versions have no such interval."""
    text = _or_dash(pair[key], 2)
    if pair.get(f"{key}_low") is None:
        return text
    ends = {"low": pair[f"{key}_low"], "high": pair[f"{key}_high"]}
    return f'{text} <span class="interval nowrap">{labels.ends(ends, 2)}</span>'


def _or_dash(value: float | None, digits: int) -> str:
    return DASH if value is None else figure(value, digits)


def _basis(pair: Pair, without_model: str) -> str:
    """Data behind a difference, and the reason if there is no mixed model."""
    reason = (pair.get("mixed") or {}).get("undefined")
    if not reason or pair["odds_ratio"] is None:
        return str(pair["rests_on"])
    return f"{pair['rests_on']} {without_model % {'reason': reason}}"
