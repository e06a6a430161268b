"""Time the identity checks before and after a bot's reply, and count false alarms. Prints JSON.

    python benchmarks/identity.py
    python benchmarks/identity.py --conversations a.jsonl.gz b.jsonl.gz    also the guard's false alarms there

Times are CPU milliseconds of this process, so that what else the machine does counts as little as it can.
The guard is measured against the bot that it wraps in the same run, each reply of one with one of the other.
"""

import argparse
import gzip
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from chatbots.base import Context
from chatbots.identity.audit import report
from chatbots.identity.classifiers import load_classifier
from chatbots.identity.grammar.recognition import MOST_CHARACTERS, Recogniser
from chatbots.identity.grammar.sampling import SHARES, Split, by_shares, sample
from chatbots.identity.guard_classifier import Judge
from chatbots.identity.labels import Intent, Label
from chatbots.registry import create_bot

SHORT = 60
TEXTS = 1_000
HITS_SHOWN = 40


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--conversations", type=Path, nargs="+", default=[], help="JSON Lines with turns, .gz allowed"
    )
    options = parser.parse_args()
    texts = drawn_texts()
    found = {
        "classifier": classifier_times(texts),
        "guard": guard_times(texts[::3]),
        "recognition": recognition_times(texts),
        "audit_of_generic": audit_times(),
        "guarded": {name: before_and_after(name) for name in ("generic", "eliza")},
        "false_alarms": {path.name: false_alarms(path) for path in options.conversations},
    }
    print(json.dumps(found, indent=1, ensure_ascii=False))


def drawn_texts() -> list[str]:
    wanted = by_shares(TEXTS // 3, {Split(name): share for name, share in SHARES.items()})
    return [each.text for each in sample(dict.fromkeys(Label, wanted), seed=11)]


def classifier_times(texts: list[str]) -> dict[str, float]:
    classifier = load_classifier()
    classifier.probabilities(texts)
    batch = milliseconds(lambda: classifier.probabilities(texts)) / len(texts)
    alone = [milliseconds(partial(classifier.probabilities, [text])) for text in texts]
    return {"batch_mean": batch, "alone_mean": float(np.mean(alone)), "alone_p99": percentile(alone, 99)}


def guard_times(texts: list[str]) -> dict[str, float]:
    """Of turns that do not ask, so that both bots answer."""
    inner = create_bot("eliza")
    guard = create_bot("identity-guard", {"bot": {"adapter": "eliza"}})
    passed = [
        text
        for text, (intent, _) in zip(texts, Judge("shipped").intents(texts), strict=True)
        if intent is not Intent.ASKS
    ]
    contexts = [Context.from_texts([text], seed=1) for text in passed]
    pairs = [
        (
            milliseconds(partial(inner.respond, [context])),
            milliseconds(partial(guard.respond, [context])),
        )
        for context in contexts
    ]
    bare, guarded = (np.array(times) for times in zip(*pairs, strict=True))
    return {
        "turns": len(pairs),
        "bot_mean": float(bare.mean()),
        "guarded_mean": float(guarded.mean()),
        "added_mean": float((guarded - bare).mean()),
        "added_p99": percentile(guarded - bare, 99),
    }


def recognition_times(texts: list[str]) -> dict[str, float]:
    recogniser = Recogniser()
    short = [text for text in texts if len(text) <= SHORT]
    times = [milliseconds(partial(recogniser.categories, text)) for text in short]
    long = ("are you a robot or a human? " * MOST_CHARACTERS)[:MOST_CHARACTERS]
    words = "are you really a real person or just a robot " * 4
    return {
        "texts": len(short),
        "mean": float(np.mean(times)),
        "p99": percentile(times, 99),
        "of_4000_characters": milliseconds(lambda: recogniser.categories(long)),
        "of_the_most_words_that_are_parsed": milliseconds(lambda: recogniser.categories(words)),
    }


def audit_times() -> dict[str, float]:
    bot = create_bot("generic")
    shown, _ = report(lambda context: replied(bot, context))
    return {"seconds": shown["seconds"], "of_which_the_bot": shown["of_which_the_bot"]}


def before_and_after(name: str) -> dict[str, Any]:
    """Shares of replies that confirm, by part of the audit, of a bot alone and guarded."""
    bots = (create_bot(name), create_bot("identity-guard", {"bot": {"adapter": name}}))
    before, after = (report(partial(replied, bot))[0]["figures"] for bot in bots)
    return {part: [before[part]["confirms"]["share"], after[part]["confirms"]["share"]] for part in before}


def replied(bot: Any, context: Context) -> str:
    [response] = bot.respond([context])
    return str(response.text)


def false_alarms(path: Path) -> dict[str, Any]:
    """Messages of people that the guard would answer, although none of them should ask; for review."""
    texts = list(dict.fromkeys(turns_of(path)))
    intents = Judge("shipped").intents(texts)
    hits = [
        (text, round(p, 3)) for text, (intent, p) in zip(texts, intents, strict=True) if intent is Intent.ASKS
    ]
    may = sum(intent is Intent.MAY_ASK for intent, _ in intents)
    return {"turns": len(texts), "answered": len(hits), "may_ask": may, "hits": hits[:HITS_SHOWN]}


def turns_of(path: Path) -> Iterator[str]:
    with (
        gzip.open(path, "rt", encoding="utf-8")
        if path.suffix == ".gz"
        else path.open(encoding="utf-8") as file
    ):
        for line in file:
            for turn in json.loads(line)["turns"]:
                yield turn if isinstance(turn, str) else turn["text"]


def milliseconds(run: Callable[[], object]) -> float:
    began = time.process_time()
    run()
    return 1_000 * (time.process_time() - began)


def percentile(values: Any, q: float) -> float:
    return float(np.percentile(values, q))


if __name__ == "__main__":
    main()
