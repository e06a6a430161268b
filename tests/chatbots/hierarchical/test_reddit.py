"""Rules of the Reddit corpus: links go, removed messages go, and a text ends before a later addition."""

import json

import pytest

from chatbots.__main__ import main
from chatbots.hierarchical.corpus import CorpusSettings, build
from chatbots.hierarchical.reddit import cleaned_text


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("Look at https://example.com/a?b=c it is fun", "Look at it is fun"),
        ("I read [this page](https://example.com/x) today", "I read this page today"),
        ("www.example.com", ""),
        ("[removed]", ""),
        (" [deleted] ", ""),
        ("[removed by moderator]", ""),
        ("My post was removed.", "My post was removed."),
        ("I love it. EDIT: thanks for the gold!", "I love it."),
        ("I love it.\n\nEdit 2 - typo\nand more", "I love it."),
        ("So good **Edit**: wow", "So good"),
        ("EDIT: never mind", ""),
        ("I edit videos for a living.", "I edit videos for a living."),
        ("The editor gave me credit: it was great.", "The editor gave me credit: it was great."),
        ("I had to edit, twice.", "I had to edit, twice."),
        ("A text that I could not edit", "A text that I could not edit"),
    ],
)
def test_a_message_is_cleaned(text, cleaned):
    assert cleaned_text(text) == cleaned


@pytest.mark.parametrize("unit", ["[", "[a](", "edit ", "www.", " ", "(", "[removed", "*_"])
def test_a_message_of_32000_characters_is_cleaned(unit):
    assert len(cleaned_text((unit * 32_000)[:32_000])) <= 32_000


def talk(tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text(
        "".join(
            json.dumps({"id": f"{n} {i}", "turns": turns}) + "\n"
            for n in range(20)
            for i, turns in enumerate(
                (
                    ["Hi there!", "See https://example.com today", "Nice. Edit: typo"],
                    ["Hi there!", "[removed]", "Oh", "Yes it is"],
                )
            )
        )
    )
    return path


def test_links_no_longer_end_a_conversation(tmp_path):
    path = talk(tmp_path)
    plain = build([path], tmp_path / "plain", CorpusSettings(safety="none", test=0.2, validation=0.2))
    settings = CorpusSettings(safety="none", test=0.2, validation=0.2, rules="reddit")
    reddit = build([path], tmp_path / "reddit", settings)

    assert plain["removed"] == {"a web address": 20}
    assert reddit["removed"] == {"nothing written": 20}
    written = [
        json.loads(line)["turns"]
        for line in (tmp_path / "reddit" / "conversations.jsonl").read_text().splitlines()
    ]
    assert sorted(written) == [["Hi there!", "See today", "Nice."]] * 20 + [["Oh", "Yes it is"]] * 20
    assert not (tmp_path / "plain" / "conversations.jsonl").exists()


def test_the_command_has_the_option(tmp_path, capsys):
    arguments = ["--input", str(talk(tmp_path)), "--output", str(tmp_path / "corpus"), "--safety", "none"]

    assert main(["hierarchical", "corpus", *arguments, "--rules", "reddit"]) == 0
    assert json.loads(capsys.readouterr().out)["rules"] == "reddit"
    with pytest.raises(ValueError, match="rules='twitter' must be one of plain, reddit"):
        CorpusSettings(rules="twitter")
