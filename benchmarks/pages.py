"""Time to the first byte of the pages of a full installation: 1,000 studies, 100,000 conversations.

    python benchmarks/pages.py [--conversations 100000] [--times 20] [--only explorer]

Plants the studies, with 1,000,000 labels of those who talked and as many participants as conversations, in a
PostgreSQL of its own; a fifth of it is in one study. Beside them 1,000 bots, and as many people who sign in.
Starts the real server, signs in as the researcher whose studies all are, and asks for every page so many
times over one connection. Prints JSON: for each page the milliseconds to its first byte (median, 95th
percentile, most), its size, the queries that it makes, and the milliseconds of CPU that the server and
PostgreSQL took for it, which say more on a busy machine.
"""

import argparse
import http.client
import json
import time
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any

import numpy as np
import psutil

from benchmarks.services import services
from benchmarks.staff_pages import create_further_data, pages
from benchmarks.turns import Server

STUDIES, BOTS, BOTS_PER_STUDY, OPEN = 1_000, 20, 3, 150
LISTED, PEOPLE = 1_000, 1_000  # bots in all, most of them in no study; people who sign in
GOAL_MS, MOST_QUERIES = 200, 18
ITEMS, RATERS, BATCH = 2_000, 3, 20
JUDGING = 2  # the second study is one of readers

# Rows are inserted in bulk: triggers and foreign keys are off, check constraints stay on.
PLANT = """
SET session_replication_role = replica;
SELECT setseed(0.5);
CREATE TEMP TABLE place AS
SELECT n AS id, CASE WHEN n <= {conversations} / 5 THEN 1 ELSE 3 + n % ({studies} - 2) END AS study
  FROM generate_series(1, {conversations}) AS n;
INSERT INTO crowd_worker (id, pseudonym, panel, panel_id, created_at)
SELECT n, 'W' || lpad(n::text, 9, '0'), 'prolific', 'p' || n, now()
  FROM generate_series(1, {conversations} + {batches}) AS n;
INSERT INTO crowd_participation (id, worker_id, study_id, consent_id, consented_at, pseudonym, resume_code,
                                 completion_code, excluded_reason, excluded_at, submission,
                                 panel_values, address, signs, proposed_reason, known_by, condition, pilot,
                                 number)
SELECT p.id, p.id, p.study, c.id, now() - p.id * interval '7 seconds', 'P' || lpad(p.id::text, 9, '0'),
       'r' || p.id, 'c' || p.id,
       CASE WHEN p.id % 50 = 0 THEN 'All answers alike.' ELSE '' END,
       CASE WHEN p.id % 50 = 0 THEN now() END, '', '{{}}', '',
       CASE WHEN p.id % 40 = 0 THEN 'All answers alike.' ELSE '' END, '', '', '{{}}', false, 1
  FROM place AS p JOIN studies_consentversion AS c ON c.study_id = p.study;
INSERT INTO crowd_assignment (id, participation_id, study_id, study_bot_id, assigned_at, active_at,
                              extensions, outcome, ended_at)
SELECT p.id, p.id, p.study, b.id, now() - p.id * interval '7 seconds', now() - p.id * interval '6 seconds', 0,
       CASE WHEN p.id % 20 = 0 THEN '' ELSE 'complete' END, CASE WHEN p.id % 20 <> 0 THEN now() END
  FROM place AS p
  JOIN (SELECT id, bot_id, study_id, row_number() OVER (PARTITION BY study_id ORDER BY id) - 1 AS nth
          FROM studies_studybot) AS b ON b.study_id = p.study AND b.nth = p.id % {each};
INSERT INTO crowd_payentry (study_id, participation, worker, reason, amount, currency, note, by, at)
SELECT p.study, p.id, 'P' || lpad(p.id::text, 9, '0'), r.reason, 2.5, 'USD', '', '', now()
  FROM place AS p, (VALUES ('promised'), ('earned')) AS r (reason)
 WHERE r.reason = 'promised' OR p.id % 20 <> 0;
INSERT INTO dialogues_dialogue
       (id, public_id, study_id, started_at, ended_at, ending,
        opening_turns, min_turns, max_turns, turns, bot_turns, due_0, due_1, closing)
SELECT p.id, gen_random_uuid(), p.study, now() - p.id * interval '7 seconds',
       CASE WHEN p.id % 20 <> 0 THEN now() END, CASE WHEN p.id % 20 = 0 THEN '' ELSE 'complete' END,
       1, 14, 28, 1 + 2 * (7 + p.id % 7), 7 + p.id % 7, '{{}}', '{{}}', false
  FROM place AS p;
INSERT INTO dialogues_seat (dialogue_id, number, bot_id, asks)
SELECT a.id, 0, b.bot_id, '[]' FROM crowd_assignment AS a JOIN studies_studybot AS b ON b.id = a.study_bot_id;
INSERT INTO dialogues_seat (dialogue_id, number, worker_id, assignment_id, asks)
SELECT id, 1, id, id, '[]' FROM place;
INSERT INTO dialogues_turn (dialogue_id, position, text, created_at, key, bot_version_id, latency_ms)
SELECT d.id, p,
       (SELECT string_agg(substr(md5(concat_ws('.', d.id, p, w)), 1, 3), ' ') FROM generate_series(1, 9) w),
       d.started_at + p * interval '20 seconds', CASE WHEN p % 2 = 1 THEN gen_random_uuid() END,
       CASE WHEN p % 2 = 0 AND p > 0 THEN v.id END,
       CASE WHEN p % 2 = 0 AND p > 0 THEN (200 + 800 * random())::int END
  FROM dialogues_dialogue AS d
  JOIN dialogues_seat AS s ON s.dialogue_id = d.id AND s.number = 0
  JOIN bots_botversion AS v ON v.bot_id = s.bot_id, generate_series(0, d.turns - 1) AS p;
INSERT INTO dialogues_fault (dialogue_id, position, kind, detail, at)
SELECT id, 2, 'timeout', 'It took too long.', now() - id * interval '7 seconds' FROM place WHERE id % 200 = 0;
INSERT INTO labels_label (study_id, turn_id, rater_id, party, occasion, ask_id, question_set, answers,
                          shown_ms, answer_ms, created_at, changed_at, changes)
SELECT study, id, dialogue_id, 'chatter', 1,
       (SELECT a.id FROM studies_ask AS a WHERE a.study_id = study AND a.number = 0), 'ssa',
       jsonb_build_object('sensible', sensible, 'specific', sensible AND random() < 0.6),
       2000, 2500, now(), now(), 0
  FROM (SELECT t.id, t.dialogue_id, p.study, random() < 0.5 + 0.1 * (t.dialogue_id % {each}) AS sensible
          FROM dialogues_turn AS t JOIN place AS p ON p.id = t.dialogue_id
         WHERE t.bot_version_id IS NOT NULL) AS judged;
INSERT INTO crowd_participation (id, worker_id, study_id, consent_id, consented_at, pseudonym, resume_code,
                                 completion_code, excluded_reason, submission, panel_values, address, signs,
                                 proposed_reason, known_by, condition, pilot, number)
SELECT n, n, {judging}, c.id, now(), 'P' || lpad(n::text, 9, '0'), 'r' || n, 'c' || n, '', '', '{{}}', '', '',
       '', '', '{{}}', false, 1
  FROM generate_series({conversations} + 1, {conversations} + {batches}) AS n
  JOIN studies_consentversion AS c ON c.study_id = {judging};
INSERT INTO crowd_assignment (id, participation_id, study_id, assigned_at, active_at, extensions, outcome,
                              ended_at)
SELECT n, n, {judging}, now(), now(), 0, 'complete', now()
  FROM generate_series({conversations} + 1, {conversations} + {batches}) AS n;
INSERT INTO judging_batch (id, assignment_id, study_id, worker_id, public_id, language, size, done, cursor,
                           gold_at)
SELECT n - {conversations}, n, {judging}, n, gen_random_uuid(), 'en', {batch}, {batch}, gen_random_uuid(),
       '{{}}'
  FROM generate_series({conversations} + 1, {conversations} + {batches}) AS n;
INSERT INTO judging_item (id, study_id, ask_id, turn_id, key, language)
SELECT row_number() OVER (ORDER BY t.id), {judging},
       (SELECT a.id FROM studies_ask AS a WHERE a.study_id = {judging} AND a.number = 0), t.id,
       judging_key(0), 'en'
  FROM (SELECT t.id FROM dialogues_turn AS t JOIN place AS p ON p.id = t.dialogue_id
         WHERE p.study = 1 AND p.id % 20 <> 0 AND t.bot_version_id IS NOT NULL
         ORDER BY t.id LIMIT {items}) AS t;
INSERT INTO labels_label (study_id, turn_id, rater_id, party, occasion, ask_id, question_set, answers,
                          shown_ms, answer_ms, created_at, changed_at, changes)
SELECT {judging}, i.turn_id, {conversations} + 1 + (i.id - 1) / {batch} * {raters} + r, 'reader', 1,
       (SELECT a.id FROM studies_ask AS a WHERE a.study_id = {judging} AND a.number = 0), 'ssa',
       jsonb_build_object('sensible', random() < 0.6, 'specific', false), 2000, 2500, now(), now(), 0
  FROM judging_item AS i, generate_series(0, {raters} - 1) AS r;
INSERT INTO judging_slot (item_id, number, study_id, key, language, is_swapped, occasion, asks_reason,
                          batch_id, label_id)
SELECT i.id, row_number() OVER (PARTITION BY i.id ORDER BY l.id), {judging}, i.key, 'en', false, 1, false,
       l.rater_id - {conversations}, l.id
  FROM judging_item AS i JOIN labels_label AS l ON l.turn_id = i.turn_id AND l.study_id = {judging};
SELECT setval(pg_get_serial_sequence(planted, 'id'), 10 * ({conversations} + {items}))
  FROM unnest(ARRAY['crowd_worker', 'crowd_participation', 'crowd_assignment', 'dialogues_dialogue',
                    'judging_batch', 'judging_item']) AS planted;
SET session_replication_role = DEFAULT;
VACUUM ANALYZE;
"""

Result = dict[str, Any]


def plant(conversations: int, studies: int) -> None:
    """All of it, and the reports of three studies; most others have a copy of one."""
    from django.db import connection

    from turnwise.accounts.models import User
    from turnwise.bots.models import Bot
    from turnwise.bots.services import register_bot, version_of

    owner = User.objects.create_user("researcher")
    User.objects.bulk_create(User(username=f"person-{n}", is_superuser=n % 50 == 0) for n in range(PEOPLE))
    listed = [
        register_bot(
            name=f"bot-{n}", title=f"Bot {n}", adapter="scripted", configuration={"replies": ["Well."]},
            owner=owner,
        )
        for n in range(LISTED)
    ]  # fmt: skip
    bots = listed[:BOTS]
    # The server would load all of them, and log that every second during the measurement.
    Bot.objects.exclude(pk__in=[bot.pk for bot in bots]).update(active=False)
    for bot in bots:
        version_of(bot, {"bot": bot.name})
    for n in range(studies):
        _study(n, owner, bots)
    values = {
        "conversations": conversations, "studies": studies, "each": BOTS_PER_STUDY, "judging": JUDGING,
        "items": ITEMS, "raters": RATERS, "batch": BATCH, "batches": ITEMS * RATERS // BATCH,
    }  # fmt: skip
    with connection.cursor() as cursor:
        for statement in PLANT.format(**values).split(";\n"):
            if statement.strip():
                cursor.execute(statement)
    create_further_data(owner, judging=JUDGING, chats=3, values=values)
    _reports(studies)


def _study(n: int, owner: Any, bots: list[Any]) -> None:
    """Study n + 1: the second has readers judge, the others have people chat."""
    from turnwise.judging.models import JudgingPlan
    from turnwise.studies.models import Study
    from turnwise.studies.services import save_study

    judges = n + 1 == JUDGING
    study = Study(title=f"Study {n + 1} of small talk", languages=["en"], tags=[f"tag-{n % 12}"])
    if judges:
        study.task = "judging"
    else:
        study.pay_amount = 2.5
    own = [bots[(n + k) % len(bots)] for k in range(BOTS_PER_STUDY)]
    targets = {} if judges else dict.fromkeys(own, 10_000 if n == 0 else 60)
    save_study(study, owner=owner, consent_text="…", targets=targets)
    if judges:
        JudgingPlan.objects.create(study=study, raters_per_item=RATERS, batch_size=BATCH)
    state = Study.State.OPEN if n < OPEN else Study.State.CLOSED
    Study.objects.filter(pk=study.pk).update(state=state)


def _reports(studies: int) -> None:
    from django.db import connection

    from turnwise.reports import services
    from turnwise.studies.models import Study

    for key in (1, JUDGING, 3):
        services.build_report(services.queue_report(Study.objects.get(pk=key)).pk)
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO reports_report (study_id, state, results_version, judgments, requested_at,"
            "                            started_at, attempts, finished_at, result, reason)"
            " SELECT s.id, 'ready', s.results_version, 0, now(), now(), 1, now(), r.result, ''"
            "   FROM studies_study AS s, reports_report AS r"
            "  WHERE s.id > 3 AND s.id <= %s AND r.study_id = 3",
            [studies],
        )
        cursor.execute("VACUUM ANALYZE")


def cookies() -> tuple[str, str]:
    """Sessions of the researcher whose studies all are, and of an admin."""
    from django.conf import settings
    from django.test import Client

    from turnwise.accounts.models import User

    researcher, admin = Client(), Client()
    researcher.force_login(User.objects.get(username="researcher"))
    first = User.objects.filter(username="admin").first()
    admin.force_login(first or User.objects.create_superuser("admin"))
    name = settings.SESSION_COOKIE_NAME
    return f"{name}={researcher.cookies[name].value}", f"{name}={admin.cookies[name].value}"


def queries_of(address: str, cookie: str) -> int:
    """Number of queries of a page, counted in the process of the test client."""
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client = Client(headers={"host": "127.0.0.1"})
    name, _, value = cookie.partition("=")
    client.cookies[name] = value
    with CaptureQueriesContext(connection) as made:
        client.get(address).close()
    return len(made)


def spent(pid: int) -> float:
    """CPU seconds of a process and its children, those that have ended included: a connection is one."""
    process = psutil.Process(pid)
    own = process.cpu_times()
    total = own.user + own.system + own.children_user + own.children_system
    for child in process.children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.NoSuchProcess:
            continue
        total += times.user + times.system
    return total


def timed(port: int, address: str, cookie: str, times: int, watched: Mapping[str, int]) -> Result:
    """Milliseconds to the first byte of the answer, so many times one after the other."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    took, size, status = [], 0, 0
    before: dict[str, float] = {}
    for attempt in range(times + 1):
        began = time.perf_counter()
        connection.request("GET", address, headers={"Cookie": cookie, "Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        head = answer.read(1)
        seconds, status = time.perf_counter() - began, answer.status
        if address.endswith((".csv", ".jsonl", ".zip")):  # the beginning is enough
            connection.close()
        else:
            size = len(head + answer.read())
        if attempt:  # the first one compiles templates and fills caches
            took.append(1000 * seconds)
        else:
            before = {name: spent(pid) for name, pid in watched.items()}
    cpu = {
        f"{name}_cpu_ms": round(1000 * (spent(pid) - before[name]) / times, 1)
        for name, pid in watched.items()
    }
    p50, p95, most = (round(float(each), 1) for each in np.percentile(took, (50, 95, 100)))
    found = {"status": status, "p50_ms": p50, "p95_ms": p95, "most_ms": most}
    return found | cpu | {"bytes": size}


def measured(options: argparse.Namespace, port: int, watched: Mapping[str, int]) -> Result:
    from django.core.cache import cache

    researcher, admin = cookies()
    found: Result = {}
    for name, address in pages(1, JUDGING, (3, 4), "bot-1"):
        if options.only not in name:
            continue
        cache.clear()  # rate limits, and stored comparisons
        cookie = admin if address.startswith(("/people/", "/system/")) else researcher
        answer = timed(port, address, cookie, options.times, watched)
        if not name.startswith("export"):
            answer["queries"] = queries_of(address, cookie)
        found[name] = answer
        is_quick = answer["p95_ms"] < GOAL_MS and answer.get("queries", 0) <= MOST_QUERIES
        is_fine = is_quick and answer["status"] == 200
        print("" if is_fine else "OVER", name, answer, flush=True)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--conversations", type=int, default=100_000)
    parser.add_argument("--studies", type=int, default=STUDIES)
    parser.add_argument("--times", type=int, default=20, help="How often each page is asked for.")
    parser.add_argument("--only", default="", help="Only pages with this in their name.")
    options = parser.parse_args()
    with ExitStack() as stack:
        database, _redis = stack.enter_context(services(durable=False))
        plant(options.conversations, options.studies)
        server = Server("turnwise", "turnwise.project.asgi:application", [], None)
        server.start()
        stack.callback(server.stop)
        assert database.process
        watched = {"server": server.process.pid, "postgresql": database.process.pid}
        print(json.dumps(measured(options, server.port, watched), indent=2))


if __name__ == "__main__":
    main()
