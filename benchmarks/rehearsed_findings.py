"""Share of rehearsals that a correct report fails by chance alone.

    python benchmarks/rehearsed_findings.py [--rehearsals 20]

Deals answers to raters of judging studies and to chatters of several sizes, computes the reports and compares
them with what was planted, as `manage.py rehearse` does, but without pages, sockets and a database. Prints
JSON: by design, in how many rehearsals anything was told as outside, how often alpha was, and in how many
there was too little to tell.

20 rehearsals of each design take about three minutes. The 1,000 of docs/rehearsal.md take two to three hours:
nearly all of that goes into the mixed models of the reports, which nothing here reads.
"""

import argparse
import json
from collections.abc import Callable, Mapping
from random import Random
from typing import Any

import numpy as np

from evaluation.questions import SSA, Answer, QuestionSet
from evaluation.report.answers import coded_columns, text_columns
from evaluation.report.figures import study_figures
from evaluation.report.label_columns import AnalysisPlan, Judged
from evaluation.report.studies.judging import JudgedItems, judging_figures
from turnwise.rehearsals import injected_effects
from turnwise.rehearsals.findings import allow_chance_misses, findings
from turnwise.rehearsals.injected_effects import HONEST, Kind, Plan, mix
from turnwise.rehearsals.simulation import Work

SYSTEMS = ["Alpha", "Beta"]
# Items of both systems together, raters of each item, workers.
JUDGED = ((270, 5, 30), (120, 5, 20), (60, 3, 12))
# Workers, and the least replies of a conversation.
TALKED = ((60, 7), (30, 7), (40, 3), (20, 3))

Dealt = tuple[Plan, list[Work], dict[str, Any]]
"""What was planted, what came of each worker where they talked, and the report."""


def judged(seed: int, *, items: int, raters: int, workers: int, questions: QuestionSet = SSA) -> Dealt:
    """Each item is judged by workers drawn at random."""
    random, plan, kinds = Random(seed), Plan(questions, SYSTEMS, alone=False), mix(workers)
    table = []
    for number in range(items):
        item, system = str(number), SYSTEMS[number % len(SYSTEMS)]
        plan.meet(item, system)
        for worker in random.sample(range(workers), raters):
            answers = plan.deal(item, kinds[worker])
            plan.note(item, kinds[worker], answers)
            table.append((system, number // len(SYSTEMS), number, f"W{worker}", questions.check(answers)))
    excluded = {f"W{number}": "seen through" for number, kind in enumerate(kinds) if kind not in HONEST}
    once = np.ones(len(table), np.int64)
    given = JudgedItems(
        _judged(questions, table), once, once, np.arange(len(table)), raters, items, languages=["en"]
    )
    return plan, [], judging_figures(questions, given, plan=AnalysisPlan(excluded=excluded))


def talked(seed: int, *, workers: int, replies: int, questions: QuestionSet = SSA) -> Dealt:
    """Simulate workers who each talk with one bot in turn; every second one takes one reply more."""
    random, plan, done, table = Random(seed), Plan(questions, SYSTEMS, alone=True), [], []
    for number, kind in enumerate(mix(workers)):
        system, leaves = SYSTEMS[number % len(SYSTEMS)], kind is Kind.LEAVING
        done.append(Work(kind, str(number), system, finished=not leaves))
        for reply in range(replies // 2 if leaves else replies + random.randrange(2)):
            thing = f"{number} {reply}"
            plan.meet(thing, system)
            answers = plan.deal(thing, kind)
            if not leaves:
                plan.note(thing, kind, answers)
                table.append((system, number, reply, f"W{number}", questions.check(answers)))
    excluded = {f"W{number}": "seen through" for number, work in enumerate(done) if work.kind not in HONEST}
    counts = [
        {
            "bot": system,
            "finished": sum(work.finished for work in done if work.system == system),
            "under_way": sum(not work.finished for work in done if work.system == system),
            "bot_failed": 0,
        }
        for system in SYSTEMS
    ]
    labels = _judged(questions, table).in_order()
    figures = study_figures(questions, labels, plan=AnalysisPlan(excluded=excluded))
    return plan, done, figures | {"course": {"bots": counts}}


def _judged(questions: QuestionSet, table: list[tuple[Any, ...]]) -> Judged:
    system, dialogue, reply, rater, given = zip(*table, strict=True)
    return Judged(
        bot=np.array(system, dtype=object),
        dialogue=np.array(dialogue),
        reply=np.array(reply),
        rater=np.array(rater, dtype=object),
        latency_ms=np.full(len(table), np.nan),
        answer_ms=np.full(len(table), np.nan),
        answers=coded_columns(questions, [_whole(questions, answers) for answers in given]),
        texts=text_columns(questions, [_whole(questions, answers) for answers in given]),
    )


def _whole(questions: QuestionSet, answers: Mapping[str, Answer]) -> dict[str, Any]:
    """Answers as a row of a bundle has them: a value for every question, lists as JSON."""
    row = {question.key: answers.get(question.key) for question in questions.questions}
    return {key: json.dumps(value) if isinstance(value, list) else value for key, value in row.items()}


def misses(rehearsals: int, deal: Callable[..., Dealt], **design: int) -> dict[str, Any]:
    outside, untold, refused = [], 0, 0
    for seed in range(rehearsals):
        injected_effects.SEED = seed  # of the decks; it is fixed in a rehearsal
        found = findings(*deal(seed, **design))
        outside.append([each.words for each in found if each.holds is False])
        untold += any(each.holds is None for each in found)
        refused += any(each.holds is False for each in allow_chance_misses(found))
    return {
        **design,
        "rehearsals": rehearsals,
        "with_something_outside": sum(map(bool, outside)),
        "with_a_verdict_against_them": refused,
        "alphas_outside": sum("alpha" in words for each in outside for words in each),
        "with_too_little_to_tell": untold,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rehearsals", type=int, default=20, help="of each design (default: %(default)s)")
    rehearsals = parser.parse_args().rehearsals
    found = [misses(rehearsals, judged, items=n, raters=k, workers=w) for n, k, w in JUDGED]
    found += [misses(rehearsals, talked, workers=w, replies=n) for w, n in TALKED]
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
