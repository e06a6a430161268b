"""An export as an ASGI server sends it."""

import asyncio
import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.db import connection
from django.test import Client

from tests.conftest import MakeStudy, OpenTab
from tests.planted import talked
from turnwise.accounts.models import User
from turnwise.dialogues.models import Dialogue
from turnwise.exports import turn_files
from turnwise.labels.models import Label
from turnwise.live import downloads
from turnwise.project.asgi import pages


def open_transactions() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE datname = current_database() AND state LIKE 'idle in transaction%'"
        )
        row = cursor.fetchone()
    assert row
    return int(row[0])


async def sent_until(path: str, cookie: str, *, parts: int) -> list[dict[str, Any]]:
    """What the server sends to a browser that leaves once it has so many messages."""
    sent: list[dict[str, Any]] = []
    heard: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
    heard.put_nowait({"type": "http.request", "body": b"", "more_body": False})

    async def send(message: dict[str, Any]) -> None:
        sent.append(message)
        if len(sent) == parts:
            heard.put_nowait({"type": "http.disconnect"})
            await asyncio.Event().wait()  # the line is full, until the server gives up

    headers = [(b"host", b"localhost"), (b"cookie", f"sessionid={cookie}".encode())]
    scope = {"type": "http", "http_version": "1.1", "method": "GET", "scheme": "http", "path": path}
    await asyncio.wait_for(pages(scope | {"query_string": b"", "headers": headers}, heard.get, send), 20)  # type: ignore[arg-type]
    return sent


# That is how a generator complains which could not end its transaction when it was thrown away.
@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
async def test_an_aborted_export_leaves_no_transaction_open(
    dialogue: Dialogue, open_tab: OpenTab, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_files.labelled_turns, "__kwdefaults__", {"batch": 1})
    monkeypatch.setattr(downloads, "CHUNK_SIZE", 1)
    tab = await open_tab(dialogue)
    for text in ("One", "Two", "Three"):
        await tab.exchange(text)
    client = Client()
    await sync_to_async(client.force_login)(ada)

    sent = await sent_until(
        f"/studies/{dialogue.study_id}/turns.csv", client.cookies["sessionid"].value, parts=3
    )

    assert [message["type"] for message in sent] == ["http.response.start", *["http.response.body"] * 2]
    assert b"Go on." in sent[2]["body"]
    assert await sync_to_async(open_transactions)() == 0


async def test_short_chunks_of_a_file_share_a_message(
    dialogue: Dialogue, open_tab: OpenTab, ada: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turn_files.labelled_turns, "__kwdefaults__", {"batch": 1})
    tab = await open_tab(dialogue)
    await tab.exchange("One")
    client = Client()
    await sync_to_async(client.force_login)(ada)

    sent = await sent_until(
        f"/studies/{dialogue.study_id}/turns.csv", client.cookies["sessionid"].value, parts=2
    )

    assert sent[1]["body"].startswith(b"study,bot")
    assert b"Go on." in sent[1]["body"]


@pytest.mark.django_db(transaction=True)
def test_every_label_is_sent_once_conversation_by_conversation(
    make_study: MakeStudy, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, other = (make_study({"ann": 9}, min_turns=2, max_turns=8) for _ in range(2))
    for each in (study, other, study, study):
        talked(each, [(True, True), (False, False)])
    monkeypatch.setattr(turn_files, "FIRST_BATCH", 1)

    sent = [row for batch in turn_files.labelled_turns(study, batch=2) for row in batch]

    labels = Label.objects.filter(study=study).select_related("turn__dialogue")
    wanted = sorted(labels, key=lambda each: (each.turn.dialogue_id, each.turn.position, each.pk))
    assert len(wanted) == 6
    assert [(row.dialogue, row.turn, json.loads(row.answers)) for row in sent] == [
        (str(each.turn.dialogue.public_id), each.turn.position, each.answers) for each in wanted
    ]
