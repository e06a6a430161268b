"""Signs of care against hand calculation, and how often they err."""

import gzip
import json
import math
import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from evaluation.quality.accuracy import agreements, alphas
from evaluation.quality.flags import Flag, Judgment, Kind, KnownAnswer, Thresholds, Work, flags
from evaluation.quality.signs import chance_of_run, entropy, longest_run, marked, paces, unread
from evaluation.statistics.interval import Undefined

NAN = float("nan")


def test_answers_faster_than_reading_are_unread() -> None:
    # 70 words at 700 a minute take 6 s
    assert unread(np.array([5999.0, 6000.0, NAN]), np.array([70.0, 70.0, 70.0])).tolist() == [0]


def test_a_pace_is_the_median_ratio_to_the_others_on_the_same_items() -> None:
    rater = ["ann", "bob", "eve", "ann", "bob", "ann"]
    item = np.array(["1", "1", "1", "2", "2", "3"])
    ms = np.array([1000.0, 4000.0, 2000.0, 9000.0, 3000.0, 50.0])

    found = paces(rater, item, ms)

    # ann: 1000/3000 on item 1, 9000/3000 on item 2, alone on item 3: the median of 1/3 and 3
    assert found["ann"] == pytest.approx(((1 / 3 + 3) / 2, 2))
    assert found["bob"] == pytest.approx(((4000 / 1500 + 1 / 3) / 2, 2))
    assert found["eve"] == pytest.approx((2000 / 2500, 1))


def test_the_longest_run_and_its_chance() -> None:
    run = longest_run("abbbaabbb")

    assert run == (3, "b", 1)
    assert longest_run([]) is None
    # of 4 answers a run of 3 begins at 2 places: at most 2 · 0.5³; exactly it is P(bbbb, bbba, abbb) = 3/16
    assert chance_of_run(4, 3, 0.5) == 0.25 >= 3 / 16
    assert chance_of_run(3, 4, 0.5) == 0.0
    assert entropy("aabb") == pytest.approx(1.0)
    assert entropy("aaab") == pytest.approx(-(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25)))
    assert entropy("aaaa") == 0.0


def test_agreement_leaves_the_rater_out() -> None:
    yes, no = {"good": True}, {"good": False}
    rows = [("ann", "1", yes), ("bob", "1", yes), ("eve", "1", no)]
    rows += [("ann", "2", yes), ("bob", "2", yes), ("eve", "2", yes), ("dan", "2", no), ("ann", "3", no)]

    found = agreements(rows)

    # eve: 0 of 2 on item 1, where the others agree; 2 of 3 on item 2, where 1 of 3 pairs of others does
    eve = found["eve"]
    assert (eve.items, eve.own, eve.others) == pytest.approx((2, 1 / 3, 2 / 3))
    # differences -1 and 1/3: mean -1/3, standard deviation (4/3)/√2, over √2 items
    assert eve.upper == pytest.approx(-1 / 3 + 1.95996 * (4 / 3) / 2, abs=1e-4)
    assert (found["ann"].items, found["ann"].own) == pytest.approx((2, (1 / 2 + 2 / 3) / 2))


def test_alpha_with_and_without_a_rater() -> None:
    rater = ["a", "b", "c"] * 4
    item = [str(n) for n in range(4) for _ in range(3)]
    answer = [1, 1, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1]

    whole, without = alphas(rater, item, answer, without="c")

    # 12 ratings, six of each; in each unit 4 ordered pairs differ: Do = 4 * 4/(3 - 1)/12 = 2/3,
    # De = 2 * 6 * 6/(12 * 11) = 6/11, alpha = 1 - 11/9
    assert whole == pytest.approx(1 - 11 / 9)
    assert without == 1.0
    assert not isinstance(without, Undefined)


# --- flags --------------------------------------------------------------------------------------

ITEMS = 40


def crowd(good: int, *, seed: int) -> dict[str, Work]:
    """Good workers who are right in 85 of 100 judgments and take their time; and one of each other kind."""
    dice = random.Random(seed)
    truth = {n: dice.random() < 0.6 for n in range(ITEMS)}

    def work(answer: "Sequence[bool]", ms: float, name: str) -> Work:
        rows = [
            Judgment(name, str(n), "Alpha", {"good": said}, ms * dice.uniform(0.5, 2), 12, 1, n)
            for n, said in enumerate(answer)
        ]
        return Work(rows, [KnownAnswer(truth[n] == answer[n], False, n) for n in range(8)])

    everybody = {
        f"good-{n}": work([truth[i] == (dice.random() < 0.85) for i in range(ITEMS)], 6000, f"good-{n}")
        for n in range(good)
    }
    everybody["careless"] = work([dice.random() < 0.5 for _ in range(ITEMS)], 1500, "careless")
    everybody["lining"] = work([True] * ITEMS, 5000, "lining")
    everybody["program"] = work([truth[i] for i in range(ITEMS)], 150, "program")
    return everybody


def test_careless_and_machine_like_workers_are_flagged_and_good_ones_are_not() -> None:
    caught: dict[str, set[Kind]] = {}
    wrongly = good = 0
    for seed in range(20):
        found = flags(crowd(12, seed=seed), Thresholds())
        for worker, of in found.items():
            if worker.startswith("good"):
                wrongly += 1
            caught.setdefault(worker, set()).update(flag.kind for flag in of)
        good += 12
        assert {"careless", "lining", "program"} <= found.keys()

    print(f"{wrongly} of {good} good workers were flagged.")
    assert wrongly <= 0.03 * good
    assert {Kind.FAST, Kind.GOLD, Kind.PEERS} <= caught["careless"]
    peers = [flag for flag in flags(crowd(12, seed=1), Thresholds())["careless"] if flag.kind == Kind.PEERS]
    assert peers[0].figures["alpha"] < peers[0].figures["alpha_without"]
    assert Kind.RUN in caught["lining"]
    assert {Kind.FAST, Kind.UNREAD} <= caught["program"]


def test_each_kind_of_flag_rests_on_its_figures() -> None:
    def only(work: Work) -> Flag:
        (flag,) = flags({"w": work}, Thresholds())["w"]
        return flag

    missed = only(Work(known=[KnownAnswer(True, True, 1), KnownAnswer(False, True, 2)]))
    assert (missed.kind, missed.figures, missed.evidence) == (
        Kind.ATTENTION,
        {"missed": 1, "of": 2},
        [2],
    )
    twice = [Judgment("w", str(n), "A", {"r": 1}, NAN, 5, 1, n) for n in range(6)]
    twice += [Judgment("w", str(n), "A", {"r": 5}, NAN, 5, 2, 100 + n) for n in range(6)]
    repeats = only(Work(twice))
    assert (repeats.kind, repeats.figures, len(repeats.evidence)) == (
        Kind.REPEATS,
        {"same": 0, "of": 6},
        6,
    )
    assert only(
        Work(said=["As an AI, I cannot.", "Certainly! Here", "It is important to note", "hm"])
    ).kind == (Kind.MACHINE)


def test_two_gold_items_raise_no_flag() -> None:
    few = Work(known=[KnownAnswer(False, False, 1)])  # the upper end of 0 of 1 is 0.79
    more = Work(known=[KnownAnswer(False, False, n) for n in range(2)])  # of 0 of 2 it is 0.66

    assert flags({"w": few}, Thresholds()) == {}
    assert flags({"w": more}, Thresholds())["w"][0].kind == Kind.GOLD


def test_ordinary_words_carry_no_mark() -> None:
    assert (
        marked(["I'd be happy if it rained", "well-known, isn't it?", "3. of May", "of course", "1/2"]).marked
        == 0
    )


@pytest.mark.shared_data
def test_human_messages_are_rarely_marked_as_machine_like(shared_folder: Path) -> None:
    people = wrongly = 0
    for name in ("meena/human", "topical-chat/topical_chat_valid"):
        with gzip.open(shared_folder / f"{name}.jsonl.gz", "rt", encoding="utf-8") as file:
            for line in file:
                said: dict[str, list[str]] = {}
                for turn in json.loads(line)["turns"]:
                    said.setdefault(turn.get("speaker") or turn["agent"], []).append(turn["text"])
                people += len(said)
                wrongly += sum(marked(texts).is_sign for texts in said.values())

    assert people == 2346
    assert wrongly == 0
