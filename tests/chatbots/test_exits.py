"""Processes with bots end with the status that they mean, wherever a bot's thread is at that moment."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SLOW = bool(os.environ.get("TURNWISE_SLOW"))
LIMIT = 3600 if SLOW else 900  # it takes 30 s, or ten minutes, but nothing here depends on that
pytestmark = pytest.mark.timeout(LIMIT)

TIMES, MEENAS, ONCE = (20, 20, 20) if SLOW else (2, 1, 1)
"""All run four at a time, as on a busy machine. A command that asks a bot loads PyTorch itself, which takes
two seconds and may meet the end of the process. The others find it loaded."""
FEW = ["--configuration", '{{"samples": 2}}']
COMMANDS = (
    (["list"], TIMES, 0),
    (["describe", "meena-full"], TIMES, 0),
    (["describe", "nobody"], TIMES, 2),
    (["reply", "eliza", "--context", "Hi"], TIMES, 0),
    (["chat", "eliza"], TIMES, 0),
    (["audit", "eliza"], ONCE, 0),
    (["meena", "describe", "--preset", "tiny"], ONCE, 0),
    (["meena", "everyday", "--conversations", "2", "--output", "{written}/talk"], TIMES, 0),
    (["meena", "corpus", "--input", "nowhere", "--output", "{written}/corpus"], ONCE, 2),
    (["meena", "train", "--corpus", "nowhere", "--output", "{written}/run", "--steps", "1"], ONCE, 2),
    (["meena", "perplexity", "--checkpoint", "nowhere", "--data", "nowhere"], ONCE, 2),
    (["meena", "sweep", "--checkpoint", "nowhere", "--contexts", "nowhere", "--output", "x"], ONCE, 2),
    (["meena", "export", "--checkpoint", "nowhere", "--output", "nowhere"], ONCE, 2),
    (["hierarchical", "describe"], ONCE, 0),
    (["hierarchical", "reply", "--checkpoint", "nowhere", "--context", "Hi"], ONCE, 2),
    (["topical-chat", "describe"], ONCE, 0),
    (["topical-chat", "evaluate", "--checkpoint", "nowhere", "--corpus", "nowhere"], ONCE, 2),
    (["identity", "grammar"], ONCE, 0),
    (["identity", "recognise", "are you a robot"], ONCE, 0),
    (["reply", "meena-base", "--context", "Hi", *FEW], MEENAS, 0),
    (["reply", "meena-full", "--context", "Hi", "--deadline", "0.001"], 1, 2),
    (["chat", "meena-full", *FEW], MEENAS, 0),
)
"""Each with how often it is run, and its status."""

WITHOUT_BOTS = ("meena", "hierarchical", "topical-chat", "identity")

# The commands are forked from one process that has loaded what all of them need, four at a time.
FORKING = """
import json, os, sys
from chatbots.__main__ import main
from chatbots.registry import REGISTRY
from chatbots.hosting.resident import leave

def status_of(arguments):
    try:
        return main(arguments)
    except SystemExit as exit:  # of a command that cannot be read
        return exit.code

REGISTRY.registered_names()
runs, statuses, under_way = json.loads(sys.argv[1]), {}, {}
for number, (arguments, finds_torch_loaded) in enumerate(runs):
    if finds_torch_loaded:
        import torch
    pid = os.fork()
    if not pid:
        sys.stdin, sys.stdout = open(sys.argv[2]), open(os.devnull, "w")
        os.dup2(sys.stdout.fileno(), 2)
        leave(status_of(arguments))
    under_way[pid] = number
    while len(under_way) == 4 or under_way and number + 1 == len(runs):
        pid, status = os.wait()
        statuses[under_way.pop(pid)] = os.waitstatus_to_exitcode(status)
print(json.dumps([statuses[number] for number in range(len(runs))]))
"""


def python(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", *arguments],
        cwd=ROOT,
        env=os.environ | {"OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=LIMIT - 10,
    )


def test_every_command_on_a_busy_machine_ends_with_its_status(tmp_path: Path) -> None:
    typed = tmp_path / "typed"
    typed.write_text("Hi\nI like tea\n")
    runs = [
        ([argument.format(written=tmp_path) for argument in arguments], status, is_last)
        for is_last in (False, True)
        for arguments, times, status in COMMANDS
        if is_last == (arguments[0] in WITHOUT_BOTS and not SLOW)
        for _ in range(times)
    ]

    done = python(FORKING, json.dumps([(arguments, is_last) for arguments, _, is_last in runs]), str(typed))

    assert done.returncode == 0, done.stderr
    found = [
        (arguments, status, is_last)
        for (arguments, _, is_last), status in zip(runs, json.loads(done.stdout), strict=True)
    ]
    assert found == runs


RELEASING = """
import sys, time, torch
from chatbots.base import Bot, BotConfiguration
from chatbots.replies import Response
from chatbots.hosting.resident import Resident

class Large(Bot):
    def __init__(self):
        super().__init__(BotConfiguration())
        self.tensors = [torch.empty(1) for _ in range(1_000_000)]  # takes a while to free
    def respond(self, contexts):
        return [Response("Hi") for _ in contexts]
    def close(self):
        print("released", flush=True)

bot = Resident("large", Large)
bot.wait_loaded()
{end}
sys.exit(3)
"""


def test_a_process_ends_only_when_its_bot_has_freed_its_tensors() -> None:
    done = python(RELEASING.format(end="with bot: pass"))

    assert (done.returncode, done.stdout, done.stderr) == (3, "released\n", "")


def test_so_it_does_where_nobody_closes_the_bot() -> None:
    done = python(RELEASING.format(end=""))

    assert (done.returncode, done.stdout, done.stderr) == (3, "released\n", "")


HANGING = """
import time
from chatbots.base import Bot, BotConfiguration, Context
from chatbots.hosting.resident import Resident, leave

class Hanging(Bot):
    def respond(self, contexts):
        time.sleep(1000)

bot = Resident("hanging", lambda: Hanging(BotConfiguration()), deadline=0.01)
bot.wait_loaded()
try:
    bot.respond_now(Context.from_texts(["Hi"]))
except Exception as error:
    print(error)
leave(4, wait=0.1)
"""


def test_a_bot_that_hangs_keeps_no_process_from_its_status() -> None:
    done = python(HANGING)

    assert (done.returncode, done.stderr) == (4, "")
    assert "did not answer" in done.stdout
