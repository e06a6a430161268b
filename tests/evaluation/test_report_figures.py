"""The numbers of a report, from labels planted in columns and counted by hand."""

import numpy as np
import pytest

from evaluation.questions import HUMAN_LIKENESS, SSA, Choice, Level, Question, QuestionSet, Subject
from evaluation.report.comparisons import comparisons
from evaluation.report.course import Course, course_figures, latency
from evaluation.report.figures import bot_scores, columns_of, scores_by_reply, scores_without, study_figures
from evaluation.report.judged import Judged
from evaluation.report.raters import rater_figures

Row = tuple[str, int, int, str, float, float]  # bot, conversation, reply, worker, sensible, specific


def planted(*rows: Row, latencies: list[float] | None = None) -> Judged:
    bot, dialogue, reply, rater, sensible, specific = zip(*rows, strict=True)
    return Judged(
        bot=np.array(bot, dtype=object),
        dialogue=np.array(dialogue),
        reply=np.array(reply),
        rater=np.array(rater, dtype=object),
        latency_ms=np.array(latencies or [np.nan] * len(rows)),
        answers={"sensible": np.array(sensible, float), "specific": np.array(specific, float)},
    )


def conversation(bot: str, number: int, worker: str, *labels: tuple[int, int]) -> list[Row]:
    return [(bot, number, n, worker, *label) for n, label in enumerate(labels, 1)]


# Ann: 3 of 4 sensible, 2 of 4 specific. Bob: 2 of 4 sensible, 0 of 4 specific.
ANN = [*conversation("Ann", 1, "w1", (1, 1), (1, 0)), *conversation("Ann", 2, "w2", (1, 1), (0, 0))]
BOB = [*conversation("Bob", 3, "w1", (1, 0), (1, 0)), *conversation("Bob", 4, "w3", (0, 0), (0, 0))]


def test_scores_are_shares_of_labels_in_percent() -> None:
    ann, bob = bot_scores(SSA, planted(*ANN, *BOB))

    assert [cell["value"] for cell in ann["cells"]] == pytest.approx([75, 50, 62.5])
    assert [cell["value"] for cell in bob["cells"]] == pytest.approx([50, 0, 25])
    assert (ann["conversations"], ann["turns"], ann["labels"], ann["workers"]) == (2, 4, 4, 2)


def test_a_reply_with_two_labels_is_one_reply() -> None:
    (ann,) = bot_scores(SSA, planted(("Ann", 1, 1, "w1", 1, 1), ("Ann", 1, 1, "w2", 0, 0)))

    assert (ann["turns"], ann["labels"]) == (1, 2)


def test_scores_by_reply_are_those_of_the_first_reply_the_second_and_so_on() -> None:
    ann, bob = scores_by_reply(SSA, planted(*ANN, *BOB))

    # Ann's first replies: both sensible and specific. Second: one of two sensible, none specific.
    assert [row["reply"] for row in ann["replies"]] == [1, 2]
    assert [[cell["value"] for cell in row["cells"]] for row in ann["replies"]] == [
        [100, 100, 100],
        [50, 0, 25],
    ]
    assert [row["labels"] for row in bob["replies"]] == [2, 2]


def test_a_reply_that_few_conversations_reach_has_no_interval_but_a_reason() -> None:
    (ann,) = scores_by_reply(SSA, planted(*ANN, ("Ann", 2, 3, "w2", 1, 0)))

    assert ann["replies"][2]["cells"][0]["value"] == 100
    assert "Only 1 conversation" in ann["replies"][2]["cells"][0]["undefined"]


def test_a_comparison_says_who_is_ahead_by_how_much() -> None:
    ann = [row for n in range(20) for row in conversation("Ann", n, "w", (1, 1), (1, n % 2))]
    bob = [row for n in range(20, 40) for row in conversation("Bob", n, "w", (1, 0), (n % 2, 0))]

    (found,) = comparisons(SSA, planted(*ann, *bob), np.random.default_rng(1))

    # Ann: sensible 40 of 40, specific 30 of 40: 87.5. Bob: 30 of 40 and none: 37.5.
    assert found["difference"] == pytest.approx(50)
    assert found["words"].startswith("Ann is ahead of Bob by 50.0 points, 95 % interval ")
    assert found["low"] <= 50 <= found["high"]
    assert found["p_holm"] == pytest.approx(1 / 10_001)  # no permutation of 40 differs that much


def test_three_bots_are_three_comparisons_the_widest_first() -> None:
    rows = [
        row
        for start, bot, specific in ((0, "Ann", 1), (20, "Bob", 0), (40, "Eve", 0))
        for n in range(start, start + 20)
        for row in conversation(bot, n, "w", (1, specific), (n % 2 if bot == "Eve" else 1, 0))
    ]

    found = comparisons(SSA, planted(*rows), np.random.default_rng(1))

    # SSA: Ann 75, Bob 50, Eve 37.5
    assert [(each["first"], each["second"]) for each in found] == [
        ("Ann", "Eve"),
        ("Ann", "Bob"),
        ("Bob", "Eve"),
    ]
    assert [each["difference"] for each in found] == pytest.approx([37.5, 25, 12.5])


def test_one_conversation_each_cannot_be_compared() -> None:
    judged = planted(*conversation("Ann", 1, "w1", (1, 1)), *conversation("Bob", 2, "w2", (0, 0)))

    (found,) = comparisons(SSA, judged, np.random.default_rng(1))

    assert "cannot be told" in found["words"]
    assert found["p_holm"] is None


def human_like(*rows: tuple[str, int, float]) -> Judged:
    bot, dialogue, answers = zip(*rows, strict=True)
    n = len(rows)
    return Judged(
        bot=np.array(bot, dtype=object),
        dialogue=np.array(dialogue),
        reply=np.ones(n, dtype=np.int64),
        rater=np.array(["w"] * n, dtype=object),
        latency_ms=np.full(n, np.nan),
        answers={"human_like": np.array(answers, float)},
    )


def test_another_question_set_is_scored_and_compared_by_its_own_question() -> None:
    judged = human_like(
        *(("Ann", n, float(n < 15)) for n in range(20)), *(("Bob", 20 + n, float(n < 5)) for n in range(20))
    )

    result = study_figures(HUMAN_LIKENESS, judged)

    assert [bot["cells"][0]["value"] for bot in result["bots"]] == pytest.approx([75, 25])
    assert result["comparisons"][0]["difference"] == pytest.approx(50)
    assert "Ann is ahead of Bob by 50.0 points" in result["comparisons"][0]["words"]


def test_ratings_have_a_mean_on_their_own_scale() -> None:
    quality = Question(
        key="human_like",
        wording="How good is it?",
        help="",
        level=Level.ORDINAL,
        choices=tuple(Choice(n, str(n)) for n in range(1, 8)),
    )
    ratings = QuestionSet("rating", "Rating", frozenset({Subject.TURN}), (quality,), "none")
    judged = human_like(*(("Ann", n, 5 + n % 3) for n in range(30)))

    result = study_figures(ratings, judged)

    assert result["columns"][0]["percent"] is False
    cell = result["bots"][0]["cells"][0]
    assert cell["value"] == 6
    assert 1 <= cell["low"] <= 6 <= cell["high"] <= 7
    assert columns_of(ratings)[0].high == 7
    assert result["comparisons"] == []


def test_the_most_influential_worker_comes_first() -> None:
    found = rater_figures(SSA, planted(*ANN, *BOB))

    # Ann 62.5; without w1 (100 and 50: 75) the rest is 50, so w1 lifts it by 12.5, and w2 lowers it by 12.5.
    # Bob 25; without w1 nothing is sensible: w1 lifts it by 25; without w3: 50, so w3 lowers it by 25.
    shifts = {(row["worker"], row["bot"]): row["shift"] for row in found["influence"]}
    assert shifts == pytest.approx(
        {("w1", "Ann"): 12.5, ("w2", "Ann"): -12.5, ("w1", "Bob"): 25, ("w3", "Bob"): -25}
    )
    assert abs(found["influence"][0]["shift"]) == pytest.approx(25)
    assert (found["workers"], found["labels"], found["median_labels"], found["most_labels"]) == (3, 8, 2, 4)


def test_the_only_worker_of_a_bot_has_no_influence_that_can_be_told() -> None:
    found = rater_figures(SSA, planted(*conversation("Ann", 1, "w1", (1, 1))))

    assert found["influence"] == []
    assert found["alone"] == ["w1 gave all labels of Ann."]


def test_workers_set_aside_stay_in_the_scores_and_are_left_out_beside_them() -> None:
    result = study_figures(SSA, planted(*ANN, *BOB), set_aside={"w1": "always yes", "w9": "came later"})

    assert [bot["cells"][2]["value"] for bot in result["bots"]] == pytest.approx([62.5, 25])
    # Without w1: Ann's second conversation (50 and 50), Bob's second (nothing sensible).
    assert [bot["cells"][2]["value"] for bot in result["without"]["bots"]] == pytest.approx([50, 0])
    assert result["without"]["workers"] == [
        {"worker": "w1", "reason": "always yes", "labels": 4},
        {"worker": "w9", "reason": "came later", "labels": 0},
    ]


def test_nothing_stands_beside_the_scores_if_nobody_was_set_aside() -> None:
    assert scores_without(SSA, planted(*ANN), {}) is None


def test_setting_everybody_aside_leaves_no_scores() -> None:
    without = scores_without(SSA, planted(*ANN), {"w1": "x", "w2": "x"})

    assert without is not None
    assert without["bots"] == []


def test_a_label_without_an_answer_is_an_error_that_names_it() -> None:
    with pytest.raises(
        ValueError, match="Reply 2 of conversation 1 has a label by w1 without an answer to 'specific'"
    ):
        bot_scores(SSA, planted(("Ann", 1, 1, "w1", 1, 1), ("Ann", 1, 2, "w1", 1, np.nan)))


def test_agreement_is_told_over_replies_that_several_workers_labelled() -> None:
    pairs = [(1, 1), (1, 1), (0, 0), (1, 0)]
    rows: list[Row] = [
        ("Ann", 1, n, worker, label, 0)
        for n, labels in enumerate(pairs, 1)
        for worker, label in zip(("w1", "w2"), labels, strict=True)
    ]

    sensible, specific = study_figures(SSA, planted(*rows, ("Ann", 2, 1, "w1", 1, 1)))["agreement"]

    # 3 of 4 pairs agree. Of 8 labels 5 are yes: expected disagreement 2 * 5 * 3 / (8 * 7) = 30 / 56;
    # observed 2 / 8; alpha = 1 - (2 / 8) * (56 / 30) = 0.5333.
    assert (sensible["replies"], sensible["labels"], sensible["percent"]) == (4, 8, 75)
    assert sensible["alpha"] == pytest.approx(1 - (2 / 8) * (56 / 30))
    assert specific["percent"] == 100
    assert "All 8 ratings are the same" in specific["undefined"]


def test_one_worker_for_each_reply_agrees_with_nobody() -> None:
    sensible, _ = study_figures(SSA, planted(*ANN))["agreement"]

    assert sensible["undefined"] == "No two workers labelled the same, so their agreement cannot be told."


# --- how the conversations went -------------------------------------------------------------------


def test_times_to_reply_are_counted_once_for_each_reply() -> None:
    rows = [("Ann", 1, n, "w1", 1, 1) for n in range(1, 21)]
    times = [10.0 * n for n in range(1, 21)]
    judged = planted(*rows, ("Ann", 1, 20, "w2", 0, 0), latencies=[*times, 200.0])

    # 10, 20 … 200 ms: the median is 105; 0.95 of the way over 19 gaps is 18.05: 190 + 0.05 * 10 = 190.5,
    # which rounds to the even 190.
    assert latency(judged) == {"median_ms": 105, "p95_ms": 190, "replies": 20}


def test_unknown_times_are_not_zero() -> None:
    assert latency(planted(*ANN)) is None


def test_repetition_faults_and_endings_stand_by_bot() -> None:
    again = "you can say that once more my friend"
    texts = [
        [(False, "hello"), (True, again), (False, "why"), (True, again + " indeed")],
        [(True, "no"), (True, "yes")],
    ]
    courses = {
        "Ann": Course(
            finished=2,
            under_way=1,
            bot_failed=3,
            faults={"late": 4, "busy": 1},
            remarked=3,
            fallbacks=1,
            texts=texts,
        ),
        "Bob": Course(),
    }

    ann, bob = course_figures(courses, planted(*ANN), seed=1)["bots"]

    # One of Ann's four replies says an earlier one again, so one of her two conversations is affected.
    assert ann["repetition"]["value"] == 25
    assert ann["repetition"]["conversations"] == 50
    assert ann["faults"] == [{"kind": "busy", "times": 1}, {"kind": "late", "times": 4}]
    assert (ann["finished"], ann["under_way"], ann["bot_failed"]) == (2, 1, 3)
    assert bob["repetition"] == {"undefined": "Bob has no turns."}
    assert bob["latency"] is None
    assert ann["remarks"] == {"replies": 3, "fallbacks": 1}
    assert "remarks" not in bob
