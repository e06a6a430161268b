"""A study's conversations and responses with their scores, as logs of inspect_ai: one log for each system.

A score joins the raters' answers to one question to one value.

A log is the JSON of inspect_ai's EvalLog, version 2 (inspect.aisi.org.uk/eval-logs.html). Scores are given
in it already, so that nothing is asked of a model.
"""

import json
import tempfile
import zipfile
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib.metadata import version
from itertools import islice
from typing import IO, Any

from django.db import connection
from django.utils.text import slugify

from evaluation.protocols.facts import HUMAN
from evaluation.questions import Answer, Kind
from turnwise.exports.chat_files.chats import HELD, Chat, Message, chats
from turnwise.exports.rows import grouped_rows
from turnwise.judging.queries import counts_in_primary_analysis
from turnwise.privacy.personal_data import redactor_for
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Study

# Labels `l` that count: of the primary analysis, and no gold items or anchors.
COUNTS = f"""
 l.study_id = %(study)s AND {counts_in_primary_analysis("%(study)s")}
   AND NOT EXISTS (SELECT FROM judging_slot AS slot JOIN judging_item AS item ON item.id = slot.item_id
                    WHERE slot.label_id = l.id
                      AND (item.right_answers IS NOT NULL OR item.anchor_id IS NOT NULL))
"""
RATED = "l.question_set, l.answers::text, crowd_pseudonym(l.rater_id, l.study_id)"
"""Columns of a label `l` from which a `Rating` is made, after the position of its turn."""

_OF_DIALOGUES = f"""
SELECT l.dialogue, l.position, {RATED}
  FROM (SELECT given.*, t.dialogue_id AS dialogue, t.position
          FROM dialogues_turn AS t JOIN labels_label AS given ON given.turn_id = t.id
         WHERE t.dialogue_id = ANY (%(dialogues)s)
         UNION ALL
        SELECT whole.*, whole.dialogue_id, NULL
          FROM labels_label AS whole WHERE whole.dialogue_id = ANY (%(dialogues)s)) AS l
 WHERE {COUNTS}
 ORDER BY l.dialogue, l.position, l.id
"""


@dataclass(frozen=True, slots=True)
class Rating:
    """A rater's answers.

    Attributes:
        turn: position of the turn that they are about; None for the whole.
        question_set: key of the questions.
        answers: by key of the question.
        rater: pseudonym in the study.
    """

    turn: int | None
    question_set: str
    answers: Mapping[str, Answer]
    rater: str


def rating(turn: int | None, key: str, answers: str, rater: str) -> Rating:
    """Build a rating from a row with the columns of `RATED`."""
    return Rating(turn, key, json.loads(answers), rater)


def of_dialogues(study: Study, dialogues: Sequence[int]) -> dict[int, list[Rating]]:
    """Ratings of conversations and their turns in a study, by the conversation's primary key."""
    with connection.cursor() as cursor:
        cursor.execute(_OF_DIALOGUES, {"study": study.pk, "dialogues": list(dialogues)})
        found = dict[int, list[Rating]]()
        for dialogue, *row in cursor:
            found.setdefault(dialogue, []).append(rating(*row))
    return found


def scores(ratings: Iterable[Rating]) -> dict[str, dict[str, Any]]:
    """Score of each question by “SET.QUESTION”, in the form of inspect_ai's Score.

    The value is the mean of numbers and of yes and no (1 and 0), else the most frequent choice; of several
    choices the share of answers with each. Free texts have no score.
    """
    given = dict[str, list[tuple[Rating, Answer]]]()
    for each in ratings:
        for question in question_set(each.question_set).questions:
            answer = each.answers.get(question.key)
            if answer is not None and question.kind is not Kind.TEXT:
                given.setdefault(f"{each.question_set}.{question.key}", []).append((each, answer))
    return {name: _score(answers) for name, answers in given.items()}


def _score(answers: Sequence[tuple[Rating, Answer]]) -> dict[str, Any]:
    value, how = _joined([answer for _, answer in answers])
    raters = len({each.rater for each, _ in answers})
    return {
        "value": value,
        "explanation": f"{how}. Answers: {len(answers)}, raters: {raters}.",
        "metadata": {"answers": list(_each(answers))},
    }


def _each(answers: Sequence[tuple[Rating, Answer]]) -> Iterator[dict[str, Any]]:
    for each, answer in answers:
        yield {"rater": each.rater, "answer": answer} | ({} if each.turn is None else {"turn": each.turn})


def _joined(answers: Sequence[Answer]) -> tuple[float | str | dict[str, float], str]:
    """Value of all answers, and how it was made."""
    if isinstance(answers[0], list):
        chosen = Counter(str(choice) for answer in answers if isinstance(answer, list) for choice in answer)
        return {choice: n / len(answers) for choice, n in chosen.items()}, "Shares"
    numbers = [float(answer) for answer in answers if isinstance(answer, bool | int | float)]
    if len(numbers) == len(answers):
        return sum(numbers) / len(numbers), "Mean"
    return Counter(map(str, answers)).most_common(1)[0][0], "Most frequent"


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
