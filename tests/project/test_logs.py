import asyncio
import io
import json
import logging
import re
import signal
import threading
import time
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from celery import Celery
from django.conf import settings
from django.db import connection
from django.test import Client
from redis import Redis

from tests.away import end_session
from tests.project.conftest import Serving
from turnwise.live import log_context
from turnwise.project import logs
from turnwise.project.logs import VARYING, JsonLine, OncePerInterval, OneLine


@pytest.fixture
def said() -> Iterator[io.StringIO]:
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(OncePerInterval())
    logger = logging.getLogger("outage")
    logger.addHandler(handler)
    logger.propagate = False
    yield stream
    logger.removeHandler(handler)


def test_of_a_thousand_errors_with_one_cause_one_is_told(said: io.StringIO) -> None:
    for number in range(1000):
        try:
            raise ConnectionError("refused")
        except ConnectionError:
            logging.getLogger("outage").exception("Socket %s was not opened", number)

    assert said.getvalue().count("Traceback") == 1
    assert said.getvalue().startswith("Socket 0 was not opened\n")


def test_another_cause_is_told_at_once(said: io.StringIO) -> None:
    for message in ("No line to Redis.", "No line to Redis.", "No line to PostgreSQL."):
        logging.getLogger("outage").warning(message)

    assert said.getvalue() == "No line to Redis.\nNo line to PostgreSQL.\n"


def test_after_the_interval_the_number_of_those_untold_is_told(
    said: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [100.0]
    monkeypatch.setattr(logs.time, "monotonic", lambda: now[0])
    for step in (0.0, 1.0, 1.0, 20.0):
        now[0] += step
        logging.getLogger("outage").warning("No line to %s.", "Redis")

    assert said.getvalue() == "No line to Redis.\nNo line to Redis. (2 more like it meanwhile)\n"


def test_what_is_no_warning_is_always_told(said: io.StringIO) -> None:
    logging.getLogger("outage").setLevel(logging.INFO)
    for _ in range(3):
        logging.getLogger("outage").info("A report was computed.")

    assert said.getvalue().count("\n") == 3


# --- outages -------------------------------------------------------------------------------------

CLOSED_PORT = "redis://127.0.0.1:1/0"


@pytest.fixture
def written(said: io.StringIO) -> io.StringIO:
    """What the log of an installation would have."""
    handlers = logging.getLogger("outage").handlers
    (handler,) = (each for each in handlers if getattr(each, "stream", None) is said)
    formatters: Any = settings.LOGGING["formatters"]
    handler.setFormatter(OneLine(formatters["line"]["format"]))
    return said


def lose_postgresql() -> None:
    with connection.cursor() as cursor:
        end_session()
        cursor.execute("SELECT 1")


def lose_redis() -> None:
    Redis.from_url(CLOSED_PORT).ping()


def lose_the_queue() -> None:
    app = Celery("lost", broker=CLOSED_PORT, set_as_current=False)
    app.conf.task_publish_retry = False
    app.conf.broker_transport_options = {"max_retries": 0}
    app.send_task("lost.job")


def lose_two_at_once() -> None:
    async def both() -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(asyncio.to_thread(lose_redis))
            group.create_task(asyncio.to_thread(lose_redis))

    asyncio.run(both())


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("lose", "service"),
    [
        (lose_postgresql, "PostgreSQL"),
        (lose_redis, "Redis"),
        (lose_the_queue, "Redis"),
        (lose_two_at_once, "Redis"),
    ],
)
def test_an_error_of_an_outage_takes_one_line_that_names_the_service(
    written: io.StringIO, lose: Callable[[], None], service: str
) -> None:
    for number in range(3):
        try:
            lose()
        except Exception:
            logging.getLogger("outage").exception("Job %s\nwas broken off.", number)
        connection.close()

    assert written.getvalue().count("\n") == 1
    assert "Job 0 was broken off.: " in written.getvalue()
    assert written.getvalue().endswith(f"({service} is down)\n")


@pytest.mark.django_db(transaction=True)
def test_an_error_of_ours_keeps_its_traceback_though_postgresql_is_up_again(written: io.StringIO) -> None:
    try:
        try:
            lose_postgresql()
        except Exception:
            connection.close()
            raise ValueError("Nothing is stored under None.")  # noqa: B904 - as a mistake in a cure would
    except ValueError:
        logging.getLogger("outage").exception("A report failed.")

    assert "Traceback" in written.getvalue()
    assert written.getvalue().endswith("ValueError: Nothing is stored under None.\n")


def test_messages_that_differ_in_numbers_and_ids_alone_have_one_cause(written: io.StringIO) -> None:
    for number in range(3):
        logging.getLogger("outage").error(f"Task <Task-{number} at {object()!r}> was never awaited.")

    assert written.getvalue().count("\n") == 1


LINE = re.compile(r"^[0-9-]{10} [0-9:,]{12} (?P<cause>(?:WARNING|ERROR|CRITICAL) \S+: .{0,60})", re.MULTILINE)
WRITERS = 3  # web server, worker, timer


def test_a_running_server_writes_one_line_per_cause_and_interval(
    new_folder: Callable[[], Path], prepared_var: Callable[[Path], Path]
) -> None:
    serving = Serving(prepared_var(new_folder()), "--port", "0", TURNWISE_BOTS="none")
    link = serving.link
    serving.children()
    serving.wait_until_said("ready")
    is_over, began = threading.Event(), time.monotonic()

    def load_pages() -> None:
        while not is_over.is_set():
            with suppress(OSError, urllib.error.HTTPError):
                urllib.request.urlopen(f"{link}s/none/", timeout=60)

    readers = [threading.Thread(target=load_pages) for _ in range(4)]
    for reader in readers:
        reader.start()
    for name in ("postgres", "redis-server", "postgres", "redis-server"):
        serving.children()[name].kill()
        time.sleep(2)  # for the timer and the worker, which ask every few seconds
    serving.children()
    is_over.set()
    for reader in readers:
        reader.join()
    serving.end(signal.SIGTERM)

    intervals = 1 + (time.monotonic() - began) // logs.INTERVAL_SECONDS
    causes = Counter(VARYING.sub("#", found["cause"]) for found in LINE.finditer(serving.said()))
    assert "Traceback" not in serving.said()
    assert any("turnwise.live.sockets.layer" in cause for cause in causes)
    assert max(causes.values()) <= WRITERS * intervals, causes


@pytest.fixture
def structured() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The objects in a structured log that gets everything."""
    stream, root = io.StringIO(), logging.getLogger()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(JsonLine())
    root.addHandler(handler)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.removeHandler(handler)
    log_context.clear()


def test_a_structured_log_has_ids_and_code_but_no_text_of_people(
    structured: Callable[[], list[dict[str, Any]]],
) -> None:
    log_context.bind(study=4, dialogue="d")
    try:
        raise ValueError("my name is Wanda")
    except ValueError:
        logging.getLogger("turnwise.x").exception("A reply\nwas lost.")

    (entry,) = structured()

    assert (entry["study"], entry["dialogue"], entry["message"]) == (4, "d", "A reply was lost.")
    assert entry["error"] == "builtins.ValueError"
    assert "test_logs.py" in entry["stack"][0]
    assert "Wanda" not in json.dumps(entry)


@pytest.mark.django_db
def test_the_access_log_has_the_route_and_the_request_s_id_but_no_address(
    client: Client, settings: Any, structured: Callable[[], list[dict[str, Any]]]
) -> None:
    settings.ACCESS_LOG = True
    answer = client.get("/s/of-nobody/?PROLIFIC_PID=secret", headers={"x-request-id": "abc-12345"})
    evil = client.get("/healthz", headers={"x-request-id": "a b\u00e9"})

    first, second = [each for each in structured() if each["logger"] == "turnwise.access"]

    assert (first["request"], answer["X-Request-ID"]) == ("abc-12345", "abc-12345")
    assert re.match(r"GET /s/<\S+ 404 \d+ ms", first["message"])
    assert "secret" not in json.dumps(first)
    assert "of-nobody" not in json.dumps(first)
    assert second["request"] == evil["X-Request-ID"] != "a b\u00e9"
