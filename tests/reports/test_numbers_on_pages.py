"""Every figure on every page that prints scores is one that `recompute` gives for the study's bundle."""

import html
import re
from collections.abc import Iterator, Set
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.test import Client

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeContexts, MakeMeeting, MakePairs, MakeQueue, MakeRun, MakeStudy
from tests.desks import begin
from tests.planted import SignIn, computed, talked
from tests.reports.test_asks import OWN, VOTES, WHOLE, rated
from tests.tasks.self_play.conftest import MakeSelfPlay, make_self_play, play
from tests.tasks.self_play.test_report import LINES
from tests.tasks.two_people.test_report import ASKS, MEH, NO, YES, met
from turnwise.accounts.models import User
from turnwise.crowd.places.ending import exclude
from turnwise.judging.items import subjects
from turnwise.judging.queue import services as judging
from turnwise.studies.models import PrimaryAnalysis, Study

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["make_self_play"]

MINUS = "\u2212"
# A number with decimals; what belongs to an address, a version or an id has letters or dots around it.
DECIMAL = re.compile(r"(?<![\w.#/-])[\u2212+-]?\d+\.\d+(?![\w./]|\.\d)")
# A score or a difference with its interval.
WITH_INTERVAL = re.compile(rf"({DECIMAL.pattern}) ({DECIMAL.pattern}) to ({DECIMAL.pattern})")
# What is the same in every report, and no result.
ALWAYS = {"97.5", "2.5", "0.05", "0.95", "0.001", "0.40", "1.1", "2001.09977"}
OF_VOTES = {f"{sign}{tick}" for sign in ("", "\u2212") for tick in ("0.25", "0.5", "0.50", "0.75")}  # ticks
PUBLISHED = {"0.42", "0.30", "0.03"}  # the alphas of the Meena paper, which stand beside a study's own
MIRRORED = ("difference", "lead")  # a matrix shows them from both sides


def read(browser: Client, address: str) -> str:
    """What one reads on a page: without its head, its scripts and the names of the charts' parts."""
    answer = browser.get(address)
    assert answer.status_code == 200, address
    text = re.sub(r"(?s)<head>.*?</head>|<script.*?</script>|<style.*?</style>", " ", answer.content.decode())
    # Their panels have axes of their own, whose ticks are no results; the same stands in tables.
    text = re.sub(r'(?s)<figure class="chart" data-chart="by-turn"[^>]*>.*?</figure>', " ", text)
    text = re.sub(r"\b\d{4}\.\d{5}\b", " ", text)  # the number of a paper
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", text)).split())


def numbers(value: Any) -> Iterator[float]:
    """All of a document, with those that its sentences say; differences also from the other side."""
    if isinstance(value, dict):
        yield from (-value[key] for key in MIRRORED if isinstance(value.get(key), int | float))
        for each in value.values():
            yield from numbers(each)
    elif isinstance(value, list):
        for each in value:
            yield from numbers(each)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)
    elif isinstance(value, str):
        yield from (as_number(found) for found in DECIMAL.findall(value))


def effect_sizes(pair: dict[str, Any]) -> Iterator[tuple[float, float, float]]:
    """The effect sizes of a pair of systems with the ends of their intervals."""
    for key in ("odds_ratio", "effect"):
        if pair.get(f"{key}_low") is not None:
            yield pair[key], pair[f"{key}_low"], pair[f"{key}_high"]


def triples(value: Any) -> Iterator[tuple[float, float, float]]:
    """The estimates of a document with the ends of their intervals."""
    if isinstance(value, dict):
        yield from effect_sizes(value)
        if value.get("low") is not None and value.get("high") is not None:
            for key in ("value", "difference", "lead", "odds_ratio", "alpha", "icc"):
                if value.get(key) is not None:
                    yield value[key], value["low"], value["high"]
            for key in MIRRORED:
                if value.get(key) is not None:
                    yield -value[key], -value["high"], -value["low"]
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


# A hyphen for a minus, a percent sign without its space, a p of 0.
MISPRINTED = re.compile(r"(?:(?<=\s)|(?<=\())-\d|\d%|p = 0\.000\b")
Fewest = dict[str, tuple[int, int]]


def compare(
    study: Study, browser: Client, folder: Path, fewest: Fewest, *, ticks: Set[str] = frozenset()
) -> dict[str, Any]:
    """Read pages of a study, and find each of their figures in the report that its bundle gives again.

    Args:
        study: with a computed report.
        browser: signed in.
        folder: for the bundle.
        fewest: by address, how many numbers with decimals, and estimates with intervals, must be there: else
            nothing was compared.
        ticks: of axes, which are no results.

    Returns:
        The report.
    """
    call_command("bundle", str(study.pk), output=folder / "bundle.zip")
    again = recompute(folder / "bundle.zip")
    assert again.differences == []
    estimates = set(triples(again.report))
    exact = set(numbers(again.report)).union(*estimates)
    for address, (least, least_with_interval) in fewest.items():
        text = read(browser, address)
        shown = {each for each in DECIMAL.findall(text) if each not in ALWAYS | PUBLISHED | ticks}
        strange = {each for each in shown if not any(rounded(each.lstrip("+"), value) for value in exact)}
        assert sorted(strange) == [], address
        with_interval = set(WITH_INTERVAL.findall(text))
        assert {
            three
            for three in with_interval
            if not any(all(map(rounded, three, values)) for values in estimates)
        } == set(), address
        assert (len(shown) >= least, len(with_interval) >= least_with_interval) == (True, True), (
            address, len(shown), len(with_interval),
        )  # fmt: skip
        assert MISPRINTED.findall(text) == [], address
    return again.report


@pytest.mark.timeout(300)
def test_reports_of_conversations_print_consistent_numbers(
    make_study: MakeStudy, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    study = _study(make_study, rex)
    fewest = {
        f"/studies/{study.pk}/report/": (100, 30),
        f"/compare/?study={study.pk}": (12, 6),
        "/bots/ann/history/": (6, 3),
        "/bots/bob/history/": (6, 3),
        "/home/": (2, 0),
        f"/studies/{study.pk}/": (0, 0),
    }

    compare(study, sign_in(rex), tmp_path, fewest)


@pytest.mark.timeout(300)
def test_reports_of_judged_responses_print_consistent_numbers(
    make_queue: MakeQueue,
    make_contexts: MakeContexts,
    make_run: MakeRun,
    rex: User,
    sign_in: SignIn,
    tmp_path: Path,
) -> None:
    """Two systems at eight contexts, judged by four raters of whom one is excluded."""
    study, contexts = make_queue(raters=4, exclusion_rules="Too fast.", margin=10), make_contexts(8)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))
    said = (YES, MEH, NO, YES, YES)
    for rater in range(4):
        desk, n = begin(study), rater
        while shown := judging.state(desk)["items"]:
            n += 1
            judging.judge(desk, key=UUID(shown[0]["key"]), answers=said[n * (rater + 1) % 5])
        judging.finish(desk)
    excluded = study.participations.order_by("pk").first()
    assert excluded
    exclude(excluded.pk, reason="Too fast.", by=rex)
    computed(study)

    report = compare(
        study,
        sign_in(rex),
        tmp_path,
        {f"/studies/{study.pk}/report/": (80, 20), f"/compare/?study={study.pk}": (6, 2)},
    )
    assert report["other"]["agreement"]
    assert report["answer"]["p_equivalent"] is not None


@pytest.mark.timeout(300)
def test_reports_of_pairs_print_consistent_numbers(
    make_pairs: MakePairs, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    study = make_pairs(8, ("Alpha", "Beta", "Gamma"), raters=3, batch=24)
    for rater in range(3):
        desk, n = begin(study), rater
        while shown := judging.state(desk)["items"]:
            n += 1
            side = ("first", "second", "tied", "first", "second")[n * (rater + 2) % 5]
            judging.judge(desk, key=UUID(shown[0]["key"]), answers={"better": side})
        judging.finish(desk)
    excluded = study.participations.order_by("pk").first()
    assert excluded
    exclude(excluded.pk, reason="Too fast.", by=rex)
    computed(study)

    compare(study, sign_in(rex), tmp_path, {f"/studies/{study.pk}/report/": (60, 20)})


@pytest.mark.timeout(300)
def test_reports_of_scales_and_votes_print_consistent_numbers(
    make_study: MakeStudy, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    """As neural.chat asks: five scales of the whole, votes on replies, and something of one's own turns."""
    study = make_study(
        {"ann": 9, "bob": 9}, asks=[WHOLE, VOTES, OWN], opening_speaker="human", opening_text="", min_turns=4
    )
    for n in range(12):
        rated(study, 1 + (3 * n) % 7)
    computed(study)

    report = compare(
        study, sign_in(rex), tmp_path, {f"/studies/{study.pk}/report/": (60, 12)}, ticks=OF_VOTES
    )
    assert len(report["beside"]) == 2
    assert report["normalised"]


@pytest.mark.timeout(300)
def test_reports_of_two_people_print_consistent_numbers(
    make_meeting: MakeMeeting, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    study = make_meeting(asks=ASKS, title="The ceiling")
    for n in range(4):
        met(study, [YES, MEH, NO, YES][n % 2 :], {0: n % 2 == 0}, rated=(1 + n, 5 - n))
    computed(study)

    compare(study, sign_in(rex), tmp_path, {f"/studies/{study.pk}/report/": (20, 6)})


@pytest.mark.timeout(300)
def test_reports_of_self_play_print_consistent_numbers(
    make_self_play: MakeSelfPlay, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    plan = make_self_play(alone=True, script={"replies": LINES}, conversations=4, utterances=6)
    play(plan)
    computed(plan.study)

    compare(plan.study, sign_in(rex), tmp_path, {f"/studies/{plan.study_id}/report/": (10, 4)})


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
