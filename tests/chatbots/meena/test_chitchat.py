"""The data of chitchat-dataset become lines that a corpus is built from."""

import json
import zipfile

import pytest

from chatbots.meena.cli import main
from chatbots.meena.corpus.reading import ReadingReport, read_trees
from chatbots.meena.everyday.dialogues import ChitchatError
from chatbots.meena.everyday.dialogues import chitchat_conversations as conversations

DATA = {
    "one": {
        "messages": [
            [{"text": "Hello", "sender": "a"}, {"text": "how  are\nyou?", "sender": "a"}],
            [{"text": "Fine", "sender": "b"}],
            [],
        ]
    },
    "empty": {"messages": []},
}


@pytest.fixture
def wheel(tmp_path):
    path = tmp_path / "chitchat_dataset-0.9.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("chitchat_dataset/dataset.json", json.dumps(DATA))
    return path


def test_consecutive_messages_of_one_person_are_one_turn(wheel):
    assert list(conversations(wheel)) == [
        {
            "id": "chitchat-one",
            "turns": [{"author": "a", "text": "Hello how are you?"}, {"author": "b", "text": "Fine"}],
        }
    ]


def test_the_json_alone_gives_the_same(wheel, tmp_path):
    unpacked = tmp_path / "dataset.json"
    unpacked.write_text(json.dumps(DATA))

    assert list(conversations(unpacked)) == list(conversations(wheel))


@pytest.mark.parametrize("text", ["[]", "{", '{"one": {}}', '{"one": {"messages": [[{"text": "x"}]]}}'])
def test_another_file_is_refused(tmp_path, text):
    path = tmp_path / "dataset.json"
    path.write_text(text)

    with pytest.raises(ChitchatError, match="is not the data of chitchat-dataset"):
        list(conversations(path))


def test_a_wheel_of_something_else_is_refused(tmp_path, capsys):
    path = tmp_path / "other.whl"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("other/__init__.py", "")

    assert main(["everyday", "--chitchat", str(path), "--output", str(tmp_path / "out.jsonl")]) == 2
    assert "is not the data of chitchat-dataset" in capsys.readouterr().err


def test_the_command_writes_what_a_corpus_reads(wheel, tmp_path, capsys):
    out = tmp_path / "chitchat.jsonl.gz"
    assert main(["everyday", "--chitchat", str(wheel), "--output", str(out)]) == 0
    assert json.loads(capsys.readouterr().out)["conversations"] == 1

    report = ReadingReport()
    (tree,) = read_trees(out, report)
    assert [(message.text, message.author) for message in tree.messages] == [
        ("Hello how are you?", "a"),
        ("Fine", "b"),
    ]
    assert report.malformed == 0
