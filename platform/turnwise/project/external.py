"""Try the servers that DATABASE_URL and REDIS_URL name before anything relies on them."""

import psycopg2

from turnwise.project.processes import StartError

# What libpq says, in part, and what helps against it.
DATABASE_CURES = {
    "password": "Correct the user or the password in DATABASE_URL.",
    'role "': "Correct the user in DATABASE_URL, or create it with createuser.",
    'database "': "Create it with createdb, or correct the name in DATABASE_URL.",
    "translate host name": "Correct the host in DATABASE_URL.",
    "invalid": "Write DATABASE_URL as postgresql://user:password@host:5432/database.",
    "": "Check the host and port in DATABASE_URL and that PostgreSQL runs there; "
    "unset DATABASE_URL to use the embedded one.",
}


def check_database(url: str) -> None:
    """Connect once to `url`.

    Raises:
        StartError: with PostgreSQL's own reason and what to do; never with the password.
    """
    if not url.startswith(("postgres://", "postgresql://")):
        raise StartError(
            "DATABASE_URL is not the address of a PostgreSQL database. "
            "Write it as postgresql://user:password@host:5432/database."
        )
    try:
        psycopg2.connect(url, connect_timeout=5).close()
    except psycopg2.OperationalError as error:
        reason = str(error).strip().splitlines()[0].rstrip(".")
        cure = next(cure for part, cure in DATABASE_CURES.items() if part in reason)
        raise StartError(f"PostgreSQL: {reason}. {cure}") from None
    except psycopg2.Error:
        raise StartError(
            "DATABASE_URL cannot be read. Write it as postgresql://user:password@host:5432/database, "
            "with %40 for @ and %2F for / inside the password."
        ) from None


def check_redis(url: str) -> None:
    """Ping the server at `url`.

    Raises:
        StartError: with the reason and what to do; never with the password.
    """
    import redis  # which takes a tenth of a second, and is needed for a server elsewhere only

    try:
        with redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5) as client:
            client.ping()
    except redis.AuthenticationError as error:
        raise StartError(f"Redis: {error}. Correct the user or the password in REDIS_URL.") from None
    except redis.RedisError as error:
        raise StartError(
            f"Redis: {str(error).rstrip('.')}. Check the host and port in REDIS_URL and that Redis "
            "runs there; unset REDIS_URL to use the embedded one."
        ) from None
    except ValueError:
        raise StartError(
            "REDIS_URL cannot be read. Write it as redis://:password@host:6379/0 or unix:///path/to/redis.sock."
        ) from None
