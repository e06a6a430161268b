"""A reply that is stopped in a tab which another process serves."""

from collections.abc import Iterator
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

from tests.conftest import MakeStudy, session_cookie, start_dialogue, worker_of
from tests.operating.test_two_servers import Line
from tests.server import Server
from turnwise.crowd.entry.sessions import COOKIE
from turnwise.dialogues.models import Turn
from turnwise.studies.models import ReplyDisplay

pytestmark = pytest.mark.django_db(transaction=True)

WHOLE = "I would rather not talk about that, and I shall tell you at length why I do not. " * 40


@pytest.fixture(scope="module")
def servers(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    two = [Server(tmp_path_factory.mktemp(name) / "log") for name in ("shows", "stops")]
    for server in two:
        server.start()
    yield two
    for server in two:
        server.end()


async def test_a_tab_of_another_process_stops_the_reply(servers: list[Server], make_study: MakeStudy) -> None:
    script = {"replies": [WHOLE], "characters_per_second": 50}
    fields = {"reply_display": ReplyDisplay.AS_IT_COMES, "may_stop_replies": True}
    study = await sync_to_async(make_study)(script=script, **fields)
    dialogue = await sync_to_async(start_dialogue)(study)
    cookie = f"{COOKIE}={await sync_to_async(lambda: session_cookie(worker_of(dialogue)))()}"
    path = f"/ws/dialogues/{dialogue.public_id}/"
    shows, stops = [await Line.to(server, path, cookie) for server in servers]
    await shows.hear("state")
    await stops.hear("state")
    await shows.send(type="turn", key=str(uuid4()), text="Tell me")
    await stops.hear("bot_text")

    await stops.send(type="stop", position=2)
    final = await shows.hear("bot_turn")

    turn = await Turn.objects.aget(dialogue=dialogue, position=2)
    assert final["turn"]["text"] == turn.text
    assert WHOLE.startswith(turn.text)
    assert len(turn.text) < len(WHOLE)
    assert turn.how.outcome == "stopped"
    assert turn.how.outcome_before_stop is None  # nobody knows how it would have ended
    for line in (shows, stops):
        await line.socket.close()
