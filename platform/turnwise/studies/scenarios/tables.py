"""Tables of scenarios: the tasks and personas that people get, one row per conversation.

A table has the columns `scenario` (what the person is to do), and if wanted `persona` (who the person is to
be) and `name` (a short key for exports and reports). Any further column is a variable of system prompts.
"""

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from itertools import dropwhile
from typing import TypedDict

from django.utils.translation import gettext as _

from evaluation.files.writing import csv_text
from turnwise.contexts.tables import Finding, Row, rows_of, text_problem
from turnwise.studies.models import Study

COLUMNS = ("name", "scenario", "persona")
MOST_ROWS, MOST_VARIABLES = 200, 20
MOST_CHARACTERS = 200_000
LONGEST_NAME, LONGEST_TEXT, LONGEST_COLUMN = 40, 2000, 40
MOST_FINDINGS = 20

_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NAME = re.compile(r"[\w.+-]+( [\w.+-]+)*")


class Scenario(TypedDict):
    """A row of a table of scenarios.

    Attributes:
        name: short key, unique in its table.
        scenario: what the person is to do.
        persona: who the person is to be; may be empty.
        variables: by name of a further column, its value; may be empty.
    """

    name: str
    scenario: str
    persona: str
    variables: dict[str, str]


@dataclass(slots=True)
class Parsed:
    """Content of a table: its rows, and the problems that forbid the import of all of it."""

    rows: list[Scenario] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)


def parse(text: str, ending: str = "") -> Parsed:
    """Parse a table of scenarios.

    Args:
        text: the table; of a workbook, its rows as JSON Lines (`contexts.uploads`).
        ending: "csv", "jsonl" or "xlsx"; empty: JSON Lines if it begins with a brace, else CSV.
    """
    parsed, lines, text = Parsed(), dict[str, int](), text.replace("\r\n", "\n")
    ending = ending or ("jsonl" if text.lstrip().startswith("{") else "csv")
    reader = "csv" if ending == "csv" else "jsonl"
    found = list(rows_of(text, reader, needed=("scenario",), keeps_empty=True))
    parsed.problems += [each for each in found if isinstance(each, Finding)]
    rows = [each for each in found if isinstance(each, Row)]
    if ending == "xlsx":  # the header and empty lines above it
        rows = list(dropwhile(lambda row: not row.fields, rows))
    if reader == "jsonl":
        parsed.problems += _repeated_keys(text)
    parsed.problems += _faults_of_columns(rows, has_header=ending != "jsonl")
    parsed.problems += _faults_of_size(rows)
    for number, row in enumerate(rows, start=1):
        scenario = _scenario(row, number)
        faults = list(_faults(row, scenario)) or list(_faults_of_name(row, scenario, lines))
        parsed.problems += [Finding(row.line, fault) for fault in faults]
        parsed.rows.append(scenario)
    if not rows and not parsed.problems:
        parsed.problems += [Finding(1, _("There are no rows. Write at least one below the header."))]
    parsed.problems.sort(key=lambda problem: problem.line)
    if parsed.problems:
        return replace(parsed, rows=[])
    variables = variables_of(parsed.rows)
    for scenario in parsed.rows:
        scenario["variables"] = {name: scenario["variables"].get(name, "") for name in variables}
    return parsed


def _repeated_keys(text: str) -> Iterable[Finding]:
    """Problems with keys that a line of JSON has twice, of which a parser would drop the first."""
    for number, line in enumerate(text.split("\n"), start=1):
        try:
            pairs = json.loads(line, object_pairs_hook=list) if line.strip() else []
        except (ValueError, RecursionError):
            continue  # `rows_of` has reported it
        keys = [pair[0] for pair in pairs] if isinstance(pairs, list) and line.lstrip()[:1] == "{" else []
        if twice := next((key for at, key in enumerate(keys) if key in keys[:at]), ""):
            says = _("This line has “%(name)s” twice. Rename one of the two.")
            yield Finding(number, says % {"name": twice[:LONGEST_COLUMN]})


def _scenario(row: Row, number: int) -> Scenario:
    """The row with its texts trimmed; one without a name gets its number."""
    texts = {name: value.strip() if isinstance(value, str) else "" for name, value in row.fields.items()}
    return Scenario(
        name=texts.pop("name", "") or str(number),
        scenario=texts.pop("scenario", ""),
        persona=texts.pop("persona", ""),
        variables=texts,
    )


def _faults_of_columns(rows: Sequence[Row], *, has_header: bool) -> Iterable[Finding]:
    """Problems of the columns, each once, at its first row (in a table, at the header)."""
    first = {name: row.line for row in reversed(rows) for name in row.fields}
    for name, line in sorted(first.items(), key=lambda item: (item[1], item[0])):
        if name not in COLUMNS and (fault := _fault_of_column(name)):
            yield Finding(1 if has_header else line, fault)
    if len(further := [name for name in first if name not in COLUMNS]) > MOST_VARIABLES:
        yield Finding(
            1,
            _("There are %(n)d further columns, more than %(most)d. Remove those that no prompt uses.")
            % {"n": len(further), "most": MOST_VARIABLES},
        )


def _fault_of_column(name: str) -> str:
    near = get_close_matches(name.lower(), COLUMNS, n=1, cutoff=0.75)
    fields = {"name": name[:LONGEST_COLUMN], "near": near[0] if near else ""}
    if near:
        return (
            _("The column “%(name)s” looks like “%(near)s”. Write “%(near)s”, or choose a name less like it.")
            % fields
        )
    if not name:
        return _("A column has no name. Name it in the first line, or remove it.")
    if len(name) > LONGEST_COLUMN or not _VARIABLE.fullmatch(name):
        return (
            _(
                "The column “%(name)s” cannot be a variable of a system prompt. Take up to 40 letters (a to "
                "z), digits and _, with a letter first."
            )
            % fields
        )
    return ""


def _faults_of_size(rows: Sequence[Row]) -> Iterable[Finding]:
    if len(rows) > MOST_ROWS:
        says = _("There are %(n)d rows, more than %(most)d. Remove some from here on.")
        yield Finding(rows[MOST_ROWS].line, says % {"n": len(rows), "most": MOST_ROWS})
    size = sum(len(str(value)) for row in rows for value in row.fields.values())
    if size > MOST_CHARACTERS:
        says = _("The table has %(n)s characters, more than %(most)s. Shorten its texts.")
        yield Finding(1, says % {"n": f"{size:,}", "most": f"{MOST_CHARACTERS:,}"})


def _faults(row: Row, scenario: Scenario) -> Iterable[str]:
    if not any(str(value).strip() for value in row.fields.values()):
        yield _("This row is empty. Fill it in, or remove the line.")
        return
    if not str(row.fields.get("scenario") or "").strip():
        yield _("“scenario” is empty. Write what the person is to do, or remove the line.")
    for name, value in row.fields.items():
        if value not in ("", None) and (
            why := text_problem(value, limit=LONGEST_TEXT, what=f"“{name[:40]}”")
        ):
            cure = _("Write it as text, such as “%(value)s”.") % {"value": str(value)[:40]}
            yield f"{why} {_('Correct it.')}" if isinstance(value, str) else f"{why} {cure}"
    if len(scenario["name"]) > LONGEST_NAME or not _NAME.fullmatch(scenario["name"]):
        yield _(
            "The name “%(name)s” cannot be used. Take up to 40 letters, digits and . _ + -, with single "
            "spaces."
        ) % {"name": scenario["name"][:LONGEST_NAME]}


def _faults_of_name(row: Row, scenario: Scenario, lines: dict[str, int]) -> Iterable[str]:
    """Problems with a name that an earlier line has; `lines` maps names to their first lines."""
    first = lines.setdefault(scenario["name"].lower(), row.line)
    if first != row.line:
        yield _("The name “%(name)s” is that of line %(line)d, too. Give each row a name of its own.") % {
            "name": scenario["name"], "line": first,
        }  # fmt: skip


def as_csv(rows: Sequence[Scenario]) -> str:
    """Format rows as `parse` reads them."""
    if not rows:
        return ""
    variables = variables_of(rows)
    cells = [
        [
            row["name"],
            row["scenario"],
            row["persona"],
            *(row["variables"].get(each, "") for each in variables),
        ]
        for row in rows
    ]
    return csv_text([[*COLUMNS, *variables], *cells])


def variables_of(rows: Iterable[Scenario]) -> list[str]:
    """Names of the further columns, in their order in the rows."""
    return list(dict.fromkeys(name for row in rows for name in row["variables"]))


def prompt_columns(row: Scenario) -> tuple[tuple[str, str], ...]:
    """Name and value of each column of a row, for system prompts."""
    known = ("name", row["name"]), ("scenario", row["scenario"]), ("persona", row["persona"])
    return (*known, *row["variables"].items())


def situation_of(study: Study, row: Scenario | None) -> Scenario | None:
    """The person's situation as a page shows it: the row, or the scenario of the whole study."""
    if row or not study.scenario:
        return row
    return Scenario(name="", scenario=study.scenario, persona="", variables={})
