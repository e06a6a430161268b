"""What simulated raters are dealt, what a report of that must hold, and whether a wrong one is found out."""

from collections import Counter
from copy import deepcopy
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
import scipy.stats

from benchmarks.rehearsed_findings import Dealt, talked
from benchmarks.rehearsed_findings import judged as deal_judged
from evaluation.questions import (
    LIKERT,
    SSA,
    VOTES,
    Choice,
    Condition,
    Question,
    QuestionSet,
    Scale,
    Subject,
)
from evaluation.questions import Kind as QuestionKind
from turnwise.rehearsals.expected_results import expected_means, forecast_alphas, stored_answer_chances
from turnwise.rehearsals.findings import (
    Finding,
    Outcome,
    allow_chance_misses,
    compare_with_interval,
    findings,
)
from turnwise.rehearsals.injected_effects import Answers, Kind, Plan, mix
from turnwise.rehearsals.rehearsed_task import TooFewWorkersError, capacity_for, latecomers, worker_profiles
from turnwise.rehearsals.simulated_answers import State, answer_rates, chances_for_truth, possible_answers

# --- how much, and who comes when -----------------------------------------------------------------------


def test_items_are_limited_to_what_the_workers_can_judge() -> None:
    # Of 30 workers 3 leave half-way: 27 + 3/2 = 28.5 batches of 50 are 1,425 places. The 9 items that these
    # hold may cost 4 places each; with 5 raters and one place in twenty to spare 1,389 / 5.25 = 264 items.
    assert capacity_for({"en": 1477}, raters=5, batch_size=50, workers=30).items == {"en": 264}
    # 40 items want 200 labels, with those to spare 246: of 28.5 workers 8.6 each.
    few = capacity_for({"en": 40}, raters=5, batch_size=50, workers=30)
    assert (few.items, few.batch_size) == ({"en": 40}, 9)


def test_each_language_needs_as_many_readers_as_raters() -> None:
    # the first ten read in turns en, de; the second de, en. Number 7 leaves, who reads en.
    with pytest.raises(TooFewWorkersError, match=r"only 2 of 5 .* in each language. Use --workers 6 or more"):
        capacity_for({"en": 9, "de": 9}, raters=3, batch_size=5, workers=5)
    kinds = {seat.kind for seat in worker_profiles(40, ["en", "de"]) if seat.language == "de"}
    assert kinds == set(Kind)


def test_every_bot_and_language_gets_workers_of_every_kind() -> None:
    kinds = mix(40)
    assert Counter(kinds[::2]) == Counter(kinds[1::2])
    # of ten: seven careful ones (one with two tabs, one who leaves), one careless, one straight-lining
    assert Counter(kinds[:10]) == Counter(kinds[10:20])


def test_the_last_workers_start_when_items_of_leaving_ones_are_free() -> None:
    assert latecomers(worker_profiles(10, ["en"]), 3) == {7, 8, 9}
    assert latecomers(worker_profiles(6, ["en"]), 3) == set()  # nobody leaves


# --- what is planted, and whether a wrong report is found out -----------------------------------------------


def test_true_answers_follow_the_injected_rates_and_things_are_easy_or_hard() -> None:
    plan = Plan(SSA, ["Alpha"], alone=False)
    for number in range(4000):
        plan.meet(str(number), "Alpha")

    # 80 % sensible, 62.5 % of these specific: 20 % neither, 30 % sensible only, 50 % both. Three in four are
    # easy (right 95 times in 100), one in four is hard (70).
    expected = {
        (0.05, 0.05): 0.15, (0.3, 0.3): 0.05, (0.95, 0.05): 0.225,
        (0.7, 0.3): 0.075, (0.95, 0.95): 0.375, (0.7, 0.7): 0.125,
    }  # fmt: skip
    found = Counter(tuple(round(share[0], 9) for share in state) for _, state in plan.things.values())
    assert {state: times / 4000 for state, times in found.items()} == pytest.approx(expected, abs=0.02)


def yes(*chances: float) -> State:
    """How someone answers two questions of yes or no."""
    return tuple((chance, 1 - chance) for chance in chances)


def test_chances_of_each_kind_of_worker() -> None:
    plan, hard = Plan(SSA, ["Alpha"], alone=False), yes(0.7, 0.3)  # sensible, not specific

    def chance(key: str, kind: Kind) -> float:
        return sum(
            share
            for way, share in stored_answer_chances(SSA, plan.answer_chances(hard, kind))[key]
            if way is True
        )

    # who finds it sensible (70 in 100) finds it specific 30 times in 100
    assert chance("specific", Kind.CAREFUL) == pytest.approx(0.21)
    assert chance("sensible", Kind.TWO_TABS) == pytest.approx(0.7)
    assert chance("specific", Kind.CARELESS) == pytest.approx(0.25)
    assert chance("specific", Kind.STRAIGHT_LINING) == 1


def test_alpha_is_forecast_before_the_rehearsal() -> None:
    plan = Plan(SSA, ["Alpha"], alone=False)
    for number, state in enumerate([yes(0.9, 0.5), yes(0.1, 0.5)] * 5_000):
        plan.things[str(number)] = ("Alpha", state)

    # One careful worker for each careless one: chances (.9 + .5) / 2 = .7 and .3, variance .04; .04 / .25.
    found = forecast_alphas(plan, {Kind.CAREFUL: 0.5, Kind.CARELESS: 0.5}, 5)
    assert found["sensible", ""] == pytest.approx(0.16, abs=1e-3)


# --- other kinds of questions -----------------------------------------------------------------------------

SOURCES = Question(
    "sources",
    "What is it based on?",
    kind=QuestionKind.SEVERAL,
    choices=(Choice("fact", "A fact"), Choice("news", "News"), Choice("self", "Itself")),
)
MOOD = Question("mood", "How does it sound?", choices=(Choice("glad", "Glad"), Choice("sad", "Sad")))
WHY = Question("why", "Why?", kind=QuestionKind.TEXT, asked_if=Condition("mood", ("sad",)))
STEPS = Scale(1, 5, "hard", "easy")
EASE = Question("ease", "How easy?", kind=QuestionKind.SCALE, scale=STEPS, required=False)
EVERY_KIND = QuestionSet("every", "Every kind", frozenset({Subject.TURN}), (SOURCES, MOOD, WHY, EASE), "us")


def test_possible_answers_of_each_kind_of_question() -> None:
    assert possible_answers(SOURCES) == (["fact"], ["news"], ["self"], ["fact", "news"], ["news", "self"])
    assert possible_answers(EASE) == (1, 2, 3, 4, 5, None)
    assert all(
        sum(share) == pytest.approx(1) for system in range(5) for share in answer_rates(EVERY_KIND, system)
    )


def test_careful_workers_give_the_true_answer_at_the_injected_rate() -> None:
    sources, mood, why, ease = chances_for_truth(EVERY_KIND, {"sources": ["news"], "mood": "glad"}, 0.8)

    assert sources == pytest.approx((0.05, 0.8, 0.05, 0.05, 0.05))
    assert mood == pytest.approx((0.8, 0.2))
    assert why == (1.0,)
    assert ease == pytest.approx((0.04, 0.04, 0.04, 0.04, 0.04, 0.8))  # no answer is the truth of it


def test_expected_means_of_every_kind_equal_those_counted_by_hand() -> None:
    plan = Plan(EVERY_KIND, ["Alpha"], alone=True)
    state = ((0.5, 0, 0, 0.5, 0), (0.25, 0.75), (1.0,), (0.1, 0.1, 0.1, 0.1, 0.1, 0.5))
    plan.things["one"] = ("Alpha", state)
    plan.recorded["one"] = [(Kind.CAREFUL, {})]

    # A fact always, news half the time, never itself; glad a quarter; of those who answer ease 1 to 5 alike.
    assert expected_means(plan, "Alpha") == pytest.approx(
        {"sources.1": 100, "sources.2": 50, "sources.3": 0, "mood.1": 25, "mood.2": 75, "ease": 3}
    )


@cache
def _judged(seed: int, questions: QuestionSet) -> Dealt:
    return deal_judged(seed, items=120, raters=5, workers=30, questions=questions)


def judged(seed: int, questions: QuestionSet) -> tuple[Plan, dict[str, Any]]:
    """Two systems with 60 items each, judged by five of 30 workers, and the report of that.

    A copy of what is computed once, as models of raters take seconds: the caller may change it.
    """
    plan, _, result = _judged(seed, questions)
    recorded = {thing: list(given) for thing, given in plan.recorded.items()}
    return replace(plan, things=dict(plan.things), recorded=recorded), deepcopy(result)


@pytest.mark.parametrize("questions", [LIKERT, EVERY_KIND], ids=["ratings", "every kind"])
def test_reports_of_every_kind_recover_the_injected_effects(questions: QuestionSet) -> None:
    plan, result = judged(5, questions)

    found = findings(plan, [], result)

    assert [finding.words for finding in found if finding.holds is False] == []
    assert sum(finding.holds is True for finding in found) > 10


def test_reports_of_votes_recover_the_injected_effects() -> None:
    found = findings(*talked(5, workers=40, replies=9, questions=VOTES))

    assert [finding.words for finding in found if not finding.holds] == []


def test_a_wrong_mean_of_ratings_is_detected() -> None:
    plan, result = judged(5, LIKERT)
    cell = result["bots"][0]["cells"][0]
    cell["value"], cell["low"], cell["high"] = (cell[key] + 1 for key in ("value", "low", "high"))

    assert outside(findings(plan, [], result)) == {"Alpha", "Quality of Alpha, all workers"}


def test_a_slip_is_a_different_valid_answer() -> None:
    plan = Plan(SSA, ["Alpha"], alone=False)
    ways: list[Answers] = [{"sensible": False}, {"sensible": True, "specific": True}]
    for answers in ways:
        slip = plan.slip(answers)
        assert SSA.check(slip) != SSA.check(answers)


def outside(found: list[Finding]) -> set[str]:
    return {finding.words.partition(":")[0] for finding in found if finding.holds is False}


def test_a_correct_report_is_inside_and_a_wrong_plan_is_outside() -> None:
    plan, result = judged(3, SSA)
    assert outside(findings(plan, [], result)) == set()

    for given in plan.recorded.values():  # as if everybody had been careful
        given[:] = [(Kind.CAREFUL, answers) for _, answers in given]

    wrong = outside(findings(plan, [], result))
    assert "Krippendorff's alpha of “Does it make sense?”" in wrong
    assert "Krippendorff's alpha of “Is it specific?”" in wrong


def test_a_correct_report_of_conversations_is_inside() -> None:
    found = findings(*talked(3, workers=30, replies=7))
    assert [finding.words for finding in found if not finding.holds] == []


def test_rates_other_than_the_injected_ones_are_outside() -> None:
    plan, result = judged(3, SSA)
    for item, (system, _) in plan.things.items():  # as if all of Beta's were easy, sensible and specific
        if system == "Beta":
            plan.things[item] = (system, yes(0.95, 0.95))

    wrong = outside(findings(plan, [], result))
    assert {each for each in wrong if "of Beta" in each} == {
        f"{score} of Beta, {whose}"
        for score in ("Sensibleness", "Specificity", "SSA")
        for whose in ("all workers", "by strict majority", "without the excluded workers")
    }
    assert not any("of Alpha" in each for each in wrong)


@pytest.mark.parametrize(
    ("table", "row", "name"),
    [
        ("agreement", 1, "Krippendorff's alpha of “Is it specific?”"),
        ("majority", 0, "Sensibleness of Alpha, by strict majority"),
        ("bots", 1, "Sensibleness of Beta, all workers"),
    ],
)
def test_an_interval_that_misses_is_detected(table: str, row: int, name: str) -> None:
    plan, result = judged(3, SSA)
    found = result[table][row]
    cell = found if table == "agreement" else found["cells"][0]
    cell["low"] = cell["high"]

    assert outside(findings(plan, [], result)) == {name}


def far(off: float, others: int) -> Finding:
    """A value so far outside its interval, beside so many others that lie inside theirs."""
    ends = {"low": 40.0, "high": 60.0}
    found = [compare_with_interval("Other", 50.0, 50.0, ends, "", 1)] * others
    return allow_chance_misses(
        [Finding(True, "A count."), *found, compare_with_interval("It", 50 + 10 * off, 50.0, ends, "", 1)]
    )[-1]


def test_one_of_many_intervals_may_miss_slightly_by_chance() -> None:
    # Of 30 independent intervals that hold with 95 % together, each holds with 0.95 ** (1 / 30) = 99.83 %:
    # the normal quantile for that is 3.136, and that for 95 % is 1.960, so each may be 1.6 times as wide.
    assert scipy.stats.norm.ppf((1 + 0.95 ** (1 / 30)) / 2) / scipy.stats.norm.ppf(0.975) == pytest.approx(
        1.6, abs=5e-4
    )
    chance = "It: injected 65.0, reported 50.0 (40.0 to 60.0): just outside, as one of 30 may be by chance."
    assert far(1.5, others=29) == Finding(True, chance, 1.5)
    assert far(-1.59, others=29).holds
    assert not far(1.61, others=29).holds
    assert not far(1.01, others=0).holds
    assert far(0.99, others=0).words.endswith(": inside.")


def test_counts_must_be_equal() -> None:
    assert allow_chance_misses(
        [
            Finding(False, "A count."),
            *[compare_with_interval("It", 1.0, 1.0, {"low": 0, "high": 2}, "", 1)] * 9,
        ]
    )[0] == Finding(False, "A count.")


def test_an_additional_label_or_item_is_detected() -> None:
    plan, result = judged(3, SSA)
    result["raters_per_item"][0]["items"] += 1
    result["bots"][0]["labels"] += 1

    assert outside(findings(plan, [], result)) == {
        "The report counts 121 items by 5; the workers judged 120 items by 5.",
        "Alpha",
    }


def test_without_two_raters_there_is_no_alpha_to_recover() -> None:
    plan = Plan(SSA, ["Alpha"], alone=False)
    plan.meet("one", "Alpha")
    plan.note("one", Kind.CAREFUL, {"sensible": False})

    assert "no item was judged by two workers" in Outcome([], plan).agreement
