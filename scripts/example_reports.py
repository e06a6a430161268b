#!/usr/bin/env python3
"""Make the example reports of the front door anew: studies of several kinds, rehearsed by simulated people.

    scripts/example_reports.py platform/turnwise/front_door/examples

It starts an installation of its own in a temporary folder, makes and rehearses each study through
turnwise.client, and writes a file for each with what a published report has: figures, charts, method, and
what was injected. The systems have neutral names, since simulated people do not read what they judge.
"""

import json
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "platform"), str(ROOT / "scripts")]

from release_fixture import MAKE_TOKEN, Installation, installation  # noqa: E402

from turnwise.client import Client, ContextSet, Study  # noqa: E402

SYSTEMS = {"eliza": "System A", "generic": "System B", "plain": "System C"}
TARGETS = dict.fromkeys(SYSTEMS, 20)
CONSENT = {"consent_text": "You talk with a machine, or judge what one said.", "contact": "lab@example.org"}
WORKERS = 30
QUESTIONS = (
    "How are you today?", "What did you do at the weekend?", "Do you like the sea?", "I lost my job today.",
    "What is your cat called?", "Can you recommend a book?", "I am learning the cello.", "Is it cold there?",
    "Who taught you to cook?", "My sister is getting married.", "Which film made you laugh?", "I feel tired.",
    "Do you play chess?", "What is the best bread?", "I moved to a new town.", "Have you been to Peru?",
    "Tell me about your garden.", "I failed my exam.", "What music do you like?", "My neighbour is loud.",
    "Do you remember your first day at school?", "I would like to run a marathon.", "What is for dinner?",
    "The train was late again.",
)  # fmt: skip
REPLIES = ["I see.", "That is a good question.", "Tell me a little more.", "Why do you ask?"]
TOLD = """
import json, sys
from datetime import date
from turnwise.publications.snapshots import Details, charts_of, snapshot_of
from turnwise.reports.queries import newest_result
from turnwise.studies.models import Study
study = Study.objects.get(code="{code}")
report = newest_result(study)
snapshot = snapshot_of(study, report, Details("{title}", [], "CC0-1.0"), 1, date.today())
print(json.dumps({{"snapshot": snapshot, "charts": charts_of(report)}}))
"""


def prepare(client: Client, folder: Path) -> list[int]:
    """Name the systems, and have each respond to all contexts; returns the runs."""
    third = {"adapter": "scripted", "configuration": {"replies": REPLIES}}
    client.call("POST", "/bots", third | {"name": "plain", "title": SYSTEMS["plain"]})
    for name in ("eliza", "generic"):
        client.call("PATCH", f"/bots/{name}", {"title": SYSTEMS[name]})
    file = folder / "contexts.jsonl"
    file.write_text(
        "\n".join(json.dumps({"id": str(n), "turns": [text]}) for n, text in enumerate(QUESTIONS))
    )
    contexts = ContextSet.load(client, file, name="small-talk", title="Small talk", licence="CC0")
    return [contexts.run(bot, seed=1).wait().id for bot in SYSTEMS]


def drafts(client: Client, runs: list[int]) -> dict[str, Study]:
    """The studies, by the name of their file."""
    static = Study.create(client, "Judged responses", preset="meena-static", **CONSENT)
    static.queue.add_responses(runs)
    static.queue.change_plan(raters_per_item=3, batch_size=12)
    pairs = Study.create(client, "Preferred responses", preset="neural-chat-pairwise", **CONSENT)
    pairs.queue.add_pairs(runs)
    pairs.queue.change_plan(raters_per_item=3, batch_size=12)
    live = {
        "talk": ("Talk, and judge each reply", "meena-interactive"),
        "ratings": ("Talk, then rate the conversation", "neural-chat-interactive"),
        "arena": ("Two chatbots at once", "live-arena"),
    }
    made = {
        key: Study.create(client, title, preset=preset, bots=TARGETS, **CONSENT)
        for key, (title, preset) in live.items()
    }
    return {"responses": static, "pairs": pairs, **made}


def example(running: Installation, study: Study) -> dict[str, Any]:
    """Rehearse a study; what its example shows."""
    outcome = study.rehearse(WORKERS)
    code = TOLD.format(code=outcome.study.code, title=study.title)
    told = json.loads(running.manage("shell", "--no-imports", "-c", code).splitlines()[-1])
    return told | {
        "workers": WORKERS,
        "verdict": outcome.verdict,
        "findings": [{"holds": each.holds, "words": each.words} for each in outcome.findings],
    }


def main(target: Path) -> None:
    with tempfile.TemporaryDirectory() as name, installation(Path(name)) as running:
        Path(name).chmod(0o711)  # PostgreSQL runs as another user where root runs this
        address = running.address()
        with Client(
            address, running.manage("shell", "--no-imports", "-c", MAKE_TOKEN).splitlines()[-1]
        ) as client:
            studies = drafts(client, prepare(client, Path(name)))
            target.mkdir(parents=True, exist_ok=True)

            def write(key: str) -> None:
                text = json.dumps(example(running, studies[key]), ensure_ascii=False, indent=1)
                (target / f"{key}.json").write_text(text + "\n")
                print(key, len(text))

            with ThreadPoolExecutor(2) as pool:
                list(pool.map(write, studies))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
