"""Checks of PostgreSQL and Redis: they answer, are new enough, and their clocks agree with ours."""

import time
from collections.abc import Iterator
from contextlib import closing

import psycopg2
import redis

from turnwise.accounts.single_sign_on.saml_configuration import SamlConfiguration
from turnwise.accounts.single_sign_on.saml_metadata import MetadataError, read_identity_provider
from turnwise.project.doctor.findings import Finding, ok, problem, refusal, unchecked
from turnwise.project.doctor.machine_checks import MAX_CLOCK_DIFFERENCE_SECONDS
from turnwise.project.supervision import installation
from turnwise.project.supervision.processes import StartError

MIN_POSTGRESQL = 14  # of Django 5.2
MIN_REDIS = (6, 2)
_NOT_RUNNING = "The embedded one is not running, so it was not checked."
_START = "Start turnwise serve, then run this again."


def check_postgresql(url: str) -> Iterator[Finding]:
    """PostgreSQL at `url`; "" stands for an embedded one that does not run."""
    if not url:
        yield unchecked("PostgreSQL", _NOT_RUNNING, _START)
        return
    try:
        installation.check_database(url)
    except StartError as error:
        yield refusal("PostgreSQL", error)
        return
    with closing(psycopg2.connect(url, connect_timeout=5)) as connection, connection.cursor() as cursor:
        before = time.time()
        cursor.execute("SELECT extract(epoch FROM clock_timestamp()), current_setting('server_encoding')")
        now, encoding = cursor.fetchone() or (before, "")
        after = time.time()
        number = connection.info.server_version
    if number // 10_000 < MIN_POSTGRESQL:
        cure = f"Use PostgreSQL {MIN_POSTGRESQL} or newer."
        yield problem("PostgreSQL", f"PostgreSQL is version {number // 10_000}.", cure)
    elif encoding != "UTF8":
        cure = "Make another: createdb --template template0 --encoding UTF8 NAME, and set DATABASE_URL to it."
        yield problem("PostgreSQL", f"The database's encoding is {encoding}, not UTF8.", cure)
    else:
        yield ok("PostgreSQL", f"PostgreSQL {number // 10_000} answers.")
    yield from check_other_clock("PostgreSQL", before, float(now), after)


def check_redis(url: str) -> Iterator[Finding]:
    """Redis at `url`; "" stands for an embedded one that does not run."""
    if not url:
        yield unchecked("Redis", _NOT_RUNNING, _START)
        return
    try:
        installation.check_redis(url)
    except StartError as error:
        yield refusal("Redis", error)
        return
    with redis.Redis.from_url(url, socket_timeout=5, socket_connect_timeout=5) as client:
        before = time.time()
        seconds, microseconds = client.time()
        after = time.time()
        found = str(client.info("server")["redis_version"])
    if tuple(map(int, found.split(".")[:2])) < MIN_REDIS:
        yield problem("Redis", f"Redis is version {found}.", "Use Redis 6.2 or newer, or Valkey.")
    else:
        yield ok("Redis", f"Redis {found} answers.")
    yield from check_other_clock("Redis", before, seconds + microseconds / 1e6, after)


def check_saml(configuration: SamlConfiguration) -> Iterator[Finding]:
    """Metadata of the identity provider that speaks SAML."""
    try:
        provider = read_identity_provider(configuration)
    except MetadataError as error:
        cure = "Ask the people who run the identity provider, and check the variables TURNWISE_SAML_…."
        yield problem("SAML", str(error), cure)
        return
    yield ok("SAML", f"The metadata describe {provider['entityId']}.")


def check_other_clock(service: str, before: float, theirs: float, after: float) -> Iterator[Finding]:
    """Compare a service's clock, read between two readings of ours; all in seconds since 1970."""
    difference = max(before - theirs, theirs - after)
    if difference > MAX_CLOCK_DIFFERENCE_SECONDS:
        sentence = f"The clock of {service} differs from this machine's by {difference:.0f}\u00a0s."
        yield problem("clock", sentence, "Set both clocks by NTP: leases and deadlines compare them.")
