"""Files of utterances: CSV or JSON Lines with a text, and what is known of it."""

import csv
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from chatbots.identity.labels import CATEGORIES, Label


class UtteranceError(ValueError):
    """A file that cannot be used; says where, what and what to do."""


@dataclass(frozen=True, slots=True)
class Utterance:
    """What somebody said.

    Attributes:
        text: as it was said; may be empty.
        label: None if it is not known.
        category: of the labelling guide; "" if it is not known.
        source: where it comes from; "" if it is not known.
    """

    text: str
    label: Label | None = None
    category: str = ""
    source: str = ""


def read_utterances(paths: Iterable[Path], *, labelled: bool) -> list[Utterance]:
    """The utterances of files, in order.

    Args:
        paths: CSV files with a header or, if they end in `.jsonl`, JSON Lines; columns `text`, `label`,
            `category`, `source`; others are passed over.
        labelled: whether each must have a label.

    Raises:
        UtteranceError: a file cannot be read, has no text or an unknown label; names the line.
    """
    found: list[Utterance] = []
    for path in paths:
        try:
            with path.open(newline="", encoding="utf-8-sig") as file:
                rows = _json_rows(path, file) if path.suffix == ".jsonl" else _csv_rows(path, file)
                found.extend(_utterance(where, row, labelled) for where, row in rows)
        except OSError as error:
            raise UtteranceError(
                f"{path}: {error.strerror}. Give the path of a CSV or .jsonl file."
            ) from None
        except UnicodeDecodeError as error:
            raise UtteranceError(
                f"{path}: byte {error.start} is not UTF-8. Save the file as UTF-8."
            ) from None
    if not found:
        raise UtteranceError(f"{', '.join(map(str, paths))}: no utterances. Give a file with some.")
    return found


def write_utterances(utterances: Sequence[Utterance], path: Path) -> None:
    """Write JSON Lines."""
    lines = (json.dumps(asdict(each), ensure_ascii=False) for each in utterances)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")


def labels_of(utterances: Iterable[Utterance]) -> list[Label]:
    """The labels of utterances that have one each."""
    return [label for each in utterances if (label := each.label) is not None]


def _csv_rows(path: Path, file: Iterable[str]) -> Iterator[tuple[str, Mapping[str, object]]]:
    reader = csv.DictReader(file, restkey="", restval="")
    if "text" not in (reader.fieldnames or ()):
        found = ", ".join(filter(None, reader.fieldnames or ())) or "nothing"
        raise UtteranceError(f"{path}, line 1: there is no column text. The header has: {found}.")
    for row in reader:
        yield f"{path}, line {reader.line_num}", row


def _json_rows(path: Path, file: Iterable[str]) -> Iterator[tuple[str, Mapping[str, object]]]:
    for number, line in enumerate(file, 1):
        where = f"{path}, line {number}"
        try:
            row = json.loads(line)
        except ValueError as error:
            raise UtteranceError(f"{where}: {error}. Write one JSON object a line.") from None
        if not isinstance(row, dict):
            raise UtteranceError(f'{where}: not a JSON object. Write one a line, as {{"text": ...}}.')
        yield where, row


def _utterance(where: str, row: Mapping[str, object], labelled: bool) -> Utterance:
    text, label = row.get("text"), row.get("label") or None
    if not isinstance(text, str):
        raise UtteranceError(f"{where}: text = {text!r} is not text. Fix it or leave the line out.")
    if label is None and labelled:
        raise UtteranceError(f"{where}: no label. Give p, a or n.")
    if label is not None and label not in set(Label):
        raise UtteranceError(f"{where}: label = {label!r} is unknown. Give p, a or n.")
    category = str(row.get("category") or row.get("justification_cat") or "")
    if label is not None and category not in CATEGORIES[Label(str(label))]:
        category = ""
    return Utterance(text, Label(str(label)) if label else None, category, str(row.get("source") or ""))
