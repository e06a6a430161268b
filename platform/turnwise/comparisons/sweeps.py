"""A sweep of N and T with what people made of its responses: rows, chart, CSV; having them judged."""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext

from turnwise.accounts.models import User
from turnwise.comparisons.drawing import Sheet
from turnwise.comparisons.side_by_side import REPLIES, Choice, OfAsk, newest_reports, picked
from turnwise.judging.items.subjects import add_responses
from turnwise.judging.queue.services import plan_of
from turnwise.reports.drilldown import behind
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
        title: what it is called; with that of its questions where two are called the same.
        percent: whether it is in percent, not in points of a scale.
        low, high: the ends of its scale as shown.
        level: of its intervals.
    """

    title: str
    percent: bool
    low: float
    high: float
    level: float


@dataclass(frozen=True, slots=True)
class Scores:
    """What people made of the responses of a sweep.

    Attributes:
        columns: by key, each score; `SET.KEY` if other questions have a score of that key, too.
        of: by system, then by that key, the score as its report has it.
        leads: likewise, where the judgments of it are read.
        studies: those in which they judge, also while there is no report.
    """

    columns: Mapping[str, Column]
    of: Mapping[str, Mapping[str, Mapping[str, Any]]]
    leads: Mapping[str, Mapping[str, str]]
    studies: Sequence[Study]


def scores(sweep: Sweep, user: User | AnonymousUser) -> Scores:
    """The scores in the newest reports of the studies that this person may read.

    Where two studies have judged a pair of N and T, the newer one counts.
    """
    studies = list(
        readable_real_studies_of(user)
        .filter(items__response__run__sweep=sweep)
        .distinct()
        .order_by("created_at", "pk")
    )
    read_in = {study.pk: behind(study) for study in studies}
    named = _Named()
    of: dict[str, dict[str, Mapping[str, Any]]] = {}
    leads: dict[str, dict[str, str]] = {}
    for report in newest_reports(studies):
        for ask in (ask for ask in report.asks if ask.subject == REPLIES):
            for system, column, cell in _known(ask.figures):
                key = named.key(ask, column)
                of.setdefault(system, {})[key] = cell
                lead = read_in[report.pk](system, score=column["key"], ask=ask.number)
                leads.setdefault(system, {})[key] = lead
    return Scores(named.columns, of, leads, studies)


def _known(figures: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any], Mapping[str, Any]]]:
    """System, column and cell of each score that could be told."""
    for row in figures["bots"]:
        for column, cell in zip(figures["columns"], row["cells"], strict=True):
            if cell["value"] is not None:
                yield row["bot"], column, cell


class _Named:
    """Columns by keys of which each means one score of one question set."""

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}
        self._sets: dict[str, str] = {}

    def key(self, ask: OfAsk, column: Mapping[str, Any]) -> str:
        """The key of a score, which is a column from then on."""
        plain = str(column["key"])
        is_first = self._sets.setdefault(plain, ask.question_set) == ask.question_set
        key = plain if is_first else f"{ask.question_set}.{plain}"
        if key not in self.columns:
            taken = {each.title for each in self.columns.values()}
            title = column["title"]
            self.columns[key] = Column(
                f"{title} ({ask.question_set})" if title in taken else title,
                column["percent"], column["low"], column["high"], ask.level,
            )  # fmt: skip
        return key


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: a pair of N and T, its scores by the columns' titles; None where unknown."""

    cell: Cell
    scores: Mapping[str, Mapping[str, Any] | None]


def rows(cells: Sequence[Cell], found: Scores, keys: Iterable[str]) -> list[Row]:
    """Each pair with these scores."""
    titles = {key: found.columns[key].title for key in keys}
    return [
        Row(cell, {title: found.of.get(cell.run.system, {}).get(key) for key, title in titles.items()})
        for cell in cells
    ]


def sheets(cells: Sequence[Cell], found: Scores, wanted: Collection[str] = ()) -> list[Sheet]:
    """The chart of the complete pairs with the scores that somebody chose; none before there is a pair."""
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
    shown = picked([*found.columns], wanted)
    known = {cell.name: _by_title(found, cell.run.system, shown) for cell in complete}
    scales = {
        column.title: {"percent": column.percent, "ends": [column.low, column.high]}
        for key, column in found.columns.items()
        if key in shown
    }
    return [Sheet("sweep", "sweep", {"points": points, "scores": known, "scales": scales})]


def leads(cells: Sequence[Cell], found: Scores) -> dict[str | tuple[str, str], str]:
    """Where the points of the chart lead: of a score to its judged items, of the likelihood to the run."""
    of_runs: dict[str | tuple[str, str], str] = {cell.name: cell.run.get_absolute_url() for cell in cells}
    return of_runs | {
        (cell.name, found.columns[key].title): address
        for cell in cells
        for key, address in found.leads.get(cell.run.system, {}).items()
    }


def _by_title(found: Scores, system: str, shown: Collection[str]) -> dict[str, float]:
    of_system = found.of.get(system, {})
    return {found.columns[key].title: of_system[key]["value"] for key in shown if key in of_system}


def choices(found: Scores, wanted: Collection[str]) -> list[Choice]:
    """All scores, to tick."""
    shown = picked([*found.columns], wanted)
    return [Choice(key, column.title, key in shown) for key, column in found.columns.items()]


def csv_rows(cells: Sequence[Cell], found: Scores) -> Iterator[list[object]]:
    """A header, then a row for each pair with all scores; what is unknown is empty."""
    ends = ("", "_low", "_high")
    yield [
        "system", "samples", "temperature", "state", "responses", "with_likelihood",
        "log_likelihood_per_token", *(f"{key}{end}" for key in found.columns for end in ends),
    ]  # fmt: skip
    for row in rows(cells, found, found.columns):
        cell, run = row.cell, row.cell.run
        known = [each or {} for each in row.scores.values()]
        yield [
            run.system, run.samples, run.temperature, run.state, cell.had, cell.scored, cell.per_token,
            *(each.get(end) for each in known for end in ("value", "low", "high")),
        ]  # fmt: skip


@transaction.atomic
def have_judged(sweep: Sweep, chosen: Collection[int], *, by: User) -> Study:
    """Make a draft of a study in which people judge the responses of some pairs, each pair a system.

    Args:
        sweep: of which.
        chosen: ids of the runs of the pairs.
        by: whose study it becomes.

    Raises:
        ValidationError: no pair is chosen, one is of another sweep, or one is not complete.
    """
    runs = list(sweep.runs.filter(pk__in=chosen).order_by("temperature", "samples"))
    if not runs:
        raise ValidationError(gettext("No pair of N and T is chosen. Tick those that people are to judge."))
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
