"""The replay against a server of its own: with our own words, and real conversations where they are there."""

import gzip
import json
import subprocess
import sys
from fractions import Fraction
from itertools import islice
from pathlib import Path

import pytest

from benchmarks.replay import Scores, check_report, conversations_in, injected_scores
from turnwise.rehearsals.simulated_worker import MismatchError

ROOT = Path(__file__).parents[1]
REAL = ROOT.parent / "shared" / "data" / "meena" / "human.jsonl.gz"

OUR_OWN = [
    ["Hi there!", "I have just planted tomatoes on my balcony.", "Do you think they will get enough sun?"],
    ["What is your favourite season?", "Mine is autumn, because of the colours."],
    ["My train was late again…", "<b>Really</b>, an hour & a half!", "=1+1", "Tell me why 🚂"],
]


def replay(file: Path, *options: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, str(ROOT / "benchmarks" / "replay.py"), str(file), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)


def test_conversations_give_the_expected_report(tmp_path: Path) -> None:
    lines = [json.dumps({"turns": [{"text": text} for text in texts]}) for texts in OUR_OWN]
    if REAL.exists():
        with gzip.open(REAL, "rt", encoding="utf-8") as real:
            lines += islice(real, 4)
    file = tmp_path / "conversations.jsonl"
    file.write_text("\n".join(lines))

    done = replay(file, "--conversations", str(len(lines)))

    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (result["conversations"], result["labelled_turns"]) == (len(lines), 7 * len(lines))
    assert result["equal"] is True


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (None, "No such file or directory"),
        ("", "holds no turns"),
        ("{broken", "holds no turns"),
        ('{"said": "Hi"}', "holds no turns"),
        ('["Hi"]', "holds no turns"),
        ('{"turns": [{"text": 7}]}', "holds no turns"),
    ],
)
def test_a_file_without_turns_is_named_in_one_line(
    tmp_path: Path, content: str | None, complaint: str
) -> None:
    file = tmp_path / "own.jsonl"
    if content is not None:
        file.write_text(content)

    with pytest.raises(SystemExit, match=complaint) as refused:
        conversations_in(file)

    assert str(file) in str(refused.value)


def test_expected_shares_are_counted_over_all_labels() -> None:
    # First two bytes by sha256sum; sensible below b3, then specific below 9a:
    #   0:2 93 28 yes yes   0:4 48 f0 yes no   1:2 67 3a yes yes
    #   1:4 49 2a yes yes   2:2 13 11 yes yes  2:4 fa 70 no
    scores = injected_scores(3, 2)

    assert (scores.sensibleness, scores.specificity, scores.ssa) == (
        Fraction(5, 6),
        Fraction(2, 3),
        Fraction(3, 4),
    )
    assert (scores.conversations, scores.turns) == (3, 6)


@pytest.mark.parametrize(
    ("row", "name"),
    [
        (["GenericBot", "66.8 60 to 70", "33.3", "50.0", "3", "21", "21", "3"], "sensibleness"),
        (["GenericBot", "66.7 60 to 70", "33.2", "50.0", "3", "21", "21", "3"], "specificity"),
        (["GenericBot", "66.7 60 to 70", "33.3", "49.9", "3", "21", "21", "3"], "SSA"),
        (["GenericBot", "66.7 60 to 70", "33.3", "50.0", "3", "21", "20", "3"], "counts"),
    ],
)
def test_a_report_that_differs_is_refused(row: list[str], name: str) -> None:
    with pytest.raises(MismatchError, match=name):
        check_report(row, Scores(Fraction(2, 3), Fraction(1, 3), conversations=3, turns=21))


def test_a_file_of_single_turns_is_one_conversation(tmp_path: Path) -> None:
    file = tmp_path / "turns.jsonl"
    file.write_text('{"text": "One"}\n\n{"text": "  "}\n{"text": "Two"}\n')

    assert conversations_in(file) == [["One", "Two"]]
