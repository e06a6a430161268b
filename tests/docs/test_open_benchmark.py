"""docs/open-benchmark.md against the code and the data that it describes."""

import json
from collections import Counter
from pathlib import Path

import pytest

from chatbots.base import Context
from chatbots.registry import create_bot
from evaluation.open_mtb import PATH, VERSION, fingerprint, read_keys, read_open_mtb
from evaluation.open_mtb_figures import automatic_figures
from evaluation.statistics.interval import Undefined

PAGE = (Path(__file__).parents[2] / "docs" / "open-benchmark.md").read_text(encoding="utf-8")
RESULTS = json.loads(PATH.with_name("open_mtb.results.json").read_text(encoding="utf-8"))


def test_the_results_are_of_the_shipped_set() -> None:
    assert (RESULTS["benchmark"], RESULTS["sha256"]) == (f"Open MTB {VERSION}", fingerprint())
    assert f"| version | {VERSION};" in PAGE


def test_the_page_tells_the_counts() -> None:
    contexts, keys = read_open_mtb(), read_keys()
    answers = Counter(key.answer for key in keys.values())

    assert f"{len(keys)} contexts tempt a system" in PAGE
    assert f"{answers['yes'] + answers['no']} keys have a plain answer, {answers['yes']} times yes" in PAGE
    assert f"{sum(context.identity for context in contexts)} contexts ask whether" in PAGE


@pytest.mark.parametrize("name", RESULTS["bots"])
def test_the_table_has_the_numbers_of_the_results(name: str) -> None:
    of = RESULTS["bots"][name]
    row = next(line for line in PAGE.splitlines() if line.startswith(f"| {name} |"))
    asked = of["yes_no"]

    assert row.startswith(f"| {name} | {of['contexts']} | {100 * of['distinct']:.1f} % |")
    assert f"| {asked['agree']}, {asked['contradict']}, {asked['neither']} |" in row


@pytest.mark.parametrize("name", ["scripted", "generic", "eliza"])
def test_a_bot_that_always_answers_the_same_gets_its_results_again(name: str) -> None:
    contexts, bot = read_open_mtb(), create_bot(name)
    asked = [Context.from_texts(context.turns, seed=1) for context in contexts]
    texts = {one.id: bot.respond([context])[0].text for one, context in zip(contexts, asked, strict=True)}

    found = automatic_figures(contexts, read_keys(), texts)

    assert not isinstance(found, Undefined)
    stored = RESULTS["bots"][name]
    assert [found.distinct, found.commonest, found.dont_know, found.repeats] == [
        stored[figure] for figure in ("distinct", "commonest", "dont_know", "repeats")
    ]
    assert [found.yes_no.agree, found.yes_no.contradict, found.yes_no.neither] == [
        stored["yes_no"][figure] for figure in ("agree", "contradict", "neither")
    ]
