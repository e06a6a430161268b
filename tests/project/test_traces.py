"""Pages, turns and jobs as spans at a collector that speaks OTLP over HTTP."""

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings as configured
from django.test import Client
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from pytest_django.fixtures import Settings

from tests.conftest import MakeStudy, OpenTab, start_dialogue
from turnwise.dialogues.models import Dialogue
from turnwise.live.traces import spans
from turnwise.project.celery import beat_heart
from turnwise.project.supervision import supervisor
from turnwise.studies.asks import Moment

SETTINGS = {"DJANGO_SETTINGS_MODULE": "turnwise.project.settings"}

pytestmark = pytest.mark.django_db(transaction=True)


class Collector:
    """Collector of traces: keeps the spans that it gets."""

    def __init__(self) -> None:
        self.spans: list[Any] = []
        self.processes: set[str] = set()
        self.bodies: list[bytes] = []
        collector = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                if self.path == "/v1/traces":
                    collector.keep(body)
                self.send_response(200)
                self.end_headers()

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def keep(self, body: bytes) -> None:
        self.bodies.append(body)
        for of_process in ExportTraceServiceRequest.FromString(body).resource_spans:
            about = {each.key: each.value.string_value for each in of_process.resource.attributes}
            self.processes.add(about["turnwise.process"])
            for scope in of_process.scope_spans:
                self.spans += scope.spans

    def named(self, name: str) -> list[Any]:
        return [each for each in self.spans if each.name == name]


def attributes(span: Any) -> dict[str, Any]:
    return {each.key: each.value.string_value or each.value.int_value for each in span.attributes}


@pytest.fixture
def collector(settings: Settings) -> Iterator[Collector]:
    made = Collector()
    settings.TRACES = made.address
    yield made
    spans.stop()
    made.server.shutdown()
    made.server.server_close()


def test_a_page_is_a_span_with_its_route_and_without_its_query(client: Client, collector: Collector) -> None:
    spans.start("tests")

    client.get("/sign-in/?next=/secret-of-somebody/", headers={"X-Request-ID": "a-known-id"})
    spans.stop()

    (page,) = collector.named("GET /sign-in/")
    assert attributes(page)["http.response.status_code"] == 200
    assert attributes(page)["turnwise.request"] == "a-known-id"
    assert collector.processes == {"tests"}
    assert not any(b"secret-of-somebody" in body for body in collector.bodies)


@sync_to_async
def talker(make_study: MakeStudy) -> Dialogue:
    return start_dialogue(make_study({"scripty": 9}, moment=Moment.BEFORE_FINISH))


async def test_a_turn_is_one_trace_without_what_was_said(
    make_study: MakeStudy, open_tab: OpenTab, collector: Collector
) -> None:
    spans.start("tests")
    tab = await open_tab(await talker(make_study))
    await tab.say("A message that stays private")
    await tab.say("Another one")
    await sync_to_async(spans.stop)()

    turns = collector.named("turn")
    assert len(turns) == 2
    assert len({each.trace_id for each in turns}) == 2
    for turn in turns:
        of_turn = [each for each in collector.spans if each.trace_id == turn.trace_id]
        names = {each.name for each in of_turn}
        assert names & {"ask bot", "ask quick bot"}, names
        assert names & {"save reply", "save message and reply"}, names
        assert {turn.span_id} == {each.span_id for each in of_turn if not each.parent_span_id}
    assert not any(b"stays private" in body for body in collector.bodies)


def test_a_job_belongs_to_the_trace_that_asked_for_it(collector: Collector, tmp_path: Path) -> None:
    database = urlsplit(os.environ["DATABASE_URL"])._replace(
        path=f"/{configured.DATABASES['default']['NAME']}"
    )
    environment = os.environ | {
        "DATABASE_URL": urlunsplit(database), "TURNWISE_BOTS": "none", "TURNWISE_TRACES": collector.address,
    }  # fmt: skip
    command = [sys.executable, *supervisor.WORKER.split(), *supervisor.HOUSEKEEPING.split()]
    with (tmp_path / "worker").open("w") as log:
        worker = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        spans.start("tests")
        with spans.span("page"):
            beat_heart.apply_async(("housekeeping",), queue="housekeeping")
        spans.stop()
        deadline = time.monotonic() + 120
        (page,) = collector.named("page")
        while not (jobs := [each for each in collector.named("job") if each.trace_id == page.trace_id]):
            assert time.monotonic() < deadline, (tmp_path / "worker").read_text()
            time.sleep(0.1)
    finally:
        worker.send_signal(signal.SIGTERM)
        worker.wait(120)

    assert jobs[0].parent_span_id == page.span_id
    assert attributes(jobs[0])["turnwise.task"] == "turnwise.project.celery.beat_heart"


def test_statements_have_their_text_and_not_their_values(client: Client, collector: Collector) -> None:
    from django.db import connection

    connection.close()  # traced from the next connection on
    spans.start("tests")

    client.get("/api/studies", headers={"Authorization": "Bearer a-token-of-nobody"})
    spans.stop()
    connection.close()

    page = next(each for each in collector.spans if each.name.startswith("GET /api/"))
    statements = [each for each in collector.spans if each.trace_id == page.trace_id and each is not page]
    assert any("SELECT" in str(attributes(each)) for each in statements)
    assert not any(b"a-token-of-nobody" in body for body in collector.bodies)


def test_without_a_collector_no_exporter_is_loaded() -> None:
    code = (
        "import django; django.setup(); import turnwise.project.sockets, turnwise.project.celery, sys; "
        "from turnwise.live.traces import spans; spans.start('x'); "
        "unwanted = ('opentelemetry.exporter', 'opentelemetry.sdk.trace'); "
        "print([each for each in sys.modules if each.startswith(unwanted)])"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | SETTINGS | {"TURNWISE_TRACES": ""},
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert said.stdout.strip() == "[]"


def test_an_address_that_is_none_is_refused() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "import django; django.setup()"],
        env=os.environ | SETTINGS | {"TURNWISE_TRACES": "collector:4318"},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert said.returncode != 0
    assert "TURNWISE_TRACES='collector:4318' is no address" in said.stderr
