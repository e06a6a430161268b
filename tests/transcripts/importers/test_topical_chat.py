import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from tests.transcripts.importers.conftest import Read
from turnwise.transcripts.importers import Limits

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

    assert problems == [
        (
            1,
            "“t_2”, turn 2: agent_2 speaks again, so it is joined to turn 1. Of both the sources are kept, "
            "and the first sentiment and rating.",
        )
    ]
    assert [(each.id, each.speakers, each.texts) for each in conversations] == [
        ("t_1", ("agent_1", "agent_2"), ("Hi", "Hello")),
        ("t_2", ("agent_2", "agent_1"), ("Tea?\nOr coffee?", "Tea.")),
    ]
    assert conversations[1].joined == 1
    assert conversations[0].details == {"article_url": "https://example.org/a", "config": "B"}
    assert conversations[1].details == conversations[0].details | {"opens": "agent_2"}
    assert conversations[1].of_speakers == (
        {"topical-chat-conversation": {"quality": 5}},
        {"topical-chat-conversation": {"quality": 4}},
    )


def test_lines_are_those_of_the_file(read: Read) -> None:
    text = json.dumps(TWO | {"t_3": {"content": 1}}, indent=1)

    conversations, problems = read("topical-chat", text)

    lines = text.splitlines()
    assert ['"t_1"' in lines[conversations[0].line - 1], '"t_2"' in lines[conversations[1].line - 1]] == [
        True
    ] * 2
    assert [('"t_3"' in lines[line - 1], what) for line, what in problems[1:]] == [
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


def _with(**changed: Any) -> dict[str, Any]:
    """A conversation whose second turn, or the whole, has these members."""
    whole = {key: changed.pop(key) for key in ("config", "conversation_rating") if key in changed}
    one = talk(("agent_1", "Hi"), ("agent_2", "Hello"), ("agent_1", "Bye"))
    one["content"][1] |= changed
    return one | whole


@pytest.mark.parametrize(
    ("changed", "what"),
    [
        ({"agent": "bot"}, 'turn 2: agent is "bot". Write agent_1 or agent_2.'),
        ({"sentiment": "Bored"}, 'turn 2: sentiment is "Bored". Write Angry, Disgusted'),
        ({"knowledge_source": ["FS9"]}, 'turn 2: "FS9" is not a section. Write FS1'),
        ({"knowledge_source": [["FS1"]]}, 'turn 2: ["FS1"] is not a section.'),
        ({"knowledge_source": "FS1"}, "turn 2: knowledge_source is not a list."),
        ({"turn_rating": 5}, "turn 2: turn_rating is 5. Write Poor"),
        ({"conversation_rating": {"bob": "Good"}}, 'conversation_rating names "bob".'),
        ({"conversation_rating": {"agent_1": "Fine"}}, 'conversation_rating of agent_1 is "Fine".'),
        ({"config": "E"}, 'config is "E". Write A, B, C or D.'),
    ],
)
def test_a_conversation_with_an_impossible_annotation_stays_out_whole(
    read: Read, changed: dict[str, Any], what: str
) -> None:
    conversations, problems = read("topical-chat", json.dumps({"t_1": _with(**changed), "t_2": _with()}))

    assert [each.id for each in conversations] == ["t_2"]
    assert len(problems) == 1
    assert f"“t_1”, {what}" in problems[0][1]


SECTION = {"entity": "Tea", "shortened_wiki_lead_section": "Tea is a drink.", "fun_facts": ["Hot."]}


def _read(**changed: Any) -> dict[str, Any]:
    side = {"FS1": SECTION}
    return {"config": "B", "agent_1": side, "agent_2": side, "article": {"AS1": "One."}} | changed


@pytest.mark.parametrize(
    ("reading_set", "what"),
    [
        (_read(config="A"), 'its configuration is "A", and its conversation\'s is "B".'),
        (_read(agent_2={"FS7": SECTION}), "agent_2 has “FS7”. Its sections are FS1, FS2, FS3."),
        (_read(agent_2={"\ud800FS": SECTION}), "agent_2 has “FS”. Its"),
        (_read(agent_2=3), "agent_2 is not an object of factual sections."),
        (_read(agent_1={"FS1": {"entity": "Tea"}}), "agent_1, FS1 has 0 leads."),
        (_read(agent_1={"FS1": SECTION | {"shortened_wiki_lead_section": 81356}}), "after their build"),
        (_read(agent_1={"FS1": SECTION | {"fun_facts": ["t", ""]}}), "agent_1, FS1, fact 2 is not text."),
        (_read(article={"AS1": "a\x00"}), "AS1 has characters that no text can have"),
    ],
    ids=["configuration", "section", "half a name", "side", "lead", "number", "fact", "null"],
)
def test_a_reading_set_that_is_none_keeps_its_conversation_out(
    read: Read, reading_set: dict[str, Any], what: str
) -> None:
    both = f"{json.dumps({'t_1': _with()})}\n{json.dumps({'t_1': reading_set})}"

    conversations, problems = read("topical-chat", both)

    assert conversations == []
    assert "Reading set “t_1”: " in problems[0][1]
    assert what in problems[0][1]


def test_sections_that_were_not_shown_and_what_nobody_annotated_are_told_with_their_turns(read: Read) -> None:
    one = _with(knowledge_source=["FS1", "AS4"], turn_rating="")
    one["content"][0] |= {"knowledge_source": []}
    both = f"{json.dumps({'t_1': one})}\n{json.dumps({'t_1': _read()})}"

    conversations, problems = read("topical-chat", both)

    assert [what for _, what in problems] == [
        "“t_1”, turn 1: no source is named.",
        "“t_1”, turn 2: agent_2 names AS4, which they were not shown.",
        "“t_1”, agent_1 did not rate 1 turn of the other: 2.",
    ]
    assert [text.key for text in conversations[0].read[1]] == ["FS1", "AS1"]


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
