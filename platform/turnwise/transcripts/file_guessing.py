"""Guesses of a file's format by its beginning, and what to say where the guess fails.

`python -m turnwise.transcripts.file_guessing` guesses the format of a packed file in a process of its own,
because such a file may be large once it is unpacked. Pure, like `file_reading`.
"""

import json
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from itertools import islice
from typing import Any, BinaryIO

from evaluation.files.writing import csv_text
from turnwise.contexts.packed_files import Kind, PackedFileError, kind_of, parquet_records, workbook_rows
from turnwise.live.subprocesses import run_module
from turnwise.transcripts.importers import FORMATS, guessed
from turnwise.transcripts.importers.json_records import first_record
from turnwise.transcripts.importers.turn_table import mark_of

HEAD = 65_536
"""Bytes of a file by which its format is guessed."""

_MODULE = "turnwise.transcripts.file_guessing"
_ROWS = 5
_NAMED = 12
_NEAR = 2
_MARKS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_CURES = {
    "old workbook": "It is an old workbook (.xls). Save it as .xlsx or CSV and upload that.",
    "inspect log": "It is a packed log of inspect_ai (.eval). Convert it with “inspect log convert FILE --to "
    "json --output-dir FOLDER” and upload that.",
    "zip": "It is an archive. Unpack it, and upload the file inside.",
}
_PROMPTS = {"prompt", "question", "instruction", "context"}
_RESPONSES = {"response", "answer", "completion", "output", "chosen", "rejected"}
_ELSEWHERE = (
    "It looks like prompts or responses, not conversations: import prompts under Contexts, and responses of "
    "models under Responses."
)


@dataclass(frozen=True, slots=True)
class FileSummary:
    """Summary of a file of which no format is known.

    Attributes:
        what: the kind of file and its keys or columns, as a sentence.
        near: formats that have some of these keys, each with what is missing, as sentences.
    """

    what: str
    near: tuple[str, ...] = ()


def head_of(file: BinaryIO) -> str:
    """Beginning of a file as text: of a workbook its first rows as CSV, of Parquet its first record as JSON.

    The file is then at its beginning again.

    Raises:
        PackedFileError: a packed file that cannot be read.
    """
    kind = kind_of(file)
    head = file.read(HEAD).decode(errors="ignore") if not kind else _unpacked_head(file, kind)
    file.seek(0)
    return head


def _unpacked_head(file: BinaryIO, kind: Kind) -> str:
    if kind == "workbook":
        rows = [row for _, row in islice(workbook_rows(file), _ROWS)]
        width = max(map(len, rows), default=0)
        return csv_text([row + [""] * (width - len(row)) for row in rows])
    if kind == "parquet":
        return json.dumps(next((record for _, record in parquet_records(file)), {}), ensure_ascii=False)
    raise PackedFileError(_CURES[kind])


def format_of(file: BinaryIO) -> str:
    """Key of the format that a file looks like, or ""; the file is then at its beginning again.

    Raises:
        PackedFileError: a packed file that cannot be read.
    """
    return guessed(head_of(file))


def format_in_subprocess(content: bytes) -> str:
    """Guess the format of a packed file in a subprocess.

    Raises:
        PackedFileError: it cannot be read.
        subprocess.SubprocessError: the process failed or took too long.
    """
    guess = json.loads(run_module(_MODULE, [], content))
    if guess["refusal"]:
        raise PackedFileError(guess["refusal"])
    return str(guess["format"])


def described(head: str) -> FileSummary:
    """Describe what a file has, by its beginning, and which formats come near."""
    head = head.removeprefix("\ufeff").lstrip()
    record = first_record(head)
    if record:
        keys = _keys_of(record)
        lines = "JSON whose first object has the keys" if head.startswith("[") else "JSON with the keys"
        return FileSummary(f"The file has {lines} {_named(record)}.", (*_elsewhere(keys), *_near(keys)))
    if mark := mark_of(head):
        names = [name.strip().strip('"') for name in head.split("\n", 1)[0].split(mark)]
        return FileSummary(
            f"The file has columns separated by {_MARKS[mark]}: {_named(names)}.",
            (*_elsewhere({*names}), *_near({*names})),
        )
    first = next((line.strip() for line in head.split("\n") if line.strip()), "")
    return FileSummary(f"The file is neither JSON nor a table; its first line is “{first[:80]}”.")


def looks_like_prompts(keys: Iterable[str]) -> bool:
    """True if these keys or columns are those of prompts or responses."""
    folded = {key.casefold().strip() for key in keys}
    return bool(folded & _PROMPTS) or bool(folded & _RESPONSES)


def _elsewhere(keys: set[str]) -> Iterator[str]:
    if looks_like_prompts(keys):
        yield _ELSEWHERE


def _keys_of(record: dict[str, Any]) -> set[str]:
    """Keys of a record and of the first object in each of its lists."""
    inner = [value[0] for value in record.values() if isinstance(value, list) and value]
    inner += [value for value in record.values() if isinstance(value, dict)]
    return {*record, *(key for each in inner if isinstance(each, dict) for key in each)}


def _near(keys: set[str]) -> Iterator[str]:
    """Sentences about the formats that share most keys."""
    shared = [(len(keys & {*each.keys}), each) for each in FORMATS.values() if keys & {*each.keys}]
    for _, each in sorted(shared, key=lambda pair: -pair[0])[:_NEAR]:
        has = [key for key in each.keys if key in keys]
        lacks = [key for key in each.keys if key not in keys]
        yield f"“{each.title}” has {_named(has)} as well" + (f", and also {_named(lacks)}." if lacks else ".")


def _named(names: Iterable[str]) -> str:
    names = list(names)
    return ", ".join(f"“{name[:40]}”" for name in names[:_NAMED]) + (", …" if len(names) > _NAMED else "")


def main() -> None:
    guess = {"format": "", "refusal": ""}
    try:
        guess["format"] = format_of(BytesIO(sys.stdin.buffer.read()))
    except PackedFileError as error:
        guess["refusal"] = str(error)
    json.dump(guess, sys.stdout)


if __name__ == "__main__":
    main()
