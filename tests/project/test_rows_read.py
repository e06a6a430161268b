"""What a researcher's pages read does not grow with the studies of others."""

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from functools import partial

import psycopg2
import pytest
from django.core.cache import cache
from django.db import connection

from tests.conftest import MakeQueue, MakeStudy
from tests.desks import begin, judge
from tests.planted import SignIn, talked
from turnwise.accounts.models import User
from turnwise.studies.models import Study

OTHERS = 3
GROWING = {
    "crowd_assignment", "crowd_participation", "crowd_payentry", "dialogues_dialogue", "dialogues_seat",
    "dialogues_turn", "judging_batch", "judging_item", "judging_slot", "labels_label",
}  # fmt: skip
"""Tables with rows for each person, conversation or judgment."""
# Rows of tables, and entries of indexes, that this transaction has read.
_READ = """
SELECT c.relname, pg_stat_get_xact_tuples_returned(c.oid)
                  + coalesce(sum(pg_stat_get_xact_tuples_returned(i.indexrelid)), 0)
  FROM pg_class AS c LEFT JOIN pg_index AS i ON i.indrelid = c.oid
 WHERE c.relkind = 'r' AND c.relnamespace = 'public'::regnamespace
 GROUP BY c.oid
"""
# With few rows and no statistics PostgreSQL reads whole tables, which says nothing about many rows. So it is
# asked whether it can do without.
_LOOKS_UP = (
    "SET LOCAL enable_seqscan = off; SET LOCAL enable_hashjoin = off; SET LOCAL enable_mergejoin = off"
)


def remove_dead_rows() -> None:
    """Free the tables of what earlier tests deleted: pages full of dead rows change plans."""
    with closing(psycopg2.connect(**connection.get_connection_params())) as other:
        other.autocommit = True
        with other.cursor() as cursor:
            cursor.execute(f"VACUUM {', '.join(sorted(GROWING))}")


def rows_read(step: Callable[[], object]) -> Counter[str]:
    """Rows that a step reads, by table."""
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        before = Counter({name: int(rows) for name, rows in cursor.fetchall()})
    step()
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        return Counter({name: int(rows) for name, rows in cursor.fetchall()}) - before


def rows_held() -> Counter[str]:
    """Rows of each table that grows."""
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in GROWING))
        return Counter(dict(cursor.fetchall()))


def studies_with_work(make_study: MakeStudy, make_queue: MakeQueue, bot: str) -> tuple[Study, Study]:
    """A study in which people talked for pay, and one of a queue, which a rater has judged."""
    study = make_study({bot: 9}, min_turns=2, max_turns=8, pay_amount="2.00", pay_currency="EUR")
    for _ in range(3):
        talked(study, [(True, True), (True, False)])
    queue = make_queue(12, raters=2)
    judge(queue, lambda _item: {"sensible": True, "specific": False})
    begin(queue)
    return study, queue


@pytest.mark.django_db
def test_no_page_reads_more_rows_because_others_have_studies(
    make_study: MakeStudy, make_queue: MakeQueue, rex: User, mallory: User, sign_in: SignIn
) -> None:
    remove_dead_rows()
    study, queue = studies_with_work(make_study, make_queue, "ann")
    client = sign_in(rex)
    pages = [
        "/home/",
        "/studies/",
        f"/studies/{study.pk}/",
        f"/studies/{study.pk}/participants/",
        f"/studies/{study.pk}/payments/",
        f"/studies/{study.pk}/dialogues/",
        f"/studies/{queue.pk}/",
    ]

    def get(address: str) -> None:
        cache.clear()
        assert client.get(address).status_code == 200

    def rows_by_page() -> dict[str, Counter[str]]:
        with connection.cursor() as cursor:
            cursor.execute(_LOOKS_UP)
            cursor.execute("ANALYZE")
        for address in pages:
            get(address)  # what is read once and kept
        return {address: rows_read(partial(get, address)) for address in pages}

    before, held_before = rows_by_page(), rows_held()
    for n in range(OTHERS):
        for theirs in studies_with_work(make_study, make_queue, f"bot-{n}"):
            Study.objects.filter(pk=theirs.pk).update(owner=mallory)
    after = rows_by_page()

    added = rows_held() - held_before
    assert set(added) == GROWING
    # A page that reads theirs reads all of them. A few more are a plan that suits other statistics.
    more = {
        page: {table: n for table, n in (after[page] - before[page]).items() if n >= added[table] > 0}
        for page in pages
    }
    assert {page: rows for page, rows in more.items() if rows} == {}
    assert before["/home/"]["judging_slot"] > 0


@pytest.mark.django_db
def test_rows_read_are_counted_by_table(rex: User) -> None:
    assert rows_read(lambda: User.objects.get(pk=rex.pk))["accounts_user"] == 1
