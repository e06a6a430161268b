"""Scores of a sweep of N and T: table, chart and CSV; creation of a study that judges its responses."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext

from turnwise.accounts.models import User
from turnwise.comparisons.drawing import Sheet
from turnwise.comparisons.side_by_side import REPLIES, AskFigures, Choice, newest_reports, selected_scores
from turnwise.judging.items.subjects import add_responses
from turnwise.judging.queue.services import plan_of
from turnwise.reports.page import drilldown_link
from turnwise.responses.models import ResponseRun, Sweep
from turnwise.responses.sweeps import Cell
from turnwise.studies.models import Study
from turnwise.studies.presets import preset_named
from turnwise.studies.queries import readable_real_studies_of
from turnwise.studies.services import save_study

PRESET = "meena-static"


@dataclass(frozen=True, slots=True)
class Column:
    """A score of the table.

    Attributes:
        title: title of the score, with its question set if another score has the same title.
        percent: whether it is in percent, not in points of a scale.
        low, high: ends of its scale in the unit shown.
        level: confidence level of its intervals.
    """

    title: str
    percent: bool
    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class SweepScores:
    """Scores of a sweep's responses from people's judgments.

    Attributes:
        columns: the scores by key; `SET.KEY` if another question set has a score with the same key.
        of: cell of each score from its report, by system and key.
        leads: address of the judgments of each score, by system and key.
        studies: studies that judge the sweep, including those without a report.
    """

    columns: Mapping[str, Column]
    of: Mapping[str, Mapping[str, Mapping[str, Any]]]
    leads: Mapping[str, Mapping[str, str]]
    studies: Sequence[Study]


def scores(sweep: Sweep, user: User | AnonymousUser) -> SweepScores:
    """Scores in the newest reports of the studies that the user may read.

    If two studies judge a pair of N and T, the newer one counts.
    """
    studies = list(
        readable_real_studies_of(user)
        .filter(items__response__run__sweep=sweep)
        .distinct()
        .order_by("created_at", "pk")
    )
    read_in = {study.pk: drilldown_link(study) for study in studies}
    named = _ColumnNames()
    of: dict[str, dict[str, Mapping[str, Any]]] = {}
    leads: dict[str, dict[str, str]] = {}
    for report in newest_reports(studies):
        for ask in (ask for ask in report.asks if ask.subject == REPLIES):
            for system, column, cell in _known_cells(ask.figures):
                key = named.key(ask, column)
                of.setdefault(system, {})[key] = cell
                lead = read_in[report.pk](system, score=column["key"], ask=ask.number)
                leads.setdefault(system, {})[key] = lead
    return SweepScores(named.columns, of, leads, studies)


def _known_cells(figures: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """System, column and cell of each known score."""
    for row in figures["bots"]:
        for column, cell in zip(figures["columns"], row["cells"], strict=True):
            if cell["value"] is not None:
                yield row["bot"], column, cell


class _ColumnNames:
    """Columns by unique key: each key names one score of one question set."""

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}
        self._sets: dict[str, str] = {}

    def key(self, ask: AskFigures, column: Mapping[str, Any]) -> str:
        """Return the key of a score, and add it to the columns."""
        plain = str(column["key"])
        is_first = self._sets.setdefault(plain, ask.question_set) == ask.question_set
        key = plain if is_first else f"{ask.question_set}.{plain}"
        if key not in self.columns:
            titles = {each.title for each in self.columns.values()}
            title = column["title"]
            self.columns[key] = Column(
                f"{title} ({ask.question_set})" if title in titles else title,
                column["percent"], column["low"], column["high"], ask.level,
            )  # fmt: skip
        return key


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: a pair of N and T with its scores by column title; None if unknown."""

    cell: Cell
    scores: Mapping[str, Mapping[str, Any] | None]


def rows(cells: Sequence[Cell], scores_of_sweep: SweepScores, keys: Iterable[str]) -> list[Row]:
    """Table rows: each pair of N and T with these scores."""
    titles = {key: scores_of_sweep.columns[key].title for key in keys}
    return [
        Row(
            cell,
            {title: scores_of_sweep.of.get(cell.run.system, {}).get(key) for key, title in titles.items()},
        )
        for cell in cells
    ]


def sheets(cells: Sequence[Cell], sweep_scores: SweepScores, wanted: Collection[str] = ()) -> list[Sheet]:
    """Chart of the complete pairs with the chosen scores; empty without a complete pair."""
    complete = [cell for cell in cells if cell.is_complete]
    if not complete:
        return []
    points = [
        {
            "system": cell.name,
            "samples": cell.run.samples,
            "temperature": cell.run.temperature,
            "contexts": cell.wanted,
            "per_token": cell.per_token,
        }
        for cell in complete
    ]
    selected = selected_scores([*sweep_scores.columns], wanted)
    titled = {cell.name: _by_title(sweep_scores, cell.run.system, selected) for cell in complete}
    scales = {
        column.title: {"percent": column.percent, "ends": [column.low, column.high]}
        for key, column in sweep_scores.columns.items()
        if key in selected
    }
    return [Sheet("sweep", "sweep", {"points": points, "scores": titled, "scales": scales})]


def leads(cells: Sequence[Cell], sweep_scores: SweepScores) -> dict[str | tuple[str, str], str]:
    """Links of the chart's points: scores link to their judged items, likelihoods to their run."""
    of_runs: dict[str | tuple[str, str], str] = {cell.name: cell.run.get_absolute_url() for cell in cells}
    return of_runs | {
        (cell.name, sweep_scores.columns[key].title): address
        for cell in cells
        for key, address in sweep_scores.leads.get(cell.run.system, {}).items()
    }


def _by_title(sweep_scores: SweepScores, system: str, selected: Collection[str]) -> dict[str, float]:
    of_system = sweep_scores.of.get(system, {})
    return {sweep_scores.columns[key].title: of_system[key]["value"] for key in selected if key in of_system}


def choices(sweep_scores: SweepScores, wanted: Collection[str]) -> list[Choice]:
    """All scores, to tick."""
    selected = selected_scores([*sweep_scores.columns], wanted)
    return [Choice(key, column.title, key in selected) for key, column in sweep_scores.columns.items()]


def csv_rows(cells: Sequence[Cell], sweep_scores: SweepScores) -> Iterator[list[object]]:
    """Header, then a row for each pair with all scores; unknown values are empty."""
    ends = ("", "_low", "_high")
    yield [
        "system", "samples", "temperature", "state", "responses", "with_likelihood",
        "log_likelihood_per_token", *(f"{key}{end}" for key in sweep_scores.columns for end in ends),
    ]  # fmt: skip
    for row in rows(cells, sweep_scores, sweep_scores.columns):
        cell, run = row.cell, row.cell.run
        present = [each or {} for each in row.scores.values()]
        yield [
            run.system, run.samples, run.temperature, run.state, cell.had, cell.scored, cell.per_token,
            *(each.get(end) for each in present for end in ("value", "low", "high")),
        ]  # fmt: skip


@transaction.atomic
def create_judging_study(sweep: Sweep, chosen: Collection[int], *, by: User) -> Study:
    """Create a draft study in which people judge the responses of some pairs, each pair as a system.

    Args:
        sweep: the sweep.
        chosen: ids of the runs of the chosen pairs.
        by: owner of the study.

    Raises:
        ValidationError: no pair is chosen, a pair belongs to another sweep, or a pair is incomplete.
    """
    runs = list(sweep.runs.filter(pk__in=chosen).order_by("temperature", "samples"))
    if not runs:
        raise ValidationError(
            gettext("No pair of N and T is chosen. Tick the pairs that people should judge.")
        )
    if len(runs) < len(set(chosen)):
        raise ValidationError(gettext("One of the pairs is not part of this sweep. Choose from its table."))
    for run in runs:
        if run.state != ResponseRun.State.DONE:
            raise ValidationError(
                gettext("%(system)s is not complete. Choose it once it is, or leave it out.")
                % {"system": run.system}
            )
    preset = preset_named(PRESET)
    assert preset
    study = preset.study()
    study.title = gettext("N and T of %(title)s") % {"title": sweep.bot.title[:100]}
    languages = sweep.context_version.contexts.order_by("language").values_list("language", flat=True)
    study.languages = list(languages.distinct())
    saved = save_study(study, owner=by, consent_text="", targets={}, asks=preset.asks)
    plan_of(saved)
    for run in runs:
        add_responses(saved, run)
    return saved
