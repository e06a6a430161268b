import json

import pytest

from tests.transcripts.importers.conftest import Read


def act(speaker: object, text: object) -> dict[str, object]:
    return {"id": speaker, "text": text, "episode_done": False}


def test_acts_of_all_pairs_are_the_turns_and_context_is_none(read: Read) -> None:
    line = {
        "dialog": [
            [act("human", "Hi!"), act("model", "Hello.")],
            [act("human", "Bye."), act("model", "Bye!")],
        ],
        "context": [act("context", "your persona: I like tea.")],
        "metadata_path": "/tmp/chat.metadata",
    }

    conversations, problems = read("parlai", json.dumps(line) + "\n")

    assert problems == []
    assert [(each.id, each.speakers, each.texts) for each in conversations] == [
        ("line 1", ("human", "model"), ("Hi!", "Hello.", "Bye.", "Bye!"))
    ]


def test_the_silence_before_a_model_that_speaks_first_is_no_turn(read: Read) -> None:
    line = {"dialog": [[act("human", "__SILENCE__"), act("model", "Hello.")], [act("human", "Hi.")]]}

    conversations, _ = read("parlai", json.dumps(line))

    assert conversations[0].speakers == ("model", "human")
    assert conversations[0].texts == ("Hello.", "Hi.")


@pytest.mark.parametrize(
    ("value", "says"),
    [
        ({}, "not a list of lists"),
        ({"dialog": [1]}, "not a list of lists"),
        ({"dialog": [["Hi"]]}, "is not an object"),
        ({"dialog": [[act(None, "Hi")]]}, "no text under “id”"),
    ],
)
def test_a_bad_line_is_told(read: Read, value: object, says: str) -> None:
    _, problems = read("parlai", json.dumps(value))

    assert [line for line, _ in problems] == [1]
    assert says in problems[0][1]
