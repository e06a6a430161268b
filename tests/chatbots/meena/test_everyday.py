"""Everyday talk from templates: what they mean, and the conversations that are made of the shipped ones."""

import json
import random
import re
from collections import Counter

import pytest

from chatbots.meena.cli import main
from chatbots.meena.corpus.reading import ReadingReport, read_trees
from chatbots.meena.everyday.dialogues import conversations, typed, walk
from chatbots.meena.everyday.templates import (
    Entry,
    TemplateError,
    alternatives,
    expand,
    fill,
    read_blocks,
    read_slots,
    shipped,
)
from chatbots.meena.everyday.threads import threads
from evaluation.open_mtb import read_open_mtb

SLOTS = read_slots("# words\ndrink: tea = it calms; apple juice = it is sweet\n\njob: cook; engineer")
TALK = """## drinks *2
u I like {drink} | [Hot|Cold] {drink}?
b {Drink}: {drink.note}.
  u Why?
  b {drink.Note}.
u Bye
b Bye!
"""


@pytest.fixture(scope="module")
def talks():
    return list(conversations(400, seed=3))


def test_slots_have_words_and_their_notes():
    assert SLOTS["drink"] == [Entry("tea", "it calms"), Entry("apple juice", "it is sweet")]
    assert [entry.note for entry in SLOTS["job"]] == ["", ""]


def test_a_block_has_openings_and_what_follows():
    (block,) = read_blocks(TALK, "talk", SLOTS)

    assert (block.name, block.weight) == ("drinks", 2)
    first, second = block.openings
    assert first.said == ["I like {drink}", "[Hot|Cold] {drink}?"]
    assert [(each.said, each.answers) for each in first.following] == [(["Why?"], ["{drink.Note}."])]
    assert (second.said, second.answers, second.following) == (["Bye"], ["Bye!"], [])


def test_bars_in_brackets_separate_shorter_alternatives():
    assert alternatives("a [b|c [d|e]] | f") == ["a [b|c [d|e]]", "f"]
    found = {expand("a [b|c [d|e]]", random.Random(seed)) for seed in range(40)}
    assert found == {"a b", "a c d", "a c e"}


def test_a_word_stays_the_same_and_a_number_means_another_one():
    for seed in range(20):
        filled = {}
        text = fill("{Drink}, {drink}, {drink2}; {drink.Note}", SLOTS, filled, random.Random(seed))
        one, other = filled["drink"], filled["drink2"]
        assert one != other
        assert text.lower() == f"{one.text}, {one.text}, {other.text}; {one.note}"
        assert text[0].isupper()
        assert text.split("; ")[1][0] == "I"


@pytest.mark.parametrize(
    ("word", "text"), [("cook", "A cook, a cook"), ("engineer", "An engineer, an engineer")]
)
def test_words_take_their_article(word, text):
    filled = {"job": Entry(word, "")}
    assert fill("{A:job}, {a:job}", SLOTS, filled, random.Random(0)) == text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("## a\nu I like {snack}\nb Yes", r"t, line 2: \{snack\} is not a slot of slots\.txt"),
        ("## a\nu I like {drink\nb Yes", "t, line 2: a brace that encloses no slot"),
        ("## a\nb Yes", "t, line 2: an answer, but nothing was said before it"),
        ("u Hi\nb Yes", "t, line 1: neither a heading nor what follows one: 'u Hi'"),
        ("## a\nu Hi\n    b Yes", "t, line 3: neither a heading nor what follows one: 'b Yes'"),
        ("## a\nHi\n", "t, line 2: neither a heading nor what follows one: 'Hi'"),
    ],
    ids=["no slot", "brace", "answer first", "no heading", "too deep", "no kind"],
)
def test_a_line_that_is_no_template_is_named(text, message):
    with pytest.raises(TemplateError, match=message):
        read_blocks(text, "t", SLOTS)


def test_slots_without_a_name_are_named():
    with pytest.raises(TemplateError, match="slots, line 2: no colon"):
        read_slots("a: b\ntea; juice")


def test_every_shipped_template_is_answered_and_every_slot_used():
    blocks, slots = shipped()
    waiting = [exchange for block in blocks for exchange in block.openings]
    used = Counter()
    while waiting:
        exchange = waiting.pop()
        assert exchange.said
        assert exchange.answers, exchange.said
        used.update(re.findall(r"\{(?:[Aa]:)?([a-z]+)", " ".join(exchange.said + exchange.answers).lower()))
        waiting += exchange.following
    asked = " ".join(str(node) for node in threads().values())
    used.update(re.findall(r"\{(?:[Aa]:)?([a-z]+)", asked.lower()))
    assert set(slots) == set(used) - {"topic"}


def test_what_is_known_of_a_word_is_asked_only_where_it_is_known():
    blocks, slots = shipped()
    waiting = [exchange for block in blocks for exchange in block.openings]
    while waiting:
        exchange = waiting.pop()
        for name in re.findall(r"\{([A-Za-z]+)\d?\.", " ".join(exchange.answers)):
            assert all(entry.note for entry in slots[name.lower()]), name
        waiting += exchange.following


def test_conversations_alternate_and_leave_nothing_unfilled(talks):
    for talk in talks:
        turns = talk["turns"]
        said = turns[1:] if "context" not in turns[0] else turns  # the bot may greet first
        assert [turn.get("context", False) for turn in said] == [True, False] * (len(said) // 2)
        for turn in turns:
            assert turn["text"].strip() == turn["text"] != ""
            assert not re.search(r"[{}\[\]|]|  ", turn["text"]), turn["text"]


def test_the_bot_praises_the_food_that_the_person_named():
    blocks, slots = shipped()
    (block,) = (block for block in blocks if block.name == "i_love_food")
    foods = [food.text for food in slots["food"]]
    found = 0
    for seed in range(100):
        for said, answer in walk(block.openings[0], slots, random.Random(seed)):
            if " is a good choice" in answer:
                found += 1
                (food,) = (food for food in foods if answer.lower().startswith(f"{food} is a good choice"))
                assert food in said.lower()
    assert found > 5


def test_the_bot_never_claims_to_be_human(talks):
    said = " ".join(turn["text"] for talk in talks for turn in talk["turns"] if "context" not in turn)
    assert not re.search(
        r"I(?:'m| am) (?:a |not a )?(?:human|person|man|woman|real)\b(?!,)", said, re.IGNORECASE
    )
    assert "I'm a program" in said


def test_typing_changes_the_form_but_not_what_is_meant():
    found = {typed("I'm fine, what's up?", random.Random(seed)) for seed in range(300)}
    assert {"I'm fine, what's up?", "i'm fine, what's up", "I am fine, what is up?"} <= found


def test_the_command_writes_the_same_file_again_which_a_corpus_reads(tmp_path, capsys):
    one, two = tmp_path / "one.jsonl.gz", tmp_path / "two.jsonl.gz"
    for path in (one, two):
        assert main(["everyday", "--output", str(path), "--conversations", "50", "--seed", "1"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[0])

    report = ReadingReport()
    trees = list(read_trees(one, report))
    learnt = [m for tree in trees for m in tree.messages if m.parent >= 0 and not m.context_only]
    assert one.read_bytes() == two.read_bytes()
    assert (told["conversations"], told["exchanges"]) == (len(trees), len(learnt)) == (50, told["exchanges"])
    assert 0 < told["different"] <= told["exchanges"]
    assert report.malformed == 0


def test_no_conversations_are_refused(tmp_path, capsys):
    assert main(["everyday", "--output", str(tmp_path / "x"), "--conversations", "0"]) == 2
    assert "conversations=0 must be at least 1" in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_no_context_of_the_open_benchmark_is_learnt_but_common_questions(talks):
    """Of contexts with more than one turn, not even the last two turns stand together."""

    def plain(text):
        return " ".join(re.sub(r"[^a-z ]", "", text.lower()).split())

    said = [[plain(turn["text"]) for turn in talk["turns"]] for talk in talks]
    together = {pair for turns in said for gap in (1, 2) for pair in zip(turns, turns[gap:], strict=False)}
    contexts = [[plain(turn) for turn in context.turns] for context in read_open_mtb()]
    longer = [turns for turns in contexts if len(turns) > 1]
    assert len(longer) > 1000
    assert not [turns for turns in longer if tuple(turns[-2:]) in together]
