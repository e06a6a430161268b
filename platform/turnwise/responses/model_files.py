"""Files with the responses of several models: a row for each response, or a column for each model.

prompt,model,response          prompt,model_a,model_b
Hi!,a,Hello.                   Hi!,Hello.,Good day.

`python -m turnwise.responses.model_files ENDING` parses such a file in a process of its own, like `files`.
"""

import json
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from django.conf import settings

from turnwise.contexts.reading import ParsedJSON, run_reader, timeout_finding
from turnwise.contexts.tables import Finding, Row, rows_of
from turnwise.responses import files

if TYPE_CHECKING:
    from turnwise.contexts.models import ContextSetVersion

MODEL_COLUMNS = ("model", "system")
PROMPT_COLUMNS = ("prompt", "context", "question", "instruction")
MOST_MODELS = 30
_BESIDE = {"id", "repetition", "language", "turns", *files.EXPORTED, *PROMPT_COLUMNS} - {*MODEL_COLUMNS}


@dataclass(slots=True)
class ModelFile:
    """Parsed responses by the model that gave them, in order of appearance."""

    models: dict[str, files.Parsed] = field(default_factory=dict)
    rest: list[Finding] = field(default_factory=list)
    """Problems of rows that belong to no model."""

    @property
    def may_be_imported(self) -> bool:
        return bool(self.models) and not self.problems

    @property
    def problems(self) -> list[Finding]:
        found = [*self.rest, *(each for parsed in self.models.values() for each in parsed.problems)]
        return sorted(found, key=lambda problem: problem.line)

    @property
    def notes(self) -> list[Finding]:
        return [each for parsed in self.models.values() for each in parsed.notes]

    @property
    def repetitions(self) -> int:
        return max((parsed.repetitions for parsed in self.models.values()), default=0)

    @property
    def responses(self) -> int:
        return sum(len(parsed.responses) for parsed in self.models.values())


def names_models(text: str, ending: str) -> bool:
    """True if the first row of a file names a model, or has several columns that could be models."""
    first = next((row for row in rows_of(text, ending) if isinstance(row, Row)), None)
    if first is None:
        return False
    return any(first.fields.get(name) for name in MODEL_COLUMNS) or bool(_wide_models(first.fields))


def parse_models(
    text: str,
    ending: str,
    keys: Mapping[str, int],
    prompts: Mapping[str, str],
    languages: Mapping[str, str] | None = None,
) -> ModelFile:
    """Parse responses of several models and check each model: each context exactly once in a repetition.

    Args:
        text: of the file.
        ending: "jsonl" or "csv".
        keys: primary key of each context of the version by its key.
        prompts: keys of contexts of one turn by that turn.
        languages: languages of the contexts by key.
    """
    found = ModelFile()
    for row in rows_of(text, ending):
        if isinstance(row, Finding):
            found.rest.append(row)
            continue
        for model, response in _responses_of(row):
            if not model:
                found.rest.append(Finding(row.line, "The row names no model. Put its name in “model”."))
            elif model not in found.models and len(found.models) >= MOST_MODELS:
                found.rest.append(Finding(row.line, f"More than {MOST_MODELS} models. Split the file."))
                return found
            else:
                parsed = found.models.setdefault(model, files.Parsed())
                files.take(parsed, Row(row.line, _with_context(response, keys, prompts)), keys)
    for model, parsed in found.models.items():
        parsed.problems = [Finding(each.line, f"{model}: {each.say}") for each in parsed.problems]
        parsed.problems += [
            Finding(each.line, f"{model}: {each.say}") for each in files.lacking(parsed, keys)
        ]
        parsed.notes += files.wrong_languages(parsed, keys, languages or {})
    if not found.models and not found.rest:
        found.rest.append(Finding(1, "There is no response. Give columns “prompt”, “model” and “response”."))
    return found


def _responses_of(row: Row) -> Iterator[tuple[str, dict[str, object]]]:
    """Yield the row's responses with their models: one, or one per column of a model."""
    fields = row.fields
    if "response" in fields:
        model = next((fields[name] for name in MODEL_COLUMNS if fields.get(name)), "")
        yield str(model).strip()[:120], fields
        return
    models = _wide_models(fields)
    if not models:
        yield "", fields
    beside = {name: value for name, value in fields.items() if name not in models}
    for model in models:
        yield model[:120], beside | {"response": fields[model]}


def _wide_models(fields: Mapping[str, object]) -> list[str]:
    """Columns of a table that has a column for each model."""
    if "response" in fields or not any(name in fields for name in PROMPT_COLUMNS):
        return []
    return [name for name in fields if name and name not in _BESIDE and name not in MODEL_COLUMNS]


def _with_context(
    fields: Mapping[str, object], keys: Mapping[str, int], prompts: Mapping[str, str]
) -> dict[str, object]:
    """Fields with the key of the context in “context”, found by the text of the prompt if need be."""
    given = next((str(fields[name]).strip() for name in PROMPT_COLUMNS if fields.get(name)), "")
    by_id = str(fields.get("id") or "").strip()
    key = next((each for each in (given, prompts.get(given, ""), by_id) if each in keys), given)
    return {**fields, "context": key}


def parse_in_subprocess(
    text: str,
    ending: str,
    keys: Mapping[str, int],
    prompts: Mapping[str, str],
    languages: Mapping[str, str],
) -> ParsedJSON:
    """Parse a file in another process; a timeout is the file's only problem."""
    given = {"text": text, "keys": dict(keys), "prompts": dict(prompts), "languages": dict(languages)}
    parsed = run_reader("turnwise.responses.model_files", [ending], given)
    return _as_json(ModelFile(rest=[timeout_finding()])) if parsed is None else parsed


def parse_for(version: "ContextSetVersion", text: str, ending: str, system: str) -> ParsedJSON:
    """Parse a file of responses to the contexts of a version in another process.

    Args:
        version: of a context set.
        text: the file.
        ending: "jsonl" or "csv".
        system: of all responses; empty: the file names its models.
    """
    contexts = list(version.contexts.values_list("key", "pk", "language", "turns"))
    keys = {key: pk for key, pk, *_ in contexts}
    languages = {key: language for key, _pk, language, _turns in contexts}
    if system:
        parsed = files.parse_in_subprocess(text, ending, keys, languages)
        return {"models": {system: parsed}, "rest": []}
    return parse_in_subprocess(text, ending, keys, _prompts(contexts), languages)


def _prompts(contexts: list[tuple[str, int, str, list[str]]]) -> dict[str, str]:
    """Keys of contexts of one turn by its text, without texts of several contexts."""
    texts = [(turns[0].strip(), key) for key, _pk, _language, turns in contexts if len(turns) == 1]
    counts = Counter(text for text, _ in texts)
    return {text: key for text, key in texts if counts[text] == 1}


def _as_json(found: ModelFile) -> ParsedJSON:
    rest = [{"line": each.line, "say": each.say} for each in found.rest]
    return {"models": {model: files.as_json(each) for model, each in found.models.items()}, "rest": rest}


def from_json(values: ParsedJSON) -> ModelFile:
    """Build a parsed file from the JSON of `parse_in_subprocess`."""
    models = {model: files.parsed_from_json(each) for model, each in values["models"].items()}
    return ModelFile(models, [Finding(**each) for each in values["rest"]])


def main() -> None:
    settings.configure(USE_I18N=False)  # no app is needed, and these pages are in English
    given: dict[str, Any] = json.load(sys.stdin)
    found = parse_models(given["text"], sys.argv[1], given["keys"], given["prompts"], given["languages"])
    json.dump(_as_json(found), sys.stdout)


if __name__ == "__main__":
    main()
