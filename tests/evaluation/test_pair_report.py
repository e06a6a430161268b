"""The numbers of a study of pairs, counted by hand and against other sources."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy.stats import t as student

from evaluation.planning.sequential import always_valid_mean
from evaluation.protocols import protocols
from evaluation.protocols.facts import Design
from evaluation.questions import (
    PREFERENCE,
    PREFERENCE_BOTH_BAD,
    PREFERENCES,
    QuestionSet,
    coded_answers,
)
from evaluation.report.bundles.judging_rows import counted
from evaluation.report.label_columns import Judged
from evaluation.report.publishing import latex_tables
from evaluation.report.studies.pairs import JudgedPairs, name_of, pair_figures
from evaluation.statistics.interval import Interval
from evaluation.statistics.pairwise import Duels, bradley_terry, expected_strengths
from evaluation.texts.uninformative_contexts import Contexts, Fit, has_unknown, word_count

Row = tuple[int, str, str, str, str]  # item, rater, shown first, shown second, answer


def judged(rows: Iterable[Row], questions: QuestionSet = PREFERENCE, **more: Any) -> JudgedPairs:
    table = list(rows)
    (question,) = questions.questions
    items = dict.fromkeys((row[0], name_of(row[2], row[3])) for row in table)
    met = sorted(pair for _, pair in items)
    return JudgedPairs(
        judged=Judged(
            bot=np.array([row[2] for row in table], dtype=object),
            dialogue=np.array([row[0] for row in table], dtype=np.int64),
            reply=np.ones(len(table), dtype=np.int64),
            rater=np.array([row[1] for row in table], dtype=object),
            latency_ms=np.full(len(table), np.nan),
            answer_ms=np.full(len(table), np.nan),
            answers={question.key: coded_answers(question, [row[4] for row in table])},
        ),
        other=np.array([row[3] for row in table], dtype=object),
        given=np.arange(len(table)),
        **dict[str, Any](
            raters_wanted=3,
            items_per_worker=50,
            items_of_pairs=counted(met),
            languages=["en"],
            design=Design("neural-chat-pairwise"),
        )
        | more,
    )


# Three raters at four items of B and A, shown either way round. As seen from A: item 1 wins, wins, loses;
# item 2 wins, loses, ties; item 3 ties, ties, ties; item 4 wins, wins, wins.
FOUR = [
    (1, "r", "A", "B", "first"), (1, "s", "B", "A", "second"), (1, "t", "B", "A", "first"),
    (2, "r", "B", "A", "second"), (2, "s", "A", "B", "second"), (2, "t", "A", "B", "tied"),
    (3, "r", "A", "B", "tied"), (3, "s", "B", "A", "tied"), (3, "t", "A", "B", "tied"),
    (4, "r", "B", "A", "second"), (4, "s", "A", "B", "first"), (4, "t", "B", "A", "second"),
]  # fmt: skip


def of(rows: Iterable[Row], **more: Any) -> dict[str, Any]:
    (found,) = pair_figures(PREFERENCE, judged(rows, **more))["preferences"]
    return dict(found)


def test_wins_losses_and_ties_are_those_counted_by_hand() -> None:
    (row,) = of(FOUR)["meetings"]

    assert (row["first"], row["second"]) == ("A", "B")
    assert (row["wins"], row["losses"], row["ties"]) == (6, 2, 4)
    assert row["lead"] == pytest.approx(100 * 4 / 12)
    assert row["low"] < row["lead"] < row["high"]


def test_the_lead_has_a_sequential_interval_rater_by_rater() -> None:
    """Leads of r, s and t, each over all four items: three wins; two wins and a loss; a win and a loss."""
    (row,) = of(FOUR)["meetings"]
    expected = always_valid_mean([(1 + 3 / 4) / 2, (1 + 1 / 4) / 2, 1 / 2], 0.9).now()  # as neural.chat

    watched = row["always_valid"]
    assert (watched["units"], watched["unit"]) == (3, "rater")
    assert isinstance(expected, Interval)
    assert (watched["low"], watched["high"]) == pytest.approx(
        (200 * expected.low - 100, 200 * expected.high - 100)
    )


def test_the_table_of_scores_has_the_same_shares() -> None:
    (row,) = pair_figures(PREFERENCE, judged(FOUR))["bots"]

    assert row["bot"] == "A against B"
    assert [cell["value"] for cell in row["cells"]] == pytest.approx([50, 100 / 6, 100 / 3])
    assert (row["turns"], row["labels"], row["workers"]) == (4, 12, 3)


def test_both_bad_has_a_share_of_its_own_and_counts_as_a_tie() -> None:
    rows = [
        (*row[:4], "both_bad") if row[4] == "tied" and row[1] != "s" else row
        for row in FOUR  # three of the four ties
    ]
    found = pair_figures(PREFERENCE_BOTH_BAD, judged(rows, PREFERENCE_BOTH_BAD))
    (row,), (scored,) = found["preferences"][0]["meetings"], found["bots"]

    assert (row["wins"], row["losses"], row["ties"], row["both_bad"]) == (6, 2, 4, 3)
    share = row["both_bad_share"]
    assert share == scored["cells"][3]
    assert share["value"] == pytest.approx(25)
    assert share["low"] < 25 < share["high"]
    assert found["preferences"][0]["strengths"] == of(FOUR)["strengths"]
    assert "both_bad" not in of(FOUR)["meetings"][0]
    (head, cells, notes, _) = latex_tables.preferences(found)
    assert cells[0][head.index("Both bad")].startswith("25.0 [")
    assert "among the ties" in notes


def test_an_item_with_equal_votes_is_ambiguous() -> None:
    """Item 2 only: at item 3 all are at one that it is a tie."""
    (row,) = of(FOUR)["meetings"]

    assert (row["items"], row["ambiguous"]) == (4, 1)
    clear = row["clear"]
    assert (clear["wins"], clear["losses"], clear["ties"]) == (5, 1, 3)


def test_two_systems_have_half_of_their_log_odds_each() -> None:
    strengths = {bot["bot"]: bot for bot in of(FOUR)["strengths"]["bots"]}

    assert strengths["A"]["value"] == pytest.approx(np.log(6 / 2) / 2)
    assert strengths["B"]["value"] == pytest.approx(-np.log(6 / 2) / 2)
    assert strengths["A"]["low"] < strengths["A"]["value"] < strengths["A"]["high"]


def test_the_median_kappa_is_that_of_the_pair_in_the_middle() -> None:
    # r: win win tie win, s: win lose tie win, t: lose tie tie win.
    # r, s agree at 3 of 4, chance (3·2 + 0·1 + 1·1) / 16: (.75 - .4375) / .5625; s, t at 2, chance
    # (2·1 + 1·1 + 1·2) / 16: (.5 - .3125) / .6875; r, t at 2, chance (3·1 + 0·1 + 1·2) / 16: the same.
    kappa = of(FOUR)["kappa"]

    assert kappa["value"] == pytest.approx(np.median([0.3125 / 0.5625, 0.1875 / 0.6875, 0.1875 / 0.6875]))
    assert (kappa["pairs"], kappa["of"]) == (3, 3)


def leaning(found: dict[str, Any], to: str) -> dict[str, Any]:
    (row,) = [each for each in found["leanings"] if each["to"] == to]
    return dict(row)


def test_the_bias_to_the_first_side_equals_a_hand_count() -> None:
    """Of FOUR, eight judgments name a side: r and t at item 1 and s at item 4 the one they saw first."""
    row = leaning(of(FOUR), "shown_first")

    assert (row["value"], row["labels"]) == (pytest.approx(100 * 3 / 8), 8)
    assert row["low"] < 37.5 < row["high"]
    assert not row["is_beyond_chance"]


def test_the_bias_to_the_longer_side_leaves_out_equal_lengths() -> None:
    """A is longer at item 1, where it wins twice of three times, and B at item 4, where it never wins."""
    of_items = {1: {"A": 9, "B": 4}, 2: {"A": 5, "B": 5}, 3: {"A": 7, "B": 7}, 4: {"A": 2, "B": 3}}
    words = np.array([[of_items[item][one], of_items[item][other]] for item, _, one, other, _ in FOUR])
    row = leaning(of(FOUR, words=words), "longer")

    assert (row["value"], row["labels"]) == (pytest.approx(100 * 2 / 6), 6)


def test_a_shared_bias_is_beyond_chance() -> None:
    """Twelve raters of twelve contexts always take the side they see first, which is the shorter one."""
    rows = [
        (item, rater, *(("A", "B") if (item + n) % 2 else ("B", "A")), "first")
        for item in range(12)
        for n, rater in enumerate("abcdefghijkl")
    ]
    found = of(rows, words=np.tile([3, 8], (len(rows), 1)))

    first, longer = leaning(found, "shown_first"), leaning(found, "longer")
    assert (first["value"], longer["value"]) == (100, 0)
    assert first["is_beyond_chance"]
    assert longer["is_beyond_chance"]
    assert found["meetings"][0]["lead"] == pytest.approx(0)  # sides are balanced: neither system gains


def test_ties_and_unknown_lengths_show_no_bias() -> None:
    found = of([(1, "r", "A", "B", "tied"), (2, "s", "A", "B", "tied")])

    (row,) = found["leanings"]
    assert (row["to"], row["labels"], row["value"]) == ("shown_first", 0, None)
    assert row["undefined"]


def test_the_order_of_sides_changes_only_the_position_bias() -> None:
    turned = {"first": "second", "second": "first", "tied": "tied"}
    other_way = [(item, rater, b, a, turned[answer]) for item, rater, a, b, answer in FOUR]

    one, other = (pair_figures(PREFERENCE, judged(rows)) for rows in (FOUR, other_way))
    ((first,), (second,)) = (each["preferences"][0].pop("leanings") for each in (one, other))
    assert one == other
    assert first["value"] + second["value"] == pytest.approx(100)


def test_the_order_of_the_rows_changes_no_number() -> None:
    assert pair_figures(PREFERENCE, judged(FOUR[::-1])) == pair_figures(PREFERENCE, judged(FOUR))


def test_a_system_that_always_wins_has_no_strength_but_an_interval_of_its_share() -> None:
    rows = [(item, rater, "A", "B", "first") for item in range(6) for rater in "rs"]

    found = of(rows)

    assert "no finite estimate" in found["strengths"]["undefined"]
    assert found["meetings"][0]["lead"] == 100
    assert found["meetings"][0]["low"] < 100
    assert "undefined" in found["kappa"]


def test_a_rater_who_always_takes_one_side_cancels_out() -> None:
    """Whoever always answers “first” says nothing where every pair is shown either way as often."""
    rows = [(n, f"r{n % 5}", *(("A", "B"), ("B", "A"))[n % 2], "first") for n in range(40)]

    (row,) = of(rows)["meetings"]

    assert (row["wins"], row["losses"], row["lead"]) == (20, 20, 0)


def test_strengths_allow_for_raters_who_judge_many_items() -> None:
    """Ten raters who each prefer one of the two throughout: there are ten opinions, not two hundred."""
    rows = [(n, f"r{r}", "A", "B", "first" if r < 6 else "second") for n in range(20) for r in range(10)]

    (row,) = of(rows)["meetings"]
    a, _ = of(rows)["strengths"]["bots"]

    # the error of a mean of ten numbers ±1, six of them 1: √((1 - .2²) / 9); times t(9) of a 90 % interval
    half = 1.833 * np.sqrt(0.96 / 9) * 100
    assert (row["high"] - row["low"]) / 2 == pytest.approx(half, rel=0.05)
    assert a["low"] < 0 < a["high"]


@pytest.mark.parametrize("seed", range(3))
def test_a_simulated_preference_lies_in_its_interval_as_often_as_promised(seed: int) -> None:
    held = []
    for study in range(60):
        rng = np.random.default_rng(1000 * seed + study)
        leaning = rng.normal(0, 0.5, size=12)
        rows = []
        for item in range(30):
            difficulty = rng.normal(0, 0.7)
            for rater in rng.choice(12, 6, replace=False):
                wins = 1 / (1 + np.exp(-(0.4 + leaning[rater] + difficulty)))
                answer = "tied" if rng.random() < 0.2 else "first" if rng.random() < wins else "second"
                rows.append((item, f"r{rater}", "A", "B", answer))
        (row,) = of(rows)["meetings"]
        draws = np.random.default_rng(1).normal(0, np.hypot(0.5, 0.7), 200_000)
        truth = 80 * np.mean(2 / (1 + np.exp(-(0.4 + draws))) - 1)
        held.append(row["low"] <= truth <= row["high"])

    assert np.mean(held) > 0.84  # nominal 0.9; of 60, three standard errors are 0.12


def test_several_systems_have_the_strengths_of_the_maximum_likelihood() -> None:
    rng = np.random.default_rng(5)
    rows = [
        (n, f"r{n % 7}", *pair, str(rng.choice(["first", "second", "tied"])))
        for n, pair in enumerate([("A", "B"), ("C", "B"), ("A", "C")] * 30)
    ]

    strengths = {bot["bot"]: bot["value"] for bot in of(rows)["strengths"]["bots"]}

    duels = Duels.from_rows(
        [(a, b, {"tied": "tie"}.get(answer, answer), item) for item, _, a, b, answer in rows]
    )
    theirs = bradley_terry(duels)
    assert strengths == pytest.approx(theirs.strength)


def test_expected_strengths_follow_expected_counts() -> None:
    # Ties are 0.4 of the geometric mean of wins and losses throughout, as Davidson's model has them.
    near, far = (30, 10, 0.4 * 300**0.5), (45, 5, 0.4 * 15)
    found = expected_strengths({("A", "B"): near, ("B", "C"): near, ("A", "C"): far})

    # A over B and B over C by log 3; by log 9 A over C is what one scale then says
    assert found["A"] - found["B"] == pytest.approx(np.log(3))
    assert found["A"] - found["C"] == pytest.approx(np.log(9))


def test_departures_from_the_paper_are_named() -> None:
    deviations = pair_figures(PREFERENCE, judged(FOUR))["deviations"]

    assert "3 workers judge each item; in the paper 6 to 8." in deviations
    assert "A against B: 4 items; in the paper 100 contexts for each two systems." in deviations
    assert not any("0 of 4 items" in sentence for sentence in deviations)


def test_contexts_that_the_paper_leaves_out_are_departures() -> None:
    found = pair_figures(PREFERENCE, judged(FOUR, contexts=Contexts(4, 3, short=2, unknown=1)))
    told = found["deviations"]

    assert "2 of 4 items have contexts of 10 words or fewer; the paper leaves these out." in told
    assert "1 of 4 items has a context with an unknown word; the paper leaves these out." in told
    assert found["contexts"] == {"items": 4, "fewest_words": 3, "short": 2, "unknown": 1}
    assert pair_figures(PREFERENCE, judged(FOUR))["contexts"] is None


@pytest.mark.parametrize(
    ("turns", "words", "unknown"),
    [
        (["One two three, four five six seven eight nine ten."], 10, False),
        (["It's one two", "three-four five six seven eight nine ten"], 11, False),
        (["one < UNK > two <unknown>"], 2, True),
        (["an unknown unk"], 3, False),
        (["你好吗"], 3, False),
    ],
)
def test_words_of_a_context_are_counted_without_the_marks(
    turns: list[str], words: int, unknown: bool
) -> None:
    assert (word_count(turns), has_unknown(turns)) == (words, unknown)
    assert Fit(words, unknown=unknown).holds(turns)
    assert not Fit(words + 1).holds(turns)
    assert Fit(0, unknown=False).holds(turns) != unknown
    assert Contexts.of([turns, []]) == Contexts(1, words, int(words <= 10), int(unknown))


def test_the_published_shares_are_those_of_the_paper() -> None:
    pairwise = protocols()["neural-chat-pairwise"]
    scores = {system.system: system.scores for system in pairwise.published}

    assert pairwise.level == 0.9
    # Table A.2, HRED on Cornell, quality: wins 40.8, losses 24.5, ties 34.8
    assert [scores["HRED-EI against HRED, Cornell"][f"quality.{n}"] for n in (1, 2, 3)] == [40.8, 24.5, 34.8]
    for system, of_system in scores.items():
        assert set(of_system) == {score.key for score in PREFERENCES.scores}
        for question in PREFERENCES.questions:
            shares = [of_system[f"{question.key}.{n}"] for n in (1, 2, 3)]
            # One row of the paper's table does not: 13.5, 25.5 and 66.0 are printed there.
            is_odd = (system, question.key) == ("VHCR-EI against VHCR, Cornell", "fluency")
            assert sum(shares) == pytest.approx(105 if is_odd else 100, abs=0.3)


@pytest.mark.parametrize("questions", [PREFERENCE, PREFERENCES])
def test_a_set_about_pairs_survives_its_json(questions: QuestionSet) -> None:
    assert QuestionSet.from_json(questions.to_json()) == questions
    assert all(question.is_sided for question in questions.questions)
    for example in questions.examples:
        assert example.other
        assert questions.check(example.answers) == example.answers


def test_without_judgments_there_is_nothing_to_report() -> None:
    found = pair_figures(PREFERENCE, judged([]))

    assert found["bots"] == []
    assert found["preferences"][0]["meetings"] == []


def styled(seed: int = 8) -> JudgedPairs:
    """A and B are equally good; A writes longer, and three of four raters take the longer side."""
    draw, rows, style = np.random.default_rng(seed), [], []
    for item in range(200):
        first, second = ("A", "B") if item % 2 else ("B", "A")
        lengths = {"A": draw.integers(300, 900), "B": draw.integers(100, 500)}
        is_first = (lengths[first] > lengths[second]) == (draw.random() < 0.75)
        rows.append((item, f"r{item % 25}", first, second, "first" if is_first else "second"))
        style.append([[lengths[first], 0, 0, 1], [lengths[second], 0, 0, 1]])
    return replace(judged(rows), style=np.array(style))


def test_strengths_adjusted_for_style_stand_beside_the_others() -> None:
    data = styled()
    (found,) = pair_figures(PREFERENCE, data)["preferences"]
    style = found["style"]

    def of_a(figures: dict[str, Any]) -> float:
        return float(next(bot["value"] for bot in figures["bots"] if bot["bot"] == "A"))

    assert of_a(found["strengths"]) > 0.3  # A is longer, and leads for that alone
    assert abs(of_a(style)) < 0.3
    (effect,) = style["effects"]
    assert effect["is_beyond_chance"]
    assert effect["interval"]["low"] < effect["coefficient"] < effect["interval"]["high"]
    assert "the longer side is preferred in" in effect["words"]
    assert style["equal"] == ["Headers", "List items", "Bold passages"]


def test_style_follows_the_sides_whichever_way_they_were_shown() -> None:
    data = styled()
    other = np.array(["first", "second"], dtype=object)
    answers = {key: codes.copy() for key, codes in data.judged.answers.items()}
    (question,) = PREFERENCE.questions
    first, second = coded_answers(question, list(other))
    answers["better"] = np.where(answers["better"] == first, second, first)
    turned = replace(
        data,
        judged=replace(data.judged, bot=data.other, answers=answers),
        other=data.judged.bot,
        style=data.style[:, ::-1],  # type: ignore[index]
    )

    one, same = (pair_figures(PREFERENCE, each)["preferences"][0]["style"] for each in (data, turned))
    assert one == same


def test_without_the_style_of_sides_there_is_no_such_figure() -> None:
    assert "style" not in of(FOUR)
    none = of(FOUR, style=np.ones((12, 2, 4), dtype=np.int64))["style"]
    assert "same style" in none["undefined"]


def test_ranks_by_strength_are_those_of_a_test_of_every_difference() -> None:
    """With two systems, one is ahead exactly if the 90 % interval of the difference is above 0."""
    for wins, ahead in ((17, True), (16, False)):
        rows = [(k, f"r{k}", "A", "B", "first" if k < wins else "second") for k in range(24)]
        (asked,) = pair_figures(PREFERENCE, judged(rows))["preferences"]
        one, other = asked["strengths"]["bots"]
        # Log-odds of wins, with the error of independent pairs and Bessel's correction (White 1982).
        z = np.log(wins / (24 - wins)) / np.sqrt(24 / 23 * (1 / wins + 1 / (24 - wins)))
        assert (z > student.ppf(0.95, 23)) == ahead
        assert one["rank"] == ({"best": 1, "worst": 1} if ahead else {"best": 1, "worst": 2})
        assert other["rank"] == ({"best": 2, "worst": 2} if ahead else {"best": 1, "worst": 2})
