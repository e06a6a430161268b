"""A study's conversations and responses with their scores, as logs of inspect_ai: one log for each system.

A log is the JSON of inspect_ai's EvalLog, version 2 (inspect.aisi.org.uk/eval-logs.html). Scores are given
in it already, so that nothing is asked of a model.
"""

import json
import tempfile
import zipfile
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from typing import IO, Any

from django.utils.text import slugify

from evaluation.protocols.facts import HUMAN
from turnwise.exports.chat_files.chats import HELD, Chat, Message, chats
from turnwise.exports.chat_files.scores import COUNTS, RATED, of_dialogues, rating, scores
from turnwise.exports.grouped_rows import grouped_rows
from turnwise.privacy.personal_data import redactor_for
from turnwise.studies.models import Study

_VERSION = 2  # of the format
_BATCH = 200
_CHUNK = 65_536
_IN_MEMORY = 1_000_000  # bytes of a log's samples, before they go to a file

# Conversations of the study, and those of other studies that were judged in it.
_WHICH = f"""({HELD} OR d.id IN (
       SELECT l.dialogue_id FROM labels_label AS l WHERE l.study_id = %(study)s
        UNION
       SELECT t.dialogue_id FROM labels_label AS l JOIN dialogues_turn AS t ON t.id = l.turn_id
        WHERE l.study_id = %(study)s))"""

_RESPONSES = f"""
SELECT r.id, c.key, r.repetition, run.system, c.turns, r.text, {RATED}
  FROM labels_label AS l
  JOIN responses_response AS r ON r.id = l.response_id
  JOIN responses_responserun AS run ON run.id = r.run_id
  JOIN contexts_context AS c ON c.id = r.context_id
 WHERE {COUNTS}
 ORDER BY r.id, l.id
"""


@dataclass(slots=True)
class _Log:
    """Log of a system that is being written.

    Attributes:
        samples: JSON of the samples so far, with commas between them.
        ids: how often each id of a sample was used.
        values: sum and number of the numeric scores, by name.
    """

    samples: IO[bytes]
    ids: dict[str, int] = field(default_factory=dict)
    values: dict[str, tuple[float, int]] = field(default_factory=dict)

    def add(self, id_: str, sample: Mapping[str, Any]) -> None:
        times = self.ids[id_] = self.ids.get(id_, 0) + 1
        unique = {"id": id_ if times == 1 else f"{id_} ({times})"}
        for name, score in sample["scores"].items():
            total, n = self.values.get(name, (0.0, 0))
            if isinstance(score["value"], float):
                self.values[name] = (total + score["value"], n + 1)
        comma = b",\n" if self.samples.tell() else b""
        self.samples.write(comma + json.dumps(unique | dict(sample), ensure_ascii=False).encode())

    @property
    def count(self) -> int:
        return sum(self.ids.values())


def inspect_logs(study: Study) -> Generator[bytes]:
    """A zip archive with one log for each system."""
    logs, now = dict[str, _Log](), datetime.now(UTC)
    with ExitStack() as files:
        for system, id_, sample in _samples(study):
            if system not in logs:
                logs[system] = _Log(files.enter_context(tempfile.SpooledTemporaryFile(_IN_MEMORY)))
            logs[system].add(id_, sample)
        archived = files.enter_context(tempfile.TemporaryFile())
        with zipfile.ZipFile(archived, "w", zipfile.ZIP_DEFLATED) as archive:
            for number, (system, log) in enumerate(logs.items(), start=1):
                head = _head(study, now, number, system, log)
                with archive.open(_name(study, now, number, system), "w", force_zip64=True) as entry:
                    _write(entry, head, log)
        archived.seek(0)
        while chunk := archived.read(_CHUNK):
            yield chunk


def _name(study: Study, now: datetime, number: int, system: str) -> str:
    """Name of a log's file; inspect_ai lists only files whose names begin with a time."""
    return f"{now:%Y-%m-%dT%H-%M-%S}+00-00_{study.code}_{number:02d}-{slugify(system)[:60] or 'system'}.json"


def _write(entry: IO[bytes], head: Mapping[str, Any], log: _Log) -> None:
    entry.write(json.dumps(head, ensure_ascii=False)[:-1].encode() + b', "samples": [\n')
    log.samples.seek(0)
    while chunk := log.samples.read(_CHUNK):
        entry.write(chunk)
    entry.write(b"\n]}\n")


def _head(study: Study, now: datetime, number: int, system: str, log: _Log) -> dict[str, Any]:
    """The log without its samples."""
    at = now.isoformat(timespec="seconds")
    key = f"turnwise-{study.code}-{number}"
    means = [
        {"name": name, "scorer": name, "scored_samples": n, "unscored_samples": log.count - n,
         "metrics": {"mean": {"name": "mean", "value": total / n}}}
        for name, (total, n) in log.values.items()
    ]  # fmt: skip
    return {
        "version": _VERSION,
        "status": "success",
        "eval": {
            "eval_id": key,
            "run_id": f"turnwise-{study.code}",
            "created": at,
            "task": f"turnwise/{study.code}",
            "task_id": key,
            "task_display_name": study.title,
            "dataset": {"name": study.title, "samples": log.count},
            "model": system,
            "config": {},
            "packages": {"turnwise": version("turnwise")},
            "metadata": {"scored_by": "people"},
        },
        "plan": {},
        "results": {"total_samples": log.count, "completed_samples": log.count, "scores": means},
        "stats": {"started_at": at, "completed_at": at},
    }


def _samples(study: Study) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield the system, the id and the rest of each sample."""
    yield from _conversations(study)
    yield from _responses(study)


def _conversations(study: Study) -> Iterator[tuple[str, str, dict[str, Any]]]:
    every = chats(study, _WHICH)
    while some := list(islice(every, _BATCH)):
        rated = of_dialogues(study, [chat.key for chat in some])
        for chat in some:
            system = chat.model or HUMAN
            metadata = {"language": chat.language, "origin": chat.origin}
            found = scores(rated.get(chat.key, ()))
            yield system, chat.id, _sample(system, inspect_messages(chat), found, metadata)


def _responses(study: Study) -> Iterator[tuple[str, str, dict[str, Any]]]:
    redactor = redactor_for(study)
    for rows in grouped_rows("inspect_responses", _RESPONSES, {"study": study.pk}):
        _, key, repetition, system, turns, text, *_ = rows[0]
        told = [*map(redactor, turns), redactor(text)]
        messages = [
            {"role": "assistant" if (len(told) - number) % 2 else "user", "content": each}
            for number, each in enumerate(told)
        ]
        found = scores(rating(None, *row[6:]) for row in rows)
        yield (
            system,
            key if repetition == 1 else f"{key} ({repetition})",
            _sample(system, messages, found, {}),
        )


def _sample(
    system: str, messages: Sequence[Mapping[str, Any]], found: Mapping[str, Any], metadata: Mapping[str, str]
) -> dict[str, Any]:
    """A sample: everything before the system's last reply is its input, that reply its output."""
    last = max((n for n, each in enumerate(messages) if each["role"] == "assistant"), default=len(messages))
    choices = [{"message": each, "stop_reason": "stop"} for each in messages[last : last + 1]]
    return {
        "epoch": 1,
        "input": messages[:last],
        "target": "",
        "messages": messages,
        "output": {"model": system, "choices": choices},
        "scores": found,
        "metadata": metadata,
    }


def inspect_messages(chat: Chat) -> list[dict[str, Any]]:
    """Messages of a conversation in the form of inspect_ai's messages."""
    written, calls, answered = list[dict[str, Any]](), list[str](), 0
    for message in chat.messages:
        if message.called:
            calls.append(message.called)
            if not (written and written[-1].get("tool_calls")):
                written.append({"role": "assistant", "content": "", "tool_calls": []})
            written[-1]["tool_calls"].append(_call(f"call_{len(calls)}", message))
        elif message.role == "tool":
            answered += 1
            function = calls[answered - 1] if answered <= len(calls) else "tool"
            written.append(
                {"role": "tool", "content": message.text, "tool_call_id": f"call_{answered}",
                 "function": function}
            )  # fmt: skip
        else:
            written.append({"role": message.role, "content": message.text})
    return written


def _call(id_: str, message: Message) -> dict[str, Any]:
    try:
        arguments = json.loads(message.text)
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        arguments = {"arguments": message.text}
    return {"id": id_, "function": message.called, "arguments": arguments, "type": "function"}
