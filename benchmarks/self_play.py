"""Time self-play: as many conversations at once as the bot batches, against one after another.

    PYTHONPATH=.:platform python benchmarks/self_play.py [--bot meena-base] [--conversations 100] [--turns 10]
        [--rounds 1]

Starts its own PostgreSQL and Redis in a temporary folder. Prints JSON: seconds of the whole, through the
steps of the job and the database, with many conversations at once and with one after another, in turns; and
the floor, the same number of replies from the bare bot in batches, with nothing stored. Beside seconds of the
clock stand those of the processor in this process (bot and job, not the database), which other programs
disturb less. The least of `--rounds` counts.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
BATCH = 32


def floor(name: str, conversations: int, turns: int) -> float:
    """Seconds in which the bare bot gives as many replies, in batches, to conversations that grow alike."""
    from chatbots.base import Context
    from chatbots.registry import REGISTRY

    bot = REGISTRY.bot_class(name)(REGISTRY.configuration(name, {}))
    said = [["Hi!"] for _ in range(conversations)]
    bot.respond([Context.from_texts(said[0], seed=0)])
    began = time.monotonic()
    for _ in range(turns):
        for start in range(0, conversations, min(BATCH, bot.max_batch)):
            some = said[start : start + min(BATCH, bot.max_batch)]
            answers = bot.respond([Context.from_texts(texts, seed=n) for n, texts in enumerate(some, start)])
            for texts, answer in zip(some, answers, strict=True):
                texts.append(getattr(answer, "text", "") or "Well.")
    return time.monotonic() - began


def played(bot: Any, conversations: int, turns: int, *, at_once: int) -> tuple[float, float]:
    """Seconds of a whole study: of the clock, and of the processor."""
    from turnwise.accounts.models import User
    from turnwise.studies.models import Study
    from turnwise.studies.services import save_study, set_state
    from turnwise.tasks.self_play import jobs
    from turnwise.tasks.self_play.models import SelfPlayPlan
    from turnwise.tasks.self_play.task import protocol_of

    owner, _ = User.objects.get_or_create(username="researcher")
    plan = SelfPlayPlan(first=bot, second=bot, conversations=conversations, utterances=turns)
    study = Study(title="Self-play", languages=["en"], task="self_play", **protocol_of(plan))
    save_study(study, owner=owner, consent_text="", targets={}, plan=plan)
    set_state(study.pk, Study.State.OPEN)
    jobs.MOST_AT_ONCE = at_once
    began, worked = time.monotonic(), time.process_time()
    while jobs.play_slice(plan.pk):
        pass
    seconds = time.monotonic() - began, time.process_time() - worked
    plan.refresh_from_db()
    ended = plan.played.exclude(dialogue__ended_at=None).count()
    assert ended == conversations, f"{ended} of {conversations} ended: {plan.reason}"
    return seconds


def measured(name: str, conversations: int, turns: int, rounds: int) -> dict[str, Any]:
    from turnwise.bots.hosting import resident_bots
    from turnwise.bots.services import register_bot

    bot = register_bot(name=name, title=name, adapter=name)
    played(bot, 1, 2, at_once=1)  # the bot is loaded, and warm
    both = [
        [played(bot, conversations, turns, at_once=at_once) for at_once in (BATCH, 1)] for _ in range(rounds)
    ]
    (together, work), (alone, work_alone) = (
        (min(seconds for seconds, _ in each), min(worked for _, worked in each))
        for each in zip(*both, strict=True)
    )
    resident_bots.close()
    bare = floor(name, conversations, turns)
    return {
        "bot": name, "conversations": conversations, "turns": turns,
        "seconds": round(together, 1), "seconds_one_after_another": round(alone, 1),
        "times_faster": round(alone / together, 2),
        "processor_seconds": round(work, 1), "processor_seconds_one_after_another": round(work_alone, 1),
        "times_less_work": round(work_alone / work, 2),
        "replies_per_second": round(conversations * turns / together, 1),
        "seconds_of_the_bare_bot": round(bare, 1), "of_the_floor": round(together / bare, 2),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--bot", dest="name", default="meena-base")
    parser.add_argument("--conversations", type=int, default=100)
    parser.add_argument("--turns", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=1)
    arguments = parser.parse_args()
    from turnwise.project.supervision.embedded import PostgreSQL, Redis

    folder = Path(tempfile.mkdtemp(prefix="tw-"))
    folder.chmod(0o711)  # PostgreSQL runs as another user where root runs this
    services = PostgreSQL(folder / "postgresql"), Redis(folder / "redis")
    try:
        for service in services:
            service.start()
        names = {"DATABASE_URL": services[0].owner_url, "REDIS_URL": services[1].url}
        os.environ |= names | {
            "SECRET_KEY": "only here",
            "DJANGO_SETTINGS_MODULE": "turnwise.project.settings",
        }
        subprocess.run([sys.executable, str(ROOT / "manage.py"), "migrate", "-v", "0"], check=True)
        import django

        django.setup()
        print(json.dumps(measured(**vars(arguments)), indent=2))
    finally:
        for service in services:
            service.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
