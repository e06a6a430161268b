"""`turnwise.client` against a real server with all its processes, and against one that fails."""

import json
import os
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import pyarrow.parquet
import pytest

from turnwise.client import ApiError, Client, Dialogue, Label, Participant, Study, Turn
from turnwise.client.command import main as call_from_shell
from turnwise.project.api import api

ROOT = Path(__file__).parents[2]
MAKE_TOKEN = """
from turnwise.accounts.credentials import create_token
from turnwise.accounts.models import User
owner = User.objects.get(is_superuser=True)
print(create_token(owner, "script"), create_token(owner, "reader", scopes=["read"]))
"""


@pytest.fixture(scope="module")
def installation(
    serve: Callable[..., Any],
    manage: Callable[..., subprocess.CompletedProcess[str]],
    new_folder: Callable[[], Path],
    prepared_var: Callable[[Path], Path],
) -> tuple[str, str, str]:
    """Address of a running installation, a token of its admin, and one that may only read."""
    var = prepared_var(new_folder())
    running = serve(var, "--port", "0", TURNWISE_BOTS="eliza,generic")
    running.wait_until_said("Turnwise is ready")
    made = manage("shell", "--no-imports", "-c", MAKE_TOKEN, TURNWISE_VAR=str(var))
    every, reading = made.stdout.split()
    return running.link, every, reading


@pytest.mark.timeout(600)
def test_a_study_runs_from_a_draft_to_a_recomputed_bundle(
    installation: tuple[str, str, str], tmp_path: Path
) -> None:
    address, token, _ = installation
    with Client(address, token) as client:
        study = Study.create(
            client, "Small talk", preset="meena-interactive", bots={"eliza": 3}, min_turns=4, max_turns=8
        )
        study.set_bots({"eliza": 6, "generic": 6})
        study.change(consent_text="You talk with a machine. You can stop at any time.")
        rehearsal = study.rehearse(4)
        copy = rehearsal.study
        participants, labels = copy.participants().to_list(), copy.labels().to_list()
        turns, dialogues = copy.turns().to_list(), copy.dialogues().to_list()
        report = copy.report()
        bundle = copy.bundle(tmp_path / "study.zip")
        table = pyarrow.parquet.read_table(copy.table("labels", tmp_path / "labels.parquet"))
        checks = study.checks()
        study.open()
        found = next(iter(Study.find(client, "small talk")))

    assert rehearsal.verdict
    assert rehearsal.findings
    assert len(participants) == 4
    assert {turn["dialogue"] for turn in turns} <= {each["dialogue"] for each in dialogues}
    assert {label["rater"] for label in labels} <= {each["worker"] for each in participants}
    assert table.num_rows == len(labels) > 0
    assert (study.settings["min_turns"], study.bots) == (4, {"eliza": 6, "generic": 6})
    assert (checks["can_open"], study.state, found["code"]) == (True, "open", study.code)
    command = [sys.executable, "-m", "evaluation", "recompute", str(bundle)]
    recomputed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert recomputed.returncode == 0, recomputed.stderr
    stored = json.loads(zipfile.ZipFile(bundle).read("report.json"))
    assert report.keys() <= stored.keys()
    assert {key: stored[key] for key in report} == report


def test_refusals_are_errors_that_name_fields_scope_and_kind(installation: tuple[str, str, str]) -> None:
    address, token, reading = installation
    with Client(address, token) as client, Client(address, reading) as reader, Client(address, "x") as nobody:
        with pytest.raises(ApiError) as wrong:
            Study.create(client, "", min_turns=1)
        with pytest.raises(ApiError) as lacks_scope:
            Study.create(reader, "A")
        with pytest.raises(ApiError) as no_token:
            list(Study.find(nobody))
        with pytest.raises(ApiError) as unknown:
            Study.get(reader, "nothing")

    assert (wrong.value.status, {each.field for each in wrong.value.errors}) == (422, {"title", "min_turns"})
    assert "min_turns: " in str(wrong.value)
    assert (lacks_scope.value.kind, lacks_scope.value.scope) == ("no-scope", "studies")
    assert no_token.value.kind == "no-token"
    assert (unknown.value.kind, "GET /api/studies lists" in unknown.value.detail) == ("not-found", True)


def shell(link: str, token: str, *arguments: str, sent: str = "") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "turnwise", "api", *arguments]
    environment = {**os.environ, "TURNWISE_URL": link, "TURNWISE_TOKEN": token}
    return subprocess.run(command, env=environment, capture_output=True, text=True, input=sent)


def test_the_api_is_called_from_the_shell(installation: tuple[str, str, str], tmp_path: Path) -> None:
    address, token, reading = installation
    draft = json.dumps({"title": "From the shell", "preset": "meena-interactive", "bots": {"eliza": 2}})

    made = shell(address, token, "post", "/api/studies", "-b", "-", sent=draft)
    assert made.returncode == 0, made.stderr
    code = json.loads(made.stdout)["code"]
    rows = shell(address, token, "GET", "studies", "-q", "find=from the shell", "--all").stdout.splitlines()
    target = tmp_path / "turns.csv"
    written = shell(
        address, token, "GET", f"/studies/{code}/tables/turns", "-q", "format=csv", "-o", str(target)
    )
    refused = shell(address, reading, "POST", "/studies", "-b", draft)
    absent = shell(address, token, "GET", "/studies/none")

    assert [json.loads(row)["code"] for row in rows] == [code]
    assert (written.returncode, target.read_text()[:9]) == (0, "dialogue,"), written.stderr
    assert (refused.returncode, "studies" in refused.stderr) == (1, True)
    assert (absent.returncode, absent.stderr.startswith("404")) == (1, True)


@pytest.mark.parametrize(
    ("arguments", "status", "says"),
    [
        (["GET", "https://elsewhere.example/api/bots"], 2, "is no path"),
        (["GET", "/bots", "-q", "limit"], 2, "NAME=VALUE"),
        (["POST", "/bots", "-b", "{"], 2, "not JSON"),
        (["POST", "/bots", "-b", "@none.json"], 2, "cannot be read"),
    ],
)
def test_a_wrong_call_from_the_shell_is_explained(
    arguments: list[str],
    status: int,
    says: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("TURNWISE_TOKEN", "turnwise_x")
    with pytest.raises(SystemExit) as ended:
        call_from_shell(arguments)
    assert ended.value.code == status
    assert says in capsys.readouterr().err


def test_the_shell_needs_a_token_and_a_server(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("TURNWISE_TOKEN", raising=False)
    assert call_from_shell(["GET", "/bots"]) == 2
    monkeypatch.setenv("TURNWISE_TOKEN", "turnwise_x")
    monkeypatch.setenv("TURNWISE_URL", "localhost")
    assert call_from_shell(["GET", "/bots"]) == 2
    assert "http://" in capsys.readouterr().err


def test_the_rows_are_typed_as_the_api_describes_them() -> None:
    described = api.get_openapi_schema()["components"]["schemas"]

    for row, schema in (
        (Participant, "ParticipantOut"),
        (Dialogue, "DialogueOut"),
        (Turn, "TurnOut"),
        (Label, "LabelOut"),
    ):
        assert row.__annotations__.keys() == described[schema]["properties"].keys()


# --- a server that fails ----------------------------------------------------------------------

Answer = tuple[int, dict[str, str], object]


class Failing:
    """HTTP server that gives these answers in turn; None closes the connection without one."""

    def __init__(self, *answers: Answer | None) -> None:
        left, self.keys = list(answers), list[str | None]()
        keys = self.keys

        class Handler(BaseHTTPRequestHandler):
            def _answer(self) -> None:
                keys.append(self.headers.get("Idempotency-Key"))
                self.rfile.read(int(self.headers.get("Content-Length", 0)))
                answer = left.pop(0)
                if answer is None:
                    self.close_connection = True
                    return
                status, headers, body = answer
                content = json.dumps(body).encode()
                self.send_response(status)
                for name, value in (headers | {"Content-Length": str(len(content))}).items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = _answer  # noqa: N815

            def log_message(self, *_: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        self.address = f"http://127.0.0.1:{self._server.server_port}"

    def end(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def failing() -> Iterator[Callable[..., Failing]]:
    servers = list[Failing]()

    def start(*answers: Answer | None) -> Failing:
        servers.append(Failing(*answers))
        return servers[-1]

    yield start
    for each in servers:
        each.end()


def test_a_request_is_sent_again_with_its_key_until_it_is_answered(
    failing: Callable[..., Failing],
) -> None:
    busy = {"detail": "Wait a little."}
    server = failing(None, (503, {}, busy), (429, {"Retry-After": "7"}, busy), (201, {}, {"code": "abc"}))
    slept = list[float]()

    with Client(server.address, "token", sleep=slept.append) as client:
        made = client.call("POST", "/studies", {"title": "A"})

    assert made == {"code": "abc"}
    assert len(server.keys) == 4
    assert len({*server.keys}) == 1
    assert server.keys[0]
    assert slept == [0.5, 1.0, 7.0]


@pytest.mark.parametrize(
    ("answers", "status"),
    [
        ([(422, {}, {"detail": "Wrong."})], 422),
        ([(429, {"Retry-After": "86400"}, {"detail": "Go on in a day."})], 429),
        ([(502, {}, "a proxy's page")] * 5, 502),
    ],
)
def test_a_refusal_is_not_repeated_where_that_is_of_no_use(
    failing: Callable[..., Failing], answers: list[Answer], status: int
) -> None:
    server = failing(*answers)

    with Client(server.address, "token", sleep=lambda _: None) as client, pytest.raises(ApiError) as refused:
        client.get("/bots")

    assert (refused.value.status, len(server.keys)) == (status, len(answers))
    assert refused.value.detail


def test_a_server_that_never_answers_is_the_network_s_error(failing: Callable[..., Failing]) -> None:
    server = failing(*[None] * 5)

    with Client(server.address, "token", sleep=lambda _: None) as client, pytest.raises(httpx.TransportError):
        client.get("/bots")

    assert len(server.keys) == 5


def test_a_job_that_is_not_done_in_time_is_said(failing: Callable[..., Failing]) -> None:
    waiting: Answer = (200, {}, {"state": "running"})
    server = failing(*[waiting] * 3)

    with (
        Client(server.address, "token", sleep=lambda _: None) as client,
        pytest.raises(
            TimeoutError, match=r"The report is not done after 0 seconds\. It goes on; look later\."
        ),
    ):
        client.wait(lambda: client.get("/x"), lambda _: False, timeout=0, what="The report")
