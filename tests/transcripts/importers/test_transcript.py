import json
import zlib
from pathlib import Path

import pytest

from tests.transcripts.importers.conftest import Read
from turnwise.transcripts.importers import guessed

PUBLISHED = Path(__file__).parents[4] / "shared" / "data" / "meena"

TWO = """\
Meena Conversation 1
Human: Hi!
Meena: Hey there! What's up?

Meena Conversation 2
Human: 你好。
Meena: Time: a riddle
Human: ok
"""


def test_conversations_stand_under_their_headings(read: Read) -> None:
    conversations, problems = read("transcript", TWO)

    assert problems == []
    assert [(each.id, each.line) for each in conversations] == [
        ("Meena Conversation 1", 1),
        ("Meena Conversation 2", 5),
    ]
    assert conversations[1].speakers == ("Human", "Meena")
    assert conversations[1].texts == ("你好。", "Time: a riddle", "ok")


def test_a_heading_needs_no_name(read: Read) -> None:
    text = "Conversation 1\nA: Hi\nB: Hello\n\nConversation 2\nA: 你好\nB: 你好吗\n"

    conversations, problems = read("transcript", text)

    assert guessed(text) == "transcript"
    assert ([each.id for each in conversations], problems) == (["Conversation 1", "Conversation 2"], [])


def test_a_file_without_headings_is_one_conversation(read: Read) -> None:
    conversations, problems = read("transcript", "A: one\nB:two\r\nA： three\n")  # noqa: RUF001

    assert problems == []
    assert [each.texts for each in conversations] == [("one", "two", "three")]


def test_a_line_without_a_speaker_goes_on_with_the_turn_before(read: Read) -> None:
    conversations, _ = read("transcript", "A: one\nhttp://example.org\nB: two\nand more\n")

    assert conversations[0].texts == ("one\nhttp://example.org", "two\nand more")


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("Nobody said this\nA: one\nB: two", 1, "names no speaker"),
        ("X Conversation 1\nX Conversation 2\nA: a\nB: b", 1, "has no turns"),
        ("X Conversation 1\nA: a\nB: b\nX Conversation 1\nA: a\nB: b", 4, "already, from line 1"),
        ("A: one\nB: two\nC: three", 1, "“A”, “B”, “C”"),
        ("A: one", 1, "has two speakers"),
        ("A: one\nB: \nA: three", 1, "“B” says nothing"),
        (f"A: one\nB: {'x' * 32001}", 2, "32,001 characters"),
    ],
)
def test_what_is_wrong_is_told_with_its_line(read: Read, text: str, line: int, says: str) -> None:
    _, problems = read("transcript", text)

    assert len(problems) == 1
    assert problems[0][0] == line
    assert says in problems[0][1]


@pytest.mark.shared_data
@pytest.mark.skipif(not PUBLISHED.exists(), reason=f"{PUBLISHED} is absent")
@pytest.mark.parametrize(
    ("name", "conversations", "turns"),
    [("meena", 93, 1818), ("mitsuku", 100, 1857), ("human", 95, 1483), ("xiaoice", 114, 2272)],
)
def test_published_files_come_in_whole(read: Read, name: str, conversations: int, turns: int) -> None:
    content = (PUBLISHED / f"{name}.txt").read_bytes()
    assert guessed(content[:4000].decode(errors="ignore")) == "transcript"

    found, problems = read("transcript", content)

    assert problems == []
    assert len(found) == conversations
    assert sum(len(each.texts) for each in found) == turns
    # The same conversations as others have parsed them.
    parsed = zlib.decompress((PUBLISHED / f"{name}.jsonl.gz").read_bytes(), wbits=31).decode().splitlines()
    expected = [tuple(turn["text"].strip() for turn in json.loads(line)["turns"]) for line in parsed]
    assert [each.texts for each in found] == expected


@pytest.mark.timeout(30)  # it took 43 s, in which the process did nothing else, sockets included
@pytest.mark.parametrize(
    "content",
    [("a" + " " * 900_000 + "b\n") * 20, "Human: Hi!\n" + "so\n" * 300_000],
    ids=["spaces without a colon", "one turn of many lines"],
)
def test_a_long_file_takes_time_in_proportion_to_its_length(read: Read, content: str) -> None:
    conversations, problems = read("transcript", content)

    assert not conversations
    assert problems
