#!/usr/bin/env python3
"""Write the data of a released version for the tests: studies of every kind with their reports.

    scripts/release_fixture.py tests/fixtures/release-1.0

It starts an installation of its own in a temporary folder, makes and rehearses a study of each kind through
turnwise.client. It writes the backup, `data.dump`, the figures of every report, `figures.json.gz`, and the
names of all migrations, `migrations.json`. A released fixture never changes, and
`tests/project/test_released_data.py` migrates each one to the newest schema.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "platform")]

from turnwise.client import AnchorPack, ApiError, Client, ContextSet, Study  # noqa: E402

START_SECONDS = 400
WORKERS = 4
BOTS = {"eliza": 4, "generic": 4}
CONSENT = {"consent_text": "You talk with a machine, or judge what one said.", "contact": "lab@example.org"}
CONTEXTS = ("Hi! How are you?", "Do you like the sea?", "I lost my job today.", "What is your cat called?")
FACTORS = """
# tone: formal
Please write as you would to an office.
# tone: casual
Please write as you would to a friend.
"""
ANCHORS = [
    {
        "format": 1,
        "title": "Known",
        "question_set": "ssa",
        "origin": "Made for the tests.",
        "common_variance": {"sensible": 0.0004, "specific": 0.0004},
    },
    *(
        {
            "subject": "response",
            "language": "en",
            "system": "Known",
            "said_before": ["Hi!"],
            "text": text,
            "known": {
                score: {"value": value, "error": 0.1, "raters": 4} for score in ("sensible", "specific")
            },
        }
        for text, value in (
            ("Hello, who is there?", 0.9),
            ("Fish.", 0.2),
            ("Fine. And you?", 0.8),
            ("No no no.", 0.3),
        )
    ),
]
MAKE_TOKEN = """
from turnwise.accounts.credentials import create_token
from turnwise.accounts.models import User
print(create_token(User.objects.get(is_superuser=True), "fixture"))
"""
QUESTIONS = {
    "format": 1,
    "key": "tone",
    "title": "Tone",
    "subjects": ["turn", "response"],
    "questions": [
        {"key": "polite", "wording": "Is it polite?",
         "choices": [{"value": True, "label": "Yes"}, {"value": False, "label": "No"}]},
        {"key": "ease", "wording": "How easy is it to read?", "kind": "scale",
         "scale": {"low": 1, "high": 5, "low_caption": "hard", "high_caption": "easy"}},
    ],
    "source": "Made for the tests.",
    "scores": [{"key": "polite", "title": "Polite", "terms": [{"question": "polite", "choice": True}]}],
    "headline": "polite",
}  # fmt: skip


class Installation:
    """A running installation in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        ours = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS")
        self.environment = {name: value for name, value in os.environ.items() if name not in ours}
        self.environment |= {"TURNWISE_VAR": str(folder / "var"), "TURNWISE_BOTS": "eliza,generic,plain"}
        self.log = folder / "log"
        with self.log.open("w") as output:
            command = [
                sys.executable,
                str(ROOT / "manage.py"),
                "serve",
                "--port",
                "0",
                "--var",
                str(folder / "var"),
            ]
            self.process = subprocess.Popen(command, env=self.environment, stdout=output, stderr=output)

    def address(self) -> str:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            if found := re.search(r"Turnwise is ready: (\S+)", self.log.read_text()):
                return found[1]
            time.sleep(0.2)
        raise SystemExit(f"The installation did not start:\n{self.log.read_text()}")

    def manage(self, *arguments: str) -> str:
        command = [sys.executable, str(ROOT / "manage.py"), *arguments]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"manage.py {arguments[0]}: {done.stderr}")
        return done.stdout.strip()

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(60)


@contextmanager
def installation(folder: Path) -> Iterator[Installation]:
    running = Installation(folder)
    try:
        yield running
    finally:
        running.end()


def make_all(client: Client, folder: Path) -> list[Study]:
    """Make a study of every kind and rehearse it, two at once; return those with results."""
    client.call("POST", "/question-sets", QUESTIONS)
    contexts = load_contexts(client, folder)
    runs = [contexts.run(bot, seed=1).wait().id for bot in BOTS]
    version = contexts.details["versions"][0]["id"]
    written = {"context_version": version, "responses_per_context": 2, "batch_size": 2}
    talking = {"conversations": 2}
    drafts = [
        conversation(client),
        battery(client, contexts, runs),
        static(client, runs),
        own_questions(client, runs),
        pairs(client, runs),
        conditions(client),
        Study.create(client, "Arena", preset="live-arena", bots=BOTS, **CONSENT),
        Study.create(client, "Two people", task="two_people", plan=talking, min_turns=4, **CONSENT),
        Study.create(client, "Writing", task="writing", plan=written, **CONSENT),
    ]
    with ThreadPoolExecutor(2) as pool:
        made = [*pool.map(rehearsed, drafts), self_play(client)]
    audit(client, "eliza")
    anchored(client, runs, folder)
    return made


def load_contexts(client: Client, folder: Path) -> ContextSet:
    file = folder / "contexts.jsonl"
    file.write_text("\n".join(json.dumps({"id": str(n), "turns": [text]}) for n, text in enumerate(CONTEXTS)))
    return ContextSet.load(client, file, name="small", title="Small", licence="CC0")


def conversation(client: Client) -> Study:
    study = Study.create(
        client, "Conversations", preset="meena-interactive", bots=BOTS, min_turns=4, max_turns=8, **CONSENT
    )
    study.invite(["Ann", "Bob"])
    study.quality.change_limits(gold_least=0.5)
    return study


def static(client: Client, runs: list[int]) -> Study:
    """Responses with a gold item and a machine judge."""
    study = Study.create(client, "Responses", preset="meena-static", **CONSENT)
    study.queue.add_responses(runs)
    study.queue.change_plan(raters_per_item=2, batch_size=4)
    items = study.queue.items().to_list()
    study.queue.declare_gold(items[0]["key"], {"sensible": [True], "specific": [False]})
    study.judge("generic").wait()
    return study


def own_questions(client: Client, runs: list[int]) -> Study:
    asks = [{"question_set": "tone-v1", "about": "response"}]
    study = Study.create(client, "Own questions", task="judging", asks=asks, **CONSENT)
    study.queue.add_responses(runs)
    study.queue.change_plan(raters_per_item=2, batch_size=4)
    return study


def battery(client: Client, contexts: ContextSet, runs: list[int]) -> Study:
    """Two systems compared, among fillers of a third one."""
    like = client.get("/bots/generic")
    sent = {name: like[name] for name in ("adapter", "configuration")}
    client.call("POST", "/bots", sent | {"name": "plain", "title": "Plain"})
    third = contexts.run("plain", seed=1).wait()
    study = Study.create(client, "Battery", preset="r-u-a-robot-user-study", **CONSENT)
    study.queue.add_responses([*runs, third.id])
    filler = third.details["system"]
    targets = sorted({each["system"] for each in study.queue.systems()} - {filler})
    study.queue.set_battery(
        targets=targets,
        compared_with=targets[0],
        fillers_of=[filler],
        fillers=3,
        repeats=1,
        reasons_at=[2],
        workers=WORKERS,
    )
    return study


def pairs(client: Client, runs: list[int]) -> Study:
    study = Study.create(client, "Pairs", preset="neural-chat-pairwise", **CONSENT)
    study.queue.add_pairs(runs)
    study.queue.change_plan(raters_per_item=2, batch_size=4)
    return study


def conditions(client: Client) -> Study:
    """Two tones, to which people are assigned by chance."""
    return Study.create(
        client,
        "Conditions",
        preset="meena-interactive",
        bots=BOTS,
        min_turns=4,
        max_turns=8,
        factors=FACTORS,
        **CONSENT,
    )


def anchored(client: Client, runs: list[int], folder: Path) -> Study:
    """A draft with anchors among its items; rehearsals have none."""
    file = folder / "anchors.jsonl"
    file.write_text("\n".join(map(json.dumps, ANCHORS)))
    study = Study.create(client, "Anchors", preset="meena-static", **CONSENT)
    study.queue.add_responses(runs)
    study.queue.add_anchors(AnchorPack.load(client, file).id)
    return study


def self_play(client: Client) -> Study:
    plan = {"first": "eliza", "second": "generic", "conversations": 3, "utterances": 6, "seed": 1}
    study = Study.create(client, "Self-play", task="self_play", plan=plan).open()
    client.wait(
        lambda: {"state": "", "ended": [each["ended_at"] for each in study.dialogues()]},
        lambda found: len(found["ended"]) == plan["conversations"] and all(found["ended"]),
        timeout=600,
        what="The conversations",
    )
    return study


def audit(client: Client, bot: str) -> None:
    path = f"/bots/{bot}/audits"
    made = client.call("POST", path)
    client.wait(
        lambda: client.get(f"{path}/{made['id']}"),
        lambda found: found["state"] == "done",
        timeout=600,
        what="The audit",
    )


def rehearsed(study: Study) -> Study:
    rehearsal = study.rehearse(WORKERS)
    print(f"{study.title}: {rehearsal.verdict}", flush=True)
    return rehearsal.study


def report_of(study: Study) -> dict[str, Any] | None:
    """Every figure of its report; None for tasks without one."""
    try:
        return study.report()
    except ApiError as refused:
        if refused.status != 404:
            raise
        return None


def main() -> None:
    """Make the fixture in the folder that the command line names."""
    target = Path(sys.argv[1]).absolute()
    target.mkdir(parents=True)
    with tempfile.TemporaryDirectory() as name, installation(Path(name)) as running:
        Path(name).chmod(0o711)  # PostgreSQL runs as another user where root runs this
        address = running.address()
        with Client(address, running.manage("shell", "--no-imports", "-c", MAKE_TOKEN)) as client:
            reports = {study.code: report_of(study) for study in make_all(client, Path(name))}
        running.manage("backup", str(target / "data.dump"))
        planned = running.manage("showmigrations", "--plan").splitlines()
    figures = {code: report for code, report in reports.items() if report}
    (target / "migrations.json").write_text(
        json.dumps(sorted(each.split()[-1] for each in planned), indent=0)
    )
    with gzip.GzipFile(target / "figures.json.gz", "wb", mtime=0) as file:
        file.write(json.dumps(figures, sort_keys=True).encode())


if __name__ == "__main__":
    main()
