"""Round trips: an export writes what the import read, equal, or with the loss that is named here."""

import csv
import io
import json
import zipfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow.parquet
import pytest

from evaluation.files.writing import csv_text, harmless, original
from tests.conftest import MakeStudy
from tests.exports.test_neural_chat import ASKS as NEURAL_CHAT
from tests.exports.test_neural_chat import chat_records
from tests.exports.test_topical_chat import ASKS as TOPICAL_CHAT
from tests.exports.test_topical_chat import TALK
from tests.transcripts.importers.test_any_file import SEEDS
from tests.transcripts.importers.test_turn_table import parquet, workbook
from tests.transcripts.imports import import_draft
from turnwise.contexts.packed_files import workbook_rows
from turnwise.dialogues.models import TranscriptImport
from turnwise.exports import published_formats
from turnwise.exports.chat_files import data_set, inspect_logs, messages, turn_table
from turnwise.studies.asks import AskSpec
from turnwise.studies.models import Study
from turnwise.transcripts.importers import FORMATS, Checked, Limits, Source, checked, guessed
from turnwise.transcripts.importing import preview_of, upload

pytestmark = pytest.mark.django_db(transaction=True)

CALL = {"id": "call_1", "type": "function", "function": {"name": "hours", "arguments": '{"day": 1}'}}
OPENAI = [
    {
        "id": "c1",
        "messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": "Is it open?\n\nTell me  please. "},
            {"role": "assistant", "content": None, "tool_calls": [CALL]},
            {"role": "tool", "tool_call_id": "call_1", "content": "9 to 17"},
            {"role": "assistant", "content": "Yes, until five."},
        ],
    },
    {
        "id": "c2",
        "messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "# Hello\n- you"}],
        "model": "m-1",
    },
]
SHAREGPT = [
    {
        "id": "s1",
        "conversations": [
            {"from": "system", "value": "Be brief."},
            {"from": "human", "value": "Hi"},
            {"from": "function_call", "value": '{"name": "hours", "arguments": "{}"}'},
            {"from": "observation", "value": "9 to 17"},
            {"from": "gpt", "value": "Hello"},
        ],
    }
]


TABLE = [
    ["conversation", "speaker", "text", "time"],
    ["t1", "system", "Be brief.", ""],
    ["t1", "customer", '=1+1; "yes"?\nTell me', "2026-03-01T10:00:00Z"],
    ["t1", "Desk", "'Two'", "2026-03-01T10:00:04Z"],
    ["t2", "customer", "Hi", ""],
    ["t2", "Desk", "Hello", ""],
]


def lines_of(records: Sequence[object]) -> bytes:
    return "".join(f"{json.dumps(each, ensure_ascii=False)}\n" for each in records).encode()


def json_lines(content: bytes) -> list[Any]:
    return [json.loads(line) for line in content.decode().splitlines()]


def of_data_set(archive: bytes) -> list[Any]:
    """Records of the Parquet file, without what the export adds."""
    content = zipfile.ZipFile(io.BytesIO(archive)).read(data_set.PARQUET)
    return of_parquet(content)


def of_parquet(content: bytes) -> list[Any]:
    rows = pyarrow.parquet.read_table(io.BytesIO(content)).to_pylist()
    return [{name: row[name] for name in ("id", "model", "messages")} for row in rows]


def of_csv(content: bytes) -> list[list[str]]:
    return [[original(cell) for cell in row] for row in csv.reader(io.StringIO(content.decode(), newline=""))]


def of_workbook(content: bytes) -> list[list[str]]:
    return [(row + [""] * 4)[:4] for _, row in workbook_rows(io.BytesIO(content))]


def of_inspect_log(content: bytes) -> list[tuple[str, list[dict[str, Any]]]]:
    """Samples by their ids with their messages. Lost: scores, which become details, and ids of messages."""
    if content.startswith(b"PK"):
        archive = zipfile.ZipFile(io.BytesIO(content))
        content = archive.read(archive.namelist()[0])
    log = json.loads(content)
    return [(f"{log['eval']['model']} {each['id']}", each["messages"]) for each in log["samples"]]


def of_neural_chat(content: bytes) -> list[dict[str, str]]:
    """Rows of chat records. Lost: the key of the study, and the rater's session key, now a pseudonym."""
    anew = {"User Session Key", "Study Key", "Bot Input"}
    rows = csv.DictReader(io.StringIO(content.decode(), newline=""))
    return [{name: original(cell) for name, cell in row.items() if name not in anew} for row in rows]


class RoundTrip(NamedTuple):
    """A format that is imported and exported in the same layout.

    Attributes:
        content: the file that is imported.
        file: its name.
        systems: by speaker, the title of the system; empty for a person.
        export: the export of a study.
        read: what is compared of the file before and after.
        asks: what the study asks, for files with labels.
    """

    content: bytes
    file: str
    systems: dict[str, str]
    export: Callable[[Study], Iterable[str | bytes]]
    read: Callable[[bytes], Any]
    asks: Sequence[AskSpec] = ()


PARQUET = [
    {
        "id": "p1",
        "model": "m-1",
        "messages": [
            {"role": "system", "content": "Be brief.", "called": None},
            {"role": "user", "content": "Is it open?", "called": None},
            {"role": "assistant", "content": '{"day": 1}', "called": "hours"},
            {"role": "tool", "content": "9 to 17", "called": None},
            {"role": "assistant", "content": "Yes.", "called": None},
        ],
    }
]
INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {"created": "2026-03-01T10:00:00+00:00", "task": "hours", "model": "openai/m-1", "config": {},
             "dataset": {"samples": 1}},
    "samples": [
        {
            "id": "i1",
            "epoch": 1,
            "input": "Is it open?",
            "target": "yes",
            "messages": [
                {"role": "system", "content": "Be brief."},
                {"role": "user", "content": "Is it open?"},
                {"role": "assistant", "content": "", "tool_calls": [
                    {"id": "call_1", "function": "hours", "arguments": {"day": 1}, "type": "function"}]},
                {"role": "tool", "content": "9 to 17", "tool_call_id": "call_1", "function": "hours"},
                {"role": "assistant", "content": "Yes."},
            ],
            "scores": {"match": {"value": "C", "answer": "yes"}},
        }
    ],
}  # fmt: skip
CHATS = {"user": "", "assistant": "assistant", "m-1": "m-1"}
ROUND_TRIPS = {
    "openai": RoundTrip(lines_of(OPENAI), "a.jsonl", CHATS, messages.openai_lines, json_lines),
    "sharegpt": RoundTrip(
        lines_of(SHAREGPT), "a.jsonl", {"human": "", "gpt": "gpt"}, messages.sharegpt_lines, json_lines
    ),
    "parquet": RoundTrip(parquet(PARQUET), "a.parquet", CHATS, data_set.data_set, of_data_set),
    "csv": RoundTrip(
        csv_text(TABLE).encode(), "a.csv", {"customer": "", "Desk": "Desk"}, turn_table.csv_lines, of_csv
    ),
    "excel": RoundTrip(
        workbook([[harmless(cell) for cell in row] for row in TABLE]),
        "a.xlsx",
        {"customer": "", "Desk": "Desk"},
        turn_table.workbook,
        of_workbook,
    ),
    "inspect": RoundTrip(
        json.dumps(INSPECT, indent=1).encode(),
        "log.json",
        {"user": "", "openai/m-1": "openai/m-1"},
        inspect_logs.inspect_logs,
        of_inspect_log,
    ),
    "neural-chat": RoundTrip(
        chat_records(),
        "chatrecords.csv",
        {"User": "", "vhred": "vhred", "hred": "hred"},
        published_formats.neural_chat_records,
        of_neural_chat,
        NEURAL_CHAT,
    ),
    "topical-chat": RoundTrip(
        json.dumps({"t_1": TALK}).encode(),
        "train.json",
        {"agent_1": "", "agent_2": ""},
        published_formats.topical_chat_conversations,
        json.loads,
        TOPICAL_CHAT,
    ),
}


def imported(study: Study, content: bytes, name: str, systems: Mapping[str, str]) -> TranscriptImport:
    draft = upload(study, io.BytesIO(content), name=name, by=study.owner)
    assert preview_of(draft).conversations
    return import_draft(draft.pk, systems=systems, scripted_opening=False, language="en")


def exported(study: Study, export: Callable[[Study], Iterable[str | bytes]]) -> bytes:
    return b"".join(part.encode() if isinstance(part, str) else part for part in export(study))


@pytest.mark.parametrize("name", ROUND_TRIPS)
def test_a_file_comes_out_again_as_it_was_imported(make_study: MakeStudy, name: str) -> None:
    trip = ROUND_TRIPS[name]
    study = make_study(asks=trip.asks, min_turns=2, max_turns=60) if trip.asks else make_study()
    imported(study, trip.content, trip.file, trip.systems)

    out = exported(study, trip.export)

    before = of_parquet(trip.content) if name == "parquet" else trip.read(trip.content)
    assert trip.read(out) == before


# These formats have no export of their own; their conversations leave as OpenAI messages. Lost are what
# stands beside the conversation (ids of messages, ranks, winners, moderation), times, and names of people.
AS_MESSAGES = ("transcript", "jsonl", "parlai", "anthropic", "wildchat", "lmsys-chat", "arena", "oasst",
               "label-studio", "potato")  # fmt: skip


@pytest.mark.parametrize("key", AS_MESSAGES)
def test_conversations_of_other_formats_leave_as_messages_that_come_in_again_unchanged(
    make_study: MakeStudy, key: str
) -> None:
    content = b"".join(seed for seed in SEEDS if guessed(seed.decode()) == key)
    every = checked(Source(io.BytesIO(content)), key, Limits(10, 100))
    found = [each for each in every if isinstance(each, Checked)]
    first, second = make_study(), make_study({"another": 1})
    systems = {each.speakers[0]: "" for each in found} | {
        each.speakers[1]: each.speakers[1] for each in found
    }
    imported(first, content, "a.json", systems)

    out = exported(first, messages.openai_lines)

    written = [
        tuple(each["content"] for each in record["messages"] if each["role"] in ("user", "assistant"))
        for record in json_lines(out)
    ]
    assert written == [each.texts for each in found]
    bots = {record.get("model", "assistant"): record.get("model", "assistant") for record in json_lines(out)}
    imported(second, out, "a.jsonl", {"user": "", **bots})
    assert json_lines(exported(second, messages.openai_lines)) == json_lines(out)


def test_every_format_makes_a_round_trip() -> None:
    without = {"oasst-paths", "neural-chat-ratings"}  # other readings of files that make one
    tables = {"table", *ROUND_TRIPS} - {"csv", "excel", "parquet"}

    assert tables | {*AS_MESSAGES} | without == {*FORMATS}
