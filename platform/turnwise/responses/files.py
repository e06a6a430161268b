"""Files of responses: parsed with line numbers against the contexts of a version, and written.

`python -m turnwise.responses.files ENDING` parses a file in a process of its own, without models, because the
process that
serves pages serves workers, too.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from django.conf import settings

from evaluation.files.writing import csv_text
from evaluation.report.bundles.columns import GENERATION
from evaluation.texts.cleaning import contradiction
from evaluation.texts.lengths import MAX_REPLY_CHARS
from evaluation.texts.personal_data import Redactor
from turnwise.contexts.reading import ParsedJSON, run_reader, timeout_finding
from turnwise.contexts.tables import Finding, Row, rows_of, text_problem
from turnwise.live.subprocesses import shape_of

if TYPE_CHECKING:
    from turnwise.responses.models import Response


GENERATION_COLUMNS = tuple(column.name for column in GENERATION)
ENDINGS = {"jsonl": "jsonl", "ndjson": "jsonl", "csv": "csv", "xlsx": "xlsx"}
# Exported columns that are not imported.
EXPORTED = {
    "system", "source", "category", "context_turns", "latency_ms", "seed", "created_at",
    *GENERATION_COLUMNS, "pilot",
}  # fmt: skip
_FIELDS = {"context", "response", "repetition"}
MOST_REPETITIONS = 20


@dataclass(slots=True)
class Parsed:
    """Content of a file of responses, with its problems."""

    responses: dict[tuple[int, int], str] = field(default_factory=dict)
    """Texts by primary key of the context and repetition."""
    problems: list[Finding] = field(default_factory=list)
    notes: list[Finding] = field(default_factory=list)
    lines: dict[tuple[int, int], int] = field(default_factory=dict)

    @property
    def may_be_imported(self) -> bool:
        return bool(self.responses) and not self.problems

    @property
    def repetitions(self) -> int:
        return max((repetition for _, repetition in self.responses), default=0)


def parse(
    text: str, ending: str, keys: Mapping[str, int], languages: Mapping[str, str] | None = None
) -> Parsed:
    """Parse responses and check them: each context exactly once in each repetition.

    `keys` has the primary key of each context of the version by its key; `languages` has the language by key.
    """
    parsed = Parsed()
    unknown: dict[str, int] = {}
    for row in rows_of(text, ending, needed=("context", "response")):
        if isinstance(row, Finding):
            parsed.problems.append(row)
            continue
        if str(row.fields.get("pilot", "")).lower() == "true":
            continue  # responses of a pilot are not imported
        take(parsed, row, keys)
        for name in row.fields.keys() - _FIELDS - EXPORTED:
            unknown.setdefault(name, row.line)
    parsed.problems += lacking(parsed, keys)
    parsed.notes += wrong_languages(parsed, keys, languages or {})
    parsed.notes += [
        Finding(line, f"The field “{name[:40]}” is not known and is left out.")
        for name, line in sorted(unknown.items())[:20]
    ]
    return parsed


def wrong_languages(
    parsed: Parsed, keys: Mapping[str, int], languages: Mapping[str, str]
) -> Iterator[Finding]:
    """Notes about responses whose script contradicts the language of their context."""
    by_context = {keys[key]: language for key, language in languages.items()}
    lines: dict[tuple[str, str], list[int]] = {}
    for which, text in parsed.responses.items():
        language = by_context.get(which[0], "")
        if language and (why := contradiction([text], language)):
            lines.setdefault((why, language), []).append(parsed.lines[which])
    for (why, language), at in sorted(lines.items()):
        n = f"{len(at):,} response is" if len(at) == 1 else f"{len(at):,} responses are"
        yield Finding(
            min(at),
            f"{n} {why}, though the language of the context is “{language}”: workers who read that judge "
            f"{'it' if len(at) == 1 else 'them'}. This is the first.",
        )


def take(parsed: Parsed, row: Row, keys: Mapping[str, int]) -> None:
    """Add a row's response to those of its system, or its problems."""
    problems = _problems(row.fields, keys)
    if not problems:
        which = keys[str(row.fields["context"]).strip()], _repetition(row.fields.get("repetition"))
        if which in parsed.lines:
            problems = [f"This context has a response in line {parsed.lines[which]} already. Remove one."]
        else:
            parsed.lines[which] = row.line
            parsed.responses[which] = str(row.fields["response"])
    parsed.problems += [Finding(row.line, problem) for problem in problems]


def _problems(fields: Mapping[str, object], keys: Mapping[str, int]) -> list[str]:
    problems = []
    key = str(fields.get("context") or "").strip()
    if key not in keys:
        problems.append(
            f"There is no context “{key[:40]}” in this version. Export the version to see its ids."
            if key
            else "There is no context. Name its id in the field “context”."
        )
    if "response" not in fields:
        problem = "There is no response. Put its text in the field “response”."
    else:
        problem = text_problem(fields["response"], limit=MAX_REPLY_CHARS, what="The response")
    if problem:
        problems.append(problem)
    if not 1 <= _repetition(fields.get("repetition")) <= MOST_REPETITIONS:
        problems.append(f"repetition is “{str(fields['repetition'])[:20]}”. Write 1 to {MOST_REPETITIONS}.")
    return problems


def _repetition(value: object) -> int:
    """The repetition as a number; 1 if none is given, 0 if it is invalid."""
    text = "1" if value in (None, "") else str(value).strip()
    return int(text) if text.isascii() and text.isdigit() and len(text) < 4 else 0


def lacking(parsed: Parsed, keys: Mapping[str, int]) -> Iterator[Finding]:
    """Problems: contexts without a response, by repetition. A system's score needs all of them."""
    if not parsed.responses:
        return
    last = max(parsed.lines.values())
    for repetition in range(1, parsed.repetitions + 1):
        missing = [key for key, pk in keys.items() if (pk, repetition) not in parsed.responses]
        if missing:
            named = ", ".join(missing[:5]) + (", …" if len(missing) > 5 else "")
            yield Finding(
                last, f"Repetition {repetition} lacks {len(missing):,} of {len(keys):,} contexts: {named}"
            )


COLUMNS = (
    "context", "repetition", "response", "system", "source", "category", "context_turns", "latency_ms",
    "seed", "created_at", *GENERATION_COLUMNS, "pilot",
)  # fmt: skip


def _fields(response: "Response", redactor: Redactor) -> dict[str, object]:
    context, run, generation = response.context, response.run, response.how
    return {
        "context": context.key,
        "repetition": response.repetition,
        "response": redactor(response.text),
        "system": run.system,
        "source": run.source,
        "category": context.category,
        "context_turns": len(context.turns),
        "latency_ms": response.latency_ms,
        "seed": response.seed,
        "created_at": response.created_at.isoformat(),
        **generation.exported(is_of_bot=bool(response.bot_version_id), redactor=redactor),
        "pilot": response.repetition > run.repetitions if response.author_id else None,
    }


def jsonl_lines(responses: "Iterable[Response]", redactor: Redactor) -> Iterator[str]:
    for response in responses:
        yield json.dumps(_fields(response, redactor), ensure_ascii=False) + "\n"


def csv_lines(responses: "Iterable[Response]", redactor: Redactor) -> Iterator[str]:
    yield csv_text([COLUMNS])
    for response in responses:
        yield csv_text([[_cell(value) for value in _fields(response, redactor).values()]])


def _cell(value: object) -> object:
    """A value for CSV: lists as JSON, empty lists as nothing."""
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False) if value else None
    return value


def parse_in_subprocess(
    text: str, ending: str, keys: Mapping[str, int], languages: Mapping[str, str]
) -> ParsedJSON:
    """Parse a file in another process; a timeout is the file's only problem."""
    given = {"text": text, "keys": dict(keys), "languages": dict(languages)}
    parsed = run_reader("turnwise.responses.files", [ending], given)
    return as_json(Parsed(problems=[timeout_finding()])) if parsed is None else parsed


def as_json(parsed: Parsed) -> ParsedJSON:
    """The parsed file in values that JSON can hold; its keys cannot be two numbers."""
    responses = [(*which, text, parsed.lines[which]) for which, text in parsed.responses.items()]
    return {
        "responses": responses,
        "problems": [asdict(each) for each in parsed.problems],
        "notes": [asdict(each) for each in parsed.notes],
    }


def parsed_from_json(values: ParsedJSON) -> Parsed:
    return Parsed(
        responses={(context, repetition): text for context, repetition, text, _ in values["responses"]},
        problems=[Finding(**each) for each in values["problems"]],
        notes=[Finding(**each) for each in values["notes"]],
        lines={(context, repetition): line for context, repetition, _, line in values["responses"]},
    )


SHAPE = shape_of(Parsed, Finding)
"""Fingerprint of the stored format, so that an upload of another version of the code is refused."""


def main() -> None:
    settings.configure(USE_I18N=False)  # no app is needed, and these pages are in English
    given = json.load(sys.stdin)
    found = parse(given["text"], sys.argv[1], given["keys"], given["languages"])
    json.dump(as_json(found), sys.stdout)


if __name__ == "__main__":
    main()
