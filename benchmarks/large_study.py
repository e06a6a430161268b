"""Time the report and the exports of a large study: 1,000,000 labels over 30 bots, on a real PostgreSQL.

    PYTHONPATH=.:platform python benchmarks/large_study.py [--labels 1000000] [--bots 30]

Prints JSON: seconds from the database to the stored report, CPU seconds of that process and of PostgreSQL for
it (on a busy machine they say more), and the peak memory of the process; rows per second, CPU microseconds of
each row and growth of memory of a streamed export, beside its two floors: the same rows as they come through
Python's csv.writer, and PostgreSQL's own COPY of them.
"""

import argparse
import csv
import io
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil

LABELS_PER_CONVERSATION = 10  # between 7 and 13, evenly

# Rows are inserted in bulk: triggers and foreign keys are off, check constraints stay on.
PLANT = """
SET session_replication_role = replica;
SELECT setseed(0.5);
INSERT INTO crowd_worker (id, pseudonym, panel, panel_id, created_at)
SELECT n, 'W' || lpad(n::text, 9, '0'), '', '', now() FROM generate_series(1, {conversations}) AS n;
INSERT INTO crowd_participation (id, worker_id, study_id, consent_id, consented_at, pseudonym, resume_code,
                                 completion_code, excluded_reason, submission, panel_values, address, signs,
                                 proposed_reason, known_by, condition, pilot, number)
SELECT n, n, {study}, {consent}, now(),
       'P' || lpad(n::text, 9, '0'), 'r' || n, 'c' || n, '', '', '{{}}', '', '', '', '', '{{}}', false, 1
  FROM generate_series(1, {conversations}) AS n;
INSERT INTO crowd_assignment (id, participation_id, study_id, study_bot_id, assigned_at, active_at,
                              extensions, outcome, ended_at)
SELECT n, n, {study}, ({study_bots}::bigint[])[1 + n % {bots}], now(), now(), 0, 'complete', now()
  FROM generate_series(1, {conversations}) AS n;
INSERT INTO dialogues_dialogue
       (id, public_id, study_id, started_at, ended_at, ending,
        opening_turns, min_turns, max_turns, turns, bot_turns, due_0, due_1, closing)
SELECT n, gen_random_uuid(), {study}, now(), now(), 'complete', 1, 14, 28,
       1 + 2 * replies, replies, '{{}}', '{{}}', false
  FROM (SELECT n, 7 + n % 7 AS replies FROM generate_series(1, {conversations}) AS n) AS planned;
INSERT INTO dialogues_seat (dialogue_id, number, bot_id, asks)
SELECT n, 0, ({bot_ids}::bigint[])[1 + n % {bots}], '[]' FROM generate_series(1, {conversations}) AS n;
INSERT INTO dialogues_seat (dialogue_id, number, worker_id, assignment_id, asks)
SELECT n, 1, n, n, '[]' FROM generate_series(1, {conversations}) AS n;
INSERT INTO dialogues_turn (dialogue_id, position, text, created_at, key, bot_version_id, latency_ms)
SELECT d.id, p,
       (SELECT string_agg(substr(md5(concat_ws('.', d.id, p, w)), 1, 3), ' ') FROM generate_series(1, 9) w),
       now(), CASE WHEN p % 2 = 1 THEN gen_random_uuid() END,
       CASE WHEN p % 2 = 0 AND p > 0 THEN ({versions}::bigint[])[1 + d.id % {bots}] END,
       CASE WHEN p % 2 = 0 AND p > 0 THEN (200 + 800 * random())::int END
  FROM dialogues_dialogue AS d, generate_series(0, d.turns - 1) AS p;
INSERT INTO labels_label (study_id, turn_id, rater_id, party, occasion, ask_id, question_set, answers,
                          created_at, changed_at, changes)
SELECT {study}, id, dialogue_id, 'chatter', 1,
       (SELECT a.id FROM studies_ask AS a WHERE a.study_id = {study} AND a.number = 0), 'ssa',
       jsonb_build_object('sensible', sensible, 'specific', sensible AND random() < 0.6),
       now(), now(), 0
  FROM (SELECT id, dialogue_id, random() < 0.5 + 0.01 * (dialogue_id % {bots}) AS sensible
          FROM dialogues_turn WHERE bot_version_id IS NOT NULL) AS judged;
SET session_replication_role = DEFAULT;
VACUUM ANALYZE;
"""


def plant(bots: int, labels: int) -> int:
    from django.db import connection

    from turnwise.accounts.models import User
    from turnwise.bots.services import register_bot, version_of
    from turnwise.studies.models import Study
    from turnwise.studies.services import save_study

    registered = [
        register_bot(
            name=f"bot-{n}", title=f"Bot {n}", adapter="scripted", configuration={"replies": ["Well."]}
        )
        for n in range(bots)
    ]
    owner = User.objects.create_user("researcher")
    fields = {"title": "Large", "languages": ["en"]}
    study = save_study(Study(**fields), owner=owner, consent_text="…", targets=dict.fromkeys(registered, 1))
    values = {
        "conversations": labels // LABELS_PER_CONVERSATION,
        "bots": bots,
        "study": study.pk,
        "consent": study.consent_versions.get().pk,
        "study_bots": _array(study.study_bots.get(bot=bot).pk for bot in registered),
        "bot_ids": _array(bot.pk for bot in registered),
        "versions": _array(version_of(bot, {"bot": bot.name}).pk for bot in registered),
    }
    with connection.cursor() as cursor:
        for statement in PLANT.format(**values).split(";\n"):
            if statement.strip():
                cursor.execute(statement)
    return study.pk


def _array(keys: Any) -> str:
    return "'{" + ",".join(map(str, keys)) + "}'"


def report(study_id: int) -> dict[str, Any]:
    from turnwise.reports import services
    from turnwise.reports.models import Report
    from turnwise.studies.models import Study

    started, cpu, server_cpu = time.perf_counter(), time.process_time(), cpu_of_the_server()
    queued = services.queue_report(Study.objects.get(pk=study_id))
    services.build_report(queued.pk)
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    server_cpu = cpu_of_the_server() - server_cpu
    built = Report.objects.get(pk=queued.pk)
    assert built.state == Report.State.READY, built.reason
    assert built.result
    return {
        "labels": sum(bot["labels"] for bot in built.result["bots"]),
        "bots": len(built.result["bots"]),
        "comparisons": len(built.result["comparisons"]),
        "seconds": round(seconds, 2),
        "cpu_seconds": round(cpu, 2),
        "cpu_seconds_of_postgresql": round(server_cpu, 2),
        "peak_memory_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
    }


def report_page(study_id: int) -> dict[str, Any]:
    """Processor time of a report's page: rendered in advance by the job, and read by the first reader."""
    from django.test import Client

    from turnwise.reports import page, services
    from turnwise.studies.models import Study

    study = Study.objects.get(pk=study_id)
    queued = services.queue_report(study)
    services.build_report(queued.pk)
    reader = Client(SERVER_NAME="localhost")
    reader.force_login(study.owner)
    reader.get("/")  # imports all pages, as a server has that runs for a while

    def milliseconds(step: Callable[[], Any]) -> int:
        cpu = time.process_time()
        step()
        return round(1000 * (time.process_time() - cpu))

    def read() -> None:
        answer = reader.get(f"/studies/{study_id}/report/")
        assert answer.status_code == 200, answer.status_code

    return {
        "cpu_ms_in_advance": milliseconds(lambda: page.render_in_advance(queued.pk)),
        "cpu_ms_of_readers": [milliseconds(read) for _ in range(5)],
    }


def cpu_of_the_server() -> float:
    """CPU seconds that this connection's process of PostgreSQL has taken."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        times = psutil.Process(cursor.fetchone()[0]).cpu_times()
    return times.user + times.system


def timed(rows: Callable[[], int]) -> dict[str, Any]:
    """Time of writing the rows, and the process that wrote them."""
    started, cpu, server_cpu = time.perf_counter(), time.process_time(), cpu_of_the_server()
    number = rows()
    seconds, cpu = time.perf_counter() - started, time.process_time() - cpu
    server_cpu = cpu_of_the_server() - server_cpu
    return {
        "rows": number,
        "seconds": round(seconds, 2),
        "rows_per_second": round(number / seconds),
        "cpu_us_per_row": round(1e6 * cpu / number, 2),
        "cpu_us_per_row_of_postgresql": round(1e6 * server_cpu / number, 2),
    }


def export(study_id: int, ending: str) -> dict[str, Any]:
    from turnwise.exports import turn_files as exports
    from turnwise.studies.models import Study

    lines = exports.csv_lines if ending == "csv" else exports.jsonl_lines
    study = Study.objects.get(pk=study_id)
    idle = peak = psutil.Process().memory_info().rss

    def rows() -> int:
        nonlocal peak
        number = 0
        for index, chunk in enumerate(lines(study)):
            number += chunk.count("\n") if isinstance(chunk, str) else chunk.count(b"\n")
            if index % 20 == 0:
                peak = max(peak, psutil.Process().memory_info().rss)
        return number

    return timed(rows) | {"memory_above_idle_mb": round((peak - idle) / 2**20)}


def write(study_id: int) -> dict[str, Any]:
    """Write the rows with Python's csv.writer alone, as a baseline."""
    from django.db import connection, transaction

    from turnwise.exports.turn_files import LABELLED_TURNS

    def rows() -> int:
        number = 0
        connection.ensure_connection()
        with transaction.atomic(), connection.connection.cursor(name="written") as cursor:
            cursor.execute(LABELLED_TURNS, {"study": study_id})
            while batch := cursor.fetchmany(500):
                csv.writer(io.StringIO()).writerows(batch)
                number += len(batch)
        return number

    return timed(rows)


def copy(study_id: int) -> dict[str, Any]:
    from django.db import connection

    from turnwise.exports.turn_files import LABELLED_TURNS

    def rows() -> int:
        with connection.cursor() as cursor, open(os.devnull, "wb") as nowhere:
            statement = cursor.cursor.mogrify(LABELLED_TURNS, {"study": study_id}).decode()
            cursor.copy_expert(f"COPY ({statement}) TO STDOUT WITH (FORMAT csv)", nowhere)
            return int(cursor.rowcount)

    return timed(rows)


MEASURES: dict[str, Callable[[int], dict[str, Any]]] = {
    "report": report,
    "report_page": report_page,
    "export_csv": lambda study_id: export(study_id, "csv"),
    "export_jsonl": lambda study_id: export(study_id, "jsonl"),
    "csv_writer": write,
    "postgresql_copy": copy,
}


def in_subprocess(measure: str, study_id: int) -> dict[str, Any]:
    command = [sys.executable, __file__, "--measure", measure, "--study", str(study_id)]
    answer = subprocess.run(command, stdout=subprocess.PIPE, check=True, text=True)
    found: dict[str, Any] = json.loads(answer.stdout.splitlines()[-1])
    return found


def everything(bots: int, labels: int) -> dict[str, Any]:
    from turnwise.project.supervision.embedded import PostgreSQL, Redis

    folder = Path(tempfile.mkdtemp(prefix="turnwise-"))
    folder.chmod(0o711)
    server = PostgreSQL(folder / "postgresql", durable=False)
    cache = Redis(folder / "redis")
    try:
        server.start()
        cache.start()
        os.environ |= {"DATABASE_URL": server.owner_url, "REDIS_URL": cache.url}
        os.environ |= {"SECRET_KEY": "only for measuring"}
        os.environ["TURNWISE_VAR"] = str(folder / "var")
        start_django()
        from django.core.management import call_command

        call_command("migrate", verbosity=0)
        study_id = plant(bots, labels)
        return {measure: in_subprocess(measure, study_id) for measure in MEASURES}
    finally:
        cache.stop()
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)


def start_django() -> None:
    import django

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "turnwise.project.settings")
    django.setup()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--labels", type=int, default=1_000_000)
    parser.add_argument("--bots", type=int, default=30)
    parser.add_argument("--measure", choices=list(MEASURES), help=argparse.SUPPRESS)
    parser.add_argument("--study", type=int, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        start_django()
        from turnwise.live.subprocesses import tune_garbage_collection

        tune_garbage_collection()  # as the worker for jobs does
        print(json.dumps(MEASURES[arguments.measure](arguments.study)))
    else:
        print(json.dumps(everything(arguments.bots, arguments.labels), indent=2))


if __name__ == "__main__":
    main()
