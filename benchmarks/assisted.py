"""Coverage of estimates from people and a machine judge, and the labels that a judge saves.

Run: PYTHONPATH=. python benchmarks/assisted.py [--studies 2000] [--seed 1] [--only "hostile"] [--saved]

Prints JSON. Each design simulates studies with known truth, a planted judge, and workers or raters who lean:
the share of studies whose 95 % interval holds the truth, its mean width beside that of people alone, and the
mean worth of the judge. With `--saved`, it prints instead how many people's labels give the same width with
a judge, with items drawn evenly and by the judge's uncertainty, known or from five answers about each item.
`docs/assisted.md` has both tables.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator
from scipy.special import expit

from benchmarks import assisted_pairs
from evaluation.assisted.drawing import draw, probabilities
from evaluation.assisted.estimates import AssistedEstimate, assisted_difference, assisted_mean
from evaluation.assisted.item_draws import draw_more, probabilities_within
from evaluation.assisted.samples import AssistedSample
from evaluation.assisted.uncertainty import by_answers
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray

BASE, LEANING, EASE = 1.2, 0.8, 4.0  # logits: mean, and deviations of workers or raters and of conversations
POOL = 400  # items that only the judge labels
Judge: TypeAlias = Literal["good", "useless", "hostile", "drifting", "favouring"]
JUDGES: tuple[Judge, ...] = ("good", "useless", "hostile", "drifting")
FAVOURING: Judge = "favouring"
Drawn: TypeAlias = Literal["people", "even", "uncertainty", "answers"]
ANSWERS = 5  # of a judge about each item, if its uncertainty is known by them
SURE = 0.63  # share of items about which the uneven judge is sure: correlation .8
EVENLY = 0.9  # probability of the likelier answer by the judge that errs evenly: correlation .8


@dataclass(frozen=True)
class Design:
    """A kind of study, with the truth that it estimates."""

    name: str
    truth: float
    simulate: Callable[[Generator], AssistedEstimate | Undefined]


def truth_of(base: float, *deviations: float) -> float:
    """Mean of a rate whose logit is normal, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(60)
    total = float(np.sqrt(sum(deviation**2 for deviation in deviations)))
    return float(weights @ expit(base + total * nodes) / weights.sum())


def judged(rng: Generator, kind: Judge, quality: FloatArray, system: int = 0) -> FloatArray:
    """Probability of yes that the judge gives each item.

    A good judge sees the quality of the item, up to noise; a hostile one says the opposite; a drifting one
    becomes harsher from item to item; a favouring one adds to the first system only. Of all labels, 3 % are
    missing, those of poor items more often.
    """
    seen = quality + 0.5 * rng.normal(size=len(quality))
    if kind == "useless":
        seen = BASE + EASE * rng.normal(size=len(quality))
    elif kind == "hostile":
        seen = 2 * BASE - seen
    elif kind == "drifting":
        seen = seen - 3 * np.linspace(0, 1, len(quality))
    elif kind == "favouring" and system == 0:
        seen = seen + 1.5
    found = expit(seen)
    return np.where(rng.random(len(quality)) < 0.06 * (1 - expit(quality)), np.nan, found)


def conversations(
    rng: Generator, kind: Judge, n: int, each: int, system: int = 0, base: float = BASE, turns: int = 1
) -> AssistedSample:
    """N conversations labelled by their workers, who have so many each, among others of other workers."""
    total = n + POOL
    quality = base + EASE * rng.normal(size=total)
    seen = judged(rng, kind, quality, system)
    labelled = np.sort(rng.permutation(total)[:n])
    worker = np.arange(n) // each
    leaning = LEANING * rng.normal(size=n)[worker]
    rate = expit(quality[labelled] + leaning)
    conversation = np.arange(total) + 100_000 * system
    if turns > 1:
        item = (labelled[:, None] * turns + np.arange(turns)).ravel()
        answer = (rng.random((n, turns)) < rate[:, None]).astype(float).ravel()
        noisy = np.clip(np.repeat(seen, turns) + 0.1 * rng.normal(size=total * turns), 0, 1)
        return AssistedSample(
            np.repeat(conversation, turns), noisy, item, answer, np.repeat(worker, turns) + 1_000 * system
        )
    answer = (rng.random(n) < rate).astype(float)
    return AssistedSample(conversation, seen, labelled, answer, worker + 1_000 * system)


def crossed(rng: Generator, kind: Judge, n: int, pool: int, system: int = 0) -> AssistedSample:
    """N responses, each judged by 3 of a pool of raters who lean."""
    total = n + POOL
    quality = BASE + EASE * rng.normal(size=total)
    labelled = np.sort(rng.permutation(total)[:n])
    rater = np.argsort(rng.random((n, pool)), axis=1)[:, :3].ravel()
    item = np.repeat(labelled, 3)
    rate = expit(quality[item] + (LEANING * rng.normal(size=pool))[rater])
    answer = (rng.random(3 * n) < rate).astype(float)
    return AssistedSample(np.arange(total), judged(rng, kind, quality, system), item, answer, rater)


def mean_study(
    rng: Generator, kind: Judge, n: int, each: int, turns: int = 1
) -> AssistedEstimate | Undefined:
    """The share of yes among conversations."""
    return assisted_mean(conversations(rng, kind, n, each, turns=turns))


def crossed_study(rng: Generator, kind: Judge, n: int, pool: int) -> AssistedEstimate | Undefined:
    """The share of yes among responses with crossed raters."""
    return assisted_mean(crossed(rng, kind, n, pool))


def difference_study(rng: Generator, kind: Judge, n: int, each: int) -> AssistedEstimate | Undefined:
    """Two equal systems, each with conversations and workers of its own."""
    return assisted_difference(*(conversations(rng, kind, n, each, system) for system in (0, 1)))


def paired_study(rng: Generator, kind: Judge, n: int, pool: int) -> AssistedEstimate | Undefined:
    """Two equal systems on the same contexts, each judged by the same 2 of a pool of raters who lean."""
    total = n + POOL
    ease = BASE + EASE * rng.normal(size=total)
    labelled = np.sort(rng.permutation(total)[:n])
    item = np.repeat(labelled, 2)
    rater = np.argsort(rng.random((n, pool)), axis=1)[:, :2].ravel()
    leaning = LEANING * rng.normal(size=pool)
    samples = []
    for system in (0, 1):
        quality = ease + 0.8 * rng.normal(size=total)
        answer = (rng.random(2 * n) < expit(quality[item] + leaning[rater])).astype(float)
        seen = judged(rng, kind, quality, system)
        samples.append(AssistedSample(np.arange(total), seen, item, answer, rater))
    return assisted_difference(*samples)


def stratified_study(rng: Generator, kind: Judge, n: int, each: int) -> AssistedEstimate | Undefined:
    """Three strata of unequal difficulty; half of people's items are from the smallest stratum."""
    total = n + POOL
    stratum = (rng.random((total, 1)) > np.array([0.5, 0.8])).sum(axis=1)
    quality = BASE + np.array([0.8, 0.0, -1.5])[stratum] + EASE * rng.normal(size=total)
    wanted = np.array([n // 4, n - n // 4 - n // 2, n // 2])
    labelled = np.concatenate([rng.permutation(np.flatnonzero(stratum == s))[: wanted[s]] for s in range(3)])
    labelled = rng.permutation(labelled)
    worker = np.arange(len(labelled)) // each
    rate = expit(quality[labelled] + LEANING * rng.normal(size=n)[worker])
    answer = (rng.random(len(labelled)) < rate).astype(float)
    return assisted_mean(
        AssistedSample(
            np.arange(total), judged(rng, kind, quality), labelled, answer, worker, stratum=stratum
        )
    )


def drawn_study(rng: Generator, kind: Judge, n: int, each: int) -> AssistedEstimate | Undefined:
    """People's items drawn by the judge's uncertainty, with known probabilities."""
    total = n + POOL
    quality = BASE + EASE * rng.normal(size=total)
    seen = judged(rng, kind, quality)
    chance = probabilities(np.where(np.isnan(seen), 0.5, np.sqrt(seen * (1 - seen))), n)
    labelled = rng.permutation(draw(chance, rng))
    worker = np.arange(len(labelled)) // each
    rate = expit(quality[labelled] + LEANING * rng.normal(size=total)[worker])
    answer = (rng.random(len(labelled)) < rate).astype(float)
    return assisted_mean(AssistedSample(np.arange(total), seen, labelled, answer, worker, probability=chance))


def answered(rng: Generator, seen: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Mean of a judge's yes-or-no answers about each item, and its uncertainty by them."""
    known = ~np.isnan(seen)
    yes = rng.random((ANSWERS, len(seen))) < np.where(known, seen, 0.5)
    mean = np.where(known, yes.mean(axis=0), np.nan)
    item = np.tile(np.flatnonzero(known), ANSWERS)
    return mean, by_answers(yes[:, known].ravel().astype(float), item, len(seen))


def answers_study(rng: Generator, kind: Judge, n: int, each: int) -> AssistedEstimate | Undefined:
    """People's items drawn by the spread of a judge's answers, in two draws; the second adds items."""
    total = n + POOL
    quality = BASE + EASE * rng.normal(size=total)
    mean, uncertainty = answered(rng, judged(rng, kind, quality))
    one = np.full(total, "all", dtype=object)
    first, chance = (probabilities_within(uncertainty, one, wanted) for wanted in (n // 2, n))
    drawn = draw_more(np.zeros(total), first, np.zeros(total, dtype=np.bool_), one, rng)
    drawn |= draw_more(first, chance, drawn, one, rng)
    labelled = rng.permutation(np.flatnonzero(drawn))
    worker = np.arange(len(labelled)) // each
    rate = expit(quality[labelled] + LEANING * rng.normal(size=total)[worker])
    answer = (rng.random(len(labelled)) < rate).astype(float)
    return assisted_mean(AssistedSample(np.arange(total), mean, labelled, answer, worker, probability=chance))


def designs() -> Iterator[Design]:
    """All kinds of study."""
    yield from designs_of_shares()
    yield from designs_of_differences()
    yield from designs_of_draws()
    for name, truth, simulate in assisted_pairs.designs():
        yield Design(name, truth, simulate)


def designs_of_shares() -> Iterator[Design]:
    """The share of yes among items drawn evenly."""
    share = truth_of(BASE, LEANING, EASE)
    for kind in JUDGES:
        for n, each in product((20, 60), (1, 3, 10)):
            simulate = partial(mean_study, kind=kind, n=n, each=each)
            yield Design(f"share, {kind} judge, {n} {workers(each)}", share, simulate)
    for kind in JUDGES:
        for n, pool in ((20, 5), (60, 10)):
            raters = partial(crossed_study, kind=kind, n=n, pool=pool)
            yield Design(f"share, {kind} judge, {n} items, 3 of {pool} raters who lean", share, raters)
    for each in (1, 3):
        turns = partial(mean_study, kind="good", n=20, each=each, turns=8)
        yield Design(f"share of turns, good judge, 20 {workers(each)}", share, turns)


def designs_of_differences() -> Iterator[Design]:
    """Two equal systems, with people's labels of n conversations of each."""
    for kind, each in product((*JUDGES, FAVOURING), (1, 3, 10)):
        simulate = partial(difference_study, kind=kind, n=20, each=each)
        yield Design(f"difference, {kind} judge, twice 20 {workers(each)}", 0.0, simulate)
    for kind, (n, pool) in product((*JUDGES, FAVOURING), ((20, 5), (60, 10))):
        paired = partial(paired_study, kind=kind, n=n, pool=pool)
        yield Design(f"difference, {kind} judge, {n} contexts, 2 of {pool} raters who lean", 0.0, paired)


def designs_of_draws() -> Iterator[Design]:
    """Items drawn by stratum, and by the judge's uncertainty."""
    strata = 0.5 * truth_of(BASE + 0.8, LEANING, EASE) + 0.3 * truth_of(BASE, LEANING, EASE)
    strata += 0.2 * truth_of(BASE - 1.5, LEANING, EASE)
    for kind, (n, each) in product(JUDGES, ((24, 1), (60, 3))):
        simulate = partial(stratified_study, kind=kind, n=n, each=each)
        yield Design(f"share, {kind} judge, 3 strata, {n} {workers(each)}", strata, simulate)
    share = truth_of(BASE, LEANING, EASE)
    for kind, (n, each) in product(JUDGES, ((24, 1), (60, 3))):
        drawn = partial(drawn_study, kind=kind, n=n, each=each)
        yield Design(f"share, {kind} judge, by uncertainty, {n} {workers(each)}", share, drawn)
    for kind, each in product(JUDGES, (1, 4)):
        twice = partial(answers_study, kind=kind, n=120, each=each)
        yield Design(f"share, {kind} judge, by its answers in two draws, 120 {workers(each)}", share, twice)


def workers(each: int) -> str:
    """Number of conversations of each worker, in words."""
    return f"conversations, workers with {each} each"


def simulated_items(rng: Generator, size: int, uneven: bool) -> tuple[FloatArray, FloatArray]:
    """Answers of people and a judge's probabilities, with correlation .8 between both.

    If uneven, the judge is sure and right about most items and unsure about the others; else it errs evenly.
    """
    if uneven:
        sure = rng.random(size) < SURE
        seen = np.where(sure, np.where(rng.random(size) < 0.6, 0.99, 0.01), rng.uniform(0.2, 0.8, size))
    else:
        seen = np.where(rng.random(size) < 0.5, EVENLY, 1 - EVENLY)
    return (rng.random(size) < seen).astype(float), seen


def width(rng: Generator, n: int, uneven: bool, method: Drawn) -> float:
    """Length of the interval of one study of 4,000 items of which people label n."""
    answer, seen = simulated_items(rng, 4_000, uneven)
    chance = None
    if method == "uncertainty":
        chance = probabilities(np.sqrt(seen * (1 - seen)), n)
        item = draw(chance, rng)
    elif method == "answers":
        seen, uncertainty = answered(rng, seen)
        chance = probabilities(uncertainty, n)
        item = draw(chance, rng)
    else:
        item = np.sort(rng.permutation(len(seen))[:n])
    items = np.arange(len(seen))
    found = assisted_mean(
        AssistedSample(items, seen, item, answer[item], np.arange(len(item)), probability=chance)
    )
    assert isinstance(found, AssistedEstimate)
    interval = found.people_interval if method == "people" else found.interval
    assert isinstance(interval, Interval)
    return interval.high - interval.low


def typical_width(studies: int, seed: int, n: int, uneven: bool, method: Drawn) -> float:
    """Mean length of the interval of many such studies."""
    streams = np.random.default_rng(seed).spawn(studies)
    return float(np.mean([width(rng, n, uneven, method) for rng in streams]))


def labels_saved(studies: int, seed: int) -> list[dict[str, float | str]]:
    """Labels of people for the width that 400 labels of people alone give, with a judge at correlation .8."""
    rows: list[dict[str, float | str]] = []
    methods: tuple[Drawn, ...] = ("even", "uncertainty", "answers")
    for uneven, method in product((False, True), methods):
        rng = np.random.default_rng(seed)
        answer, seen = simulated_items(rng, 1_000_000, uneven)
        seen = answered(rng, seen)[0] if method == "answers" else seen
        goal = typical_width(studies, seed, 400, uneven, "people")
        low, high = 20, 400
        while high - low > 2:
            middle = (low + high) // 2
            enough = typical_width(studies, seed, middle, uneven, method) <= goal
            low, high = (low, middle) if enough else (middle, high)
        rows.append({
            "judge": "sure of most items" if uneven else "errs evenly",
            "correlation": float(np.corrcoef(answer, seen)[0, 1]),
            "drawn": method, "width": goal, "labels_of_people_alone": 400, "labels": high,
            "saved": 1 - high / 400,
        })  # fmt: skip
    return rows


def run(design: Design, studies: int, seed: int) -> dict[str, object]:
    """Simulate the design many times."""
    found = [design.simulate(rng) for rng in np.random.default_rng(seed).spawn(studies)]
    done = [each for each in found if not isinstance(each, Undefined) and isinstance(each.interval, Interval)]
    ends = np.array([(e.interval.low, e.interval.high) for e in done if isinstance(e.interval, Interval)])
    of_people = [e.people_interval for e in done if isinstance(e.people_interval, Interval)]
    alone = np.array([(interval.low, interval.high) for interval in of_people])
    return {
        "name": design.name,
        "truth": design.truth,
        "mean_estimate": float(np.mean([e.value for e in done])),
        "coverage": _coverage(ends, design.truth),
        "coverage_of_people": _coverage(alone, design.truth),
        "median_width": float(np.median(ends[:, 1] - ends[:, 0])),
        "median_width_of_people": float(np.median(alone[:, 1] - alone[:, 0])),
        "median_worth": float(np.median([e.worth for e in done])),
        "judge_used": float(np.mean([not e.note for e in done])),
        "undefined": studies - len(done),
    }


def _coverage(ends: FloatArray, truth: float) -> float:
    return float(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean())


def main() -> None:
    """Run the chosen designs and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="simulate only the designs whose name has this in it")
    parser.add_argument("--saved", action="store_true", help="count the labels that a judge saves instead")
    options = parser.parse_args()
    if options.saved:
        saved = labels_saved(options.studies, options.seed)
        print(json.dumps({"studies": options.studies, "seed": options.seed, "saved": saved}, indent=2))
        return
    rows = []
    for design in designs():
        if options.only in design.name:
            rows.append(run(design, options.studies, options.seed))
            print(json.dumps(rows[-1]), file=sys.stderr, flush=True)
    print(json.dumps({"studies": options.studies, "seed": options.seed, "designs": rows}, indent=2))


if __name__ == "__main__":
    main()
