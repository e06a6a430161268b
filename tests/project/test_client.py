"""`turnwise.client` against a real server with all its processes, and against one that fails."""

import asyncio
import json
import os
import re
import runpy
import subprocess
import sys
import threading
import zipfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import httpx
import nbformat
import pyarrow.parquet
import pytest
from nbclient import NotebookClient

from turnwise.client import (
    AnchorPack,
    ApiError,
    AsyncClient,
    AsyncContextSet,
    AsyncRun,
    AsyncStudy,
    Client,
    Context,
    Decision,
    Dialogue,
    Dispute,
    Flag,
    Item,
    JobFailedError,
    Label,
    Participant,
    Redaction,
    Response,
    SavedMessages,
    SentPicture,
    Study,
    Turn,
)
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
        chats = copy.download(tmp_path / "openai.jsonl").read_text().splitlines()
        offered = {each["name"] for each in copy.files()}
        checks = study.checks()
        study.open()
        found = next(iter(Study.find(client, "small talk")))

    assert rehearsal.verdict
    assert rehearsal.findings
    assert len(participants) == 4
    assert {turn["dialogue"] for turn in turns} <= {each["dialogue"] for each in dialogues}
    assert {label["rater"] for label in labels} <= {each["worker"] for each in participants}
    assert table.num_rows == len(labels) > 0
    assert len(chats) == sum(each["ending"] == "complete" for each in dialogues) > 0
    assert {"turns.csv", "openai.jsonl", "turn_table.xlsx"} <= offered
    assert (study.settings["min_turns"], study.bots) == (4, {"eliza": 6, "generic": 6})
    assert (checks["can_open"], study.state, found["code"]) == (True, "open", study.code)
    command = [sys.executable, "-m", "evaluation", "recompute", str(bundle)]
    recomputed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert recomputed.returncode == 0, recomputed.stderr
    stored = json.loads(zipfile.ZipFile(bundle).read("report.json"))
    assert report.keys() <= stored.keys()
    assert {key: stored[key] for key in report} == report


async def consent(entry: str) -> None:
    """Agree to take part, as a worker's browser does."""
    async with httpx.AsyncClient(follow_redirects=True) as browser:
        page = await browser.get(entry)
        token = re.search(r'name="csrfmiddlewaretoken" value="(\w+)"', page.text)
        assert token
        sent = {"agree": "yes", "consent": "1", "csrfmiddlewaretoken": token[1]}
        (await browser.post(f"{entry}consent/", data=sent)).raise_for_status()


CONTEXTS = ["Hi! How are you?", "Do you like the sea?", "I lost my job today.", "What is your cat called?"]


@pytest.mark.timeout(600)
async def test_a_judging_study_is_made_without_blocking_the_event_loop(
    installation: tuple[str, str, str], tmp_path: Path
) -> None:
    address, token, _ = installation
    file = tmp_path / "contexts.jsonl"
    file.write_text("\n".join(json.dumps({"id": str(n), "turns": [text]}) for n, text in enumerate(CONTEXTS)))
    async with AsyncClient(address, token) as client:
        contexts = await AsyncContextSet.load(
            client, file, name="small", title="Small", licence="CC0", description="Four."
        )
        drawn = await contexts.draw(2, seed=3)
        eliza, generic = await asyncio.gather(contexts.run("eliza", seed=1), contexts.run("generic", seed=1))
        await asyncio.gather(eliza.wait(timeout=300), generic.wait(timeout=300))
        responses = [row async for row in eliza.responses()]
        study = await AsyncStudy.create(
            client, "Static", preset="meena-static", consent_text="You judge replies of machines."
        )
        added = await study.queue.add_responses([eliza.id, generic.id])
        again = await study.queue.add_responses([eliza.id, generic.id])
        plan = await study.queue.change_plan(raters_per_item=2, batch_size=4)
        items = await study.queue.items().to_list()
        gold = await study.queue.declare_gold(items[0]["key"], {"sensible": [True], "specific": [False]})
        removed = await study.queue.remove([items[1]["key"]])
        limits = await study.quality.change_limits(gold_least=0.5)
        copy = (await study.rehearse(4)).study
        bundle = await copy.bundle(tmp_path / "static.zip")
        await study.open()
        await consent(study.link)
        person = (await study.participants().to_list())[0]
        decision = await study.quality.decide(person["worker"], "exclude", "Answers at random.")
        undone = await study.quality.undo(decision["id"])
        decided, flags = await asyncio.gather(
            study.quality.decisions().to_list(), study.quality.flags().to_list()
        )
        systems = await study.queue.systems()
        with pytest.raises(ApiError) as refused:
            await study.queue.declare_gold(items[2]["key"], {"funny": [True]})

    assert [row["context"] for row in sorted(responses, key=lambda row: row["context"])] == list("0123")
    assert len(drawn.details["versions"]) == contexts.version == 1
    assert (added, again, plan["raters_per_item"], len(items)) == (8, 0, 2, 8)
    assert gold["gold"] == {"sensible": [True], "specific": [False]}
    assert (removed, limits["gold_least"]) == (1, 0.5)
    assert (undone["undone"], decided[-1]["action"], flags) == (True, "exclude", [])
    assert "report.json" in zipfile.ZipFile(bundle).namelist()
    assert {each["system"] for each in systems} == {eliza.details["system"], generic.details["system"]}
    assert (refused.value.status, "funny" in str(refused.value)) == (422, True)


LINE = {"said_before": ["Hi!"], "known": {"sensible": {"value": 0.5, "error": 0.1, "raters": 4}}}
PACK = [
    {"format": 1, "title": "Wave 1", "question_set": "ssa", "common_variance": {"sensible": 0.01}},
    *({**LINE, "text": f"Reply {number}"} for number in range(3)),
]


@pytest.mark.timeout(600)
def test_every_other_method_of_a_study_reaches_its_call(
    installation: tuple[str, str, str], tmp_path: Path
) -> None:
    address, token, _ = installation
    conversations, pack_file = tmp_path / "old.txt", tmp_path / "pack.jsonl"
    conversations.write_text("Human: Hi, I am at ann@example.org\nEliza: Hello\n")
    pack_file.write_text("\n".join(map(json.dumps, PACK)))
    with Client(address, token) as client:
        study = Study.create(
            client, "Calls", preset="meena-interactive", bots={"eliza": 3}, min_turns=2,
            consent_text="You talk with a machine.", pay_amount="1.00", contact="lab@example.org",
        )  # fmt: skip
        panels = study.set_panels(prolific={"codes": {"complete": "C1", "screened_out": "S1"}}, open={})
        shown = study.panels()
        imported = study.import_conversations(
            conversations, systems={"Human": "", "Eliza": "Eliza"}, language="en"
        )
        likely = [row["text"] for found in study.texts.find() for row in found["found"]]
        redacted = study.texts.redact(likely, kind="email")
        texts = [turn["text"] for turn in study.turns()]
        undone = study.texts.undo(study.texts.redactions().to_list()[0]["id"])
        check = study.quality.add_check("ssa", "sensible", True)
        left = study.quality.remove_check(check["id"])
        study.open()
        asyncio.run(consent(study.link))
        worker = study.participants().to_list()[0]["worker"]
        ended = study.end(worker, "withdrawn"), study.end(worker, "withdrawn")
        study.give_bonus([worker], "0.50", "Thank you.")
        bonuses = client.get(f"/studies/{study.code}/payments")
        with pytest.raises(ApiError) as nothing_to_publish:
            study.publications.preview("Calls")
        with pytest.raises(ApiError) as nothing_to_revoke:
            study.publications.revoke()

        saved = SavedMessages(client)
        message = saved.add("Thanks", "Thank you, {worker}.", kind="thanks")
        kept = saved.all()
        saved.remove(message["id"])
        none_left = saved.all()

        judging = Study.create(client, "Judged", preset="meena-static")
        declared = judging.adjudication.declare(2)
        pack = AnchorPack.load(client, pack_file)
        added = judging.queue.add_anchors(pack.id)
        again = AnchorPack.load(client, pack.save(tmp_path / "saved.jsonl"))
        taken_out = judging.queue.remove_anchors(pack.id)
        table = again.save(tmp_path / "saved.csv").read_text()
        again.rename("Renamed")
        deleted_pack = again.delete()
        disputes = judging.adjudication.items().to_list()

    assert panels.keys() == shown.keys() == {"prolific", "open"}
    assert (imported["conversations"], likely, redacted) == (1, ["ann@example.org"], 1)
    assert texts == ["Hi, I am at [e-mail]", "Hello"]
    assert undone["undone_at"]
    assert (check["right"], left) == (True, [])
    assert ended == (True, False)
    assert "0.50" in str(bonuses)
    assert (nothing_to_publish.value.status, nothing_to_revoke.value.status) == (409, 404)
    assert ([row["title"] for row in kept], none_left) == (["Thanks"], [])
    assert (declared["steps"], disputes) == (2, [])
    assert (added[0]["anchors"], taken_out) == (3, [])
    assert (again.details["version"], again.details["sha256"]) == (2, pack.details["sha256"])
    assert table.startswith("pack,version,anchor,subject")
    assert deleted_pack["what"] == "Anchor pack Renamed, version 2"


@pytest.mark.timeout(600)
def test_the_notebook_of_the_manual_draws_a_figure(
    installation: tuple[str, str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    address, token, _ = installation
    notebook = nbformat.read(ROOT / "docs" / "study.ipynb", as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.outputs for cell in code] == [[]] * len(code)  # as committed
    for name, value in (("URL", address), ("TOKEN", token)):
        monkeypatch.setenv(f"TURNWISE_{name}", value)
    monkeypatch.setenv("WORKERS", "4")
    monkeypatch.setenv("PYTHONPATH", str(ROOT / "platform"))

    resources = {"metadata": {"path": str(tmp_path)}}
    NotebookClient(notebook, timeout=500, kernel_name="python3", resources=resources).execute()

    shown = [output.get("data", {}) for cell in code for output in cell.outputs]
    assert any("image/png" in data for data in shown)
    assert zipfile.is_zipfile(tmp_path / "study.zip")


def test_the_blocking_client_is_written_from_the_other_one() -> None:
    written = runpy.run_path(str(ROOT / "scripts" / "blocking_client.py"))["modules"]()

    assert [path.name for path, text in written.items() if path.read_text() != text] == []


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

    environment = {**os.environ, "TURNWISE_URL": address, "TURNWISE_TOKEN": token}
    listing = f"{sys.executable} -m turnwise api GET /adapters | head --lines 1"
    cut = subprocess.run(["bash", "-c", listing], env=environment, capture_output=True, text=True)
    assert (cut.stdout, cut.stderr) == ("[\n", "")
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
        (Redaction, "RedactionOut"),
        (SentPicture, "SentPictureOut"),
        (Dispute, "DisputeOut"),
        (Turn, "TurnOut"),
        (Label, "LabelOut"),
        (Item, "ItemOut"),
        (Flag, "FlagOut"),
        (Decision, "DecisionOut"),
        (Context, "ContextOut"),
        (Response, "ResponseOut"),
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


async def test_a_job_that_fails_ends_the_waiting(failing: Callable[..., Failing]) -> None:
    run = {"id": 7, "state": "queued", "reason": ""}
    server = failing(
        (202, {}, run), None, (200, {}, run | {"state": "failed", "reason": "The bot does not answer."})
    )

    async def wait(_: float) -> None:
        """Wait no time."""

    async with AsyncClient(server.address, "token", sleep=wait) as client:
        started = await AsyncRun.start(client, 1, "eliza")
        with pytest.raises(JobFailedError, match=r"The run failed\. The bot does not answer\."):
            await started.wait()


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
