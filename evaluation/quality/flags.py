"""Quality flags of workers, each with its figures. A flag is not a verdict."""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np

from evaluation.quality.accuracy import agreements, alphas, share
from evaluation.quality.signs import (
    Message,
    chance_of_run,
    entropy,
    longest_run,
    marked,
    paces,
    pasted,
    unread,
)
from evaluation.statistics.interval import Undefined

FEWEST_ANSWERS = 5
FEWEST_SHARED = 10
FEWEST_RUN = 8
FEWEST_OF_OTHERS = 20


class Kind(StrEnum):
    """Kind of a flag."""

    UNREAD = "unread"
    FAST = "fast"
    RUN = "run"
    REPEATS = "repeats"
    PEERS = "peers"
    GOLD = "gold"
    ATTENTION = "attention"
    MACHINE = "machine"
    PASTED = "pasted"


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Thresholds at which a figure becomes a flag; a share or chance of 0 switches a flag off."""

    unread_share: float = 0.3
    pace: float = 0.35
    run_chance: float = 0.001
    repeats_least: float = 0.5
    peers_gap: float = 0.1
    gold_least: float = 0.7
    attention_misses: int = 0


@dataclass(frozen=True, slots=True)
class Judgment:
    """One judgment, as input of the signs.

    Attributes:
        rater: the rater.
        item: the judged item.
        system: the system that said it.
        answers: by question, without free text.
        ms: time to the answer in milliseconds; NaN if not measured.
        words: number of words in the item.
        occasion: 1, or 2 if the same worker judged the item before.
        key: key of the judgment, for evidence.
    """

    rater: str
    item: str
    system: str
    answers: Mapping[str, object]
    ms: float
    words: int
    occasion: int
    key: int


@dataclass(frozen=True, slots=True)
class KnownAnswer:
    """A worker's answer to a gold item or to an attention check."""

    is_right: bool
    is_check: bool
    key: int


@dataclass(frozen=True, slots=True)
class Work:
    """All work of one worker, in order."""

    judgments: Sequence[Judgment] = ()
    known: Sequence[KnownAnswer] = ()
    said: Sequence[str] = ()
    typed: Sequence[Message] = ()


@dataclass(frozen=True, slots=True)
class Flag:
    """A finding about a worker's work that a person should look at.

    Attributes:
        kind: kind of the flag.
        figures: the figures behind it, by name.
        evidence: keys of the judgments to look at, if any.
    """

    kind: Kind
    figures: Mapping[str, float]
    evidence: Sequence[int] = field(default=())


def flags(work: Mapping[str, Work], thresholds: Thresholds) -> dict[str, list[Flag]]:
    """Compute the flags by worker; workers without flags are left out.

    Args:
        work: by worker, their work; each worker is compared with all others.
        thresholds: thresholds of the study.
    """
    rows = [row for each in work.values() for row in each.judgments if row.occasion == 1]
    by_worker: dict[str, list[Flag]] = defaultdict(list)
    for worker, flag in (*_paces(rows, thresholds), *_peers(rows, thresholds), *_runs(work, thresholds)):
        by_worker[worker].append(flag)
    for worker, work_of in work.items():
        by_worker[worker] += [*_flags_without_peers(work_of, thresholds)]
    return {worker: sorted(of, key=lambda flag: flag.kind) for worker, of in sorted(by_worker.items()) if of}


def _paces(rows: Sequence[Judgment], limits: Thresholds) -> Iterator[tuple[str, Flag]]:
    if not rows:
        return
    items = np.array([row.item for row in rows], dtype=object)
    times = np.array([row.ms for row in rows], dtype=np.float64)
    for worker, (pace, number) in paces([row.rater for row in rows], items, times).items():
        if number >= FEWEST_ANSWERS and pace < limits.pace:
            yield worker, Flag(Kind.FAST, {"pace": pace, "items": number})


def _peers(rows: Sequence[Judgment], limits: Thresholds) -> Iterator[tuple[str, Flag]]:
    if not limits.peers_gap:
        return
    for worker, each in agreements([(row.rater, row.item, row.answers) for row in rows]).items():
        if each.items >= FEWEST_SHARED and each.upper < -limits.peers_gap:
            figures = {"own": each.own, "others": each.others, "items": each.items, "upper": each.upper}
            yield worker, Flag(Kind.PEERS, figures | _alphas(rows, worker))


def _alphas(rows: Sequence[Judgment], worker: str) -> dict[str, float]:
    """Alpha of complete answers with and without a worker; empty if one of the two is undefined."""
    whole, without = alphas(
        [row.rater for row in rows],
        [row.item for row in rows],
        [_pattern(row) for row in rows],
        without=worker,
    )
    if isinstance(whole, Undefined) or isinstance(without, Undefined):
        return {}
    return {"alpha": whole, "alpha_without": without}


def _runs(work: Mapping[str, Work], limits: Thresholds) -> Iterator[tuple[str, Flag]]:
    """Flag runs of equal answers that would be rare among other raters of the same systems."""
    patterns = {
        worker: [(row.system, _pattern(row)) for row in work_of.judgments] for worker, work_of in work.items()
    }
    of_all = Counter(each for answers in patterns.values() for each in answers)
    of_systems = Counter(system for answers in patterns.values() for system, _ in answers)
    for worker, answers in patterns.items():
        run = longest_run([pattern for _, pattern in answers])
        if run is None or run.length < FEWEST_RUN:
            continue
        work_of, own_systems = Counter(answers), Counter(system for system, _ in answers)
        left = {system: of_systems[system] - n for system, n in own_systems.items()}
        if min(left.values()) < FEWEST_OF_OTHERS:
            continue
        highest = max(
            (of_all[system, run.answer] - work_of[system, run.answer]) / left[system]
            for system in own_systems
        )
        chance = chance_of_run(len(answers), run.length, highest)
        if chance < limits.run_chance:
            keys = [row.key for row in work[worker].judgments[run.start : run.start + run.length]]
            bits = entropy([pattern for _, pattern in answers])
            figures = {"length": run.length, "answers": len(answers), "chance": chance, "bits": bits}
            yield worker, Flag(Kind.RUN, figures, keys)


def _pattern(row: Judgment) -> Hashable:
    return tuple(sorted((key, str(answer)) for key, answer in row.answers.items()))


def _flags_without_peers(work: Work, limits: Thresholds) -> Iterator[Flag]:
    """Flags that need no comparison with other workers."""
    yield from _unread(work, limits)
    yield from _repeats(work, limits)
    yield from _known(work, limits)
    machine = marked(work.said)
    if machine.is_sign:
        yield Flag(Kind.MACHINE, {"marked": machine.marked, "messages": machine.messages})
    typed = pasted(work.typed)
    if typed.is_sign:
        figures = {"pasted": typed.pasted, "messages": typed.messages, "seconds": typed.seconds}
        yield Flag(Kind.PASTED, figures)


def _unread(work: Work, limits: Thresholds) -> Iterator[Flag]:
    timed = [row for row in work.judgments if not np.isnan(row.ms) and row.words]
    if len(timed) < FEWEST_ANSWERS or not limits.unread_share:
        return
    fast = unread(*np.array([(row.ms, row.words) for row in timed]).T)
    if len(fast) >= limits.unread_share * len(timed):
        keys = [timed[row].key for row in fast.tolist()]
        yield Flag(Kind.UNREAD, {"unread": len(fast), "answers": len(timed)}, keys)


def _repeats(work: Work, limits: Thresholds) -> Iterator[Flag]:
    first = {row.item: row for row in work.judgments if row.occasion == 1}
    pairs = [
        (first[row.item], row, question)
        for row in work.judgments
        if row.occasion > 1 and row.item in first
        for question in row.answers.keys() | first[row.item].answers.keys()
    ]
    same = [_near(one.answers.get(question), two.answers.get(question)) for one, two, question in pairs]
    interval = share(sum(same), len(same))
    if not isinstance(interval, Undefined) and interval[2] < limits.repeats_least:
        keys = [two.key for (_one, two, _question), alike in zip(pairs, same, strict=True) if not alike]
        yield Flag(Kind.REPEATS, {"same": sum(same), "of": len(same)}, list(dict.fromkeys(keys)))


def _near(one: object, other: object) -> bool:
    """True if two answers are equal, or at most one step apart on a scale."""
    if type(one) is int and type(other) is int:
        return abs(one - other) <= 1
    return one == other


def _known(work: Work, limits: Thresholds) -> Iterator[Flag]:
    gold = [each for each in work.known if not each.is_check]
    checks = [each for each in work.known if each.is_check]
    right = sum(each.is_right for each in gold)
    interval = share(right, len(gold))
    if not isinstance(interval, Undefined) and interval[2] < limits.gold_least:
        wrong = [each.key for each in gold if not each.is_right]
        yield Flag(
            Kind.GOLD, {"right": right, "of": len(gold), "low": interval[1], "high": interval[2]}, wrong
        )
    missed = [each.key for each in checks if not each.is_right]
    if len(missed) > limits.attention_misses:
        yield Flag(Kind.ATTENTION, {"missed": len(missed), "of": len(checks)}, missed)
