"""Every part of a running server is killed, stopped or starved while people talk. Nothing saved is lost.

How long each fault keeps people waiting is in docs/reliability.md; here they only have to go on.
"""

import json
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pytest

from tests.faults.conftest import Stack

pytestmark = pytest.mark.timeout(300)
Note = Callable[[str, float], None]

PARTS = {
    "uvicorn": "Web process",
    "-q worker": "Job worker",
    "-q beat": "Timer",
    "redis-server": "Redis",
    "postgres": "PostgreSQL",
}
STOPPED_SECONDS = 2.0


@pytest.mark.parametrize("name", PARTS)
def test_people_go_on_after_a_part_is_killed(stack: Stack, note: Note, name: str) -> None:
    child = stack.child(name)
    at = time.monotonic()
    child.kill()

    note(f"{PARTS[name]} killed", stack.all_go_on(at))


def test_people_go_on_after_a_session_of_postgresql_is_killed(stack: Stack, note: Note) -> None:
    """PostgreSQL then ends all sessions and recovers, as after a crash of its own."""
    sessions = [each for each in stack.child("postgres").children() if "turnwise" in " ".join(each.cmdline())]
    at = time.monotonic()
    sessions[0].kill()

    note("A session of PostgreSQL killed", stack.all_go_on(at))


def test_people_go_on_after_a_host_of_bots_is_killed(stack: Stack, note: Note) -> None:
    host = stack.bot_host()
    at = time.monotonic()
    host.kill()

    note("Bot host killed", stack.all_go_on(at))


def test_people_go_on_while_redis_hangs(stack: Stack, note: Note) -> None:
    """All but those whose bot is in another process, which is reached over Redis."""
    redis = stack.child("redis-server")
    at = time.monotonic()
    redis.suspend()
    try:
        note("Redis stopped, meanwhile", stack.all_go_on(at, but="afar"))
    finally:
        redis.resume()
    at = time.monotonic()
    note("Redis stopped, after it goes on", stack.all_go_on(at))


def test_people_go_on_after_postgresql_hung(stack: Stack, note: Note) -> None:
    server = stack.child("postgres")
    family = [server, *server.children()]
    for each in family:
        with suppress(psutil.NoSuchProcess):
            each.suspend()
    time.sleep(STOPPED_SECONDS)
    at = time.monotonic()
    for each in family:
        with suppress(psutil.NoSuchProcess):
            each.resume()

    note("PostgreSQL stopped, after it goes on", stack.all_go_on(at))


def test_people_go_on_after_everything_is_killed_at_once(stack: Stack, note: Note) -> None:
    doomed = [*stack.serving.children().values(), stack.bot_host()]
    at = time.monotonic()
    for each in doomed:
        each.kill()

    note("All killed at once", stack.all_go_on(at))


def test_people_go_on_after_the_disk_was_full(stack: Stack, note: Note, disk: Path) -> None:
    if not disk.is_mount():
        pytest.skip("no small disk may be mounted here")
    filler = disk / "filler"
    with filler.open("wb") as file, suppress(OSError):
        while True:
            file.write(bytes(2**20))
            file.flush()
    is_full = stack.status("readyz") == 503
    refused = stack.write_until_refused()
    at = time.monotonic()
    filler.unlink()

    assert is_full
    assert refused
    note("Disk full, after there is room", stack.all_go_on(at))


def test_people_go_on_after_a_restart_of_the_machine_s_programs(stack: Stack, note: Note) -> None:
    at = time.monotonic()
    stack.serving.end(signal.SIGKILL)
    stack.start_again()

    note("`make serve` killed and started again", stack.all_go_on(at))


def test_nothing_that_was_shown_as_saved_is_lost_or_doubled(stack: Stack) -> None:
    stack.finish()

    assert [each for chatter in stack.chatters for each in chatter.broken] == []
    stored = json.loads(stack.shell(STORED))
    for chatter in stack.chatters:
        found = stored[chatter.dialogue]
        turns = {position: (speaker, text) for position, speaker, text in found["turns"]}
        labels = dict(found["labels"])
        chatter.ledger.compare(turns, labels)
        assert (len(turns), sorted(turns)) == (len(found["turns"]), list(range(len(turns))))
        assert len(labels) == len(found["labels"]) == (len(turns) - 1) // 2 >= 14
        said = [text for position, (_, text) in sorted(turns.items()) if position % 2]
        assert said == [f"{chatter.name} says thing number {n}." for n in range(1, len(said) + 1)]
        assert found["ending"] == "complete"
    assert len(stored) == len(stack.chatters)
    assert stack.shell(REPORTED).strip() == "True"


STORED = """
import json
from dialogues.models import Dialogue
stored = {}
for dialogue in Dialogue.objects.filter(study__title="Faults"):
    turns = list(dialogue.turn_set.order_by("position"))
    stored[str(dialogue.public_id)] = {
        "ending": dialogue.ending,
        "turns": [[turn.position, "human" if turn.position % 2 else "bot", turn.text] for turn in turns],
        "labels": [[turn.position, label.answers] for turn in turns for label in turn.labels.all()],
    }
print(json.dumps(stored))
"""

# The jobs work, too: the report that covers all of it is there.
REPORTED = """
import time
from studies.models import Study
until = time.monotonic() + 60
while time.monotonic() < until:
    study = Study.objects.get(title="Faults")
    is_done = study.reports.filter(state="ready", results_version=study.results_version).exists()
    if is_done:
        break
    time.sleep(0.2)
print(is_done)
"""
