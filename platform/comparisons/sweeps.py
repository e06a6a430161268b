"""A sweep of N and T with what people made of its responses: rows, chart, CSV; having them judged."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.translation import gettext

from accounts.models import User
from comparisons.drawing import Sheet
from comparisons.newest import newest_reports
from judging.services import plan_of
from judging.subjects import add_responses
from responses.models import ResponseRun, Sweep
from responses.sweeps import Cell
from studies.models import Study
from studies.presets import preset_named
from studies.queries import readable_real_studies_of
from studies.services import save_study

PRESET = "meena-static"


@dataclass(frozen=True, slots=True)
class Scores:
    """What people made of the responses of a sweep.

    Attributes:
        columns: key and title of each score.
        of: by system, then by key, the score as its report has it, with the study's name.
        studies: those in which they judge, also while there is no report.
    """

    columns: Mapping[str, str]
    of: Mapping[str, Mapping[str, Mapping[str, Any]]]
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
    columns: dict[str, str] = {}
    of: dict[str, dict[str, Mapping[str, Any]]] = {}
    for report in newest_reports(studies):
        titles = {column["key"]: column["title"] for column in report.result["columns"] if column["percent"]}
        for row in report.result["bots"]:
            cells = zip(report.result["columns"], row["cells"], strict=True)
            known = {c["key"]: cell for c, cell in cells if c["key"] in titles and cell["value"] is not None}
            if known:
                columns |= titles
                of.setdefault(row["bot"], {}).update(known)
    return Scores(columns, of, studies)


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: a pair of N and T, its scores by the columns' titles; None where unknown."""

    cell: Cell
    scores: Mapping[str, Mapping[str, Any] | None]


def rows(cells: Sequence[Cell], found: Scores) -> list[Row]:
    """Each pair with its scores."""
    return [
        Row(cell, {title: found.of.get(cell.run.system, {}).get(key) for key, title in found.columns.items()})
        for cell in cells
    ]


def sheets(cells: Sequence[Cell], found: Scores) -> list[Sheet]:
    """The chart of the complete pairs; none before there is one."""
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
    known = {
        cell.name: {
            found.columns[key]: each["value"] for key, each in found.of.get(cell.run.system, {}).items()
        }
        for cell in complete
    }
    return [Sheet("sweep", "sweep", {"points": points, "scores": known})]


def csv_rows(cells: Sequence[Cell], found: Scores) -> Iterator[list[object]]:
    """A header, then a row for each pair; what is unknown is empty. Scores are percentages."""
    ends = ("", "_low", "_high")
    yield [
        "system", "samples", "temperature", "state", "responses", "with_likelihood",
        "log_likelihood_per_token", *(f"{key}{end}" for key in found.columns for end in ends),
    ]  # fmt: skip
    for row in rows(cells, found):
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
