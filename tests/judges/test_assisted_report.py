"""The report of people assisted by a machine judge, and the bundle from which it is computed again."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from evaluation.assisted.intervals import IntervalRule
from evaluation.report.assisted import assisted_figures
from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeContexts, MakeRun
from tests.desks import judge
from tests.judges.conftest import GOOD, MakeStudyOfTwo
from tests.judges.test_pages import answers_of_rater, page
from tests.judges.test_runs import finished
from tests.planted import SignIn, computed
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.judging.items import subjects
from turnwise.judging.models import Item
from turnwise.studies.models import Study
from turnwise.tasks.judging.report_parts import labels_of_judges

pytestmark = pytest.mark.django_db(transaction=True)


def _every_third(text: str) -> str:
    """A judge that is right about the items of `answers_of_rater`, save for the slips of people."""
    number = int(text.rpartition("c")[2].rstrip(".")) if text else 1
    return GOOD if number % 3 else '{"sensible": false}'


def _result(study: Study) -> dict[str, Any]:
    result: dict[str, Any] | None = computed(study).result
    assert result
    return result


def _assisted(study: Study) -> dict[str, Any]:
    [found] = _result(study)["assisted"]
    assert isinstance(found, dict)
    return found


@pytest.fixture
def half_judged(make_items: MakeStudyOfTwo, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """A study of two systems; people have judged 30 items of each, and 60 of each came later."""
    study = make_items(30, raters=2)
    for rater in range(2):
        judge(study, answers_of_rater(rater))
    version = make_contexts(60)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(version, system))
    return study


def test_the_report_shows_people_alone_and_assisted_and_follows_from_the_bundle(
    half_judged: Study, make_judge: Callable[..., Bot], rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    before = _result(half_judged)
    assert "assisted" not in before
    version = half_judged.results_version

    finished(half_judged, make_judge(_every_third))

    half_judged.refresh_from_db()
    assert half_judged.results_version > version  # so that a new report is computed
    after = _result(half_judged)
    [found] = after["assisted"]
    assert {key: after[key] for key in before} == before  # people's figures have no label of a machine
    assert (found["items"], found["people_items"], found["judge_items"]) == (180, 60, 180)
    [sensible] = [each for each in found["scores"] if each["key"] == "sensible"]
    alpha, beta, between = sensible["rows"]
    assert (alpha["first"], beta["first"], between["second"]) == ("Alpha", "Beta", "Beta")
    for row in (alpha, beta):
        people, assisted = row["people"], row["assisted"]
        assert assisted["high"] - assisted["low"] < people["high"] - people["low"]
        assert row["items"] == 30
        assert row["as_if"] > 40
        assert f"as if people had labelled {row['as_if']} items instead of 30" in row["words"]
    columns = [column["key"] for column in after["columns"]]
    # Both raters judged all 30, so counting items is counting labels, as the main table does.
    main = {bot["bot"]: dict(zip(columns, bot["cells"], strict=True)) for bot in after["bots"]}
    for row in (alpha, beta):
        cell = main[row["first"]]["sensible"]
        assert row["people"]["value"] == pytest.approx(cell["value"])
        # People's interval is by the same method as the assisted one, for which it is a little shorter.
        widths = [each["high"] - each["low"] for each in (row["people"], cell)]
        assert widths[0] == pytest.approx(widths[1], rel=0.1)
        assert widths[0] < widths[1]

    shown = page(sign_in(rex), f"/studies/{half_judged.pk}/report/")
    assert "All other figures of this report count people only." in shown
    assert f"as if people had labelled {alpha['as_if']} items instead of 30" in shown
    assert "a little shorter than elsewhere in this report" in shown
    path = tmp_path / "bundle.zip"
    call_command("bundle", str(half_judged.pk), output=path)
    again = recompute(path)
    assert again.equal
    assert again.report["assisted"] == after["assisted"]


def test_a_report_of_the_first_version_recomputes_by_its_own_intervals(
    half_judged: Study, make_judge: Callable[..., Bot], tmp_path: Path
) -> None:
    finished(half_judged, make_judge(_every_third))
    newest = _result(half_judged)["assisted"]
    first = assisted_figures(labels_of_judges(half_judged), rule=IntervalRule.WALD)
    made, path = tmp_path / "made.zip", tmp_path / "bundle.zip"
    call_command("bundle", str(half_judged.pk), output=made)
    with zipfile.ZipFile(made) as old, zipfile.ZipFile(path, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name.endswith("report.json"):
                content = json.dumps({**json.loads(content), "assisted": first}).encode()
            new.writestr(name, content)

    found = recompute(path)

    assert found.differences == []
    assert found.report["assisted"] == json.loads(json.dumps(first))
    assert ("intervals" in first[0], newest[0]["intervals"]) == (False, "score")
    shown, of_newest = (each[0]["scores"][0]["rows"][0]["people"] for each in (first, newest))
    assert shown["value"] == of_newest["value"]
    assert shown["low"] != of_newest["low"]


def test_below_20_items_of_people_the_report_says_that_it_cannot(
    make_items: MakeStudyOfTwo, make_judge: Callable[..., Bot]
) -> None:
    study = make_items(5)
    judge(study, answers_of_rater(0))
    finished(study, make_judge(_every_third))

    alpha, _beta, between = _assisted(study)["scores"][0]["rows"]

    for row in (alpha, between):
        assert row["words"].startswith("Cannot say yet. People labelled 5 items")
        assert row["assisted"] is None
        assert row["people"]["value"] is not None
    assert Item.objects.filter(study=study).count() == 10


def test_a_worthless_judge_leaves_the_estimate_of_people(
    half_judged: Study, make_judge: Callable[..., Bot]
) -> None:
    finished(half_judged, make_judge(lambda text: GOOD if len(text) % 2 else '{"sensible": false}'))

    for row in _assisted(half_judged)["scores"][0]["rows"]:
        assert row["assisted"] == row["people"]
        assert row["worth"] == 1
        assert row["as_if"] == row["items"]
        assert "The estimate is that of people alone." in row["words"]
