"""Logs of inspect_ai as JSON: the messages of each sample.

{"version": 2, "status": "success", "eval": {"task": "t", "model": "m"}, "samples": [{"id": 1, "epoch": 1,
 "messages": [{"role": "user", "content": "Hi!"}, …], "scores": {"accuracy": {"value": 1}}}]}
"""

import json
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from turnwise.transcripts.importers.formats import (
    Conversation,
    Problem,
    Source,
    UnreadableError,
    importer,
)
from turnwise.transcripts.importers.json_lines import after_mark, decoded_at, skip_space
from turnwise.transcripts.importers.json_records import first_record
from turnwise.transcripts.importers.message_roles import of_messages

_ATTACHED = "attachment://"
_LONGEST_DETAIL = 200


def _looks_like(head: str) -> bool:
    return {"version", "status", "eval"} <= first_record(head).keys()


@importer(
    "inspect",
    title="Logs of inspect_ai (JSON)",
    looks_like=_looks_like,
    keys=("eval", "samples", "status", "version"),
)
def read(source: Source) -> Iterator[Conversation | Problem]:
    """Read one conversation per sample; the model is the speaker in the assistant's place.

    Scores of the log are details of the conversation, not judgments of the study.

    Raises:
        UnreadableError: the file is no JSON from some line on, or has no samples.
    """
    model, has_samples = "", False
    for line, key, value in _parts(source.text()):
        if key == "eval" and isinstance(value, dict):
            model = str(value.get("model") or "")
        elif key == "samples":
            has_samples = True
            yield _sample(line, value, model)
    if not has_samples:
        raise UnreadableError(1, "The log has no samples. Choose the log of an evaluation that has ended.")


def _parts(text: str) -> Iterator[tuple[int, str, Any]]:
    """Members of the outermost object with their lines; the members of “samples” one by one.

    Samples are decoded when they are reached, because a log is large.
    """
    position = _after(text, skip_space(text, 0), "{")
    while not text.startswith("}", position):
        begins = position
        key, position = decoded_at(text, 0, position)
        position = _after(text, skip_space(text, position), ":")
        if key == "samples" and text.startswith("[", position):
            position = yield from _samples(text, position)
        else:
            value, position = decoded_at(text, 0, position)
            yield _line(text, begins), str(key), value
        position = _next(text, position, "}")


def _samples(text: str, position: int) -> Generator[tuple[int, str, Any], None, int]:
    """Yield the samples of the list at a position; returns the position behind it."""
    position = counted = _after(text, position, "[")
    line = _line(text, position)
    while not text.startswith("]", position):
        line, counted = line + text.count("\n", counted, position), position
        value, position = decoded_at(text, 0, position)
        yield line, "samples", value
        position = _next(text, position, "]")
    return position + 1


def _after(text: str, position: int, mark: str) -> int:
    return after_mark(text, 0, position, mark, what="a log of inspect_ai")


def _next(text: str, position: int, end: str) -> int:
    """Position of the next member, or of the end."""
    position = skip_space(text, position)
    return position if text.startswith(end, position) else _after(text, position, ",")


def _line(text: str, position: int) -> int:
    return 1 + text.count("\n", 0, position)


def _sample(line: int, sample: object, model: str) -> Conversation | Problem:
    if not isinstance(sample, dict):
        return Problem(line, "This sample is not a JSON object.")
    messages = sample.get("messages") or _of_input(sample)
    attachments = sample.get("attachments")
    if isinstance(attachments, dict) and attachments:
        messages = _with_attachments(messages, attachments)
    output = sample.get("output")
    model = str((isinstance(output, dict) and output.get("model")) or model)[:120]
    epoch = sample.get("epoch", 1)
    id_ = str(sample.get("id", f"line {line}"))[:180]
    return of_messages(
        id_ if epoch == 1 else f"{id_}, epoch {str(epoch)[:10]}",
        line,
        messages,
        names={"assistant": model} if model.strip() else {},
        details={"model": model, **_scores(sample.get("scores"))},
    )


def _of_input(sample: Mapping[str, Any]) -> list[Any]:
    """Messages of a sample without any: its input and its output."""
    given = sample.get("input")
    messages = [{"role": "user", "content": given}] if isinstance(given, str) else given
    output = sample.get("output")
    choices = output.get("choices") if isinstance(output, dict) else None
    first = choices[0] if isinstance(choices, list) and choices else None
    reply = first.get("message") if isinstance(first, dict) else None
    return [*(messages if isinstance(messages, list) else []), *([reply] if reply else [])]


def _with_attachments(value: Any, attachments: Mapping[str, Any]) -> Any:
    """Messages with the texts that the log keeps apart as attachments."""
    if isinstance(value, str) and value.startswith(_ATTACHED):
        return attachments.get(value.removeprefix(_ATTACHED), value)
    if isinstance(value, list):
        return [_with_attachments(each, attachments) for each in value]
    if isinstance(value, dict):
        return {key: _with_attachments(each, attachments) for key, each in value.items()}
    return value


def _scores(scores: object) -> dict[str, str]:
    """Values of the scores by “score NAME”, cut to what a page shows."""
    if not isinstance(scores, dict):
        return {}
    values = {name: each.get("value") for name, each in scores.items() if isinstance(each, dict)}
    return {
        f"score {name[:_LONGEST_DETAIL]}": (
            value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        )[:_LONGEST_DETAIL]
        for name, value in values.items()
    }
