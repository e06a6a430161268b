"""Rules that answer anything: which one fits, what its reply takes up, and the conversations made of them."""

import json
import random
from collections import Counter

import pytest

from chatbots.meena.cli import main
from chatbots.meena.everyday.listening_dialogues import conversations
from chatbots.meena.everyday.reply_rules import ListeningError, is_question, listener, question_in, read_rules


def replies_to(line, before=""):
    heard = listener().hear(line, before)
    return {listener().reply(heard, random.Random(seed)) for seed in range(40)}


def test_the_first_rule_that_fits_counts_and_its_group_is_taken_up():
    (first, second) = read_rules("a (b+) => It was <1>!\n# no rule\nwhy >> . => Because.", "rules", {})

    assert (first.number, first.asked, first.pattern.search("A BB")[1]) == (0, None, "BB")
    assert (second.number, second.asked.pattern, second.replies) == (1, "why", ("Because.",))


@pytest.mark.parametrize("line", ["no arrow", "a => <1>", "( => b", "{nothing} => b"])
def test_a_line_that_is_no_rule_is_named(line):
    with pytest.raises(ListeningError, match="rules, line 2"):
        read_rules(f"# words\n{line}", "rules", {})


def test_a_reply_names_the_persons_word():
    assert any("pizza" in reply.lower() for reply in replies_to("i love pizza"))
    assert "With your sister, how nice! Do you two get along well?" in replies_to(
        "with my sister", "Who is coming with you?"
    )


def test_an_answer_depends_on_the_bots_question():
    assert replies_to("two years", "How long have you done that?") != replies_to(
        "two years", "How old is it?"
    )


def test_questions_are_told_from_statements_with_or_without_their_mark():
    assert is_question("do you like cats")
    assert is_question("Really?")
    assert not is_question("I like cats.")
    assert question_in("Nice! How old is it?") == "how old is it?"
    assert question_in("Why? I see.") == ""


def test_the_same_seed_gives_the_same_conversations_and_the_person_is_context_only(tmp_path):
    talks = list(conversations(30, 1, [["I repaired clocks for forty years."]]))

    assert talks == list(conversations(30, 1, [["I repaired clocks for forty years."]]))
    assert all(
        [bool(turn.get("context")) for turn in talk["turns"]] == [True, False] * (len(talk["turns"]) // 2)
        for talk in talks
    )
    assert not any("<" in turn["text"] or "{" in turn["text"] for talk in talks for turn in talk["turns"])


def test_every_template_of_the_package_can_be_filled():
    assert len(list(conversations(300, 2, []))) == 300


def test_the_command_answers_overheard_lines(tmp_path, capsys):
    heard, out = tmp_path / "heard.jsonl", tmp_path / "talk.jsonl"
    heard.write_text(json.dumps({"turns": ["I repaired clocks for forty years.", "Wow!"]}) + "\n")

    arguments = ["everyday", "--output", str(out), "--conversations", "60", "--overheard", str(heard)]
    assert main(arguments) == 0

    assert json.loads(capsys.readouterr().out)["conversations"] == 60
    assert "I repaired clocks for forty years." in out.read_text()


def test_most_lines_with_general_replies_are_left_out():
    real = [["Jumps, mostly"], ["I repaired clocks"]]
    lines = Counter(talk["turns"][0]["text"] for talk in conversations(600, 1, real))

    assert 0 < 2 * lines["Jumps, mostly"] < lines["I repaired clocks"]
