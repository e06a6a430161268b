"""Data of each released version: restored, migrated to the newest schema, recomputed to the same figures."""

import gzip
import json
import math
import re
from pathlib import Path

import psycopg2
import pytest
from django.db import connection

from evaluation.report.bundles.recomputation import compare, recompute
from tests.project.test_dumps import ROOT, fresh, manage
from turnwise.project.supervision.installation import ANOTHER_VERSION

__all__ = ["fresh"]

RELEASES = sorted((ROOT / "tests" / "fixtures").glob("release-*"))
TASKS = {"conversation", "judging", "pairs", "two_people", "writing", "self_play", "arena"}


SCHEMA = """
SELECT conrelid::regclass::text, conname, pg_get_constraintdef(oid) FROM pg_constraint
 WHERE connamespace = 'public'::regnamespace
UNION ALL SELECT tablename, indexname, indexdef FROM pg_indexes WHERE schemaname = 'public'
UNION ALL
SELECT tgrelid::regclass::text, tgname, pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal
UNION ALL
SELECT attrelid::regclass::text, attname,
       concat_ws(' ', format_type(atttypid, atttypmod), attnotnull, attidentity, pg_get_expr(adbin, adrelid))
  FROM pg_attribute
  JOIN pg_class ON pg_class.oid = attrelid AND relkind IN ('r', 'v')
  LEFT JOIN pg_attrdef ON adrelid = attrelid AND adnum = attnum
 WHERE relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
"""

BUNDLES = """
from django.core.management import call_command
for code in {codes!r}:
    call_command("bundle", code, "--output", "{folder}/" + code + ".zip")
"""


def is_rounding(one: object, other: object) -> bool:
    """True if two numbers differ by no more than sums in another order, and fits that begin elsewhere, do."""
    if not isinstance(one, float) or not isinstance(other, float):
        return False
    return math.isclose(one, other, rel_tol=1e-6, abs_tol=1e-9)


def without_casts(row: tuple[object, ...]) -> tuple[str, ...]:
    """A row of SCHEMA as it is before and after a dump, which writes types and brackets elsewhere."""
    return tuple(re.sub(r"::[a-z ]+(\[\])?|[()]", "", str(value)) for value in row)


def sql(database: str, statement: str) -> list[tuple[object, ...]]:
    own = psycopg2.connect(database)
    with own, own.cursor() as cursor:
        cursor.execute(statement)
        rows = cursor.fetchall() if cursor.description else []
    own.close()
    return rows


@pytest.mark.timeout(900)
@pytest.mark.django_db
@pytest.mark.parametrize("release", RELEASES, ids=lambda path: path.name)
def test_released_data_migrate_and_every_bundle_recomputes_to_the_released_figures(
    release: Path, fresh: str, tmp_path: Path
) -> None:
    restored = manage(fresh, "restore", str(release / "data.dump"))
    assert restored.returncode == 0, restored.stderr
    with connection.cursor() as cursor:
        cursor.execute(SCHEMA)
        of_new_database = set(map(without_casts, cursor.fetchall()))  # the quick way of our command migrate
    assert set(map(without_casts, sql(fresh, SCHEMA))) == of_new_database
    figures = json.loads(gzip.decompress((release / "figures.json.gz").read_bytes()))
    assert {task for (task,) in sql(fresh, "SELECT DISTINCT task FROM studies_study")} == TASKS

    # In one process: to start one takes longer than to write a bundle.
    written = manage(
        fresh, "shell", "--no-imports", "-c", BUNDLES.format(codes=[*figures], folder=str(tmp_path))
    )
    assert written.returncode == 0, written.stderr
    for code, stated in figures.items():
        found = recompute(tmp_path / f"{code}.zip")
        assert (code, found.differences) == (code, [])
        released = compare(stated, found.report)
        # Later versions may sum up in another order.
        different = [each for each in released.differences if not is_rounding(each.stored, each.recomputed)]
        # The reason why there was no figure is gone where a later version has one.
        gone = {name for name in released.not_computed if not name.endswith(".undefined")}
        assert (code, different, gone) == (code, [], set())
        assert released.values > 0

    # A newer version has been here.
    sql(fresh, "INSERT INTO django_migrations (app, name, applied) VALUES ('studies', '9999_later', now())")
    refused = manage(fresh, "bootstrap")
    assert refused.returncode == ANOTHER_VERSION
    assert "it has the migration studies.9999_later, which this version does not know" in refused.stderr
    assert "start the version that made it" in refused.stderr
