"""What holds for every format: no file crashes a reader, and what comes out can be stored."""

import json
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import replace
from functools import reduce
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.fuzzing import ANYTHING, tries
from tests.transcripts.importers.conftest import Read
from turnwise.transcripts.importers import FORMATS, Checked, Limits, guessed
from turnwise.transcripts.importers import formats as source_module

Path = tuple[Any, ...]
SEEDS = [
    b"Meena Conversation 1\nHuman: Hi!\nMeena: Hello.\n",
    b'{"id": "c1", "turns": [{"speaker": "A", "text": "Hi!"}, {"speaker": "B", "text": "Yes."}]}\n',
    b'{"conversation": "c1", "speaker": "A", "text": "Hi!"}\n',
    b'{"t_1": {"config": "A", "content": [{"agent": "agent_1", "message": "Hi"}]}}',
    b'{"dialog": [[{"id": "human", "text": "Hi!"}, {"id": "model", "text": "Hello."}]]}\n',
    b'ID,Chat ID,Datetime,Chatbot ID,Message,Response\n1,c1,,bot,"Hi, you",Hello\n',
    b"ID,Chat ID,Datetime,Chatbot ID,User Session Key,"
    b"Quality,Coherency,Fluency,Diversity,Contingency,Empathy\n1,c1,,bot,r,5,4,3,2,1,6\n",
    b'{"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": null, "tool_calls": '
    b'[{"function": {"name": "f", "arguments": "{}"}}]}]}\n',
    b'{"system": "Be kind.", "messages": [{"role": "user", "content": [{"type": "text", "text": "Hi"}]}, '
    b'{"role": "assistant", "content": "Hello"}]}\n',
    b'{"id": "s", "conversations": [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]}\n',
    b'{"conversation_hash": "h", "model": "m", "conversation": [{"role": "user", "content": "Hi"}, '
    b'{"role": "assistant", "content": "Hello"}]}\n',
    b'{"conversation_id": "c", "model": "m", "conversation": [{"role": "user", "content": "Hi"}, '
    b'{"role": "assistant", "content": "Hello"}]}\n',
    b'{"question_id": "q", "model_a": "m", "model_b": "n", "conversation_a": '
    b'[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yes"}], "conversation_b": '
    b'[{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "No"}]}\n',
    b'{"message_tree_id": "t", "prompt": {"message_id": "a", "role": "prompter", "text": "Hi", "replies": '
    b'[{"message_id": "b", "role": "assistant", "text": "Hello", "replies": []}]}}\n',
    b'[{"id": 1, "data": {"dialogue": [{"author": "A", "text": "Hi"}, {"author": "B", "text": "Hello"}]}}]\n',
    b'{"id": "p", "text": ["A: Hi", "B: Hello"]}\n',
    b'{"version": 2, "status": "success", "eval": {"model": "m"}, "samples": [{"id": 1, '
    b'"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]}]}\n',
    b'thread,role,message\n1,user,"Hi, you"\n1,bot,Hello\n',
]

tolerant = tries(100)


def is_storable(conversation: Checked) -> bool:
    texts = [*conversation.texts, *conversation.speakers, conversation.id]
    return (
        len(set(conversation.speakers)) == 2
        and len(conversation.texts) >= 2
        and all(
            (text.strip() or how.get("outcome") in ("tool_call", "refused")) and len(text) <= 32_000
            for text, how in zip(conversation.texts, conversation.generations, strict=True)
        )
        and all("\x00" not in text and text.encode() is not None for text in texts)
        and json.dumps(dict(conversation.details)).encode() != b""
    )


@st.composite
def damaged(draw: st.DrawFn) -> bytes:
    """A file of some format in which bytes were cut out, repeated or replaced."""
    data = draw(st.sampled_from(SEEDS)) * draw(st.integers(1, 3))
    for _ in range(draw(st.integers(0, 4))):
        at, to = sorted((draw(st.integers(0, len(data))), draw(st.integers(0, len(data)))))
        data = (
            data[:at]
            + draw(st.binary(max_size=6) | st.sampled_from([b'"', b"{", b"\n", b":", b"\\ud800"]))
            + data[to:]
        )
    return data


DOCUMENTS = [json.loads(seed) for seed in SEEDS if seed[:1] in b"[{"]


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """Paths to all values in a document."""
    yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield from places(inner, (*path, key))


@st.composite
def distorted(draw: st.DrawFn) -> bytes:
    """A document of some format that is JSON still, but has something else at some of its places."""
    document = {"": deepcopy(draw(st.sampled_from(DOCUMENTS)))}
    for _ in range(draw(st.integers(1, 3))):
        *outer, key = draw(st.sampled_from([path for path in places(document) if path]))
        holder = reduce(lambda value, step: value[step], outer, document)
        holder[key] = deepcopy(draw(ANYTHING | st.sampled_from(DOCUMENTS) | st.just(document[""])))
    try:
        return json.dumps(document[""]).encode() * draw(st.integers(1, 2))
    except ValueError:  # a number of thousands of digits
        return b"[]"


@tries(150)
@given(key=st.sampled_from(sorted(FORMATS)), data=distorted())
def test_no_document_crashes_a_reader(read: Read, key: str, data: bytes) -> None:
    conversations, problems = read(key, data)

    assert all(is_storable(each) for each in conversations if isinstance(each, Checked))
    assert all(what.encode() for _line, what in problems)


@tolerant
@given(key=st.sampled_from(sorted(FORMATS)), data=damaged() | st.binary(max_size=200))
def test_no_file_crashes_a_reader_and_what_comes_in_can_be_stored(read: Read, key: str, data: bytes) -> None:
    conversations, problems = read(key, data)

    lines = data.count(b"\n") + 1
    assert all(map(is_storable, conversations))
    assert all(1 <= line <= lines and what for line, what in problems)
    assert all(1 <= each.line <= lines for each in conversations)


def test_every_format_is_told_from_the_others() -> None:
    keys = [
        "transcript",
        "jsonl",
        "jsonl",
        "topical-chat",
        "parlai",
        "neural-chat",
        "neural-chat-ratings",
        "openai",
        "anthropic",
        "sharegpt",
        "wildchat",
        "lmsys-chat",
        "arena",
        "oasst",
        "label-studio",
        "potato",
        "inspect",
        "table",
    ]

    assert [guessed(seed.decode()) for seed in SEEDS] == keys
    assert guessed("\ufeff" + SEEDS[0].decode()) == "transcript"
    assert guessed("Lorem ipsum\ndolor") == ""
    assert guessed("\x1f\x8b packed\r\x00 file\n") == ""
    assert {*keys, "oasst-paths"} == set(FORMATS)  # its files are those of “oasst”


def test_a_loose_format_is_guessed_after_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the names of their modules are: most lines of a chat have a colon."""
    strict = replace(FORMATS["jsonl"], key="zz-chat", looks_like=lambda head: head.startswith("28/11, 10:02"))
    monkeypatch.setitem(FORMATS, "zz-chat", strict)
    chat = "28/11, 10:02 - Ada: Hello!\n28/11, 10:03 - Bot: Hi.\n"

    assert FORMATS["transcript"].looks_like(chat)
    assert guessed(chat) == "zz-chat"


def test_the_line_of_a_byte_that_is_no_utf_8_is_told(read: Read) -> None:
    content = "A: one\nB: two\nA: tr\xe8s".encode("latin-1")

    conversations, problems = read("transcript", content)

    assert conversations == []
    assert [line for line, _ in problems] == [3]
    assert "Byte 0xe8 is not UTF-8 text. Save the file as UTF-8" in problems[0][1]
    document = '{"a":\n{"content":"\xe8"}}'.encode("latin-1")
    assert [line for line, _ in read("topical-chat", document)[1]] == [2]


def test_a_byte_order_mark_is_no_part_of_the_first_speaker(read: Read) -> None:
    conversations, _ = read("transcript", "\ufeffA: one\nB: two")

    assert conversations[0].speakers == ("A", "B")


@pytest.mark.parametrize("key", ["transcript", "jsonl", "parlai"])
def test_a_line_without_end_is_not_read_into_memory(read: Read, key: str) -> None:
    _, problems = read(key, b"\n" + b"x" * (source_module.LONGEST_LINE + 1))

    assert problems[-1][0] == 2
    assert "longer than 8\u00a0MB" in problems[-1][1]


def test_an_import_is_bounded(read: Read) -> None:
    content = "\n".join(f"X Conversation {n}\nA: one\nB: two" for n in range(3))

    by_conversations = read("transcript", content, Limits(conversations=2, turns=100))
    by_turns = read("transcript", content, Limits(conversations=100, turns=3))

    assert [len(by_conversations[0]), len(by_turns[0])] == [2, 1]
    assert by_conversations[1][0][0] == 7
    assert "passes 3 turns" in by_turns[1][0][1]


def test_a_file_has_a_bounded_number_of_speakers(read: Read) -> None:
    content = "\n".join(f"X Conversation {n}\nA{n}: one\nB: two" for n in range(110))

    conversations, problems = read("transcript", content)

    assert len(conversations) == 99  # with B that is a hundred
    assert "100 different speakers" in problems[0][1]
