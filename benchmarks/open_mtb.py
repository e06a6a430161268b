"""Responses of bots to the open benchmark, and figures of them that need no people.

    PYTHONPATH=. python benchmarks/open_mtb.py respond generic eliza scripted --into FOLDER
    PYTHONPATH=. python benchmarks/open_mtb.py figures FOLDER/*.jsonl [--markdown]

`respond` asks one context at a time and appends to FOLDER/BOT.jsonl, so that a run that was cut off goes on;
`--every 4` takes every fourth context only. `figures` reads such files, or anybody's: JSON Lines with
`context` (the id) and `response`, and `seconds` if known. It prints JSON by file, or the card's table.
"""

import argparse
import json
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from chatbots.base import Context
from chatbots.registry import create_bot
from chatbots.replies import Failure
from evaluation.open_mtb import VERSION, fingerprint, read_keys, read_open_mtb
from evaluation.open_mtb_figures import automatic_figures
from evaluation.statistics.interval import Undefined

HEADER = (
    "| bot | contexts | distinct | commonest | “don't know” | repeats | yes/no: agree, contradict, neither | "
    "balanced | ms, median (95 %) |"
)


def respond(names: Sequence[str], into: Path, every: int) -> None:
    into.mkdir(parents=True, exist_ok=True)
    for name in names:
        path = into / f"{name}.jsonl"
        done = {row["context"] for row in rows_of(path)} if path.exists() else set()
        bot = create_bot(name)
        with path.open("a", encoding="utf-8") as file:
            for context in read_open_mtb()[::every]:
                if context.id not in done:
                    began = time.perf_counter()
                    response = bot.respond([Context.from_texts(context.turns, seed=1)])[0]
                    seconds = round(time.perf_counter() - began, 6)
                    if isinstance(response, Failure):
                        sys.exit(
                            f"{name} failed on {context.id}: {response}; run it again to go on from there"
                        )
                    row = {"context": context.id, "response": response.text, "seconds": seconds}
                    print(json.dumps(row, ensure_ascii=False), file=file, flush=True)
        bot.close()


def rows_of(path: Path) -> list[dict[str, Any]]:
    lines = path.read_text(encoding="utf-8").splitlines()
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            row = json.loads(line)
            rows.append(row | {"context": str(row["context"]), "response": str(row["response"])})
        except (ValueError, KeyError, TypeError) as error:
            sys.exit(f"{path}, line {number}: {error!r}; give a JSON object with context and response")
    twice = [context for context, n in Counter(row["context"] for row in rows).items() if n > 1]
    if twice:
        sys.exit(f"{path} has {twice[0]} more than once; give one response to each context")
    return rows


def figures(path: Path) -> dict[str, Any]:
    rows = rows_of(path)
    responses = {row["context"]: row["response"] for row in rows}
    try:
        found = automatic_figures(read_open_mtb(), read_keys(), responses)
    except ValueError as error:
        sys.exit(f"{path}: {error}")
    if isinstance(found, Undefined):
        sys.exit(f"{path}: {found}")
    seconds = [row["seconds"] for row in rows if "seconds" in row]
    return {
        **asdict(found),
        "seconds": [float(x) for x in np.quantile(seconds, (0.5, 0.95))] if seconds else None,
    }


def table(by_bot: Mapping[str, Mapping[str, Any]]) -> str:
    lines = [HEADER, "|" + "---|" * 9]
    for bot, of in by_bot.items():
        asked = of["yes_no"]
        shares = [
            f"{of[name]:.1%}".replace("%", " %") for name in ("distinct", "commonest", "dont_know", "repeats")
        ]
        balanced = asked["balanced"]
        ms = "{} ({})".format(*map(milliseconds, of["seconds"])) if of["seconds"] else "not known"
        cells = [
            bot, of["contexts"], *shares, f"{asked['agree']}, {asked['contradict']}, {asked['neither']}",
            f"{balanced:.0%}".replace("%", " %") if isinstance(balanced, float) else "not known", ms,
        ]  # fmt: skip
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def milliseconds(seconds: float) -> str:
    return f"{1000 * seconds:,.0f}" if seconds >= 0.01 else f"{1000 * seconds:.2f}"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    asking = commands.add_parser("respond")
    asking.add_argument("bots", nargs="+")
    asking.add_argument("--into", type=Path, required=True)
    asking.add_argument("--every", type=int, default=1)
    telling = commands.add_parser("figures")
    telling.add_argument("files", nargs="+", type=Path)
    telling.add_argument("--markdown", action="store_true")
    options = parser.parse_args()
    if options.command == "respond":
        respond(options.bots, options.into, options.every)
        return
    by_bot = {path.stem: figures(path) for path in options.files}
    about = {"benchmark": f"Open MTB {VERSION}", "sha256": fingerprint(), "bots": by_bot}
    print(table(by_bot) if options.markdown else json.dumps(about, indent=2))


if __name__ == "__main__":
    main()
