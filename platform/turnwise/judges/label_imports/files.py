"""Files of a judge's labels as tables: CSV, Excel, JSON Lines, and logs of inspect_ai.

`python -m turnwise.judges.label_imports.files ENDING` reads a file in a process of its own, since the process
that serves pages serves workers, too. The format of logs: https://inspect.aisi.org.uk/eval-logs.html.
"""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from evaluation.machine_judges.imported import LONGEST_REASON
from turnwise.contexts.reading import ParsedJSON, run_reader, timeout_finding
from turnwise.contexts.tables import FileRefusedError, Finding, decoded, json_fault, rows_of
from turnwise.contexts.uploads import text_of_workbook
from turnwise.live.subprocesses import shape_of

LOG = "json"
MAX_LOG_BYTES = 50_000_000
"""Bytes of a log of inspect_ai, which has all messages beside the scores."""

ENDINGS = {"csv": "csv", "xlsx": "xlsx", "jsonl": "jsonl", "ndjson": "jsonl", "json": LOG}
MOST_COLUMNS = 500


@dataclass(slots=True)
class LabelTable:
    """Rows of a file.

    Attributes:
        header: names of the columns, in the order in which they first occur.
        rows: number of each row in the file, and its cells by column.
        problems: what prevents an import.
        is_log: whether rows are samples of a log, and their numbers those of the samples.
    """

    header: list[str] = field(default_factory=list)
    rows: list[tuple[int, dict[str, Any]]] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    is_log: bool = False


SHAPE = shape_of(LabelTable, Finding)
"""Fingerprint of the stored format, so that an upload of another version of the code is refused."""


def ending_of(name: str) -> str:
    """Format of a file by its name.

    Raises:
        FileRefusedError: another ending; says which ones are read.
    """
    ending = name.lower().rpartition(".")[2]
    if ending == "eval":
        raise FileRefusedError(
            _(
                "This log of inspect_ai is packed. Write it as JSON with “inspect log convert --to json”, "
                "and choose that file."
            )
        )
    if ending not in ENDINGS:
        raise FileRefusedError(
            _("“%(name)s” does not end in any of .%(endings)s. Save it as one of these.")
            % {"name": name[-60:], "endings": ", .".join(ENDINGS)}
        )
    return ENDINGS[ending]


def read_upload(data: bytes, ending: str) -> ParsedJSON:
    """Read an upload in other processes, as values that JSON can hold.

    Raises:
        FileRefusedError: the file cannot be read at all.
    """
    if ending == "xlsx":
        data, ending = text_of_workbook(data).encode(), "jsonl"
    elif ending == LOG:
        _refuse_large_log(data)
    else:
        data = decoded(data, too_large=_("Leave out the columns that are no labels.")).encode()
    found = run_reader("turnwise.judges.label_imports.files", [ending], data)
    return asdict(LabelTable(problems=[timeout_finding()])) if found is None else found


def _refuse_large_log(data: bytes) -> None:
    if len(data) > MAX_LOG_BYTES:
        raise FileRefusedError(
            _("The file has %(bytes)s bytes, more than %(most)s. Write only the scores to a CSV file.")
            % {"bytes": f"{len(data):,}", "most": f"{MAX_LOG_BYTES:,}"}
        )


def table_from_json(values: ParsedJSON) -> LabelTable:
    """Restore a table that was read in another process."""
    return LabelTable(
        values["header"],
        [(line, cells) for line, cells in values["rows"]],
        [Finding(**each) for each in values["problems"]],
        values["is_log"],
    )


def parsed(data: bytes, ending: str) -> LabelTable:
    """Parse a file of this format; problems are collected."""
    found = LabelTable(is_log=ending == LOG)
    rows = _samples(data) if found.is_log else rows_of(data.decode(), ending)
    names: dict[str, None] = {}
    for row in rows:
        if isinstance(row, Finding):
            found.problems.append(row)
            continue
        line, cells = (row.line, row.fields) if not isinstance(row, tuple) else row
        found.rows.append((line, {name: _short(value) for name, value in cells.items() if name}))
        names |= dict.fromkeys(found.rows[-1][1])
    found.header = list(names)
    if len(names) > MOST_COLUMNS:
        found.problems.append(
            Finding(1, f"The file has {len(names):,} columns. Leave out those that are no labels.")
        )
    if not found.rows and not found.problems:
        found.problems.append(Finding(1, "There are no rows. Choose a file with at least one label."))
    return found


def _short(value: Any) -> Any:
    return value[: LONGEST_REASON + 1] if isinstance(value, str) else value


def _samples(data: bytes) -> Iterator[Finding | tuple[int, dict[str, Any]]]:
    """Samples of a log of inspect_ai with their scores, numbered from 1."""
    try:
        log = json.loads(data)
    except (ValueError, RecursionError) as error:
        yield Finding(1, f"This is not JSON: {json_fault(error)}. Write the log again, or choose another.")
        return
    samples = log.get("samples") if isinstance(log, dict) else None
    if not isinstance(samples, list):
        yield Finding(
            1,
            "This is no log of inspect_ai with samples. Choose the whole log, or save rows of labels as JSON "
            "Lines (.jsonl).",
        )
        return
    for number, sample in enumerate(samples, 1):
        if not isinstance(sample, dict) or not isinstance(sample.get("scores"), dict):
            yield Finding(number, "This sample has no scores. Score the log, or leave the sample out.")
        else:
            yield number, _cells_of(sample)


def _cells_of(sample: dict[str, Any]) -> dict[str, Any]:
    cells = {"id": sample.get("id"), "epoch": sample.get("epoch")}
    for scorer, score in sample["scores"].items():
        if not isinstance(score, dict):
            continue
        value = score.get("value")
        parts = value if isinstance(value, dict) else {}
        cells |= {f"{scorer}.{key}": part for key, part in parts.items()}
        cells |= {} if parts else {str(scorer): value}
        cells |= {f"{scorer}.{name}": score[name] for name in ("answer", "explanation") if score.get(name)}
    return cells


def main() -> None:
    settings.configure(USE_I18N=False)  # no app is needed, and these pages are in English
    json.dump(asdict(parsed(sys.stdin.buffer.read(), sys.argv[1])), sys.stdout)


if __name__ == "__main__":
    main()
