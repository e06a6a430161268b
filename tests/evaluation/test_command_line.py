"""The command line as its users meet it: files in, JSON or a located error out."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.__main__ import main

SSA_FILE = """bot,dialogue,turn,rater,sensible,specific,note
meena,d1,2,wanda,1,1,"two
lines"
meena,d1,4,wanda,1,0,
meena,d2,2,rita,true,TRUE,
meena,d2,4,rita,no,no,
echo,d3,2,wanda,0,0,
"""
RATINGS = "item,who,score\nt1,wanda,1\nt1,rita,1\nt1,rex,0\nt2,wanda,0\nt2,rita,0\nt3,rex,1\n"


@pytest.fixture
def run(tmp_path: Path, capsys):
    def command(name: str, content: str | bytes, *options: str):
        path = tmp_path / "labels.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        code = main([name, str(path), *options])
        captured = capsys.readouterr()
        return code, json.loads(captured.out) if code == 0 else captured.err

    return command


AGREEMENT = ("--unit", "item", "--rater", "who", "--value", "score")


def test_ssa_prints_percentages_per_bot(run):
    code, answer = run("ssa", SSA_FILE)

    assert code == 0
    assert list(answer) == ["echo", "meena"]
    meena = answer["meena"]
    assert set(meena) == {"sensibleness", "specificity", "ssa", "interval", "turns", "dialogues", "raters"}
    assert (meena["sensibleness"], meena["specificity"], meena["ssa"]) == (75, 50, 62.5)
    assert (meena["turns"], meena["dialogues"], meena["raters"]) == (4, 2, 2)
    low, high = meena["interval"]
    assert low <= 62.5 <= high


def test_a_bot_with_one_conversation_has_a_named_reason_instead_of_an_interval(run):
    _, answer = run("ssa", SSA_FILE)

    assert "Only 1 conversation" in answer["echo"]["interval"]["cannot_be_told"]


def test_majority_votes_can_be_chosen(run):
    rows = "bot,dialogue,turn,rater,sensible,specific\n" + "".join(
        f"b,d,2,r{k},{int(k < 2)},0\n" for k in range(3)
    )

    assert run("ssa", rows)[1]["b"]["sensibleness"] == pytest.approx(200 / 3)
    assert run("ssa", rows, "--count", "majority")[1]["b"]["sensibleness"] == 100


def test_agreement_prints_the_documented_keys(run):
    code, answer = run("agreement", RATINGS, *AGREEMENT)

    assert code == 0
    keys = ["units", "raters", "labels", "percent_agreement", "krippendorff_alpha", "interval"]
    assert list(answer) == keys
    assert (answer["units"], answer["raters"], answer["labels"]) == (3, 3, 6)
    assert answer["percent_agreement"] == pytest.approx(1 / 2)  # pairs: one of three in t1, one of one in t2
    assert answer["krippendorff_alpha"] == pytest.approx(1 / 3)


def test_agreement_of_words_and_of_numbers(run):
    words = RATINGS.replace(",1\n", ",good\n").replace(",0\n", ",bad\n")

    assert run("agreement", words, *AGREEMENT)[1]["krippendorff_alpha"] == pytest.approx(1 / 3)
    ordinal = run("agreement", RATINGS, *AGREEMENT, "--level", "ordinal")[1]
    assert ordinal["krippendorff_alpha"] == pytest.approx(1 / 3)


def test_constant_ratings_cannot_be_told(run):
    _, answer = run("agreement", RATINGS.replace(",0\n", ",1\n"), *AGREEMENT)

    assert answer["percent_agreement"] == 1
    assert "same" in answer["krippendorff_alpha"]["cannot_be_told"]
    assert "same" in answer["interval"]["cannot_be_told"]


def test_the_same_seed_prints_the_same_bytes(run):
    assert run("ssa", SSA_FILE, "--seed", "4") == run("ssa", SSA_FILE, "--seed", "4")


@pytest.mark.parametrize(
    ("wrong", "right", "where"),
    [
        (
            "meena,d1,4,wanda,1,0,",
            "meena,d1,4,wanda,0,1,",
            "line 4, column specific: specific but not sensible",
        ),
        ("meena,d1,4,", "meena,d1,2,", "line 4, column rater: rater 'wanda' already labelled.*See line 2"),
        ("meena,d2,4,", "meena,d2,four,", "line 6, column turn: 'four' is not a whole number"),
        (
            "meena,d2,4,",
            f"meena,d2,{2**63},",
            f"line 6, column turn: '{2**63}' is too large",
        ),
        ("rater,sensible", "bot,sensible", "line 1: 2 columns are called bot. Rename all but one"),
        ("rita,no,no,", "rita,perhaps,no,", "line 6, column sensible: 'perhaps' is neither true"),
        ("echo,d3,", "echo,,", "line 7, column dialogue: empty"),
        (
            "echo,d3,2,wanda,0,0,",
            "echo,d3,2,wanda",
            "line 7, column sensible: the row has 4 cells, the header 7",
        ),
        ("sensible,specific", "sensible,specfic", "line 1: there is no column specific. The header has: bot"),
    ],
)
def test_a_bad_cell_is_named_by_line_and_column(run, wrong, right, where):
    assert wrong in SSA_FILE
    code, error = run("ssa", SSA_FILE.replace(wrong, right, 1))

    assert code == 2
    head, _, tail = where.partition(".*")
    assert head in error
    assert tail in error


def test_bad_ratings_are_named_by_line_and_the_users_column(run):
    code, error = run(
        "agreement", RATINGS.replace("t3,rex,1", "t3,rex,one"), *AGREEMENT, "--level", "ordinal"
    )
    assert code == 2
    assert "line 7, column score: 'one' is not a number" in error

    code, error = run("agreement", RATINGS.replace("t3,rex", "t1,rex"), *AGREEMENT)
    assert code == 2
    assert "line 7, column who: rater 'rex' already rated unit 't1'" in error
    assert "See line 4" in error

    _, error = run("agreement", RATINGS.replace("t3,rex,1", "t3,rex,-1"), *AGREEMENT, "--level", "ratio")
    assert "line 7, column score: '-1' is negative" in error

    _, error = run("agreement", RATINGS.replace("t3,rex,1", "t3,rex,nan"), *AGREEMENT, "--level", "interval")
    assert "line 7, column score: 'nan' is not a finite number" in error

    _, error = run(
        "agreement", RATINGS.replace("t3,rex,1", "t3,rex,1e308"), *AGREEMENT, "--level", "interval"
    )
    assert "line 7, column score: '1e308' is too large for a rating; the largest is 1e+100" in error


@pytest.mark.parametrize(
    ("option", "value", "words"),
    [
        ("--seed", "-1", "'-1' is no seed; use a whole number from 0 upward"),
        ("--resamples", "many", "'many' is no number of resamples; use 100 to 1,000,000"),
        ("--resamples", "99", "'99' is no number of resamples"),
        ("--resamples", "99999999999", "use 100 to 1,000,000"),
    ],
)
def test_an_option_that_is_no_number_of_its_kind_is_explained(run, capsys, option, value, words):
    with pytest.raises(SystemExit, match="2"):
        run("ssa", SSA_FILE, option, value)

    assert words in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "there is no column bot. The header has: nothing"),
        (b"bot,dialogue,turn,rater,sensible,specific\n", "no rows below the header"),
        (b"bot,dialogue\xff\n", "is not UTF-8"),
        (
            b'bot,dialogue,turn,rater,sensible,specific\n"m,d,1,r,1,1\n',
            "line 2: unexpected end of data. Is a quotation mark left open",
        ),
    ],
)
def test_a_file_that_is_no_table_is_named(run, content, words):
    code, error = run("ssa", content)

    assert code == 2
    assert words in error


def test_a_byte_order_mark_and_blank_lines_are_harmless(run):
    code, answer = run("ssa", b"\xef\xbb\xbf" + SSA_FILE.replace("echo", "\necho").encode())

    assert code == 0
    assert set(answer) == {"echo", "meena"}


def test_the_module_runs_and_reports_a_missing_file_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "evaluation", "ssa", str(tmp_path / "absent.csv")]
    root = Path(__file__).parents[2]

    done = subprocess.run(command, capture_output=True, text=True, cwd=root, check=False)

    assert done.returncode == 2
    assert "absent.csv: No such file" in done.stderr
    assert "Traceback" not in done.stderr
