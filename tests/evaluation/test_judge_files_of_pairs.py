"""`python -m evaluation assisted-pairs` as its users meet it."""

import json
from math import log
from pathlib import Path

import pytest

from evaluation.__main__ import main

# Of 40 pairs that people judged, a wins 24; the judge agrees about 34 of these pairs and prefers a in 26. Of
# the 60 further pairs it prefers a in 30. The judge reads the second system first in every other line.
PEOPLE_FOR_A = [k < 24 for k in range(40)]
JUDGE_FOR_A = [k < 22 or 36 <= k < 40 for k in range(40)] + [k % 2 == 0 for k in range(60)]


def line(name: str, for_a: bool, *, is_swapped: bool, more: str) -> str:
    sides = "b,a" if is_swapped else "a,b"
    return f"{name},{sides},{'first' if for_a != is_swapped else 'second'},{more}\n"


PEOPLE = "item,first,second,outcome,rater\n" + "".join(
    line(f"i{k}", wins, is_swapped=k % 3 == 0, more=f"r{k}") for k, wins in enumerate(PEOPLE_FOR_A)
)
JUDGE = "item,first,second,outcome,context,chance\n" + "".join(
    line(f"i{k}", wins, is_swapped=k % 2 == 1, more=f"c{k},0.5") for k, wins in enumerate(JUDGE_FOR_A)
)


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def command(people: str, judge: str, *options: str, name: str = "assisted-pairs"):
        for file, content in (("people.csv", people), ("judge.csv", judge)):
            (tmp_path / file).write_text(content)
        paths = [str(tmp_path / "people.csv"), str(tmp_path / "judge.csv")]
        code = main([name, *(paths if name == "assisted-pairs" else paths[:1]), *options])
        captured = capsys.readouterr()
        return code, json.loads(captured.out) if code == 0 else captured.err

    return command


def logit(share: float) -> float:
    return log(share / (1 - share))


def test_the_difference_of_two_systems_is_the_log_odds_of_the_corrected_share(run):
    code, answer = run(PEOPLE, JUDGE, "--rater", "rater", "--power", "0.5")

    assert code == 0
    assert (answer["pairs"], answer["people_judgments"], answer["judge_missing"]) == (100, 40, 0)
    (gap,) = answer["strengths"]["differences"]
    assert (gap["first"], gap["second"]) == ("a", "b")
    # People's share, less half of the gap between the judge's shares there and elsewhere.
    corrected = 24 / 40 - 0.5 * (26 / 40 - 30 / 60)
    assert gap["estimate"] == pytest.approx(logit(corrected), abs=1e-8)
    assert gap["people_alone"]["estimate"] == pytest.approx(logit(24 / 40), abs=1e-8)
    assert answer["wins"]["a"]["estimate"] == pytest.approx(corrected)
    assert answer["wins"]["b"]["estimate"] == pytest.approx(1 - corrected)
    assert answer["strengths"]["systems"]["a"]["estimate"] == pytest.approx(logit(corrected) / 2, abs=1e-8)


def test_people_alone_are_those_of_the_command_pairs_and_the_judge_shortens_the_interval(run):
    _, answer = run(PEOPLE, JUDGE, "--rater", "rater", "--cluster", "context")
    _, alone = run(PEOPLE, JUDGE, "--rater", "rater", name="pairs")

    for name, found in answer["strengths"]["systems"].items():
        of_people = alone["strengths"]["systems"][name]
        assert found["people_alone"]["estimate"] == pytest.approx(of_people["log_strength"], abs=1e-8)
        # Score intervals of 40 pairs are a little shorter than those of the command `pairs`.
        (low, high), (wide_low, wide_high) = found["people_alone"]["interval"], of_people["interval"]
        assert high - low == pytest.approx(wide_high - wide_low, rel=0.03)
        assert high - low < wide_high - wide_low
        assisted_low, assisted_high = found["interval"]
        assert assisted_high - assisted_low < high - low
        pairs = found["as_if_people_had_labelled"]
        assert f"as if people had labelled {pairs} pairs instead of 40" in found["in_words"]
        assert pairs == int(40 * found["worth"])


def test_both_orders_of_a_pair_count_by_their_mean(run):
    # The judge prefers whichever side it reads first: over both orders that is a tie, so it tells nothing.
    first_place = "item,first,second,outcome\n" + "".join(
        f"i{k},{sides},first\n" for k in range(100) for sides in ("a,b", "b,a")
    )

    assert "says the same about all pairs of the same two systems" in run(PEOPLE, first_place)[1]
    twice = JUDGE + "".join(JUDGE.splitlines(keepends=True)[1:])
    assert run(PEOPLE, twice, "--rater", "rater")[1] == run(PEOPLE, JUDGE, "--rater", "rater")[1]


def test_a_pair_without_an_answer_of_the_judge_is_counted_as_missing(run):
    judge = JUDGE.replace("i41,b,a,first", "i41,b,a,").replace("i41,b,a,second", "i41,b,a,")

    assert "judge.csv, line 43, column outcome: empty" in run(PEOPLE, judge)[1]
    answer = run(PEOPLE + "i60,a,b,,r1\n", judge, "--missing", "")[1]
    assert (answer["judge_missing"], answer["people_missing"]) == (1, 1)
    assert answer["wins"]["a"]["items_of_judge_alone"] == 59


def test_below_twenty_pairs_it_says_that_it_cannot(run):
    few = "".join(PEOPLE.splitlines(keepends=True)[:20])

    _, answer = run(few, JUDGE)

    assert "19 pairs" in answer["strengths"]["cannot_be_told"]
    assert "19 pairs" in answer["wins"]["a"]["estimate"]["cannot_be_told"]


@pytest.mark.parametrize(
    ("people", "judge", "options", "message"),
    [
        (
            PEOPLE + "i99,a,c,first,r9\n",
            JUDGE,
            [],
            "people.csv, line 42, columns first and second: item 'i99' is of 'a' and 'b' in ",
        ),
        (PEOPLE + "i100,a,b,first,r9\n", JUDGE, [], "people.csv, line 42, column item: "),
        (PEOPLE + "i99,a,b,draw,r9\n", JUDGE, [], "people.csv, line 42, column outcome: 'draw' is none of"),
        (
            PEOPLE + "i99,a,a,first,r9\n",
            JUDGE,
            [],
            "people.csv, line 42, column second: 'a' is compared with",
        ),
        (
            PEOPLE + "i3,a,b,first,r3\n",
            JUDGE,
            ["--rater", "rater"],
            "people.csv, line 42, column rater: The same rater labelled the item before. See line 5.",
        ),
        (
            PEOPLE,
            JUDGE + "i0,a,c,first,c0,0.5\n",
            [],
            "judge.csv, line 102, columns first and second: item 'i0' is of 'a' and 'c' here, but of 'a' and "
            "'b' in line 2. Give each pair of two systems an item of its own.",
        ),
        (PEOPLE, JUDGE + "i0,a,b,maybe,c0,0.5\n", [], "judge.csv, line 102, column outcome: 'maybe' is none"),
        (
            PEOPLE,
            JUDGE + "i0,a,b,first,c1,0.5\n",
            ["--cluster", "context"],
            "judge.csv, line 102, column context: unit 'i0' belongs to 'c1' here, but to 'c0' in line 2",
        ),
        (
            PEOPLE,
            JUDGE + "i0,a,b,first,c0,0\n",
            ["--probability", "chance"],
            "judge.csv, line 102, column chance: '0' is not above 0",
        ),
        (
            PEOPLE,
            JUDGE + "i0,a,b,first,c0,0.4\n",
            ["--probability", "chance"],
            "judge.csv, line 102, column chance: unit 'i0' has the probability '0.4' here, but has ",
        ),
    ],
)
def test_bad_input_is_refused_with_its_place(run, people, judge, options, message):
    code, error = run(people, judge, *options)

    assert code == 2
    assert message in error
