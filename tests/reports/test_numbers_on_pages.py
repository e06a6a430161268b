"""Every figure on every page that prints scores is one that `recompute` gives for the study's bundle."""

import html
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from accounts.models import User
from crowd.ending import exclude
from evaluation.report.bundle import recompute
from studies.models import PrimaryAnalysis, Study
from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, talked

MINUS = "\u2212"
# A number with decimals; what belongs to an address, a version or an id has letters or dots around it.
DECIMAL = re.compile(r"(?<![\w.#/-])[\u2212+-]?\d+\.\d+(?![\w./]|\.\d)")
# A score or a difference with its interval.
WITH_INTERVAL = re.compile(rf"({DECIMAL.pattern}) ({DECIMAL.pattern}) to ({DECIMAL.pattern})")
# What is the same in every report, and no result.
ALWAYS = {"97.5", "2.5", "0.05", "0.95", "0.001", "2001.09977"}


def read(browser: Client, address: str) -> str:
    """What one reads on a page: without its head, its scripts and the names of the charts' parts."""
    answer = browser.get(address)
    assert answer.status_code == 200, address
    text = re.sub(r"(?s)<head>.*?</head>|<script.*?</script>|<style.*?</style>", " ", answer.content.decode())
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def numbers(value: Any) -> Iterator[float]:
    """All of a document, with those that its sentences say."""
    if isinstance(value, dict):
        for each in value.values():
            yield from numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, str):
        yield from (as_number(found) for found in DECIMAL.findall(value))


def triples(value: Any) -> Iterator[tuple[float, float, float]]:
    """The estimates of a document with the ends of their intervals."""
    if isinstance(value, dict):
        if value.get("low") is not None and value.get("high") is not None:
            for key in ("value", "difference", "lead", "odds_ratio"):
                if value.get(key) is not None:
                    yield value[key], value["low"], value["high"]
        for each in value.values():
            yield from triples(each)
    elif isinstance(value, list):
        for each in value:
            yield from triples(each)


def as_number(shown: str) -> float:
    return float(shown.replace(MINUS, "-"))


def rounded(shown: str, exact: float) -> bool:
    """Whether that is how this number is printed, with as many decimals, rounded up or to even."""
    decimals = len(shown.partition(".")[2])
    return abs(as_number(shown) - exact) <= 0.5 * 10**-decimals + 1e-9


@pytest.mark.timeout(300)
@pytest.mark.django_db(transaction=True)
def test_what_pages_print_is_what_the_bundle_gives_again(
    make_study: MakeStudy, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    study = _study(make_study, rex)
    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")
    again = recompute(tmp_path / "bundle.zip")
    assert again.differences == []
    exact, estimates = set(numbers(again.report)), set(triples(again.report))
    browser = sign_in(rex)

    found = {}
    for address in (
        f"/studies/{study.pk}/report/",
        f"/compare/?study={study.pk}",
        "/bots/ann/history/",
        "/bots/bob/history/",
        "/home/",
    ):
        text = read(browser, address)
        shown = {each for each in DECIMAL.findall(text) if each not in ALWAYS}
        strange = {each for each in shown if not any(rounded(each.lstrip("+"), value) for value in exact)}
        assert strange == set(), address
        with_interval = set(WITH_INTERVAL.findall(text))
        assert {
            three
            for three in with_interval
            if not any(all(map(rounded, three, values)) for values in estimates)
        } == set(), address
        found[address] = len(shown), len(with_interval)

    # Else nothing was compared: numbers with decimals, and estimates with intervals, of each page at least.
    fewest = {"report": (100, 30), "compare": (12, 6), "history": (6, 3), "home": (2, 0)}
    for address, counts in found.items():
        least = next(each for name, each in fewest.items() if name in address)
        assert all(n >= wanted for n, wanted in zip(counts, least, strict=True)), (address, counts)


def _study(make_study: MakeStudy, rex: User) -> Study:
    """Two bots, eight conversations each, one worker excluded by the rules of its primary analysis."""
    study = make_study(
        {"ann": 8, "bob": 8}, min_turns=2, max_turns=8, exclusion_rules="All answers alike.",
        primary_analysis=PrimaryAnalysis.WITHOUT_EXCLUDED,
    )  # fmt: skip
    for n in range(16):
        last = talked(
            study, [(True, n % 4 < 2), (n % 3 > 0, False), (n % 5 > 1, n % 5 > 2)], latencies=[5 * n, 80, 41]
        )
    assert last.participation
    exclude(last.participation.pk, reason="All answers alike.", by=rex)
    computed(study)
    return study
