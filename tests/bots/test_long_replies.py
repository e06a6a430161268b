"""A reply of 32,000 characters on its whole way: service, host process, Redis, socket, database, export."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from pytest_django.fixtures import Settings

from evaluation.texts.lengths import MAX_REPLY_CHARS
from tests.bots.conftest import StartHost
from tests.conftest import MakeStudy, OpenTab, start_dialogue
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.dialogues.models import Turn
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

_PIECE = "\n\n## Heading 😀 \u2067\u05e9\u2069\r\n\t- item\n      - nested\n\n| a | b |\n"
LONG = (_PIECE * (MAX_REPLY_CHARS // len(_PIECE) + 1))[: MAX_REPLY_CHARS - 3] + "z \n"


class Completions(BaseHTTPRequestHandler):
    """A chat completions API that says the long text."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": LONG}}
        usage = {"prompt_tokens": 9, "completion_tokens": 8_000, "total_tokens": 8_009}
        body = json.dumps({"model": "long-1", "choices": [choice], "usage": usage}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Keep the test's output clean."""


@pytest.fixture
def service() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Completions)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


@pytest.fixture
def long_winded(make_study: MakeStudy, service: str, settings: Settings, start_host: StartHost) -> Study:
    """A study whose bot runs in a process of its own and asks the service."""
    settings.BOTS_HERE = frozenset()
    study = make_study()
    Bot.objects.update(adapter="openai-chat", configuration={"base_url": service, "model": "long-1"})
    start_host("scripty", TURNWISE_ALLOWED_NETWORKS="127.0.0.0/8")
    return study


def _export(client: Client, study: Study) -> str:
    """The study's labels as JSON Lines."""
    return bytes(client.get(f"/studies/{study.pk}/turns.jsonl").getvalue()).decode()


async def test_it_arrives_byte_for_byte(
    long_winded: Study, open_tab: OpenTab, rex: User, sign_in: SignIn
) -> None:
    assert len(LONG) == MAX_REPLY_CHARS == 32_000
    dialogue = await sync_to_async(start_dialogue)(long_winded)
    tab = await open_tab(dialogue)

    reply = await tab.say("Tell me all")
    await tab.label(reply["turn"]["position"], sensible=True, specific=True)
    again = await tab.say("And more")  # the long turn is in the context of the next request

    assert reply["turn"]["text"] == LONG
    assert again["turn"]["text"] == LONG
    turn = await Turn.objects.aget(dialogue=dialogue, position=2)
    assert turn.text == LONG
    assert turn.how.usage is not None
    assert turn.how.usage.completion == 8_000
    exported = await sync_to_async(lambda: _export(sign_in(rex), long_winded))()
    (line,) = [json.loads(line) for line in exported.split("\n") if line]
    assert line["response"] == LONG
    assert (line["outcome"], line["completion_tokens"]) == ("complete", 8_000)
