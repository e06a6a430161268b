"""Formats of chat services and data sets: what each becomes, and what is refused with line and cure."""

import json
from pathlib import Path

import pytest

from tests.transcripts.importers.conftest import Read
from turnwise.transcripts.importers import guessed

CASES = Path(__file__).parents[4] / "shared" / "cases" / "formats"
USER = {"role": "user", "content": "Is it open?"}
REPLY = {"role": "assistant", "content": "Yes, until five."}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [{"id": "1", "type": "function", "function": {"name": "hours", "arguments": '{"day": 1}'}}],
}
ANSWER = {"role": "tool", "tool_call_id": "1", "content": "9 to 17"}


def messages(*given: object, **beside: object) -> str:
    return json.dumps({"messages": given, **beside}) + "\n"


def test_a_system_message_becomes_reading_material_of_the_chatbot(read: Read) -> None:
    content = messages({"role": "system", "content": "Be brief."}, USER, REPLY)

    [found], problems = read("openai", content)

    assert (found.speakers, found.texts) == (("user", "assistant"), ("Is it open?", "Yes, until five."))
    assert [[(text.key, text.title, text.text) for text in texts] for texts in found.read] == [
        [], [("system", "System message", "Be brief.")],
    ]  # fmt: skip
    assert problems == []


def test_calls_and_answers_of_tools_belong_to_the_reply_that_follows(read: Read) -> None:
    [found], _ = read("openai", messages(USER, CALL, ANSWER, REPLY))

    assert found.texts == ("Is it open?", "Yes, until five.")
    assert found.generations[1] == {
        "remarks": ["the model called tools: hours"],
        "tools": [{"name": "hours", "arguments": '{"day": 1}'}, {"answer": "9 to 17"}],
    }


def test_a_reply_that_is_only_a_call_of_a_tool_has_no_text(read: Read) -> None:
    [found], _ = read("openai", messages(USER, CALL, USER, REPLY))

    assert found.texts == ("Is it open?", "", "Is it open?", "Yes, until five.")
    assert found.generations[1]["outcome"] == "tool_call"


def test_pictures_leave_a_remark_and_texts_of_parts_are_kept(read: Read) -> None:
    parts = [{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": {"url": "data:,"}}]

    [found], _ = read("openai", messages({"role": "user", "content": parts}, REPLY))

    assert found.texts[0] == "What is this?"
    assert found.generations[0] == {"remarks": ["a picture of the file is left out"]}


def test_an_array_and_a_document_over_several_lines_name_their_lines(read: Read) -> None:
    pair = {"messages": [USER, REPLY]}
    bad = {"messages": [USER, {"role": "critic", "content": "Hm"}]}

    conversations, problems = read("openai", json.dumps([pair, bad, pair], indent=1))

    assert [each.line for each in conversations] == [2, 26]
    assert problems == [
        (14, 'Message 2: role is "critic", which is not known. Write user, assistant, system or tool.')
    ]
    assert len(read("openai", json.dumps(pair, indent=2))[0]) == 1


def test_a_model_of_the_file_is_the_speaker(read: Read) -> None:
    [found], _ = read("openai", messages(USER, REPLY, model="m-1", id="c7"))

    assert (found.id, found.speakers) == ("c7", ("user", "m-1"))


def test_anthropic_blocks_give_reasoning_tools_and_the_system_message(read: Read) -> None:
    blocks = [
        {"type": "thinking", "thinking": "Look it up.", "signature": "x"},
        {"type": "tool_use", "id": "1", "name": "hours", "input": {"day": 1}},
    ]
    result = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "1", "content": "9 to 17"}]}
    reply = {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]}
    content = messages(USER, {"role": "assistant", "content": blocks}, result, reply, system="Be kind.")

    [found], problems = read("anthropic", content)

    assert guessed(content) == "anthropic"
    assert (found.texts, problems) == (("Is it open?", "Yes."), [])
    assert found.generations[1] == {
        "remarks": ["the model called tools: hours"],
        "reasoning": "Look it up.",
        "tools": [{"name": "hours", "arguments": '{"day": 1}'}, {"answer": "9 to 17"}],
    }
    assert found.read[1][0].text == "Be kind."


def test_sharegpt_keeps_its_names(read: Read) -> None:
    turns = [
        {"from": "system", "value": "Be brief."},
        {"from": "human", "value": "Hi"},
        {"from": "gpt", "value": "Hello"},
    ]

    [found], _ = read("sharegpt", json.dumps({"id": "s1", "conversations": turns}))

    assert (found.id, found.speakers, found.texts) == ("s1", ("human", "gpt"), ("Hi", "Hello"))
    assert found.read[1][0].text == "Be brief."


def test_wildchat_leaves_out_what_tells_of_its_people(read: Read) -> None:
    record = {
        "conversation_hash": "a1", "model": "model-x", "language": "English", "hashed_ip": "f00",
        "conversation": [USER | {"timestamp": "2026-03-01T10:00:00+00:00"}, REPLY],
    }  # fmt: skip

    [found], _ = read("wildchat", json.dumps(record))

    assert (found.id, found.speakers) == ("a1", ("user", "model-x"))
    assert found.details == {"model": "model-x", "language": "English"}
    assert found.times == ("2026-03-01T10:00:00+00:00", "")


def test_a_pair_of_the_arena_gives_both_conversations_or_none(read: Read) -> None:
    pair = {
        "question_id": "q", "model_a": "m", "model_b": "n", "winner": "model_b",
        "conversation_a": [USER, REPLY], "conversation_b": [USER, REPLY],
    }  # fmt: skip
    lines = [
        pair,
        pair | {"question_id": "r", "conversation_b": []},
        pair | {"question_id": "s", "winner": "x"},
    ]

    conversations, problems = read("arena", "\n".join(map(json.dumps, lines)))

    assert [(each.id, each.speakers[1]) for each in conversations] == [("q (a)", "m"), ("q (b)", "n")]
    assert conversations[0].details == {"pair": "q", "winner": "model_b", "side": "a", "model": "m"}
    assert [line for line, _ in problems] == [2, 3]
    assert "conversation_b: The list of messages is missing or empty" in problems[0][1]
    assert 'winner is "x"' in problems[1][1]


def oasst(id_: str, parent: str | None, **more: object) -> dict[str, object]:
    role = "prompter" if parent is None or id_.startswith("p") else "assistant"
    return {"message_id": id_, "parent_id": parent, "message_tree_id": "t", "role": role, "text": id_, **more}


TREE = [
    oasst("p1", None, lang="en"), oasst("a1", "p1", rank=1), oasst("a2", "p1", rank=0), oasst("p2", "a1"),
    oasst("a3", "p2"),
]  # fmt: skip


def test_a_flat_tree_gives_its_main_line_or_each_path(read: Read) -> None:
    content = "\n".join(map(json.dumps, TREE))

    [main], problems = read("oasst", content)
    paths, _ = read("oasst-paths", content)

    assert (main.texts, main.details, problems) == (("p1", "a2"), {"tree": "p1", "language": "en"}, [])
    assert {each.id: each.texts for each in paths} == {"a3": ("p1", "a1", "p2", "a3"), "a2": ("p1", "a2")}


def test_a_nested_tree_is_read_like_a_flat_one(read: Read) -> None:
    reply = {"message_id": "a", "role": "assistant", "text": "Hello", "replies": []}
    prompt = {"message_id": "p", "role": "prompter", "text": "Hi", "replies": [reply]}

    [found], _ = read("oasst", json.dumps({"message_tree_id": "p", "prompt": prompt}))

    assert found.texts == ("Hi", "Hello")


def test_a_tree_with_a_circle_stays_out_with_its_line(read: Read) -> None:
    circle = [oasst("x", "y"), oasst("y", "x")]
    lost = [oasst("z", "nowhere")]

    conversations, problems = read("oasst", "\n".join(map(json.dumps, [*TREE, *circle, *lost])))

    assert [each.texts for each in conversations] == [("p1", "a2")]
    assert (6, "The tree has a circle: message “x” replies to itself. Correct its parent.") in problems
    assert any(line == 8 and "“nowhere”, which is not in the file" in what for line, what in problems)
    again = {"message_id": "p", "role": "assistant", "text": "Hello", "replies": []}
    prompt = {"message_id": "p", "role": "prompter", "text": "Hi", "replies": [again]}
    assert "has a circle" in read("oasst", json.dumps({"prompt": prompt}))[1][0][1]


def test_label_studio_tasks_are_read_before_and_after_annotation(read: Read) -> None:
    turns = [{"author": "Human", "text": "Hi"}, {"author": "Bot", "text": "Hello"}]
    task = {"id": 4, "data": {"title": "t", "dialogue": turns}, "annotations": [{"result": []}]}
    flat = {"id": 4, "dialogue": turns, "annotator": 1, "lead_time": 2.5}

    [found], _ = read("label-studio", json.dumps([task]))
    [minimal], _ = read("label-studio", json.dumps([flat]))

    assert (found.id, found.texts, found.details) == ("4", ("Hi", "Hello"), {"annotations": "1"})
    assert minimal.texts == found.texts
    assert guessed(json.dumps([flat])) == "label-studio"
    assert read("label-studio", '[{"id": 1, "data": {"image": "a"}}]')[1] == [
        (1, "The task has no list of turns with “author” and “text”; its data are “image”.")
    ]


def test_samples_of_an_inspect_log_give_their_messages_attachments_and_scores(read: Read) -> None:
    reasoned = [{"type": "reasoning", "reasoning": "Look it up."}, {"type": "text", "text": "Yes."}]
    samples = [
        {"id": 1, "epoch": 2,
         "messages": [USER | {"content": "attachment://a1"}, {"role": "assistant", "content": reasoned}],
         "attachments": {"a1": "Is it open?"}, "scores": {"match": {"value": 1.0}}},
        {"id": 2, "input": "Hi", "output": {"model": "m-2", "choices": [{"message": REPLY}]}, "messages": []},
        {"id": 3, "messages": [USER]},
    ]  # fmt: skip
    log = {"version": 2, "status": "success", "eval": {"model": "m-1"}, "plan": {}, "samples": samples}
    content = json.dumps(log, indent=1)

    [first, second], problems = read("inspect", content)

    assert guessed(content) == "inspect"
    assert (first.id, first.speakers, first.texts) == ("1, epoch 2", ("user", "m-1"), ("Is it open?", "Yes."))
    assert first.generations[1] == {"reasoning": "Look it up."}
    assert first.details == {"model": "m-1", "score match": "1.0"}
    assert (second.id, second.speakers, second.texts[0]) == ("2", ("user", "m-2"), "Hi")
    line = 1 + content[: content.index('"id": 3')].count("\n") - 1
    assert [where for where, _ in problems] == [line]
    assert "here speaks" in problems[0][1]
    assert "has no samples" in read("inspect", '{"version": 2, "status": "started", "eval": {}}')[1][0][1]


def test_potato_instances_come_once_each(read: Read) -> None:
    given = {"id": "1", "text": ["Human: Hi", "Bot: Hello &amp; welcome", "you"]}
    exported = {"id": "2", "displayed_text": "<b>Human:</b> Hi<br/>Bot: Hello", "label_annotations": {}}

    conversations, _ = read("potato", "\n".join(map(json.dumps, [given, exported, exported])))

    assert [each.texts for each in conversations] == [("Hi", "Hello &amp; welcome\nyou"), ("Hi", "Hello")]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (messages({"role": "system", "content": "Be brief."}), "only a system message. Add the turns"),
        (messages(USER), "here speaks: “user”. Add the other's turns"),
        (messages(), "list of messages is missing or empty"),
        (messages(USER, {"role": "assistant", "content": 7}), "Message 2: its content is 7"),
        (messages(USER, {"role": "assistant", "content": ""}), "“assistant” says nothing"),
        (messages(USER, {"content": "x"}), "Message 2: role is null"),
        (messages(USER, REPLY | {"content": "x" * 32_001}), "32,001 characters; 32,000 can be stored"),
        (messages(USER, REPLY | {"reasoning": "\x00"}), "null"),
        ('{"prompt": "x"}', "no “messages”; its keys are “prompt”"),
    ],
)
def test_what_cannot_be_stored_is_told_with_line_and_cure(read: Read, content: str, says: str) -> None:
    conversations, problems = read("openai", messages(USER, REPLY) + content)

    assert len(conversations) == 1
    assert [line for line, _ in problems] == [2]
    assert says in problems[0][1]


def test_empty_turns_are_left_out_with_a_remark(read: Read) -> None:
    turns = [("user", "Hi"), ("bot", " "), ("user", "Are you there?"), ("bot", "Yes.")]
    content = json.dumps({"id": "c", "turns": [{"speaker": who, "text": text} for who, text in turns]})

    [found], _ = read("jsonl", content)

    assert (found.texts, found.empty, found.joined) == (("Hi\nAre you there?", "Yes."), 1, 1)
    assert found.generations[1] == {"remarks": ["an empty turn of the file before this one is left out"]}


def test_several_people_beside_one_chatbot_are_put_on_one_side(read: Read) -> None:
    turns = [("Ada", "Hi"), ("Grace", "Hello"), ("assistant", "Welcome."), ("Ada", "Thanks")]
    content = json.dumps({"id": "c", "turns": [{"speaker": who, "text": text} for who, text in turns]})

    [found], _ = read("jsonl", content)

    assert found.speakers == ("people", "assistant")
    assert found.texts == ("Ada: Hi\nGrace: Hello", "Welcome.", "Ada: Thanks")


def test_ten_thousand_speakers_are_refused_with_a_cure(read: Read) -> None:
    turns = [{"speaker": f"s{number}", "text": "Hi"} for number in range(10_000)]

    conversations, [(line, what)] = read("jsonl", json.dumps({"id": "c", "turns": turns}))

    assert (conversations, line) == ([], 1)
    assert (
        "here speak 10,000: “s0”, “s1”, “s2”, “s3”, “s4” and 9,995 more. Name the chatbot “assistant”" in what
    )


def test_a_dialogue_system_called_system_is_a_speaker(read: Read) -> None:
    turns = [{"speaker": "User", "text": "Hi"}, {"speaker": "System", "text": "Where to?"}]

    [found], _ = read("jsonl", json.dumps({"id": "c", "turns": turns}))

    assert found.speakers == ("User", "System")


@pytest.mark.shared_data
@pytest.mark.skipif(not CASES.exists(), reason="needs the small files in ../shared/cases")
@pytest.mark.parametrize(
    ("name", "key", "conversations"),
    [
        ("anthropic.jsonl", "anthropic", 1),
        ("columns.csv", "table", 1),
        ("empty_reply.jsonl", "jsonl", 1),
        ("long_reply.jsonl", "jsonl", 1),
        ("openai_array.json", "openai", 2),
        ("openai_messages.jsonl", "openai", 2),
        ("openai_parts.jsonl", "openai", 1),
        ("openai_tools.jsonl", "openai", 1),
        ("semicolon.csv", "table", 1),
        ("sharegpt.jsonl", "sharegpt", 2),
        ("system_message.jsonl", "jsonl", 1),
        ("wildchat.jsonl", "wildchat", 1),
    ],
)
def test_files_of_current_tools_are_read(read: Read, name: str, key: str, conversations: int) -> None:
    content = (CASES / name).read_bytes()

    found, problems = read(key, content)

    assert guessed(content.decode()[:65_536]) == key
    assert (len(found), problems) == (conversations, [])
