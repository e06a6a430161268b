"""Pairs from judgments to report, exports and bundle, and back."""

import csv
import io
import itertools
import json
import random
import zipfile
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command

from evaluation.files.reading import FileError
from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakePairs, MakeStudy
from tests.desks import begin
from tests.planted import SignIn, computed, talked
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.judging.items import pairs
from turnwise.judging.items.pairs import PairSource
from turnwise.judging.models import Slot
from turnwise.judging.queue import services as judging
from turnwise.reports.models import Chart
from turnwise.responses.models import Response
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)


def judge_all(study: Study, raters: int, better: str) -> None:
    """Everybody prefers this system, as a text of it tells, but for every fourth judgment, which is any."""
    rng = random.Random(1)
    for _ in range(raters):
        desk = begin(study)
        while items := judging.state(desk)["items"]:
            is_first = any(better in text for text in items[0]["sides"][0]["texts"])
            liked = "first" if is_first else "second"
            given = {
                question: liked if rng.random() < 0.75 else rng.choice(("first", "second", "tied"))
                for question in ("quality", "fluency", "relatedness", "empathy")
            }
            judging.judge(desk, key=UUID(items[0]["key"]), answers=given)
    study.refresh_from_db()


@pytest.fixture
def responses(make_pairs: MakePairs) -> Study:
    study: Study = make_pairs(12, ("Alpha", "Beta", "<b>Gamma</b>"), raters=4, question_set="preferences")
    judge_all(study, 4, "Beta")
    return study


@pytest.fixture
def conversations(make_pairs: MakePairs, make_study: MakeStudy) -> Study:
    talks = make_study({"ann": 100, "bob": 100}, min_turns=2, max_turns=8)
    for number in range(16):
        talked(talks, [(True, True)], text=f"I have a cat, {number % 2}")
    study: Study = make_pairs(raters=3, question_set="preferences")
    pairs.add(study, PairSource.of_conversations([talks], language="en"))
    judge_all(study, 3, "cat, 1")
    return study


def bundled(study: Study, tmp_path: Path) -> Path:
    path = tmp_path / "bundle.zip"
    call_command("bundle", str(study.pk), output=path)
    return path


@pytest.mark.parametrize("kind", ["responses", "conversations"])
def test_the_bundle_alone_gives_every_number_again(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    study = request.getfixturevalue(kind)
    stored = computed(study).result
    assert stored

    again = recompute(bundled(study, tmp_path))

    assert (again.report, again.differences, again.changed_files) == (stored, [], [])
    assert again.comparison.values > 300
    assert {each["question"] for each in stored["preferences"]}
    assert all(each["strengths"]["bots"] for each in stored["preferences"])


def test_the_preferred_system_leads_on_either_side(responses: Study) -> None:
    result = computed(responses).result
    assert result

    quality = result["preferences"][0]
    leads = {row["bot"]: row["lead"] for row in quality["meetings"]}
    strongest = max(quality["strengths"]["bots"], key=lambda bot: bot["value"])

    assert leads["Alpha against Beta"] < -50
    assert leads["<b>Gamma</b> against Beta"] < -50
    assert strongest["bot"] == "Beta"
    assert {chart.name for chart in Chart.objects.filter(report__study=responses)} == {"preferences"}


def test_position_biases_are_counted_from_the_sides_that_raters_saw(make_pairs: MakePairs) -> None:
    study: Study = make_pairs(8, ("Alpha", "Beta and two of his friends"), question_set="preferences")
    judge_all(study, 5, "Beta")
    result = computed(study).result
    assert result

    took_first, took_longer = [], []
    for slot in Slot.objects.filter(study=study, label__isnull=False):
        pair, said = slot.item.pair, slot.label.answers["quality"]
        sides = [pair.first_response.text, pair.second_response.text][:: -1 if slot.is_swapped else 1]
        if said != "tied":
            took_first.append(said == "first")
            lengths = [len(text.split()) for text in sides]
            took_longer.append(lengths.index(max(lengths)) == (0 if said == "first" else 1))

    first, longer = result["preferences"][0]["leanings"]
    assert (first["to"], longer["to"]) == ("shown_first", "longer")
    assert first["labels"] == longer["labels"] == len(took_first) > 30
    assert first["value"] == pytest.approx(100 * sum(took_first) / len(took_first))
    assert longer["value"] == pytest.approx(100 * sum(took_longer) / len(took_longer))
    assert longer["is_beyond_chance"]


def test_strengths_are_adjusted_for_the_length_of_the_responses(
    make_pairs: MakePairs, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    """Raters take the longer side in most judgments, whichever system wrote it."""
    rng, judged = random.Random(2), itertools.count()
    study: Study = make_pairs(20, ("Alpha", "Beta"), question_set="preferences")
    for response in Response.objects.all():
        response.text += " and so on" * rng.randrange(30)
        with rewriting():
            response.save()
    for _ in range(4):
        desk = begin(study)
        while items := judging.state(desk)["items"]:
            first, second = (len(side["texts"][0]) for side in items[0]["sides"])
            liked = "first" if (first > second) == (next(judged) % 7 > 0) else "second"
            given = dict.fromkeys(("quality", "fluency", "relatedness", "empathy"), liked)
            judging.judge(desk, key=UUID(items[0]["key"]), answers=given)
    study.refresh_from_db()
    stored = computed(study).result
    assert stored

    style = stored["preferences"][0]["style"]
    page = sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()
    again = recompute(bundled(study, tmp_path))

    [length] = style["effects"]
    assert length["element"] == "length"
    assert length["share"]["value"] > 70
    assert style["equal"] == ["Headers", "List items", "Bold passages"]
    assert length["words"] in page
    assert (again.report, again.differences) == (stored, [])


def test_few_judgments_are_not_adjusted_and_the_report_says_why(
    make_pairs: MakePairs, rex: User, sign_in: SignIn
) -> None:
    study: Study = make_pairs(4, ("Alpha", "Beta and two of his friends"), question_set="preferences")
    judge_all(study, 2, "Beta")
    computed(study)

    page = sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()

    assert "Strengths adjusted for style need" in page or "No strengths:" in page


def tables_of(path: Path) -> dict[str, list[dict[str, Any]]]:
    with zipfile.ZipFile(path) as archive:
        return {
            name: [json.loads(line) for line in archive.read(f"data/{name}.jsonl").splitlines()]
            for name in ("pairs", "pair_judgments", "workers")
        }


def test_the_bundle_names_the_sides_of_each_judgment(responses: Study, tmp_path: Path) -> None:
    path = bundled(responses, tmp_path)
    tables = tables_of(path)
    by_key = {pair["item"]: pair for pair in tables["pairs"]}
    assert len(by_key) == 36
    assert len(tables["pair_judgments"]) == 36 * 4

    seen = {
        (row["rater"], row["item"]): [
            by_key[row["item"]][f"{side}_system"]
            for side in (("second", "first") if row["sides_swapped"] else ("first", "second"))
        ]
        for row in tables["pair_judgments"]
    }

    names = dict(responses.participations.values_list("worker", "pseudonym"))
    stored = responses.labels.values_list("rater", "slot__key", "slot__is_swapped", "pair")
    for rater, key, is_swapped, _ in stored:
        pair = responses.items.get(key=key).pair
        assert pair
        systems = [str(each.run.system) for each in (pair.first_response, pair.second_response) if each]
        assert seen[names[rater], str(key)] == (systems[::-1] if is_swapped else systems)
    for row in by_key.values():
        for side in ("first", "second"):
            (text,) = json.loads(row[f"{side}_said"])
            assert text.startswith(row[f"{side}_system"])
    with zipfile.ZipFile(path) as archive:
        assert "Beta" in archive.read("tables/preferences.tex").decode()
        assert "Quality" in archive.read("tables/strengths.tex").decode()
        assert {"charts/preferences.svg", "charts/preferences.pdf"} <= set(archive.namelist())
        assert "data/pair_judgments.csv" in archive.namelist()


def test_a_swapped_side_in_the_bundle_is_detected(responses: Study, tmp_path: Path) -> None:
    path, changed = bundled(responses, tmp_path), tmp_path / "changed.zip"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            if name == "data/pair_judgments.jsonl":
                text = text.replace(b'"sides_swapped":true', b'"sides_swapped":false', 1)
            new.writestr(name, text)

    found = recompute(changed)

    assert found.differences
    assert found.changed_files == ["data/pair_judgments.jsonl"]


def test_a_judgment_of_a_missing_pair_is_named(responses: Study, tmp_path: Path) -> None:
    path, changed = bundled(responses, tmp_path), tmp_path / "changed.zip"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            text = old.read(name)
            new.writestr(name, b"\n".join(text.splitlines()[1:]) if name == "data/pairs.jsonl" else text)

    with pytest.raises(FileError, match=r"which data/pairs.jsonl does not have"):
        recompute(changed)


def test_the_csv_has_both_sides_as_the_rater_saw_them(responses: Study, rex: User, sign_in: SignIn) -> None:
    lines = b"".join(sign_in(rex).get(f"/studies/{responses.pk}/turns.csv")).decode()

    rows = list(csv.DictReader(io.StringIO(lines)))

    assert len(rows) == 36 * 4
    for row in rows:
        first, second = json.loads(row["response"])
        assert row["bot"] == f"{first.partition(' answers')[0]} against {second.partition(' answers')[0]}"
        assert row["context"].startswith("Question")
    named = [row for row in rows if "Beta" in row["bot"]]
    sides = {row["quality"] == ("first" if row["bot"].startswith("Beta") else "second") for row in named}
    assert sides == {True, False}
    liked = [row["quality"] == ("first" if row["bot"].startswith("Beta") else "second") for row in named]
    assert sum(liked) > 0.7 * len(named)


def test_system_names_are_escaped_on_the_report_page(responses: Study, rex: User, sign_in: SignIn) -> None:
    computed(responses)

    page = sign_in(rex).get(f"/studies/{responses.pk}/report/").content.decode()

    assert "&lt;b&gt;Gamma&lt;/b&gt; against Beta" in page
    assert "<b>Gamma" not in page
    assert "Which of the two is better as a whole?" in page
    assert "kappa over 6 pairs of raters" in page
    assert page.count("Which is more ") > 1  # questions
    assert (page.count("Lead: wins less losses"), page.count("(Davidson 1970)")) == (1, 1)  # said once
    assert "VHCR-EI against VHCR, Reddit" in page  # what the paper found stands beside
