"""Errors that say that PostgreSQL or Redis was lost, told from those that have another cause.

Classes are compared by name: the timer for jobs writes a log, too, and loads none of these libraries for it.
"""

from collections.abc import Iterator

POSTGRESQL_ERRORS = frozenset(
    {
        "django.db.utils.InterfaceError",
        "django.db.utils.OperationalError",
        "psycopg2.InterfaceError",
        "psycopg2.OperationalError",
    }
)
# PostgreSQL's codes of a broken line, and of a session that an administrator, a crash or a start ended.
ENDED_CODES = ("08", "57P01", "57P02", "57P03")
REDIS_ERRORS = frozenset(
    {
        "amqp.exceptions.RecoverableConnectionError",
        "kombu.exceptions.OperationalError",
        "redis.exceptions.ConnectionError",
        "redis.exceptions.TimeoutError",
    }
)


def is_connection_loss(error: BaseException | None) -> bool:
    """True if a database error, or one of its causes, means that the PostgreSQL session ended.

    A timeout, a deadlock or a full disk has a code of its own and leaves the session as it was. The state of
    Django's connection would not tell: leaving a transaction after a loss opens the next connection.
    """
    while error is not None:
        if _is_one_of(error, POSTGRESQL_ERRORS):
            code = getattr(error, "pgcode", None) or getattr(error.__cause__, "pgcode", None)
            return code is None or code.startswith(ENDED_CODES)
        error = error.__cause__
    return False


def lost_service(error: BaseException | None) -> str:
    """Which service was lost, by an error that says so or was raised because of one; empty for others."""
    for each in _with_causes(error):
        if is_connection_loss(each):
            return "PostgreSQL"
        if _is_one_of(each, REDIS_ERRORS):
            return "Redis"
    return ""


def _is_one_of(error: BaseException, names: frozenset[str]) -> bool:
    return any(f"{kind.__module__}.{kind.__qualname__}" in names for kind in type(error).__mro__)


def _with_causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, those of which it is a group, and those that caused it."""
    while error is not None:
        yield error
        if isinstance(error, BaseExceptionGroup):
            yield from (cause for each in error.exceptions for cause in _with_causes(each))
        # Celery's timer names no cause where it wraps an error.
        is_wrapped = type(error).__module__.startswith("celery.")
        error = error.__cause__ or (error.__context__ if is_wrapped else None)
