import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from chatbots.__main__ import main

ROOT = Path(__file__).parents[2]


@pytest.fixture
def type_lines(monkeypatch):
    return lambda *lines: monkeypatch.setattr(
        "sys.stdin", io.StringIO("".join(f"{line}\n" for line in lines))
    )


def test_list_shows_every_bot_with_its_summary(capsys):
    assert main(["list"]) == 0

    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert 'generic Answers "I don\'t know" to a question and "ok" to a statement.' in lines


def test_describe_shows_settings_with_defaults_and_meaning(capsys):
    assert main(["describe", "scripted"]) == 0

    assert "  seconds (0.0): Time that each reply takes.\n" in capsys.readouterr().out


def test_reply_answers_the_last_turn(capsys):
    assert main(["reply", "generic", "--context", "Do you?", "--context", "I do.", "--context", "Good"]) == 0

    assert capsys.readouterr().out == "ok\n"


@pytest.mark.parametrize("decoding", ["sample", "beam"])
def test_reply_shows_what_it_was_chosen_from_with_scores_best_first(decoding, capsys):
    pytest.importorskip("torch")
    settings = json.dumps({"decoding": decoding, "samples": 3, "precision": "fp32"})

    asked = ["reply", "meena-base", "--context", "Hi!", "--seed", "1", "--configuration", settings]
    assert main([*asked, "--candidates"]) == 0

    said, *lines = capsys.readouterr().out.splitlines()
    told = [line.strip().split("  ", 1) for line in lines]
    scores = [float(score) for score, _ in told]
    assert len(told) == 3
    assert told[0][1] == said
    assert scores == sorted(scores, reverse=True)


def test_a_bot_without_candidates_says_so(capsys):
    assert main(["reply", "generic", "--context", "Hi", "--candidates"]) == 0

    out, err = capsys.readouterr()
    assert (out, err) == ("ok\n", "chatbots: generic tells no candidates.\n")


def test_reply_takes_settings_from_a_file(tmp_path, capsys):
    path = tmp_path / "settings.json"
    path.write_text('{"replies": ["from a file"]}')

    assert main(["reply", "scripted", "--context", "Hi", "--conf", str(path)]) == 0

    assert capsys.readouterr().out == "from a file\n"


def test_the_seed_makes_a_reply_repeatable(capsys):
    for _ in range(2):
        main(["reply", "eliza", "--context", "I need tea", "--seed", "4"])

    first, second = capsys.readouterr().out.splitlines()
    assert first == second


def test_chat_keeps_the_dialogue(capsys, type_lines):
    type_lines("Hi", "Well", "So")

    assert main(["chat", "scripted", "--configuration", '{"replies": ["one", "two"]}']) == 0

    assert capsys.readouterr().out == "scripted: one\nscripted: two\nscripted: one\n"


def test_chat_goes_on_after_a_failure_with_the_same_turn(capsys, type_lines):
    type_lines("Hi", "Hi")
    settings = '{"replies": ["one"], "fail_on": [1], "fail_times": 1}'

    assert main(["chat", "scripted", "--configuration", settings]) == 0

    captured = capsys.readouterr()
    assert captured.out == "scripted: one\n"
    assert "PlannedFailureError: Turn 1" in captured.err


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["describe", "genric"], "Did you mean 'generic'?"),
        (["reply", "generic", "--context", "Hi", "--configuration", "[1"], "--configuration [1: Expecting"),
        (["reply", "generic", "--context", "Hi", "--configuration", "[1]"], "not a JSON object"),
        (["reply", "generic", "--context", "Hi", "--configuration", "/no/such"], "No such file"),
        (["reply", "generic", "--context", "Hi", "--deadline", "0"], "more than 0 seconds"),
        (["reply", "generic", "--context", "Hi", "--deadline", "inf"], "at most 86,400"),
        (["reply", "generic", "--context", "Hi", "--deadline", "nan"], "more than 0 seconds"),
        (["reply", "scripted", "--context", "Hi", "--conf", '{"seconds": -1}'], "seconds = -1"),
        (
            ["reply", "scripted", "--context", "Hi", "--conf", '{"fail_on": [1]}'],
            "Turn 1 was configured",
        ),
        (
            [
                "reply",
                "scripted",
                "--context",
                "Hi",
                "--configuration",
                '{"seconds": 1}',
                "--deadline",
                "0.01",
            ],
            "did not answer",
        ),
    ],
)
def test_a_mistake_is_one_line_and_status_2(arguments, message, capsys):
    assert main(arguments) == 2

    [line] = capsys.readouterr().err.splitlines()
    assert line.startswith("chatbots: ")
    assert message in line


def test_a_missing_argument_is_one_line_and_status_2(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["reply", "generic"])

    assert stopped.value.code == 2
    assert capsys.readouterr().err == (
        "chatbots: the following arguments are required: --context. See python -m chatbots reply --help\n"
    )


def test_a_package_with_commands_of_its_own_gets_the_rest_of_the_line(tmp_path):
    (tmp_path / "meena").mkdir()
    (tmp_path / "meena" / "__init__.py").touch()
    (tmp_path / "meena" / "cli.py").write_text("def main(arguments):\n    print(arguments)\n    return 7\n")
    program = (
        f"import sys, chatbots; chatbots.__path__.insert(0, {str(tmp_path)!r}); "
        "from chatbots.__main__ import main; sys.exit(main(['meena', 'train', '--help']))"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=60
    )

    assert (done.returncode, done.stdout) == (7, "['train', '--help']\n")
