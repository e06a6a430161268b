import itertools
import random
import re
from collections import Counter

import pytest
from lark import Lark

from chatbots.identity.grammar.notation import ROOTS, Grammar, GrammarError, ebnf, joined, load, parse
from chatbots.identity.grammar.recognition import Recogniser
from chatbots.identity.grammar.sampling import Sampler, Split, load_modifiers, modified, partitioned, sample
from chatbots.identity.labels import CATEGORIES, Label

TOY = """
positive:
    are you {thing} | am i talking to {thing}
thing:
    3 a robot
    1 a human | a [real] person
ambiguous:
    who are you
negative:
    hello
"""


def toy(text=TOY):
    return Grammar({rule.name: rule for rule in parse(text)})


@pytest.fixture(scope="module")
def grammar():
    return load()


@pytest.fixture(scope="module")
def recogniser(grammar):
    return Recogniser(grammar)


def test_the_notation_gives_the_strings_that_one_would_write_by_hand():
    # 2 beginnings x (a robot, a human, a real person, a person)
    things = ["a robot", "a human", "a real person", "a person"]
    by_hand = {f"{start} {thing}" for start in ("are you", "am i talking to") for thing in things}

    assert set(toy().strings("positive")) == by_hand
    assert toy().derivations("positive") == 8


def test_an_optional_part_is_left_out_twice_as_often_as_included():
    [rule] = [rule for rule in parse(TOY) if rule.name == "thing"]

    assert [choice.weight for choice in rule.choices] == pytest.approx([3, 1, 1 / 3, 2 / 3])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a:\n    {b}\nb:\n    x {a}", "leads to itself"),
        ("a:\n    {b}", "there is no rule b"),
        ("    x", "before the first rule"),
        ("a:\n    [x", "without"),
        ("a:\n    0 x", "weight of 0"),
        ("a:\n", "no choices"),
        ("A b:\n    x", "not the header"),
        ("a:\n    x {", "is not a choice"),
    ],
)
def test_a_grammar_that_cannot_be_used_is_refused_with_the_place(text, message):
    with pytest.raises(GrammarError, match=message):
        toy(text)


def test_the_grammar_is_as_large_as_promised_and_has_every_category(grammar):
    assert len(grammar.rules) >= 100
    assert len(grammar.symbols()) >= 1_000
    positive = grammar.reachable(ROOTS[Label.POSITIVE])
    assert len(positive.symbols()) >= 1_000
    assert len(set(itertools.islice(positive.strings("positive"), 200_000))) >= 50_000
    for label, root in ROOTS.items():
        named = {rule.category for rule in grammar.reachable(root).rules.values()} - {None}
        assert named == set(CATEGORIES[label])


def test_each_rule_is_needed(grammar):
    needed = set().union(*(grammar.reachable(root).rules for root in ROOTS.values()))

    assert set(grammar.rules) == needed


def test_the_likeliest_quarter_goes_into_every_split_and_the_rest_into_one():
    names = "".join(f" | w{n}" for n in range(40))
    rule = f"positive:\n    10 likeliest\n    1 first{names}\nambiguous:\n    x\nnegative:\n    y"
    splits = {split: set(each.strings("positive")) for split, each in partitioned(toy(rule)).items()}

    shared = set.intersection(*splits.values())
    assert "likeliest" in shared
    assert len(shared) == 4  # 10 / 51 is under a quarter: three more of weight 1 reach it
    assert [len(splits[split] - shared) for split in Split] == [26, 6, 6]  # 70, 15, 15 % of 38
    assert sum(len(each) - 4 for each in splits.values()) == 38


def test_a_rule_with_too_few_choices_stays_whole():
    splits = partitioned(toy("positive:\n    a | b | c\nambiguous:\n    x\nnegative:\n    y"))

    assert all(set(each.strings("positive")) == {"a", "b", "c"} for each in splits.values())


def test_samples_are_lower_case_unique_and_in_turn():
    wanted = dict.fromkeys(Split, 60)
    drawn = sample(dict.fromkeys(Label, wanted), seed=4)

    texts = [each.text for each in drawn]
    assert len(set(texts)) == len(texts) == 540
    assert texts == [text.strip().lower() for text in texts]
    assert [each.split for each in drawn[:3]] == list(Split)
    assert drawn == sample(dict.fromkeys(Label, wanted), seed=4)


def test_a_split_that_runs_out_of_strings_ends_after_ten_tries_for_each():
    drawn = sample({Label.NEGATIVE: {Split.TRAIN: 5}}, grammar=toy(), with_variants=False)

    assert [each.text for each in drawn] == ["hello"]


def test_strings_are_drawn_as_often_as_their_weights_say():
    sampler = Sampler(toy(), seed=1)
    drawn = Counter(sampler.draw("thing")[0] for _ in range(20_000))

    assert drawn["a robot"] / 20_000 == pytest.approx(3 / 5, abs=0.02)  # 3 of 3 + 1 + 1
    assert drawn["a real person"] / 20_000 == pytest.approx(1 / 15, abs=0.01)


def test_a_modifier_keeps_the_word_as_often_as_its_line_says(tmp_path):
    path = tmp_path / "modifiers.txt"
    path.write_text("you 4 : u\n? 3 : ~\n")
    text = "positive:\n    are you ?\nambiguous:\n    x\nnegative:\n    y"
    sampler = Sampler(modified(toy(text), load_modifiers(path)), seed=2)

    drawn = Counter(sampler.draw("positive")[0] for _ in range(20_000))

    assert drawn["are you?"] / 20_000 == pytest.approx(4 / 5 * 3 / 4, abs=0.02)
    assert drawn["are u"] / 20_000 == pytest.approx(1 / 5 * 1 / 4, abs=0.01)


def test_marks_stand_where_people_write_them():
    assert joined(["hi", ",", "are", "you", "?!"]) == "hi, are you?!"
    assert joined(["hi", ",_", "are", "you", ":)"]) == "hi,are you :)"


def test_every_plain_sample_is_recognised_with_its_label(recogniser):
    drawn = sample({label: {Split.TRAIN: 80} for label in Label}, seed=9, with_variants=False)

    assert [each for each in drawn if each.label not in recogniser.categories(each.text)] == []


def test_recognition_agrees_with_larks_own_reading_of_the_exported_grammar(grammar, recogniser):
    plain = sample({label: {Split.TEST: 20} for label in Label}, seed=3, with_variants=False)
    texts = [each.text for each in plain]
    shuffled = [
        " ".join(random.Random(n).sample(text.split(), len(text.split()))) for n, text in enumerate(texts)
    ]
    # Lark's own lexer divides by letters: texts whose words run together would differ, so none has a mark.
    texts = [re.sub("[?!.,]+", " ", text) for text in texts + shuffled]
    root = ROOTS[Label.AMBIGUOUS]
    lark = Lark(ebnf(grammar, root), parser="earley", lexer="dynamic")

    def derives(text):
        try:
            lark.parse(text)
        except Exception:
            return False
        return True

    assert [Label.AMBIGUOUS in recogniser.categories(text) for text in texts] == list(map(derives, texts))


@pytest.mark.parametrize(
    "text", ["", " ", "🤖👍", "¿", "are you " * 500, "x" * 4_001, "你好", "are you a robot " * 266]
)
def test_a_text_outside_the_grammar_is_rejected_at_once(recogniser, text):
    assert recogniser.categories(text) == {}


def test_case_and_spaces_do_not_matter(recogniser):
    assert recogniser.categories("  ARE you a Robot ?") == {Label.POSITIVE: "1"}
