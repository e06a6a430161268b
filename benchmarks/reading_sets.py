"""Time to draw the reading sets of two people from 300 entities and 3,000 articles, and the query plan.

    python benchmarks/reading_sets.py      # prints JSON

Starts its own PostgreSQL in a temporary folder. The floor in the same run is a statement that does nothing.
"""

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[1]), str(Path(__file__).parents[1] / "platform")]
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")

ENTITIES, ARTICLES, ROUNDS = 300, 3000, 200


def base_of(sizes: tuple[int, int]) -> Any:
    from turnwise.knowledge.building import ArticleRow, Built, EntityRow

    facts = tuple(f"Fact {k} is told in these few words." for k in range(10))
    entities = [
        EntityRow("", f"Entity {n}", "Topic", (), "Short. " * 60, "Longer. " * 140, facts)
        for n in range(sizes[0])
    ]
    named = [tuple(entities[(7 * n + k) % sizes[0]].name for k in range(3)) for n in range(sizes[1])]
    articles = [
        ArticleRow("", f"a{n}", f"Headline {n}", ("Text. " * 190,) * 4, names)
        for n, names in enumerate(named)
    ]
    return Built(entities=entities, articles=articles)


def measured(act: Callable[[], object]) -> dict[str, float]:
    times, cpu = [], time.process_time()
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        act()
        times.append(1000 * (time.perf_counter() - begun))
    cpu = time.process_time() - cpu
    times.sort()
    return {
        "fastest_ms": round(times[0], 3),
        "median_ms": round(statistics.median(times), 3),
        "p95_ms": round(times[int(0.95 * ROUNDS)], 3),
        "cpu_ms": round(1000 * cpu / ROUNDS, 3),
    }


def run() -> dict[str, Any]:
    from django.db import connection, transaction
    from django.test.utils import CaptureQueriesContext
    from django.utils import timezone

    from turnwise.accounts.models import User
    from turnwise.dialogues import reading_material
    from turnwise.dialogues.models import Dialogue
    from turnwise.knowledge.models import KnowledgeBase
    from turnwise.knowledge.services import import_version
    from turnwise.studies.models import Study

    owner = User.objects.create_user("benchmark-reading-sets")
    base = KnowledgeBase.objects.create(owner=owner, name="benchmark", title="Benchmark", licence="none")
    version = import_version(base, base_of((ENTITIES, ARTICLES)), origin="benchmark")
    study = Study.objects.create(title="Benchmark", owner=owner, knowledge=version)
    fresh = iter(
        Dialogue.objects.bulk_create(
            Dialogue(study=study, started_at=timezone.now(), opening_turns=0, min_turns=2, max_turns=40)
            for _ in range(ROUNDS + 1)
        )
    )
    seeds = iter(range(10**6))

    def draw() -> None:
        with transaction.atomic():
            reading_material.draw_reading_sets(next(fresh), version.pk, seed=next(seeds))

    with connection.cursor() as cursor:
        cursor.execute("ANALYZE knowledge_article, knowledge_entity, dialogues_articleuse")
        floor = measured(lambda: cursor.execute("SELECT 1"))
        with CaptureQueriesContext(connection) as captured:
            draw()
        whole = measured(draw)
        body = Path(reading_material.__file__).parent.joinpath("sql/take_article.sql").read_text()
        statement = body.partition("$$")[2].rpartition("$$")[0]
        values = {"the_study": study.pk, "the_version": version.pk, "the_seed": 1, "the_most": 4}
        for name, value in values.items():
            statement = statement.replace(name, str(value))
        cursor.execute("EXPLAIN (ANALYZE, TIMING OFF, SUMMARY ON) " + statement)
        plan = [line for (line,) in cursor.fetchall()]
    return {
        "entities": ENTITIES,
        "articles": ARTICLES,
        "floor": floor,
        "statements": sum("SELECT" in each["sql"] or "INSERT" in each["sql"] for each in captured),
        "reading_sets": whole,
        "plan": plan,
    }


def main() -> None:
    from benchmarks.services import services

    with services():
        print(json.dumps(run() | {"load": os.getloadavg()}, indent=1))


if __name__ == "__main__":
    main()
