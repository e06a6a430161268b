"""What monitor, conversations and items show is what the bundle has, and adds up to the report."""

import html
import json
import re
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from django.core.management import call_command

from evaluation.report.bundles.recomputation import recompute
from evaluation.report.label_columns import other_result
from tests.conftest import MakeContexts, MakeQueue, MakeRun, MakeStudy
from tests.desks import judge
from tests.planted import SignIn, computed, talked
from tests.reports.test_numbers_on_pages import rounded
from turnwise.accounts.models import User
from turnwise.crowd.places.ending import exclude
from turnwise.judging.items import subjects
from turnwise.judging.models import Item
from turnwise.studies.models import PrimaryAnalysis, Study

pytestmark = pytest.mark.django_db(transaction=True)

Row = dict[str, Any]


@pytest.fixture
def study(make_study: MakeStudy, rex: User) -> Study:
    """Two bots, eight conversations each, of unequal length; one worker excluded by its primary analysis."""
    study = make_study(
        {"ann": 8, "bob": 8}, min_turns=2, max_turns=8, exclusion_rules="All answers alike.",
        primary_analysis=PrimaryAnalysis.WITHOUT_EXCLUDED,
    )  # fmt: skip
    for n in range(16):
        labels = [(True, n % 4 < 2), (n % 3 > 0, False), (n % 5 > 1, n % 5 > 2)][: 2 + n % 2]
        last = talked(study, labels, latencies=[50 * n, 800, 410][: len(labels)])
    assert last.participation
    exclude(last.participation.pk, reason="All answers alike.", by=rex)
    computed(study)
    return study


def of_bundle(study: Study, folder: Path, *tables: str) -> tuple[Row, list[list[Row]]]:
    """The report that the bundle gives again, and these of its tables."""
    path = folder / "bundle.zip"
    call_command("bundle", str(study.pk), output=path)
    again = recompute(path)
    assert again.differences == []
    with zipfile.ZipFile(path) as archive:
        texts = [archive.read(f"data/{table}.jsonl").decode() for table in tables]
    return again.report, [[json.loads(line) for line in text.splitlines()] for text in texts]


def rows_of(page: str) -> list[list[str]]:
    """The cells of a page's tables in words, line by line."""
    rows = re.findall(r"(?s)<tr>(.*?)</tr>", page)
    cells = [re.findall(r"(?s)<t[hd]\b[^>]*>(.*?)</t[hd]>", row) for row in rows]
    return [[" ".join(html.unescape(re.sub("<[^>]+>", " ", each)).split()) for each in row] for row in cells]


def test_the_score_of_each_conversation(study: Study, rex: User, sign_in: SignIn, tmp_path: Path) -> None:
    report, (conversations, labels, workers) = of_bundle(
        study, tmp_path, "conversations", "labels", "workers"
    )
    of_dialogue: dict[str, list[float]] = defaultdict(list)
    for label in labels:
        of_dialogue[label["dialogue"]].append(50 * (label["sensible"] + label["specific"]))
    page = sign_in(rex).get(f"/studies/{study.pk}/dialogues/").text

    keys = re.findall(r'href="/dialogues/([0-9a-f-]{36})/"', page)
    shown = {key: row[4] for key, row in zip(keys, rows_of(page)[1:], strict=True)}
    assert shown.keys() == of_dialogue.keys()
    assert all(rounded(shown[key], fmean(scores)) for key, scores in of_dialogue.items())

    # All labels of a bot together are its score in the analysis of everybody, and the others in the primary.
    left_out = {each["rater"] for each in workers if each["excluded_at"]}
    assert len(left_out) == 1
    everybody = other_result(report)
    assert everybody
    for analysis, without in ((everybody, set[str]()), (report, left_out)):
        place = [column["key"] for column in analysis["columns"]].index("ssa")
        scores = {bot["bot"].lower(): bot["cells"][place]["value"] for bot in analysis["bots"]}
        for bot, score in scores.items():
            counted = [each for each in conversations if each["bot"] == bot and each["worker"] not in without]
            assert fmean(s for each in counted for s in of_dialogue[each["dialogue"]]) == pytest.approx(score)


def test_figures_of_bots_in_the_monitor(study: Study, rex: User, sign_in: SignIn, tmp_path: Path) -> None:
    report, (turns, conversations) = of_bundle(study, tmp_path, "turns", "conversations")
    page = sign_in(rex).get(f"/studies/{study.pk}/monitor/").text

    shown = {row[0]: row for row in rows_of(page)[1:]}
    course = {each["bot"]: each for each in report["course"]["bots"]}
    assert shown.keys() == course.keys()
    for bot, row in shown.items():
        told = course[bot]
        finished = [each for each in conversations if each["bot"] == bot.lower() and each["ending"]]
        assert row[2] == f"{told['finished']} of 8"
        assert len(finished) == told["finished"]
        times = sorted(each["latency_ms"] for each in turns if each["bot"] == bot.lower())
        assert len(times) == told["latency"]["replies"]
        assert milliseconds(row[3]) == pytest.approx(told["latency"]["median_ms"], abs=5)
        assert milliseconds(row[4]) == pytest.approx(told["latency"]["p95_ms"], abs=5)
        assert row[6] == str(sum(fault["times"] for fault in told["faults"]))
    # Everybody opened the link, agreed, began and came to the end.
    assert re.findall(r'class="funnel__n">(\d+)', page)[-1] == str(len(conversations))


def milliseconds(shown: str) -> float:
    """What the page says as `0.41 s` or `80 ms`."""
    number, unit = shown.split()
    return float(number) * {"s": 1000, "ms": 1}[unit]


@pytest.fixture
def judged(make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """Two systems in six contexts, each response judged by three, with a report."""
    study, contexts = make_queue(raters=3), make_contexts(6)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))
    for rater in range(3):
        judge(study, answering(rater))
    computed(study)
    return study


def test_the_votes_of_each_item(judged: Study, rex: User, sign_in: SignIn, tmp_path: Path) -> None:
    study = judged
    report, (items, judgments) = of_bundle(study, tmp_path, "items", "judgments")
    votes: dict[str, Counter[bool]] = defaultdict(Counter)
    for each in judgments:
        votes[each["item"]][each["sensible"]] += 1
    page = sign_in(rex).get(f"/studies/{study.pk}/items/").text

    # Each row names its item twice: in its menu and in its text.
    keys = dict.fromkeys(re.findall(rf'href="/studies/{study.pk}/items/([0-9a-f-]{{36}})/"', page))
    shown = {key: row[-3:] for key, row in zip(keys, rows_of(page)[1:], strict=True)}
    systems = {each["item"]: each["system"] for each in items}
    assert shown.keys() == systems.keys()
    for key, (system, said, disagreement) in shown.items():
        assert system == systems[key]
        assert counted(said) == votes[key]
        assert disagreement == f"{round(100 * (1 - max(votes[key].values()) / 3))} %"
    # All votes of a system together are its score.
    place = [column["key"] for column in report["columns"]].index("sensible")
    for bot in report["bots"]:
        of_bot = [each["sensible"] for each in judgments if systems[each["item"]] == bot["bot"]]
        assert 100 * fmean(of_bot) == pytest.approx(bot["cells"][place]["value"])


def test_systems_side_by_side(judged: Study, rex: User, sign_in: SignIn, tmp_path: Path) -> None:
    report, (items, judgments) = of_bundle(judged, tmp_path, "items", "judgments")
    context_of = {each["item"]: each["name"] for each in items}
    scores: dict[str, list[float]] = defaultdict(list)
    for each in judgments:
        scores[context_of[each["item"]]].append(50 * (each["sensible"] + bool(each["specific"])))
    page = sign_in(rex).get(f"/studies/{judged.pk}/report/contexts/").text

    shown = {row[0]: (row[2], row[4]) for row in rows_of(page)[1:]}
    assert shown == {key: (f"{fmean(given):.1f}", str(len(given))) for key, given in scores.items()}
    # All of them together are the recomputed report's score, to which both systems have as many judgments.
    column = [each["key"] for each in report["columns"]].index("ssa")
    of_bots = fmean(bot["cells"][column]["value"] for bot in report["bots"])
    assert fmean(score for given in scores.values() for score in given) == pytest.approx(of_bots)


def answering(rater: int) -> Callable[[Item], dict[str, bool]]:
    return lambda item: {"sensible": (item.pk + rater) % 4 > 0, "specific": False}


def counted(said: str) -> Counter[bool]:
    """Of `Yes 2, No 1`."""
    found = (each.split() for each in said.split(", "))
    return Counter({word == "Yes": int(n) for word, n in found})
