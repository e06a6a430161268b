"""Every process is killed in the middle of replies that grow: none is lost, doubled, or judged by half.

TURNWISE_STREAMS says how many conversations are held at the same time; the slow variant has 30.
"""

import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from typing_extensions import override
from websockets.asyncio.client import ClientConnection

from tests.faults import conftest
from tests.faults.conftest import BOTS, PATIENCE, WEB, Stack
from tests.faults.ledger import SILENCE, Chatter, Frame
from tests.faults.test_faults import STORED

pytestmark = pytest.mark.timeout(600)

CONVERSATIONS = int(os.environ.get("TURNWISE_STREAMS", "6"))
REPLY = " ".join(f"Word {number} of a long story." for number in range(1, 16))
MAKE_STUDY = (
    conftest.MAKE_STUDY.replace(
        '{"replies": ["Go on.", "Why?"], "seconds": seconds}',
        f'{{"replies": [{REPLY!r}], "seconds": seconds, "characters_per_second": 200}}',
    )
    .replace("practice=False,", 'practice=False, reply_display="as_it_comes",')
    .replace("min_turns=28", "min_turns=4")
)


class Watcher(Chatter):
    """A chatter who watches replies grow, and notes whatever a page must never show."""

    growing = ""
    parts = 0

    @override
    async def _heard(self, socket: ClientConnection, *kinds: str, seconds: float = SILENCE) -> Frame:
        heard = super()._heard
        while (frame := await heard(socket, "bot_text", *kinds, seconds=seconds))["type"] == "bot_text":
            self._grow(frame)
        self.growing = frame["growing"]["text"] if "growing" in frame else ""
        return frame

    def _grow(self, frame: Frame) -> None:
        if frame["offset"] > len(self.growing):
            return  # a part was missed: the page waits for the finished reply
        self.parts += 1
        self.growing = self.growing[: frame["offset"]] + frame["text"]
        if not REPLY.startswith(self.growing):
            self._complain(f"shows {self.growing!r}")
        if frame["position"] in self.ledger.turns:
            self._complain(f"shows the reply at {frame['position']} once more")

    @override
    def _note(self, turn: Frame) -> None:
        super()._note(turn)
        if turn["speaker"] == "bot" and turn["counted"] and turn["text"] != REPLY:
            self._complain(f"the reply at {turn['position']} is {turn['text']!r}")


@pytest.fixture(scope="module")
def streams(new_folder: Callable[[], Path], prepared_var: Callable[[Path], Path]) -> Iterator[Stack]:
    """A server with conversations in which replies grow, in its own process and in another one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(conftest, "MAKE_STUDY", MAKE_STUDY)
        patch.setattr(conftest, "Chatter", Watcher)
        stack = Stack(prepared_var(new_folder()))
        stack.begin("afar")
        for number in range(3, CONVERSATIONS):
            stack.send(f"Chatter {number}")
        stack.bot_of = json.loads(stack.shell(BOTS))
        yield stack
        stack.end()


def wait_until_replies_grow(stack: Stack) -> None:
    """Wait until a part of a reply is shown in at least a third of the conversations at the same time."""
    until = time.monotonic() + PATIENCE
    while sum(bool(chatter.growing) for chatter in stack.chatters if isinstance(chatter, Watcher)) * 3 < len(
        stack.chatters
    ):
        assert time.monotonic() < until, "Replies do not grow."
        time.sleep(0.01)


@pytest.mark.parametrize("name", [WEB, "host", "redis-server", "postgres", "-q worker"])
def test_replies_in_the_middle_are_complete_after_a_process_is_killed(streams: Stack, name: str) -> None:
    child = streams.bot_host() if name == "host" else streams.child(name)
    wait_until_replies_grow(streams)
    at = time.monotonic()
    child.kill()

    streams.all_go_on(at)

    assert [each for chatter in streams.chatters for each in chatter.broken] == []


def test_no_reply_is_lost_doubled_or_judged_by_half(streams: Stack) -> None:
    streams.finish()

    compare_all(streams)
    watchers = [chatter for chatter in streams.chatters if isinstance(chatter, Watcher)]
    assert all(watcher.parts > 10 for watcher in watchers)


def compare_all(streams: Stack) -> None:
    """Compare all ledgers with what is stored, once everybody has finished."""
    assert [each for chatter in streams.chatters for each in chatter.broken] == []
    stored = json.loads(streams.shell(STORED))
    for chatter in streams.chatters:
        found = stored[chatter.dialogue]
        turns = {position: (speaker, text) for position, speaker, text in found["turns"]}
        labels = dict(found["labels"])
        chatter.ledger.compare(turns, labels)
        assert (len(turns), sorted(turns)) == (len(found["turns"]), list(range(len(turns))))
        assert {text for position, (speaker, text) in turns.items() if speaker == "bot" and position} == {
            REPLY
        }
        assert len(labels) == len(found["labels"]) == (len(turns) - 1) // 2
        assert found["ending"] == "complete"
