"""What a researcher's pages and a judgment read does not grow with the studies of others."""

from collections import Counter
from collections.abc import Callable
from uuid import UUID

import pytest
from django.core.cache import cache
from django.db import connection

from tests.conftest import MakeQueue, MakeStudy
from tests.desks import begin, held, judge
from tests.planted import SignIn, talked
from turnwise.accounts.models import User
from turnwise.judging.queue import services as judging
from turnwise.studies.models import Study

OTHERS = 3
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


def rows_read(step: Callable[[], object]) -> Counter[str]:
    """Rows that a step reads, by table."""
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        before = Counter({name: int(rows) for name, rows in cursor.fetchall()})
    step()
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        return Counter({name: int(rows) for name, rows in cursor.fetchall()}) - before


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
def test_nothing_reads_more_rows_because_others_have_studies(
    make_study: MakeStudy, make_queue: MakeQueue, rex: User, mallory: User, sign_in: SignIn
) -> None:
    study, queue = studies_with_work(make_study, make_queue, "ann")
    client = sign_in(rex)
    desk = begin(queue)

    def page(address: str) -> Callable[[], object]:
        def get() -> None:
            cache.clear()
            assert client.get(address).status_code == 200

        return get

    def judgment() -> None:
        judging.judge(desk, key=UUID(held(desk)[0]), answers={"sensible": True, "specific": False})

    steps: dict[str, Callable[[], object]] = {
        "Home": page("/home/"),
        "studies": page("/studies/"),
        "study": page(f"/studies/{study.pk}/"),
        "study of readers": page(f"/studies/{queue.pk}/"),
        "monitor": page(f"/studies/{study.pk}/monitor/"),
        "participants": page(f"/studies/{study.pk}/participants/"),
        "payments": page(f"/studies/{study.pk}/payments/"),
        "conversations": page(f"/studies/{study.pk}/dialogues/"),
        "queue": page(f"/studies/{queue.pk}/queue/"),
        "judgment and next item": judgment,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LOOKS_UP)
    for step in steps.values():
        step()  # what is read once and kept
    before = {name: rows_read(step) for name, step in steps.items()}

    for n in range(OTHERS):
        for theirs in studies_with_work(make_study, make_queue, f"bot-{n}"):
            Study.objects.filter(pk=theirs.pk).update(owner=mallory)
    after = {name: rows_read(step) for name, step in steps.items()}

    more = {name: dict(after[name] - before[name]) for name in steps}
    assert {name: rows for name, rows in more.items() if rows} == {}


@pytest.mark.django_db
def test_rows_read_are_counted_by_table(rex: User) -> None:
    assert rows_read(lambda: User.objects.get(pk=rex.pk))["accounts_user"] == 1
