"""The server of the sockets or the host of the bot is killed while another reply is awaited.

Nothing is lost or doubled, and one version is the kept one.
"""

import asyncio
import signal
from collections.abc import Iterator
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

from tests.bots.conftest import StartHost, start_host
from tests.conftest import MakeStudy, session_cookie, start_dialogue, worker_of
from tests.operating.test_two_servers import PATIENCE, Line
from tests.server import Server
from turnwise.bots.hosting.presence import DIRECTORY
from turnwise.crowd.entry.sessions import COOKIE
from turnwise.dialogues.models import Dialogue, Fault, ReplyVersion, Turn
from turnwise.labels.models import Label
from turnwise.live.frames import Frame
from turnwise.studies.models import ReplyDisplay

__all__ = ["start_host"]  # the fixture
pytestmark = pytest.mark.django_db(transaction=True)

WHOLE = "I would rather not talk about that, and I shall tell you at length why I do not. " * 8
WHOLE = WHOLE.strip()


@pytest.fixture(scope="module")
def servers(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    two = [Server(tmp_path_factory.mktemp(name) / "log") for name in ("killed", "stays")]
    for server in two:
        server.start()
    yield two
    for server in two:
        server.end()


@pytest.fixture(autouse=True)
def _no_copy_is_known_at_the_end() -> Iterator[None]:
    yield
    DIRECTORY._copies.clear()  # of a database that is emptied now


class Talk:
    """A conversation whose bot writes slowly, and of which the worker may choose replies."""

    def __init__(self, dialogue: Dialogue, cookie: str) -> None:
        self.dialogue, self.cookie = dialogue, cookie

    @classmethod
    async def begin(cls, make_study: MakeStudy, bot: str = "writer") -> "Talk":
        script = {"replies": [WHOLE], "characters_per_second": 300}
        fields = {"reply_display": ReplyDisplay.AS_IT_COMES, "max_reply_versions": 5}
        study = await sync_to_async(make_study)({bot: 10}, script=script, **fields)
        dialogue = await sync_to_async(start_dialogue)(study)
        return cls(dialogue, f"{COOKIE}={await sync_to_async(lambda: session_cookie(worker_of(dialogue)))()}")

    async def opened(self, server: Server) -> tuple[Line, Frame]:
        line = await Line.to(server, f"/ws/dialogues/{self.dialogue.public_id}/", self.cookie)
        return line, await line.hear("state")

    async def versions(self) -> list[tuple[int, bool]]:
        """Number of each stored version, and whether it is kept, after checks of the texts."""
        stored = [each async for each in ReplyVersion.objects.filter(turn__dialogue=self.dialogue)]
        turns = [turn.text async for turn in Turn.objects.filter(dialogue=self.dialogue).order_by("position")]
        assert turns == ["Hi!", "Tell me", WHOLE]
        assert {each.text for each in stored} <= {WHOLE}
        assert sum(each.is_kept for each in stored) == min(1, len(stored))
        assert len({each.key for each in stored}) == len(stored)
        return sorted((each.number, each.is_kept) for each in stored)


async def answered(line: Line) -> None:
    await line.say("Tell me")
    await line.hear("bot_turn")


async def regenerate(line: Line, key: str) -> None:
    await line.send(type="regenerate", position=2, key=key)


@pytest.mark.parametrize("moment", ["regenerating", "bot_text"])
async def test_the_reply_before_stays_after_the_socket_server_is_killed(
    servers: list[Server], make_study: MakeStudy, moment: str
) -> None:
    key, talk = str(uuid4()), await Talk.begin(make_study)
    async with asyncio.timeout(PATIENCE):
        line, _ = await talk.opened(servers[0])
        await answered(line)
        await regenerate(line, str(uuid4()))
        await line.hear("bot_turn")
        await line.send(type="keep_version", position=2, number=1)
        await line.hear("bot_turn")

        await regenerate(line, key)
        await line.hear(moment)
        servers[0].end(kill=True)
        try:
            back, state = await talk.opened(servers[1])
            assert await talk.versions() == [(1, True), (2, False)]
            assert [turn["text"] for turn in state["turns"]] == ["Hi!", "Tell me", WHOLE]
            assert state["versions"] == {"position": 2, "number": 1, "of": 2}
            assert state["progress"]["unlabelled"] == [2]

            await regenerate(back, key)  # as the page does, or not
            assert (await back.hear("bot_turn"))["versions"] == {"position": 2, "number": 3, "of": 3}
            await regenerate(back, key)
            await back.hear("state")
        finally:
            servers[0].start()

    assert await talk.versions() == [(1, False), (2, False), (3, True)]
    assert not await Label.objects.aexists()
    assert not await Fault.objects.aexists()


@pytest.fixture
def server_without_bots(
    django_db_setup: None, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Server]:
    monkeypatch.setenv("TURNWISE_BOTS", "none")
    server = Server(tmp_path_factory.mktemp("sockets") / "log")
    server.start()
    yield server
    server.end()


async def test_another_host_gives_the_reply_once_after_the_bot_host_is_killed(
    server_without_bots: Server, make_study: MakeStudy, start_host: StartHost
) -> None:
    talk = await Talk.begin(make_study, "faraway")
    host = await sync_to_async(start_host)("faraway")
    async with asyncio.timeout(PATIENCE):
        line, _ = await talk.opened(server_without_bots)
        await answered(line)

        await regenerate(line, str(uuid4()))
        await line.hear("bot_text")
        await sync_to_async(host.end)(signal.SIGKILL)
        await sync_to_async(start_host)("faraway")

        frame = await line.hear("bot_turn")
        assert (frame["turn"]["text"], frame["versions"]) == (WHOLE, {"position": 2, "number": 2, "of": 2})
        _, state = await talk.opened(server_without_bots)

    assert state["versions"] == {"position": 2, "number": 2, "of": 2}
    assert await talk.versions() == [(1, False), (2, True)]
    assert not await Label.objects.aexists()
    assert not await Fault.objects.aexists()
