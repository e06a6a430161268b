"""Conversations that stay with a subject: how nodes are read, what is asked next, and the shipped ones."""

import itertools
import json
import random
import re

import pytest

from chatbots.meena.cli import main
from chatbots.meena.everyday.templates import expand, names, read_slots, shipped
from chatbots.meena.everyday.threads import (
    BACK,
    NEW,
    Conversation,
    ThreadError,
    conversations,
    read_nodes,
    threads,
)

SLOTS = read_slots("pet: dog; cat\npetname: Max; Bella")
PETS = """# pets
## pet *2 = your pet
q Do you have a pet?
m I have a mouse.
e I have a {pet} | yes, a {pet}
b A {pet}! -> petname | How nice!
u no
b A pity. -> new
## petname = your {pet}
q What is your {pet} called?
u {petname}
b {petname}!
"""


@pytest.fixture(scope="module")
def talks():
    return list(conversations(300, seed=5))


def pairs(talks):
    """Each turn of the bot with the one that it answers."""
    for talk in talks:
        texts = [turn["text"] for turn in talk["turns"]]
        yield from zip(texts[::2], texts[1::2], strict=True)


def test_a_node_has_a_question_answers_to_it_and_where_they_lead():
    nodes = read_nodes(PETS, "pets", SLOTS)

    pet = nodes["pet"]
    assert (pet.weight, pet.topic, pet.asks, pet.own) == (
        2,
        "your pet",
        ["Do you have a pet?"],
        ["I have a mouse."],
    )
    assert [said.lines for said in pet.opened()] == [["I have a {pet}", "yes, a {pet}"]]
    assert [said.lines for said in pet.answered()] == [["I have a {pet}", "yes, a {pet}"], ["no"]]
    assert [(reply.text, reply.targets) for reply in pet.said[0].replies] == [
        ("A {pet}!", ("petname",)),
        ("How nice!", ()),
    ]
    assert (nodes["petname"].weight, nodes["petname"].topic) == (0, "your {pet}")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q Who?", "t, line 1: neither a heading nor a line of a node: 'q Who"),
        ("## a = b\nx Who?", "t, line 2: neither a heading nor a line of a node"),
        ("## a = b\nb Yes", "t, line 2: a reply, but nothing was said before it"),
        ("## a = b\nq Do you like {snack}?", r"t, line 2: snack is not a slot of slots\.txt"),
    ],
)
def test_a_line_that_is_no_part_of_a_node_is_named(text, message):
    with pytest.raises(ThreadError, match=message):
        read_nodes(text, "t", SLOTS)


def test_every_question_of_the_package_can_be_answered_and_every_target_asks():
    for node in threads().values():
        if node.asks:
            assert node.answered(), node.name
            assert node.topic, node.name
        for said in node.said:
            assert said.lines, node.name
            assert said.replies, (node.name, said.lines)


def test_no_reply_takes_up_a_word_that_another_line_would_have_said():
    chance = random.Random(0)
    for node in threads().values():
        for said in node.said:
            possible = {key for line in said.lines for _, key in names(line)}
            needed = [{key for _, key in names(reply.text)} & possible for reply in said.replies]
            for line in said.lines:
                for _ in range(40):
                    named = {key for _, key in names(expand(line, chance))}
                    assert any(keys <= named for keys in needed), (node.name, line)


def test_a_reply_with_a_question_does_not_ask_another():
    """Unless the first only wonders at what was said."""
    for node in threads().values():
        for said in node.said:
            for reply in said.replies:
                text = reply.text
                if reply.targets and text.endswith("?"):
                    assert len(text.split()) <= 8, (node.name, text)


def test_a_reply_is_about_the_relative_that_was_named():
    relatives = [entry.text for entry in shipped()[1]["family"]]
    (node,) = (node for node in threads().values() if node.name == "family")
    sick = next(said for said in node.opened() if "is sick" in said.lines[0])
    for seed in range(60):
        conversation = Conversation(random.Random(seed))
        line, reply = conversation._line(sick), conversation._reply(sick.replies)
        named = max((name for name in relatives if f"my {name} " in f"{line} "), key=len)
        assert f"our {named}" in reply or f"our poor {named}" in reply


def test_the_bot_asks_a_question_again_only_when_it_comes_back_to_it(talks):
    nodes = threads()
    asked = {
        ask: name for name, node in nodes.items() for ask in node.asks if "{" not in ask and "[" not in ask
    }
    for talk in talks:
        said = [turn["text"] for turn in talk["turns"][1::2]]
        kinds = [next((asked[ask] for ask in asked if text.endswith(ask)), None) for text in said]
        for kind in {kind for kind in kinds if kind}:
            places = [place for place, other in enumerate(kinds) if other == kind]
            assert places[-1] - places[0] < 8


def test_people_are_context_only_and_nothing_is_left_unfilled(talks):
    assert talks == list(conversations(300, seed=5))
    for talk in talks:
        assert [turn.get("context", False) for turn in talk["turns"]] == [True, False] * (
            len(talk["turns"]) // 2
        )
        for turn in talk["turns"]:
            assert turn["text"].strip() == turn["text"] != ""
            assert not re.search(r"[{}\[\]|<>]|->|  ", turn["text"]), turn["text"]


def test_nothing_follows_a_goodbye():
    for seed in range(60):
        conversation = Conversation(random.Random(seed))
        turns = conversation.turns()
        if conversation.over:
            assert "?" not in turns[-1]["text"]


def test_the_bot_answers_its_own_question_when_asked_back():
    node = threads()["pet"]
    conversation = Conversation(random.Random(1))
    conversation.open = node
    assert set(node.own) & {conversation._text(node.own) for _ in range(30)}
    assert {target for said in node.said for reply in said.replies for target in reply.targets} - {
        BACK,
        NEW,
    } <= set(threads())


def test_the_bot_never_claims_to_be_human(talks):
    said = " ".join(turn["text"] for talk in talks for turn in talk["turns"] if "context" not in turn)
    assert not re.search(r"I(?:'m| am) (?:a )?(?:human|person|man|woman)\b", said, re.IGNORECASE)


def test_the_command_writes_them(tmp_path, capsys):
    out = tmp_path / "threads.jsonl"
    assert main(["everyday", "--threads", "--output", str(out), "--conversations", "40"]) == 0
    assert json.loads(capsys.readouterr().out)["conversations"] == 40
    assert len(out.read_text().splitlines()) == 40


def test_every_slot_is_used_by_a_template_or_a_node():
    used = {slot for node in threads().values() for line in node.asks + node.own for slot, _ in names(line)}
    for node in threads().values():
        for said in node.said:
            used |= {slot for line in said.lines for slot, _ in names(line)}
            used |= {slot for reply in said.replies for slot, _ in names(reply.text)}
    assert used - {"topic"} <= set(shipped()[1])


def test_people_interrupt_with_lines_that_no_node_expects():
    talks = list(conversations(60, 1, [["I repaired clocks"]]))
    replies = [
        after["text"]
        for talk in talks
        for turn, after in itertools.pairwise(talk["turns"])
        if turn["text"] == "I repaired clocks"
    ]

    assert len(replies) > 60
    assert any("you repaired clocks" in reply.lower() for reply in replies)
    assert all("context" in turn for talk in talks for turn in talk["turns"][::2])
