"""Checks of what the database holds: migrations, active bots and their memory. They need Django."""

from collections.abc import Iterator

from django.conf import settings
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from chatbots.hosting.health import State
from evaluation.files.writing import with_unit
from turnwise.bots.hosting import presence, resident_bots
from turnwise.bots.models import Bot
from turnwise.project.database import unknown_migration
from turnwise.project.doctor.findings import Finding, ok, problem, unchecked

# A person's bot that waits for its operator is in order.
_IN_ORDER = (State.READY, State.LOADING, "no operator")


def check_migrations() -> Iterator[Finding]:
    """All migrations of this version are applied, and none of a later one."""
    if unknown := unknown_migration():
        cure = "Run the version of Turnwise that made these data, or use another data folder or DATABASE_URL."
        yield problem("migrations", f"The data are of another version: {unknown}.", cure)
        return
    executor = MigrationExecutor(connection)
    missing = executor.migration_plan(executor.loader.graph.leaf_nodes())
    if missing:
        first = missing[0][0]
        sentence = f"{len(missing)} migrations are not applied; the first is {first.app_label}.{first.name}."
        yield problem("migrations", sentence, "Start turnwise serve again, or run turnwise manage bootstrap.")
    else:
        yield ok("migrations", "All migrations are applied.")


def check_bot_memory() -> Iterator[Finding]:
    """Memory for all active bots that one process on this machine would keep loaded."""
    if not _has_tables():
        yield unchecked("memory for bots", "The database has no tables yet.")
        return
    active = Bot.objects.filter(active=True)
    if settings.BOTS_HERE is not None:
        active = active.filter(name__in=settings.BOTS_HERE)
    needed = sum(size or 0 for size in active.values_list("memory_bytes", flat=True))
    budget = resident_bots.memory_budget()
    sentence = f"The active bots need {_gb(needed)} of the {_gb(budget)} that a process may take."
    if needed > budget:
        cure = "Switch some bots off, name fewer in TURNWISE_BOTS, or host them on another machine."
        yield problem("memory for bots", sentence, cure)
    else:
        yield ok("memory for bots", sentence)


def check_bots() -> Iterator[Finding]:
    """Every active bot answers, services elsewhere included, while the server runs."""
    if not _has_tables():
        return
    failing = {name: state for name, state in presence.bot_states().items() if state not in _IN_ORDER}
    if failing:
        named = ", ".join(f"{name} ({state})" for name, state in sorted(failing.items()))
        cure = "Each bot's page under Bots shows its last error; start missing hosts with turnwise hostbots."
        yield problem("bots", f"These bots do not answer: {named}.", cure)
    else:
        yield ok("bots", "All active bots answer or are loading.")


def _has_tables() -> bool:
    return Bot._meta.db_table in connection.introspection.table_names()


def _gb(size: float) -> str:
    return with_unit(f"{size / 1e9:.1f}", "GB")
