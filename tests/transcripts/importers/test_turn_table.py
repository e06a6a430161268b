"""Tables of turns: separators, columns, workbooks and Parquet, and what is wrong with them."""

import json
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import openpyxl
import pyarrow
import pyarrow.parquet
import pytest

from turnwise.contexts import packed_files
from turnwise.contexts.tables import Row, rows_of
from turnwise.transcripts.file_guessing import described, format_of
from turnwise.transcripts.importers import Checked, Limits, Problem, Source, checked, guessed
from turnwise.transcripts.importers.turn_table import guessed_columns, header_of, sample_of

ROWS = [
    ["thread_id", "role", "message", "timestamp"],
    ["1", "customer", "Hello; hi", "2026-03-01T10:00:00Z"],
    ["2", "customer", "Tea?", "yesterday"],
    ["1", "agent", "How can\nI help?", "2026-03-01 10:00:04"],
    ["2", "agent", "Yes", ""],
]


def read(
    content: bytes | str, columns: Mapping[str, str] | None = None, key: str = "table"
) -> tuple[list[Checked], list[tuple[int, str]]]:
    data = content.encode() if isinstance(content, str) else content
    found = list(checked(Source(BytesIO(data), columns or {}), key, Limits(100, 1000)))
    problems = [(each.line, each.what) for each in found if isinstance(each, Problem)]
    return [each for each in found if isinstance(each, Checked)], problems


def separated(mark: str) -> bytes:
    lines = [mark.join(f'"{cell}"' for cell in row) for row in ROWS]
    return b"\xef\xbb\xbf" + "\r\n".join(lines).encode()


def workbook(rows: Sequence[Any]) -> bytes:
    book, file = openpyxl.Workbook(), BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


def parquet(records: Sequence[Mapping[str, object]]) -> bytes:
    file = BytesIO()
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(records), file)
    return file.getvalue()


FLAT = [dict(zip(ROWS[0], row, strict=True)) for row in ROWS[1:]]


@pytest.mark.parametrize(
    "content",
    [separated(","), separated(";"), separated("\t"), separated("|"), workbook(ROWS), parquet(FLAT)],
    ids=["commas", "semicolons", "tabs", "bars", "workbook", "parquet"],
)
def test_rows_of_a_conversation_need_not_stand_together(content: bytes) -> None:
    assert format_of(BytesIO(content)) == "table"
    conversations, problems = read(content)

    assert [(each.id, each.speakers, each.texts) for each in conversations] == [
        ("1", ("customer", "agent"), ("Hello; hi", "How can\nI help?")),
        ("2", ("customer", "agent"), ("Tea?", "Yes")),
    ]
    assert conversations[0].times == ("2026-03-01T10:00:00+00:00", "2026-03-01T10:00:04+00:00")
    assert conversations[1].times == ("", "")
    assert problems == []


def test_columns_of_any_names_can_be_chosen() -> None:
    content = "Gespräch,Wer,Was\n1,Ada,Hallo\n1,Bot,Guten Tag\n"

    unknown, [(line, what)] = read(content)
    chosen, _ = read(content, {"conversation": "Gespräch", "speaker": "Wer", "text": "Was"})
    as_one, _ = read(content, {"conversation": "", "speaker": "Wer", "text": "Was"})

    assert (unknown, line) == ([], 1)
    assert (
        "known to be the conversation or the speaker or the text. The columns are “Gespräch”, “Wer”" in what
    )
    assert [each.texts for each in (*chosen, *as_one)] == [("Hallo", "Guten Tag")] * 2
    assert header_of(Source(BytesIO(content.encode()))) == ["Gespräch", "Wer", "Was"]
    assert sample_of(Source(BytesIO(content.encode())), 1) == [["1", "Ada", "Hallo"]]


def test_usual_names_of_columns_are_guessed() -> None:
    assert guessed_columns(["Conversation ID", "Role", "Content", "Extra"]) == {
        "conversation": "Conversation ID", "speaker": "Role", "text": "Content",
    }  # fmt: skip


UNNAMED = [["", "conversation", "speaker", ""], ["0", "c1", "user", "Hi"], ["1", "c1", "bot", "Yes"]]


@pytest.mark.parametrize(
    "content", [workbook(UNNAMED), "\n".join(map(",".join, UNNAMED))], ids=["workbook", "csv"]
)
def test_columns_without_a_name_are_called_by_their_number_and_can_be_chosen(content: bytes | str) -> None:
    data = content.encode() if isinstance(content, str) else content

    chosen, problems = read(data, {"conversation": "conversation", "speaker": "speaker", "text": "column 4"})

    assert format_of(BytesIO(data)) == "table"
    assert header_of(Source(BytesIO(data))) == ["column 1", "conversation", "speaker", "column 4"]
    assert [each.texts for each in chosen] == [("Hi", "Yes")]
    assert problems == []


def test_a_column_without_a_name_in_a_table_of_prompts_is_kept_under_its_number() -> None:
    rows = [["prompt", "", "note", None], ["Why?", "A", "", "x"], ["How?", "", "y", ""]]

    lines = packed_files.json_lines_of(BytesIO(workbook(rows))).split("\n")

    assert [json.loads(line) for line in lines if line] == [
        {"prompt": "Why?", "column 2": "A", "note": "", "column 4": "x"},
        {"prompt": "How?", "note": "y"},
    ]
    [row] = [each for each in rows_of("prompt,,\nWhy?,A,\n", "csv") if isinstance(each, Row)]
    assert row.fields == {"prompt": "Why?", "column 2": "A", "column 3": ""}


@pytest.mark.parametrize(
    ("content", "line", "says"),
    [
        ("conversation,speaker,note\n1,a,b\n", 1, "No column is known to be the text. The columns are"),
        (
            "conversation,speaker,text,text\n1,a,b,c\n",
            1,
            "Two columns are called “text”. Rename one of them.",
        ),
        ("conversation,speaker,text\n1,a\n1,b,c\n", 2, "This row has 2 cells, the header has 3."),
        ("conversation,speaker,text\n,a,b\n", 2, "“conversation” is empty"),
        ("conversation,speaker,text\n1,,b\n1,b,c\n", 2, "“speaker” is empty: name who speaks."),
        ('conversation,speaker,text\n1,a,"b\n', 2, "cannot be read from here on"),
        (",,\n", 1, "must name the columns"),
    ],
)
def test_what_is_wrong_is_told_and_no_conversation_comes_in_by_halves(
    content: str, line: int, says: str
) -> None:
    conversations, problems = read(content)

    assert conversations == []
    assert [where for where, _ in problems] == [line]
    assert says in problems[0][1]


def test_a_row_with_a_problem_keeps_its_conversation_out_and_no_other() -> None:
    content = "conversation,speaker,text\n1,a,Hi\n2,a,Hi\n1,b\n2,b,Yes\n1,b,No\n"

    conversations, problems = read(content)

    assert [each.id for each in conversations] == ["2"]
    assert [line for line, _ in problems] == [4]


def test_records_of_parquet_are_read_like_json() -> None:
    messages = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    content = parquet([{"id": "c1", "messages": messages}, {"id": "c2", "messages": messages[:1]}])

    conversations, problems = read(content, key="openai")

    assert format_of(BytesIO(content)) == "openai"
    assert [(each.id, each.texts) for each in conversations] == [("c1", ("Hi", "Hello"))]
    assert [line for line, _ in problems] == [2]


def test_a_packed_file_is_bounded_by_its_unpacked_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(packed_files, "MAX_UNPACKED", 5_000)
    rows = [["conversation", "speaker", "text"], *([1, "a", "b" * 500] for _ in range(100))]

    for content in (
        workbook(rows),
        parquet([{"conversation": f"{n}", "text": f"{n}" * 99} for n in range(99)]),
    ):
        _, problems = read(content)
        assert "0\u00a0MB can be read. Split it." in problems[0][1]


def test_a_damaged_packed_file_is_a_problem_and_no_crash() -> None:
    for content in (workbook(ROWS), parquet(FLAT)):
        for damaged in (content[: len(content) // 2], content[:20] + b"x" * 40 + content[60:]):
            conversations, problems = read(damaged)
            assert len(conversations) <= 2
            assert problems or conversations


@pytest.mark.parametrize(
    ("name", "cure"),
    [("chats.jsonl", "Unpack it"), ("_journal/start.json", "inspect log convert FILE --to json")],
)
def test_an_archive_that_is_no_workbook_is_refused_with_a_cure(name: str, cure: str) -> None:
    file = BytesIO()
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(name, "{}")

    with pytest.raises(packed_files.PackedFileError, match=cure):
        format_of(BytesIO(file.getvalue()))


def test_a_guess_that_fails_says_what_was_found() -> None:
    near = described('{"utterances": [{"role": "user", "content": "Hi"}]}')
    prompts = described('{"prompt": "Why?", "model": "a", "response": "So."}')

    assert guessed('{"utterances": [{"role": "user", "content": "Hi"}]}') == ""
    assert near.what == "The file has JSON with the keys “utterances”."
    assert any("OpenAI messages" in each and "also “messages”" in each for each in near.near)
    assert prompts.what == "The file has JSON with the keys “prompt”, “model”, “response”."
    assert "import prompts under Contexts" in prompts.near[0]
    assert described("Lorem\nipsum").what.endswith("its first line is “Lorem”.")
