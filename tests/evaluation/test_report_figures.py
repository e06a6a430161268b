"""The numbers of a report, from labels planted in columns and counted by hand."""

from typing import Any

import numpy as np
import pytest

from evaluation.protocols.facts import Talks
from evaluation.questions import (
    HUMAN_LIKENESS,
    LIKERT,
    SSA,
    SSA_REASONS,
    VOTES,
    AnswersError,
    Choice,
    Kind,
    Question,
    QuestionSet,
    Subject,
    coded_answers,
)
from evaluation.report.answers import AskData, check_labels
from evaluation.report.conduct import Manner
from evaluation.report.figures import (
    bot_scores,
    coded_questions,
    comparisons,
    scores_by_reply,
    study_figures,
    text_questions,
)
from evaluation.report.intervals import Terms
from evaluation.report.label_columns import Analysis, AnalysisPlan, Judged
from evaluation.report.raters import rater_figures
from evaluation.report.studies.conversations import StudyData, study_result
from evaluation.report.studies.course import Course, course_figures, latency
from evaluation.report.studies.replies import ReplyFacts, percent_of
from evaluation.statistics.labels import LabelsError

Row = tuple[str, int, int, str, float, float]  # bot, conversation, reply, worker, sensible, specific


def planted(*rows: Row, latencies: list[float] | None = None) -> Judged:
    bot, dialogue, reply, rater, sensible, specific = zip(*rows, strict=True)
    return Judged(
        bot=np.array(bot, dtype=object),
        dialogue=np.array(dialogue),
        reply=np.array(reply),
        rater=np.array(rater, dtype=object),
        latency_ms=np.array(latencies or [np.nan] * len(rows)),
        answer_ms=np.full(len(rows), np.nan),
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
    assert "All labels are of one conversation" in ann["replies"][2]["cells"][0]["undefined"]


def test_a_comparison_names_the_leader_and_the_difference() -> None:
    ann = [row for n in range(20) for row in conversation("Ann", n, f"a{n}", (1, 1), (1, n % 2))]
    bob = [row for n in range(20, 40) for row in conversation("Bob", n, f"b{n}", (1, 0), (n % 2, 0))]

    sensible, specific, both = comparisons(SSA, planted(*ann, *bob))

    # Ann: sensible 40 of 40, specific 30 of 40: 87.5. Bob: 30 of 40 and none: 37.5.
    assert [each["score"] for each in (sensible, specific, both)] == ["sensible", "specific", "ssa"]
    assert [each["difference"] for each in (sensible, specific, both)] == pytest.approx([25, 75, 50])
    assert both["words"].startswith("Ann is ahead of Bob by 50.0 points, 95\u00a0% interval ")
    assert both["low"] < 50 < both["high"]
    assert both["p_holm"] < 0.0001
    assert "other conversations with other workers" in both["rests_on"]
    assert sensible["mixed"] == {"undefined": "Fewer than two systems have both yes and no."}
    assert both["mixed"] == {"undefined": "The answers are not yes or no."}


def test_three_bots_are_three_comparisons_by_each_score_the_widest_first() -> None:
    rows = [
        row
        for start, bot, specific in ((0, "Ann", 1), (20, "Bob", 0), (40, "Eve", 0))
        for n in range(start, start + 20)
        for row in conversation(bot, n, f"w{n}", (1, specific), (n % 2 if bot == "Eve" else 1, 0))
    ]

    found = [each for each in comparisons(SSA, planted(*rows)) if each["score"] == "ssa"]

    # SSA: Ann 75, Bob 50, Eve 37.5
    assert [(each["first"], each["second"]) for each in found] == [
        ("Ann", "Eve"),
        ("Ann", "Bob"),
        ("Bob", "Eve"),
    ]
    assert [each["difference"] for each in found] == pytest.approx([37.5, 25, 12.5])


def test_one_conversation_each_cannot_be_compared() -> None:
    judged = planted(*conversation("Ann", 1, "w1", (1, 1)), *conversation("Bob", 2, "w2", (0, 0)))

    found = comparisons(SSA, judged)

    assert len(found) == 3
    assert all("cannot be told" in each["words"] for each in found)
    assert all(each["p_holm"] is None for each in found)


def human_like(*rows: tuple[str, int, float]) -> Judged:
    bot, dialogue, answers = zip(*rows, strict=True)
    n = len(rows)
    return Judged(
        bot=np.array(bot, dtype=object),
        dialogue=np.array(dialogue),
        reply=np.ones(n, dtype=np.int64),
        rater=np.array([f"w{number}" for number in dialogue], dtype=object),
        latency_ms=np.full(n, np.nan),
        answer_ms=np.full(len(rows), np.nan),
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
    # One answer for each worker leaves no effects to tell: 15 / 5 over 5 / 15.
    assert result["comparisons"][0]["mixed"]["odds_ratio"] == pytest.approx(9, rel=1e-3)


# --- every kind of question -----------------------------------------------------------------------

MOOD = Question("mood", "How does it sound?", choices=(Choice("glad", "Glad"), Choice("sad", "Sad")))
SOURCES = Question(
    "sources",
    "What is it based on?",
    kind=Kind.SEVERAL,
    choices=(Choice("fact", "A fact"), Choice("news", "News"), Choice("self", "Itself")),
)
WHY = Question("why", "Why?", kind=Kind.TEXT, required=False)
OWN = QuestionSet("own", "Our own", frozenset({Subject.TURN}), (MOOD, SOURCES, WHY), "us")


def answered(*rows: tuple[str, int, str, str, list[str], str | None]) -> Judged:
    """Rows of bot, conversation, worker, mood, sources, why."""
    bot, dialogue, rater, mood, sources, why = zip(*rows, strict=True)
    return Judged(
        bot=np.array(bot, dtype=object),
        dialogue=np.array(dialogue),
        reply=np.ones(len(rows), dtype=np.int64),
        rater=np.array(rater, dtype=object),
        latency_ms=np.full(len(rows), np.nan),
        answer_ms=np.full(len(rows), np.nan),
        answers={"mood": coded_answers(MOOD, mood), "sources": coded_answers(SOURCES, sources)},
        texts={"why": np.array(why, dtype=object)},
    )


ROWS = (
    ("Ann", 1, "w1", "glad", ["fact", "self"], "It <b>rhymes</b>"),
    ("Ann", 1, "w2", "sad", ["fact"], None),
    ("Ann", 2, "w1", "glad", ["news"], None),
    ("Ann", 2, "w2", "glad", ["fact", "news"], "Well"),
)


def test_names_and_several_choices_have_shares() -> None:
    result = study_figures(OWN, answered(*ROWS))

    # Of 4 labels: glad 3, sad 1; a fact 3, news 2, itself 1.
    assert [column["title"] for column in result["columns"]] == [
        "How does it sound? Glad",
        "How does it sound? Sad",
        "What is it based on? A fact",
        "What is it based on? News",
        "What is it based on? Itself",
    ]
    assert [cell["value"] for cell in result["bots"][0]["cells"]] == [75, 25, 75, 50, 25]
    assert all(
        column["percent"] and (column["low"], column["high"]) == (0, 100) for column in result["columns"]
    )


def test_agreement_has_the_distance_of_its_question_and_each_of_several_choices_its_own() -> None:
    mood, fact, news, itself = study_figures(OWN, answered(*ROWS))["agreement"]

    # Mood: of two pairs one agrees. Labels 3 glad, 1 sad: expected disagreement 2 * 3 * 1 / (4 * 3) = 1 / 2,
    # observed 2 / 4. Alpha is 0.
    assert (mood["percent"], mood["alpha"], mood["metric"]) == (50, pytest.approx(0), "nominal")
    # A fact: yes, yes and no, yes: as above. News: no, no and yes, yes: perfect. Itself: yes, no and no, no.
    assert [each["choice"] for each in (fact, news, itself)] == ["A fact", "News", "Itself"]
    assert [each["alpha"] for each in (fact, news, itself)] == pytest.approx([0, 1, 0])


def test_free_text_is_listed_and_not_scored() -> None:
    (listed,) = study_figures(OWN, answered(*ROWS))["texts"]

    assert (listed["question"], listed["answers"]) == ("Why?", 2)
    assert listed["first"] == [
        {"bot": "Ann", "rater": "w1", "text": "It <b>rhymes</b>"},
        {"bot": "Ann", "rater": "w2", "text": "Well"},
    ]


def rated(set_: QuestionSet, *rows: tuple[str, int, str, dict[str, float]]) -> Judged:
    bot, dialogue, rater, answers = zip(*rows, strict=True)
    return Judged(
        bot=np.array(bot, dtype=object),
        dialogue=np.array(dialogue),
        reply=np.ones(len(rows), dtype=np.int64),
        rater=np.array(rater, dtype=object),
        latency_ms=np.full(len(rows), np.nan),
        answer_ms=np.full(len(rows), np.nan),
        answers={
            each.key: np.array([given.get(each.key, np.nan) for given in answers])
            for each in coded_questions(set_)
        },
        texts={each.key: np.full(len(rows), None, dtype=object) for each in text_questions(set_)},
    )


def test_ratings_have_means_on_their_own_scale_and_a_sum() -> None:
    ratings = [
        {key: float(1 + (n + place) % 7) for place, key in enumerate(each.key for each in LIKERT.questions)}
        for n in range(14)
    ]

    result = study_figures(
        LIKERT, rated(LIKERT, *(("Ann", n, f"w{n}", each) for n, each in enumerate(ratings)))
    )

    # Each number from 1 to 7 twice in each column: all means are 4, their sum is 20.
    assert [column["key"] for column in result["columns"]][-1] == "sum"
    assert [cell["value"] for cell in result["bots"][0]["cells"]] == pytest.approx([4, 4, 4, 4, 4, 20])
    assert [(column["low"], column["high"]) for column in result["columns"]][-2:] == [(1, 7), (5, 35)]
    assert not any(column["percent"] for column in result["columns"])
    cell = result["bots"][0]["cells"][0]
    assert 1 <= cell["low"] < 4 < cell["high"] <= 7
    assert (cell["method"], "other conversations with other workers" in cell["rests_on"]) == ("logit t", True)


def test_bots_are_compared_by_every_rating_in_its_own_unit() -> None:
    rows = [
        (bot, number + n, f"{bot}{n}", dict.fromkeys((q.key for q in LIKERT.questions), float(low + n % 3)))
        for bot, number, low in (("Ann", 0, 4), ("Bob", 100, 2))
        for n in range(12)
    ]

    found = study_figures(LIKERT, rated(LIKERT, *rows))["comparisons"]

    assert [each["score"] for each in found] == [score.key for score in LIKERT.scores]
    assert [each["difference"] for each in found] == pytest.approx([2, 2, 2, 2, 2, 10])
    assert found[0]["words"].startswith("Ann is ahead of Bob by 2.00, 95\u00a0% interval")


def test_votes_that_were_not_given_count_nowhere() -> None:
    rows = [
        ("Ann", n, f"w{n}", {"vote": vote} if vote else {}) for n, vote in enumerate((1.0, 1, 1, -1, 0, 0))
    ]

    (ann,) = study_figures(VOTES, rated(VOTES, *rows))["bots"]

    # Of four votes three are up; their mean is (3 - 1) / 4.
    assert [cell["value"] for cell in ann["cells"]] == [75, 0.5]


def test_reasons_are_asked_only_of_what_is_not_sensible_and_are_shares_of_those_given() -> None:
    reasons, sensible = {"sensible": False, "why_not_sensible": ["fact", "contradiction"]}, {"sensible": True}
    stored = SSA_REASONS.check(reasons)
    assert stored == {"sensible": False, "specific": False, "why_not_sensible": ["contradiction", "fact"]}
    assert SSA_REASONS.check({"sensible": False}) == {"sensible": False, "specific": False}  # optional
    with pytest.raises(AnswersError, match=r"asked only if.*is “No”"):
        SSA_REASONS.check(reasons | sensible | {"specific": True})

    rows = [
        ("Ann", 1, "w1", {"sensible": 1.0, "specific": 1.0}),
        ("Ann", 2, "w1", {"sensible": 0.0, "specific": 0.0, "why_not_sensible": 1.0 + 8}),  # both of above
        ("Ann", 3, "w2", {"sensible": 0.0, "specific": 0.0, "why_not_sensible": 1.0}),
        ("Ann", 4, "w2", {"sensible": 0.0, "specific": 0.0}),
        ("Bob", 5, "w1", {"sensible": 1.0, "specific": 0.0}),
    ]
    judged = rated(SSA_REASONS, *rows)
    check_labels(SSA_REASONS, judged)
    ann, bob = study_figures(SSA_REASONS, judged)["bots"]

    assert [cell["value"] for cell in ann["cells"]] == [25, 25, 25, 100, 0, 0, 50]
    assert [cell["value"] for cell in bob["cells"]] == [100, 0, 50, None, None, None, None]


def test_the_level_of_the_intervals_is_a_parameter() -> None:
    rows = [("Ann", n, f"w{n}", {"vote": float(1 - 2 * (n % 3 == 0))}) for n in range(30)]
    cells = {
        level: bot_scores(VOTES, rated(VOTES, *rows), Terms(level))[0]["cells"][0] for level in (0.9, 0.95)
    }

    assert cells[0.95]["low"] < cells[0.9]["low"] < cells[0.9]["high"] < cells[0.95]["high"]
    assert "90\u00a0% interval" in cells[0.9]["rests_on"]


def test_a_question_that_nobody_answered_has_no_value() -> None:
    (ann,) = bot_scores(VOTES, rated(VOTES, ("Ann", 1, "w1", {})))

    assert ann["cells"] == [{"value": None}, {"value": None}]


def test_no_figure_of_a_report_depends_on_the_order_of_the_labels() -> None:
    rng = np.random.default_rng(3)
    rows = [
        (
            "Ann" if n % 17 % 2 else "Bob",
            n % 17,
            f"w{n % 13}",
            {q.key: float(rng.integers(1, 8)) for q in LIKERT.questions},
        )
        for n in range(200)
    ]

    conduct = Talks(False, "", 2, 8, LIKERT.key, True, ["en"])

    def reported(judged: Judged) -> dict[str, Any]:
        return study_result(
            StudyData(
                [AskData("partner_turn", True, LIKERT, judged)],
                {},
                AnalysisPlan(),
                conduct,
                manners={"w3": Manner(messages=20, repeated=20, text="ok"), "w5": Manner()},
                facets={"Ann": {"data": "Reddit"}, "Bob": {"data": "Cornell"}},
            )
        )

    there = reported(rated(LIKERT, *rows))
    for _ in range(5):
        assert reported(rated(LIKERT, *[rows[n] for n in rng.permutation(len(rows))])) == there
    assert all(there[key] for key in ("facets", "normalised", "flagged", "always_valid"))


# --- workers --------------------------------------------------------------------------------------


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


def test_the_only_worker_of_a_bot_has_no_defined_influence() -> None:
    found = rater_figures(SSA, planted(*conversation("Ann", 1, "w1", (1, 1))))

    assert found["influence"] == []
    assert found["alone"] == ["w1 gave all labels of Ann."]


EXCLUDED = {"w1": "always yes", "w9": "came later"}


@pytest.mark.parametrize("primary", list(Analysis))
def test_every_number_follows_the_declared_analysis_beside_the_other_one(primary: Analysis) -> None:
    plan = AnalysisPlan(primary, "All answers alike.", EXCLUDED)

    result = study_figures(SSA, planted(*ANN, *BOB), plan=plan)

    # Without w1: Ann's second conversation (50 and 50), Bob's second (nothing sensible).
    scores = {Analysis.ALL: [62.5, 25], Analysis.WITHOUT_EXCLUDED: [50, 0]}
    gaps = {Analysis.ALL: 37.5, Analysis.WITHOUT_EXCLUDED: 50}
    for part, analysis in ((result, primary), (result["other"], primary.other)):
        assert [bot["cells"][2]["value"] for bot in part["bots"]] == pytest.approx(scores[analysis])
        assert part["answer"]["difference"] == pytest.approx(gaps[analysis])
        ssa = next(each for each in part["comparisons"] if each["score"] == "ssa")
        assert ssa["difference"] == pytest.approx(gaps[analysis])
        assert all(row["question"] for row in part["agreement"])
    assert (result["primary"], result["other"]["analysis"]) == (primary, primary.other)
    assert result["raters"]["workers"] == (3 if primary is Analysis.ALL else 2)
    assert {row["labels"] for bot in result["by_reply"] for row in bot["replies"]} == (
        {2} if primary is Analysis.ALL else {1}
    )
    assert result["rules"] == "All answers alike."
    assert result["excluded"] == [
        {"worker": "w1", "reason": "always yes", "labels": 4},
        {"worker": "w9", "reason": "came later", "labels": 0},
    ]


def test_without_exclusions_there_is_one_analysis() -> None:
    plan = AnalysisPlan(Analysis.WITHOUT_EXCLUDED, "Too fast.")
    result = study_figures(SSA, planted(*ANN), plan=plan)

    assert (result["primary"], result["other"]) == ("without_excluded", None)
    assert result["bots"][0]["cells"][2]["value"] == pytest.approx(62.5)


def test_excluding_everybody_leaves_no_scores() -> None:
    plan = AnalysisPlan(excluded={"w1": "x", "w2": "x"})
    result = study_figures(SSA, planted(*ANN), plan=plan)

    assert result["other"]["bots"] == []
    assert result["other"]["answer"] is None


def test_a_label_without_an_answer_is_an_error_that_names_it() -> None:
    with pytest.raises(
        LabelsError, match="Reply 2 of conversation 1 has a label by w1 without an answer to 'specific'"
    ):
        check_labels(SSA, planted(("Ann", 1, 1, "w1", 1, 1), ("Ann", 1, 2, "w1", 1, np.nan)))


def test_an_answer_to_a_question_that_was_not_asked_is_an_error_with_its_row() -> None:
    with pytest.raises(LabelsError, match="“Is it specific\\?” is not asked") as caught:
        check_labels(SSA, planted(("Ann", 1, 1, "w1", 1, 1), ("Ann", 1, 2, "w1", 0, 1)))

    assert (caught.value.row, caught.value.column) == (1, "specific")


def test_the_same_worker_twice_on_a_reply_is_an_error_with_both_rows() -> None:
    with pytest.raises(LabelsError, match="already labelled reply 1 of conversation 1") as caught:
        check_labels(SSA, planted(*ANN, ("Ann", 1, 1, "w1", 0, 0)))

    assert (caught.value.row, caught.value.earlier) == (4, 0)


def test_agreement_covers_replies_that_several_workers_labelled() -> None:
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

    says = "Nothing was labelled by two or more workers, so their agreement cannot be told."
    assert sensible["undefined"] == says


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


def test_repetition_faults_and_endings_are_listed_by_bot() -> None:
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
            replies=[ReplyFacts("refused", has_remarks=True), ReplyFacts(), ReplyFacts("cut"), ReplyFacts()],
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
    assert (ann["replies"]["replies"], ann["replies"]["remarked"]) == (4, 1)
    assert percent_of(ann["replies"], "refused") == 25
    assert "replies" not in bob
