"""What simulated raters are dealt, what a report of that must hold, and whether a wrong one is found out."""

from collections import Counter
from typing import Any

import pytest

from benchmarks.rehearsals import judged, talked
from evaluation.questions import SSA
from reports.rehearsal.findings import Finding, Outcome, findings
from reports.rehearsal.planted import Kind, Plan, chance_of_yes, mix, states
from reports.rehearsal.room import TooFewError, latecomers, room, seats

# --- how much, and who comes when -----------------------------------------------------------------------


def test_there_are_as_many_items_as_workers_can_give_all_their_raters() -> None:
    # Of 30 workers 3 leave half-way: 27 + 3/2 = 28.5 batches of 50 are 1,425 places. The 9 items that these
    # hold may cost 4 places each; with 5 raters and one place in twenty to spare 1,389 / 5.25 = 264 items.
    assert room({"en": 1477}, raters=5, batch_size=50, workers=30).items == {"en": 264}
    # 40 items want 200 labels, with those to spare 246: of 28.5 workers 8.6 each.
    few = room({"en": 40}, raters=5, batch_size=50, workers=30)
    assert (few.items, few.batch_size) == ({"en": 40}, 9)


def test_each_language_needs_as_many_readers_as_raters() -> None:
    # the first ten read in turns en, de; the second de, en. Number 7 leaves, who reads en.
    with pytest.raises(TooFewError, match=r"only 2 of 5 .* in each language. Use --workers 6 or more"):
        room({"en": 9, "de": 9}, raters=3, batch_size=5, workers=5)
    kinds = {seat.kind for seat in seats(40, ["en", "de"]) if seat.language == "de"}
    assert kinds == set(Kind)


def test_who_is_given_every_other_bot_or_language_is_of_every_kind() -> None:
    kinds = mix(40)
    assert Counter(kinds[::2]) == Counter(kinds[1::2])
    # of ten: seven careful ones (one with two tabs, one who leaves), one careless, one straight-lining
    assert Counter(kinds[:10]) == Counter(kinds[10:20])


def test_the_last_come_when_what_leaving_ones_held_is_free() -> None:
    assert latecomers(seats(10, ["en"]), 3) == {7, 8, 9}
    assert latecomers(seats(6, ["en"]), 3) == set()  # nobody leaves


# --- what is planted, and whether a wrong report is found out -----------------------------------------------


def test_states_hold_truth_and_difficulty() -> None:
    # 80 % sensible, 62.5 % of these specific: 20 % neither, 30 % sensible only, 50 % both. Three in four are
    # easy (right 95 times in 100), one in four is hard (70).
    expected = {
        (0.05, 0.05): 0.15, (0.3, 0.3): 0.05, (0.95, 0.05): 0.225,
        (0.7, 0.3): 0.075, (0.95, 0.95): 0.375, (0.7, 0.7): 0.125,
    }  # fmt: skip
    found = states(SSA, (0.8, 0.625), alone=False)

    assert {tuple(round(p, 9) for p in state): share for state, share in found.items()} == pytest.approx(
        expected
    )


def test_chances_of_each_kind_of_worker() -> None:
    hard = (0.7, 0.3)  # sensible, not specific
    # who finds it sensible (70 in 100) finds it specific 30 times in 100
    assert chance_of_yes(SSA, "specific", hard, Kind.CAREFUL) == pytest.approx(0.21)
    assert chance_of_yes(SSA, "sensible", hard, Kind.TWO_TABS) == pytest.approx(0.7)
    assert chance_of_yes(SSA, "specific", hard, Kind.CARELESS) == pytest.approx(0.25)
    assert chance_of_yes(SSA, "specific", hard, Kind.STRAIGHT_LINING) == 1


def test_alpha_is_foreseen_before_anybody_comes() -> None:
    plan = Plan(SSA, ["Alpha"], alone=False)
    for number, state in enumerate([(0.9, 0.5), (0.1, 0.5)] * 5_000):
        plan.things[str(number)] = ("Alpha", state)

    # One careful worker for each careless one: chances (.9 + .5) / 2 = .7 and .3, variance .04; .04 / .25.
    foreseen = plan.foreseen({Kind.CAREFUL: 0.5, Kind.CARELESS: 0.5}, 5)
    assert foreseen["sensible"] == pytest.approx(0.16, abs=1e-3)


def test_a_slip_is_another_answer_that_fits_the_questions() -> None:
    plan = Plan(SSA, ["Alpha"], alone=False)
    for answers in ({"sensible": False}, {"sensible": True, "specific": True}):
        slip = plan.slip(answers)
        assert SSA.check(slip) != SSA.check(answers)


def planted_and_reported() -> tuple[Plan, dict[str, Any]]:
    """Two systems with 60 items each, judged by five of 30 workers, and the report of that."""
    plan, _, result = judged(3, items=120, raters=5, workers=30)
    return plan, result


def outside(found: list[Finding]) -> set[str]:
    return {finding.words.partition(":")[0] for finding in found if finding.holds is False}


def test_a_true_report_is_inside_and_a_wrong_plan_is_told_as_outside() -> None:
    plan, result = planted_and_reported()
    assert outside(findings(plan, [], result)) == set()

    for given in plan.recorded.values():  # as if everybody had been careful
        given[:] = [(Kind.CAREFUL, answers) for _, answers in given]

    wrong = outside(findings(plan, [], result))
    assert "Krippendorff's alpha of “Does it make sense?”" in wrong
    assert "Krippendorff's alpha of “Is it specific?”" in wrong


def test_a_true_report_of_conversations_is_inside() -> None:
    found = findings(*talked(3, workers=30, replies=7))
    assert [finding.words for finding in found if not finding.holds] == []


def test_other_rates_than_the_planted_ones_are_told_as_outside() -> None:
    plan, result = planted_and_reported()
    for item, (system, _) in plan.things.items():  # as if all of Beta's were easy, sensible and specific
        if system == "Beta":
            plan.things[item] = (system, (0.95, 0.95))

    wrong = outside(findings(plan, [], result))
    assert {each for each in wrong if "of Beta" in each} == {
        f"{score} of Beta, {whose}"
        for score in ("Sensibleness", "Specificity", "SSA")
        for whose in ("all workers", "by strict majority", "without the workers set aside")
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
def test_an_interval_that_misses_is_told(table: str, row: int, name: str) -> None:
    plan, result = planted_and_reported()
    found = result[table][row]
    cell = found if table == "agreement" else found["cells"][0]
    cell["low"] = cell["high"]

    assert outside(findings(plan, [], result)) == {name}


def test_a_label_or_an_item_more_is_told() -> None:
    plan, result = planted_and_reported()
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
