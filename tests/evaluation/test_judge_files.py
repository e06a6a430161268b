"""`python -m evaluation assisted` and `pairs` as their users meet them."""

import json
from pathlib import Path

import pytest

from evaluation.__main__ import main

PEOPLE = "item,rater,value\n" + "".join(f"i{k},r{k},{int(k % 3 > 0)}\n" for k in range(30))
JUDGE = "item,value,bot,chance\n" + "".join(
    f"i{k},{0.9 if k % 3 > 0 else 0.1},{'ab'[k % 2]},0.5\n" for k in range(90)
)


@pytest.fixture
def run(tmp_path: Path, capsys):
    def command(people: str, judge: str, *options: str):
        for name, content in (("people.csv", people), ("judge.csv", judge)):
            (tmp_path / name).write_text(content)
        code = main(["assisted", str(tmp_path / "people.csv"), str(tmp_path / "judge.csv"), *options])
        captured = capsys.readouterr()
        return code, json.loads(captured.out) if code == 0 else captured.err

    return command


def test_the_estimate_stands_beside_people_alone(run):
    code, answer = run(PEOPLE, JUDGE, "--rater", "rater")

    assert code == 0
    (found,) = answer["systems"].values()
    assert found["people_alone"]["estimate"] == pytest.approx(2 / 3)
    assert found["estimate"] == pytest.approx(2 / 3)
    assert (found["items"], found["items_of_people"], found["items_of_judge_alone"]) == (90, 30, 60)
    assert found["as_if_people_had_labelled"] > 60
    low, high = found["interval"]
    wide_low, wide_high = found["people_alone"]["interval"]
    assert wide_low < low < high < wide_high
    assert answer["differences"] == []


def test_systems_are_compared(run):
    people = "item,rater,value\n" + "".join(f"i{k},r{k},{int(k % 5 > 0)}\n" for k in range(60))

    _, answer = run(people, JUDGE, "--rater", "rater", "--system", "bot", "--probability", "chance")

    assert list(answer["systems"]) == ["a", "b"]
    (gap,) = answer["differences"]
    assert (gap["first"], gap["second"]) == ("a", "b")
    assert 0 < gap["p"] <= 1


def test_empty_cells_are_missing_if_told(run):
    judge = JUDGE.replace("i31,0.9", "i31,")

    code, error = run(PEOPLE, judge)
    assert code == 2
    assert "judge.csv, line 33, column value: empty" in error
    _, answer = run(PEOPLE, judge, "--missing", "")
    assert answer["systems"]["all"]["judge_missing"] == 1


def test_below_twenty_items_it_says_that_it_cannot(run):
    few = "".join(PEOPLE.splitlines(keepends=True)[:20])

    _, answer = run(few, JUDGE)

    assert "19 items" in answer["systems"]["all"]["estimate"]["cannot_be_told"]


@pytest.mark.parametrize(
    ("people", "judge", "options", "message"),
    [
        (
            PEOPLE,
            JUDGE.replace(",0.5\n", ",0\n"),
            ["--probability", "chance"],
            "line 2, column chance: '0' is not",
        ),
        (PEOPLE, JUDGE.replace("i31,0.9", "i31,7"), [], "line 33, column value: '7' is outside the scale"),
        (PEOPLE, JUDGE.replace("i31,0.9", "i31,maybe"), [], "line 33, column value: 'maybe' is not a number"),
        (PEOPLE, JUDGE.replace("0.9", "0.1"), [], "all 90 labels of the judge are 0.1"),
        (PEOPLE + "i99,r1,1\n", JUDGE, [], "line 32, column item: "),
        (PEOPLE, JUDGE + "i1,0.9,a,0.5\n", [], "line 92, column item: item 'i1' has a label in line 3"),
        (
            PEOPLE + "i1,r1,1\n",
            JUDGE,
            ["--rater", "rater"],
            "line 32: The same rater labelled the item before",
        ),
        (PEOPLE, JUDGE, ["--low", "1"], "must be below"),
    ],
)
def test_bad_input_is_refused_with_its_place(run, people, judge, options, message):
    code, error = run(people, judge, *options)

    assert code == 2
    assert message in error


@pytest.fixture
def pairs(tmp_path: Path, capsys):
    def command(content: str, *options: str):
        path = tmp_path / "pairs.csv"
        path.write_text(content)
        code = main(["pairs", str(path), *options])
        captured = capsys.readouterr()
        return code, json.loads(captured.out) if code == 0 else captured.err

    return command


DUELS = "first,second,outcome,rater\n" + "a,b,first,r1\n" * 6 + "b,a,first,r2\n" * 3 + "a,b,tie,r3\n"


def test_pairs_gives_records_and_strengths(pairs):
    code, answer = pairs(DUELS)

    assert code == 0
    (record,) = answer["records"]
    assert [record[kind]["number"] for kind in ("wins", "losses", "ties")] == [6, 3, 1]
    strengths = answer["strengths"]["systems"]
    assert list(strengths) == ["a", "b"]
    # Without ties the odds of a are 6 to 3; Davidson's ties leave the ratio of wins as it is.
    assert strengths["a"]["log_strength"] - strengths["b"]["log_strength"] == pytest.approx(0.693, abs=1e-3)


def test_pairs_names_a_bad_outcome_and_leaves_out_what_is_missing(pairs):
    bad = DUELS.replace("tie", "")

    assert "line 11, column outcome: empty" in pairs(bad)[1]
    assert pairs(bad, "--missing", "")[1]["missing"] == 1
    assert "line 11, column outcome: 'draw' is none of" in pairs(DUELS.replace("tie", "draw"))[1]


def test_both_bad_is_a_tie_and_counted_by_itself(pairs):
    answer = pairs(DUELS + "a,b,both_bad,r4\n")[1]

    assert (answer["both_bad"], answer["records"][0]["ties"]["number"]) == (1, 2)


def styled(rows: int = 120) -> str:
    """The longer side wins three times of four, whoever wrote it."""
    lines = ["first,second,outcome,one,other,tokens_one,tokens_other"]
    for n in range(rows):
        long, short = 40 + n % 7, 10 + n % 5
        is_first_long, wins = n % 2 == 0, n % 4 != 3
        one, other = (long, short) if is_first_long else (short, long)
        outcome = "first" if is_first_long == wins else "second"
        names = "a,b" if n % 3 else "b,a"
        lines.append(f"{names},{outcome},{'x' * one},{'y' * other},{one},{other}")
    return "\n".join(lines) + "\n"


def test_pairs_adjusts_for_the_style_of_texts_and_for_given_numbers(pairs):
    found = pairs(styled(), "--text", "one", "other")[1]["adjusted_for_style"]

    assert found["never_differs"] == ["headers", "lists", "bold"]
    assert found["effects"]["length"]["share_of_choices"] == pytest.approx(0.75, abs=0.03)
    assert set(found["systems"]) == {"a", "b"}
    of_tokens = pairs(styled(), "--amount", "tokens", "tokens_one", "tokens_other")[1]["adjusted_for_style"]
    assert of_tokens["effects"]["tokens"]["coefficient"] > 0
    assert "adjusted_for_style" not in pairs(styled())[1]


def test_pairs_refuses_amounts_that_are_none(pairs):
    table = styled().replace(",40,10", ",forty,10")

    assert "column tokens_one: 'forty'" in pairs(table, "--amount", "t", "tokens_one", "tokens_other")[1]
    twice = ["--amount", "t", "tokens_one", "tokens_other"] * 2
    assert "Two elements of style are called 't'" in pairs(styled(), *twice)[1]
