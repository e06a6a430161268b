import io
import logging
from collections.abc import Iterator

import pytest

from turnwise.project import logs
from turnwise.project.logs import OncePerInterval


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
