"""Context sets as files: JSON Lines, CSV and plain text, parsed with line numbers, and written."""

import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.files.writing import csv_text
from evaluation.open_mtb import NEAR_DUPLICATE_OVERLAP
from evaluation.texts.lengths import MAX_TURN_CHARS
from evaluation.texts.similarity import TooAlikeError, near_duplicates
from turnwise.contexts.tables import (
    MAX_MATERIAL,
    MAX_ROWS,
    MAX_TURNS,
    MOST_MATERIAL,
    FileRefusedError,
    Finding,
    Row,
    rows_of,
    text_problem,
)

if TYPE_CHECKING:  # the process that parses uploads has no models
    from turnwise.contexts.models import Context

ENDINGS = {"jsonl": "jsonl", "ndjson": "jsonl", "csv": "csv", "txt": "txt", "tsv": "txt", "xlsx": "xlsx"}
PROMPTS = ("prompt", "question", "instruction")
"""Columns or keys with a context of one turn; the first that a file has counts."""

# Limit of contexts compared with each other: this many take seconds, ten times as many take minutes.
MOST_COMPARED = 2000
MOST_COMPARISONS = 20_000_000  # the open benchmark with its 1,477 contexts needs 1.6 million

_FIELDS = {"id", "turns", "category", "language", "consistency", "extends", "material", *PROMPTS}
_KEY = re.compile(r"[\w.:/@+-]{1,100}")
_LANGUAGE = re.compile(r"[A-Za-z]{2,3}(-[A-Za-z0-9]{2,6})?")
_SPEAKER = re.compile(r"([AB])\s*:\s*(.*)")
_COLUMN = re.compile(r"turn_([1-9][0-9]?)")
_YES_OR_NO: dict[object, bool] = {
    True: True, False: False, None: False, "": False,
    "true": True, "yes": True, "1": True, "false": False, "no": False, "0": False,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class ContextRow:
    """A context of a file. Fields as in `turnwise.contexts.models.Context`."""

    line: int
    key: str
    turns: tuple[str, ...]
    category: str
    language: str
    consistency: bool
    extends: str
    material: tuple[str, ...] = ()


@dataclass(slots=True)
class Parsed:
    """Content of a file: contexts, problems that forbid the import, and notes that do not."""

    rows: list[ContextRow] = field(default_factory=list)
    problems: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    unknown: dict[str, int] = field(default_factory=dict)
    """Unknown fields, each with its first line; they are ignored."""

    @property
    def may_be_imported(self) -> bool:
        return bool(self.rows) and not self.problems


def ending_of(name: str) -> str:
    """Format of a file by its name.

    Raises:
        FileRefusedError: the format is not supported.
    """
    ending = name.lower().rpartition(".")[2]
    if ending not in ENDINGS:
        raise FileRefusedError(
            _("“%(name)s” does not end in any of .%(endings)s. Save it in one of these formats.")
            % {"name": name[-60:], "endings": ", .".join(ENDINGS)}
        )
    return ENDINGS[ending]


def parse(text: str, ending: str, *, language: str) -> Parsed:
    """Parse a file's contexts. `language` is for contexts that name none."""
    parsed = Parsed()
    rows = _text_rows(text) if ending == "txt" else rows_of(text, ending)
    for row in rows:
        if isinstance(row, Finding):
            parsed.problems.append(row)
        elif len(parsed.rows) >= MAX_ROWS:
            parsed.problems.append(Finding(row.line, f"More than {MAX_ROWS:,} contexts. Split the file."))
            break
        else:
            _take(parsed, row, language)
    _check_keys(parsed)
    _check_extensions(parsed)
    parsed.problems.sort(key=lambda problem: problem.line)
    parsed.notes += [*_unknown_fields(parsed), *_duplicates(parsed.rows)]
    return parsed


def _take(parsed: Parsed, row: Row, language: str) -> None:
    fields = row.fields
    for name in fields:
        if name not in _FIELDS and not _COLUMN.fullmatch(name) and len(parsed.unknown) < 20:
            parsed.unknown.setdefault(name, row.line)
    turns, problems = _turns(fields)
    key = str(fields.get("id") or "").strip() or content_key(turns)
    context = ContextRow(
        row.line,
        key,
        turns,
        str(fields.get("category") or "").strip(),
        str(fields.get("language") or "").strip() or language,
        _consistency(fields.get("consistency")) or False,
        str(fields.get("extends") or "").strip(),
        _material(fields.get("material")),
    )
    problems += _value_problems(context, fields.get("consistency"))
    parsed.problems += [Finding(row.line, problem) for problem in problems]
    if not problems:
        parsed.rows.append(context)


def _turns(fields: dict[str, object]) -> tuple[tuple[str, ...], list[str]]:
    texts = fields["turns"] if "turns" in fields else _turn_columns(fields)
    if not texts:
        texts = [fields[name] for name in PROMPTS if fields.get(name)][:1]
    if not isinstance(texts, list) or not texts:
        return (), [
            "There are no turns. Give “turns” as a list of texts, columns turn_1, turn_2, …, or a “prompt”."
        ]
    if len(texts) > MAX_TURNS:
        return (), [f"There are {len(texts)} turns, more than {MAX_TURNS}."]
    problems = [
        text_problem(turn, limit=MAX_TURN_CHARS, what=f"Turn {number}")
        for number, turn in enumerate(texts, 1)
    ]
    return tuple(str(turn).strip() for turn in texts), [problem for problem in problems if problem]


def _turn_columns(fields: dict[str, object]) -> list[object]:
    """Texts of the columns turn_1, turn_2, … without empty ones at the end."""
    numbered = {int(match[1]): fields[name] for name in fields if (match := _COLUMN.fullmatch(name))}
    last = max((number for number, text in numbered.items() if str(text).strip()), default=0)
    return [numbered.get(number, "") for number in range(1, last + 1)]


def _material(value: object) -> tuple[str, ...]:
    """Reading sentences: a list, or in a table the lines of one cell."""
    texts = value if isinstance(value, list) else str(value or "").split("\n")
    return tuple(str(each).strip() for each in texts if str(each).strip())


def _consistency(value: object) -> bool | None:
    folded = value.strip().lower() if isinstance(value, str) else value
    return _YES_OR_NO.get(folded) if isinstance(folded, str | bool | None) else None


def _value_problems(context: ContextRow, consistency: object) -> list[str]:
    problems = []
    if not _KEY.fullmatch(context.key):
        problems.append(
            f"id “{context.key[:40]}” cannot be used. Take up to 100 letters, digits and . _ - : / @ +"
        )
    if context.category and (problem := text_problem(context.category, limit=60, what="category")):
        problems.append(problem)
    if len(context.material) > MOST_MATERIAL:
        problems.append(
            f"There are {len(context.material)} sentences of material, more than {MOST_MATERIAL}."
        )
    for number, sentence in enumerate(context.material, 1):
        if problem := text_problem(sentence, limit=MAX_MATERIAL, what=f"Sentence {number} of the material"):
            problems.append(problem)
    if not _LANGUAGE.fullmatch(context.language) or len(context.language) > 10:
        problems.append(f"language “{context.language[:20]}” is not a code such as en, zh or pt-BR.")
    if _consistency(consistency) is None:
        problems.append(f"consistency is “{str(consistency)[:20]}”. Write true or false.")
    return problems


def content_key(turns: Sequence[str]) -> str:
    """Id for a context without one; the same turns always get the same id."""
    return "c-" + hashlib.sha256("\t".join(turns).encode()).hexdigest()[:12]


def _text_rows(text: str) -> Iterator[Row | Finding]:
    """Rows of plain text: a context per line, turns separated by tabs; or blocks of A: and B: lines."""
    lines = text.split("\n")
    first = next(line for line in lines if line.strip())
    if _SPEAKER.match(first.strip()):
        yield from _dialogue_rows(lines)
        return
    for number, line in enumerate(lines, start=1):
        if line.strip():
            yield Row(number, {"turns": [*line.strip("\r").split("\t")]})


def _dialogue_rows(lines: Iterable[str]) -> Iterator[Row | Finding]:
    turns: list[str] = []
    previous, start = "", 1
    for number, line in enumerate([*lines, ""], start=1):
        spoken = _SPEAKER.match(line.strip())
        if not line.strip():
            if turns:
                yield Row(start, {"turns": turns})
            turns, previous = [], ""
        elif spoken is None:
            yield Finding(number, "This line begins with neither A: nor B:. Put each turn on one line.")
        else:
            if spoken[1] == previous:
                yield Finding(number, f"{previous} speaks twice in a row. Join the two turns into one.")
            start = start if turns else number
            turns, previous = [*turns, spoken[2]], spoken[1]


def _check_keys(parsed: Parsed) -> None:
    first: dict[str, int] = {}
    for row in parsed.rows:
        if row.key in first:
            why = "has the same turns as" if row.key.startswith("c-") else f"has the id {row.key} of"
            parsed.problems.append(
                Finding(row.line, f"This context {why} line {first[row.key]}. Remove one, or change its id.")
            )
        first.setdefault(row.key, row.line)


def _check_extensions(parsed: Parsed) -> None:
    by_key = {row.key: row for row in parsed.rows}
    for row in parsed.rows:
        parent = by_key.get(row.extends)
        if row.extends and (parent is None or parent.turns != row.turns[:-1]):
            say = f"It extends {row.extends[:40]}, but that is not the same context without its last turn."
            parsed.problems.append(Finding(row.line, say))


def _unknown_fields(parsed: Parsed) -> Iterator[Finding]:
    for name, line in parsed.unknown.items():
        yield Finding(line, f"The field “{name[:40]}” is not known and is left out.")


def _duplicates(rows: Sequence[ContextRow]) -> Iterator[Finding]:
    """Notes about contexts with the same turns, or with almost the same last turn."""
    first: dict[tuple[str, ...], int] = {}
    for row in rows:
        if row.turns in first:
            yield Finding(row.line, f"The same turns as in line {first[row.turns]}.")
        first.setdefault(row.turns, row.line)
    distinct = [row for row in rows if first[row.turns] == row.line]
    if len(distinct) > MOST_COMPARED:
        yield Finding(1, f"Near duplicates are looked for in sets of up to {MOST_COMPARED:,} contexts only.")
        return
    try:
        pairs = near_duplicates(
            [row.turns[-1] for row in distinct], NEAR_DUPLICATE_OVERLAP, most=MOST_COMPARISONS
        )
    except TooAlikeError:
        yield Finding(1, "Near duplicates are not looked for: too many contexts end in much the same words.")
        return
    for pair in pairs:
        one, other = distinct[pair.first], distinct[pair.second]
        yield Finding(
            other.line,
            f"Ends almost like line {one.line} ({pair.overlap:.0%} of the letters): “{other.turns[-1][:80]}”",
        )


def content_hash(rows: Iterable[ContextRow]) -> str:
    """SHA-256 of all stored fields of the contexts, in order."""
    digest = hashlib.sha256()
    for row in rows:
        stored = [row.key, row.turns, row.category, row.language, row.consistency, row.extends]
        stored += (
            [row.material] if row.material else []
        )  # left out if empty, so that earlier hashes stay valid
        digest.update(json.dumps(stored, ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()


def counts(rows: Iterable[ContextRow]) -> dict[str, list[tuple[str, int]]]:
    """Numbers of contexts by turns, category, language and consistency, for the preview."""
    rows = list(rows)
    return {
        "turns": [
            (ngettext("%(n)d turn", "%(n)d turns", n) % {"n": n}, of)
            for n, of in sorted(Counter(len(row.turns) for row in rows).items())
        ],
        "category": sorted(Counter(row.category or "none" for row in rows).items()),
        "language": sorted(Counter(row.language for row in rows).items()),
        "consistency": sorted(Counter("yes" if row.consistency else "no" for row in rows).items()),
    }


def jsonl_lines(contexts: "Iterable[Context]") -> Iterator[str]:
    for context in contexts:
        fields = {
            "id": context.key,
            "turns": context.turns,
            "category": context.category,
            "language": context.language,
            "consistency": context.consistency,
            "extends": context.extends or None,
            **({"material": context.material} if context.material else {}),
        }
        yield json.dumps(fields, ensure_ascii=False) + "\n"


def csv_lines(contexts: "Sequence[Context]") -> Iterator[str]:
    longest = max((len(context.turns) for context in contexts), default=1)
    columns = [f"turn_{number}" for number in range(1, longest + 1)]
    has_material = any(context.material for context in contexts)
    read = ["material"] if has_material else []
    yield csv_text([["id", "category", "language", "consistency", "extends", *read, *columns]])
    for context in contexts:
        cells = [context.key, context.category, context.language, context.consistency]
        turns = context.turns + [""] * (longest - len(context.turns))
        sentences = ["\n".join(context.material)] if has_material else []
        yield csv_text([[*cells, context.extends, *sentences, *turns]])


def text_lines(contexts: "Iterable[Context]") -> Iterator[str]:
    """Yield contexts as lines with tabs between turns; other white space becomes plain spaces."""
    for context in contexts:
        yield "\t".join(" ".join(turn.split()) for turn in context.turns) + "\n"
