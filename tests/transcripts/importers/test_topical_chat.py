import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.transcripts.importers.conftest import Read
from transcripts.importers import Limits

PARTS = Path(__file__).parents[4] / "shared" / "data" / "topical-chat"


def talk(*messages: tuple[str, str]) -> dict[str, Any]:
    return {
        "article_url": "https://example.org/a",
        "config": "B",
        "content": [{"agent": agent, "message": text, "sentiment": "Happy"} for agent, text in messages],
        "conversation_rating": {"agent_1": "Good", "agent_2": "Excellent"},
    }


TWO = {
    "t_1": talk(("agent_1", "Hi"), ("agent_2", "Hello")),
    "t_2": talk(("agent_2", "Tea?"), ("agent_2", "Or coffee?"), ("agent_1", "Tea.")),
}


def test_each_member_is_a_conversation_with_what_was_said_about_it(read: Read) -> None:
    conversations, problems = read("topical-chat", json.dumps(TWO))

    assert problems == []
    assert [(each.id, each.speakers, each.texts) for each in conversations] == [
        ("t_1", ("agent_1", "agent_2"), ("Hi", "Hello")),
        ("t_2", ("agent_2", "agent_1"), ("Tea?\nOr coffee?", "Tea.")),
    ]
    assert conversations[1].joined == 1
    assert conversations[0].details == {
        "article_url": "https://example.org/a",
        "config": "B",
        "rating by agent_1": "Good",
        "rating by agent_2": "Excellent",
    }


def test_lines_are_those_of_the_file(read: Read) -> None:
    text = json.dumps(TWO | {"t_3": {"content": 1}}, indent=1)

    conversations, problems = read("topical-chat", text)

    lines = text.splitlines()
    assert ['"t_1"' in lines[conversations[0].line - 1], '"t_2"' in lines[conversations[1].line - 1]] == [
        True
    ] * 2
    assert [('"t_3"' in lines[line - 1], what) for line, what in problems] == [
        (True, "“t_3” has no list “content”.")
    ]


@pytest.mark.parametrize(
    "text", ["", "[]", "{", '{"a"', '{"a": {}', '{"a": {} "b": {}}', '{"a": nope}', "{1: {}}"]
)
def test_what_is_no_json_object_ends_with_a_problem(read: Read, text: str) -> None:
    conversations, problems = read("topical-chat", text)

    assert conversations == []
    assert problems[-1][0] == 1
    assert "not read" in problems[-1][1]


def test_a_broken_end_leaves_what_came_before(read: Read) -> None:
    text = json.dumps(TWO, indent=1)

    conversations, problems = read("topical-chat", text[: text.index("Or coffee")])

    assert [each.id for each in conversations] == ["t_1"]
    assert len(problems) == 1


@pytest.mark.shared_data
@pytest.mark.skipif(not PARTS.exists(), reason=f"{PARTS} is absent")
def test_the_validation_set_comes_in_whole(read: Read) -> None:
    # The copy in shared/data has a conversation per line under other names; this is the published shape.
    lines = (
        zlib.decompress((PARTS / "topical_chat_valid.jsonl.gz").read_bytes(), wbits=31).decode().splitlines()
    )
    parts = [json.loads(line) for line in lines]
    document = {
        part["id"]: {
            "article_url": part["article_url"],
            "config": part["config"],
            "content": [{"agent": turn["agent"], "message": turn["text"]} for turn in part["turns"]],
        }
        for part in parts
    }
    assert len(document) == 1078  # 539 of each, as the published README counts them

    conversations, problems = read(
        "topical-chat", json.dumps(document), Limits(conversations=2000, turns=50_000)
    )

    assert problems == []
    assert len(conversations) == 1078
    assert sum(len(each.texts) + each.joined for each in conversations) == sum(len(p["turns"]) for p in parts)
