import json
from io import BytesIO
from typing import Any

import pytest

from evaluation.questions import QuestionSet
from tests.questions.conftest import TONE as DECLARED
from tests.transcripts.importers.conftest import Read
from turnwise.transcripts.importers import Limits, ResearcherSets, Source, checked

WHOLE = '{"id": "c1", "turns": [{"speaker": "Human", "text": "Hi!"}, {"speaker": "Bot", "text": "Hello."}]}'


def turn(conversation: object, speaker: str, text: str) -> str:
    return json.dumps({"conversation": conversation, "speaker": speaker, "text": text})


def test_a_line_may_be_a_whole_conversation(read: Read) -> None:
    conversations, problems = read("jsonl", f"{WHOLE}\n\n")

    assert problems == []
    assert [(each.id, each.speakers, each.texts) for each in conversations] == [
        ("c1", ("Human", "Bot"), ("Hi!", "Hello."))
    ]


def test_a_line_may_be_a_turn(read: Read) -> None:
    lines = [turn(1, "A", "one"), turn(1, "B", "two"), turn(2, "B", "three"), turn(2, "A", "four")]

    conversations, problems = read("jsonl", "\n".join(lines))

    assert problems == []
    assert [(each.id, each.line, each.texts) for each in conversations] == [
        ("1", 1, ("one", "two")),
        ("2", 3, ("three", "four")),
    ]


def test_a_conversation_that_is_interrupted_is_not_imported_twice(read: Read) -> None:
    lines = [turn("x", "A", "1"), turn("x", "B", "2"), WHOLE, turn("x", "A", "3"), turn("x", "B", "4")]

    conversations, problems = read("jsonl", "\n".join(lines))

    assert [each.id for each in conversations] == ["x", "c1"]
    assert [line for line, _ in problems] == [4]
    assert "already, from line 1" in problems[0][1]


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("{", "not JSON"),
        ("[1]", "not a JSON object"),
        ('{"id": "c2", "turns": "none"}', "is not a list"),
        ('{"id": "c2", "turns": []}', "nobody"),
        ('{"id": "c2", "turns": [1]}', "is not an object"),
        ('{"id": "c2", "turns": [{"speaker": "A"}]}', "no text under “text”"),
        ('{"speaker": "A", "text": "one"}', "neither “turns” nor “conversation”"),
        (WHOLE.replace("c1", "c2").replace("Hi!", "\\u0000"), "null"),
        (WHOLE.replace("c1", "c2").replace("Hi!", "\\ud800"), "half"),
        ("[" * 100_000, "not JSON"),
        ('{"id": "c2" "turns": []}', "not JSON: Expecting ',' delimiter at character 13."),
    ],
)
def test_a_bad_line_stays_out_and_the_others_come_in(read: Read, line: str, says: str) -> None:
    conversations, problems = read("jsonl", f"{WHOLE}\n{line}")

    assert [each.id for each in conversations] == ["c1"]
    assert [number for number, _ in problems] == [2]
    assert says in problems[0][1]


TONE = QuestionSet.from_json(DECLARED | {"key": "tone-v2"})


def test_labels_may_name_a_set_of_researchers_with_its_version() -> None:
    value = labelled()
    value["turns"][1]["labels"] = {"ann": {"tone-v2": {"polite": True, "warmth": 4}}}

    def read_with(own: ResearcherSets, **given: Any) -> Any:
        line = json.dumps(value).replace("tone-v2", given.get("key", "tone-v2"))
        line = line.replace("4}", f"{given.get('answer', 4)}}}")
        return next(checked(Source(BytesIO(line.encode()), {}, own), "jsonl", Limits(10, 100)))

    own = ResearcherSets({"tone-v2": TONE.to_json()}, ["tone-v2", "wit-v1"])
    assert read_with(own).turns_by_rater[1] == {"ann": {"tone-v2": {"polite": True, "warmth": 4}}}
    assert "9" in read_with(own, answer=9).what  # outside the scale
    unknown = read_with(own, key="tone").what
    assert "No question set is declared as 'tone'. Did you mean 'tone-v2'?" in unknown
    assert " Declared: tone-v2, wit-v1, " in unknown
    assert "context-fitness" in unknown
    assert "is declared as 'tone-v2'" in read_with(ResearcherSets()).what


LIKED = {"sensible": True, "specific": False}
RATED = {"quality": 5, "fluency": 6, "diversity": 3, "relatedness": 4, "empathy": 2}


def labelled(**fields: Any) -> dict[str, Any]:
    turns = [{"speaker": "Human", "text": "Hi!"}, {"speaker": "Bot", "text": "Hello."}]
    return {"id": "c1", "turns": turns} | fields


def test_labels_of_several_raters_come_with_turns_and_conversations(read: Read) -> None:
    value = labelled(labels={"ann": {"likert": RATED}, "bob": {"likert": RATED}})
    value["turns"][1]["labels"] = {"ann": {"ssa": LIKED}, "bob": {"ssa": {"sensible": False}}}
    by_line = [
        {"conversation": "c2", "speaker": "Human", "text": "Hi!"},
        {"conversation": "c2", "speaker": "Bot", "text": "Hm.", "labels": {"cy": {"ssa": LIKED}}},
        {"conversation": "c2", "speaker": "Bot", "text": "Hello.", "labels": {"dee": {"ssa": LIKED}}},
    ]

    found, problems = read("jsonl", "\n".join(json.dumps(each) for each in (value, *by_line)))

    assert problems == []
    first, second = found
    assert first.by_rater == {"ann": {"likert": RATED}, "bob": {"likert": RATED}}
    assert first.turns_by_rater == (
        {}, {"ann": {"ssa": LIKED}, "bob": {"ssa": {"sensible": False, "specific": False}}},
    )  # fmt: skip
    assert (first.labels, second.labels) == (4, 2)
    assert second.texts == ("Hi!", "Hm.\nHello.")  # joined, with the labels of both parts
    assert second.turns_by_rater[1] == {"cy": {"ssa": LIKED}, "dee": {"ssa": LIKED}}


@pytest.mark.parametrize(
    ("labels", "says"),
    [
        ([], ""),  # none
        ([1], "“labels” in conversation “c1” is not an object of raters. Write"),
        ({"ann": 5}, "Labels in conversation “c1” cannot be read. Write"),
        ({" ": {}}, "Labels in conversation “c1” cannot be read. Write"),
        ({"ann": {"wit": {}}}, "Labels of “ann” in conversation “c1”: No question set is declared as 'wit'."),
        (
            {"ann": {"likert": 5}},
            "Labels of “ann” in conversation “c1”: the answers to “likert” are no object",
        ),
        ({"ann": {"likert": RATED | {"quality": 9}}}, "Labels of “ann” in conversation “c1”: "),
        ({"ann": {"likert": RATED | {"wit": 1}}}, "“wit” is not a question of this form"),
        ({"ann": {"votes": {}}}, "the questions “votes” are not about whole conversations"),
    ],
)
def test_labels_that_cannot_be_stored_keep_the_conversation_out(read: Read, labels: Any, says: str) -> None:
    found, problems = read("jsonl", json.dumps(labelled(labels=labels)))

    assert len(found) == (not says)
    assert [says in problem[1] for problem in problems] == [True] * bool(says)
