"""The report of a judging study against numbers worked out by hand."""

import json
import zipfile
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from evaluation.files.reading import FileError
from evaluation.report.bundles.recomputation import recompute
from evaluation.statistics.labels import Labels
from evaluation.statistics.ssa import Unit, ssa
from tests.conftest import MakeContexts, MakeQueue, MakeRun
from tests.desks import begin
from tests.planted import SignIn, computed, talked
from turnwise.accounts.models import User
from turnwise.contexts import services as contexts
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet
from turnwise.crowd.models import Participation
from turnwise.crowd.places.ending import exclude
from turnwise.judging.items import subjects
from turnwise.judging.models import Item
from turnwise.judging.queue import services as judging
from turnwise.labels.models import Label
from turnwise.reports import services
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

YES, MEH, NO = (
    {"sensible": True, "specific": True},
    {"sensible": True, "specific": False},
    {"sensible": False},
)
Planned = dict[tuple[str, str, int], list[dict[str, bool]]]


def vote(study: Study, planned: Planned) -> None:
    """Let as many raters as there are answers give them, by (system, context, repetition)."""
    for rater in range(max(map(len, planned.values()))):
        desk = begin(study)
        while shown := judging.state(desk)["items"]:
            item = Item.objects.select_related("response__run", "response__context").get(key=shown[0]["key"])
            assert item.response
            of = (item.response.run.system, item.response.context.key, item.response.repetition)
            judging.judge(desk, key=UUID(shown[0]["key"]), answers=planned[of][rater])
        judging.finish(desk)


@pytest.fixture
def judged(make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """Three raters of two systems at two contexts."""
    study, contexts = make_queue(raters=3), make_contexts(2)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))
    vote(study, {
        ("Alpha", "c1", 1): [YES, YES, NO], ("Alpha", "c2", 1): [NO, NO, MEH],
        ("Beta", "c1", 1): [YES, YES, YES], ("Beta", "c2", 1): [MEH, YES, MEH],
    })  # fmt: skip
    return study


def values(rows: list[dict[str, Any]]) -> dict[str, list[float]]:
    return {row["bot"]: [cell["value"] for cell in row["cells"]] for row in rows}


def test_means_count_every_judgment(judged: Study) -> None:
    result = computed(judged).result

    # Alpha: sensible 2 + 1 of 6, specific 2 of 6. Beta: sensible 6 of 6, specific 3 + 1 of 6.
    assert result
    assert values(result["bots"]) == {
        "Alpha": pytest.approx([50, 100 / 3, 125 / 3]),
        "Beta": pytest.approx([100, 200 / 3, 250 / 3]),
    }
    assert [
        (row["turns"], row["conversations"], row["labels"], row["workers"]) for row in result["bots"]
    ] == [(2, 2, 6, 3)] * 2


def test_majorities_count_every_item(judged: Study) -> None:
    result = computed(judged).result

    # Alpha: c1 sensible 2:1 and specific 2:1, c2 sensible 1:2. Beta: c1 all; c2 sensible 3:0, specific 1:2.
    assert result
    assert values(result["majority"]) == {"Alpha": [50, 50, 50], "Beta": [100, 50, 75]}


def test_majorities_agree_with_the_published_unit_of_the_evaluation_package(judged: Study) -> None:
    rows = [
        (response.run.system, response.context_id, 1, label.rater_id, *label.answers.values())
        for label in Label.objects.select_related("response__run")
        if (response := label.response)
    ]
    expected = {bot: 100 * score.ssa for bot, score in ssa(Labels.from_rows(rows), Unit.MAJORITY).items()}

    result = computed(judged).result

    assert result
    assert {bot: cells[2] for bot, cells in values(result["majority"]).items()} == expected


def test_agreement_is_that_of_pairs_of_raters(judged: Study) -> None:
    result = computed(judged).result

    # Sensible: 2:1 agrees in 1 of 3 pairs, 3:0 in 3 of 3; 1 + 1 + 3 + 3 of 12 pairs.
    assert result
    assert result["agreement"][0]["percent"] == pytest.approx(100 * 8 / 12)
    assert result["raters_per_item"] == [{"raters": 3, "items": 4}]


def test_singular_and_plural_of_raters_and_contexts_are_right(make_queue: MakeQueue, rex: User) -> None:
    study = make_queue(1, raters=1)
    vote(study, {("Alpha", "c1", 1): [YES]})
    computed(study)
    client = Client()
    client.force_login(rex)

    page = client.get(f"/studies/{study.pk}/report/").content.decode()

    assert "1 worker judges each item; in the paper 5." in page
    assert "Alpha has no interval: " in page
    assert "Nothing was labelled by two or more workers" in page
    assert "1 item with 1 rater." in page


def test_departures_from_the_paper_are_named(judged: Study) -> None:
    result = computed(judged).result

    assert result
    assert [sentence.split(";")[0] for sentence in result["deviations"]] == [
        "3 workers judge each item",
        "Responses to 2 contexts are judged",
        "Contexts by their number of turns: 1 turn: 2",
        "The contexts are others",
    ]
    # The same judgments are as the preset for prompts and models wants them, which leaves the questions open.
    Study.objects.filter(pk=judged.pk).update(protocol="prompts-by-models")
    as_preset = computed(Study.objects.get(pk=judged.pk)).result
    assert as_preset
    assert (as_preset["protocol"], as_preset["deviations"]) == ("Prompts by models", [])


def test_scores_of_readers_are_shown_beside_interactive_scores(
    make_queue: MakeQueue, study: Study, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    talked(study, [(True, True)] * 7)
    queue = make_queue(raters=1, protocol="meena-read")
    subjects.add_turns(queue, study, language="en")
    desk = begin(queue)
    while shown := judging.state(desk)["items"]:
        judging.judge(desk, key=UUID(shown[0]["key"]), answers=YES)

    stored = computed(queue).result
    page = sign_in(rex).get(f"/studies/{queue.pk}/report/").content.decode()

    assert stored
    assert stored["evaluation"] == "read"
    assert stored["deviations"] == [
        "1 worker judges each item; in the paper 5.",
        f"Conversations of {stored['bots'][0]['bot']}: 1; in the paper 100 of people with each other, 100 of "
        "Mitsuku and 119 of XiaoIce.",
    ]
    assert "conversations judged by readers" in page
    assert "XiaoIce" in page
    assert "DialoGPT" not in page
    assert recompute(bundled(queue, tmp_path)).differences == []


def test_items_that_lack_raters_are_named(make_queue: MakeQueue) -> None:
    study = make_queue(3)
    vote(study, {("Alpha", f"c{n}", 1): [YES] for n in (1, 2, 3)})

    result = computed(study).result

    assert result
    assert result["deviations"][0].startswith("3 of 3 items have fewer than the 5 raters that are wanted")


def test_repeated_runs_give_a_standard_deviation(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study = make_queue(raters=1)
    subjects.add_responses(study, make_run(make_contexts(2), "Alpha", repetitions=2))
    vote(study, {("Alpha", "c1", 1): [YES], ("Alpha", "c2", 1): [YES],
                 ("Alpha", "c1", 2): [YES], ("Alpha", "c2", 2): [NO]})  # fmt: skip

    result = computed(study).result

    # Runs of 100 and 50 percent: mean 75, deviation 25 * sqrt(2) with n - 1 in the denominator.
    assert result
    cell = result["repetitions"][0]["cells"][2]
    assert (cell["value"], cell["deviation"]) == (75, pytest.approx(25 * 2**0.5))


def test_other_questions_have_means_and_majorities_too(make_queue: MakeQueue) -> None:
    study = make_queue(2, raters=3, question_set="human-likeness")
    like, unlike = {"human_like": True}, {"human_like": False}
    vote(study, {("Alpha", "c1", 1): [like, like, unlike], ("Alpha", "c2", 1): [unlike, unlike, unlike]})

    result = computed(study).result

    assert result
    assert values(result["bots"]) == {"Alpha": pytest.approx([100 / 3])}
    assert values(result["majority"]) == {"Alpha": [50]}


def test_excluded_raters_are_shown_separately(judged: Study, rex: User) -> None:
    participation = judged.participations.order_by("pk").first()
    assert participation
    exclude(participation.pk, reason="Too fast", by=rex)

    result = computed(judged).result

    # With the first rater Beta is specific 4 of 6, without 2 of 2 and 1 of 2.
    assert result
    assert values(result["bots"])["Beta"][1] == pytest.approx(400 / 6)
    assert values(result["other"]["bots"])["Beta"][1] == 75


def test_both_analyses_have_all_figures(
    judged: Study, rex: User, sign_in: Callable[[User], Client], tmp_path: Path
) -> None:
    participation = judged.participations.order_by("pk").first()
    assert participation
    exclude(participation.pk, reason="Too fast", by=rex)
    result = computed(judged).result
    assert result
    other = result["other"]

    # Of the second and the third: at odds about both of Alpha's, at one about Beta's.
    assert [each["agreement"][0]["percent"] for each in (result, other)] == pytest.approx([200 / 3, 50])
    assert [each["raters"]["workers"] for each in (result, other)] == [3, 2]
    assert [sum(row["labels"] for row in each["bots"]) for each in (result, other)] == [12, 8]
    assert set(result) & {"majority", "repetitions", "breakdown", "always_valid", "answer"} <= set(other)

    page = sign_in(rex).get(f"/studies/{judged.pk}/report/").content.decode()
    of_other = page[page.index('aria-label="Agreement between workers, the other analysis"') :]
    assert "<td>50.0</td>" in of_other[: of_other.index("</table>")]
    assert other["agreement"][0]["alpha"] == pytest.approx(_alpha([(1, 0), (0, 1), (1, 1), (1, 1)]))
    assert "<strong>\u22120.17</strong>" in of_other  # 1 less 7 of 6
    assert recompute(bundled(judged, tmp_path)).differences == []


def test_compare_announces_newer_judgments(make_queue: MakeQueue, rex: User, sign_in: SignIn) -> None:
    study = make_queue(2, raters=2)
    vote(study, {("Alpha", "c1", 1): [YES], ("Alpha", "c2", 1): [MEH]})
    computed(study)
    browser, says = sign_in(rex), "Judgments have come in since"
    before = browser.get(f"/compare/?study={study.pk}").content.decode()

    desk = begin(study)  # whose rater never finishes: nothing but the judgment itself tells of it
    judging.judge(desk, key=UUID(judging.state(desk)["items"][0]["key"]), answers=NO)
    after = browser.get(f"/compare/?study={study.pk}").content.decode()

    assert (says in before, says in after) == (False, True)
    assert "Results have changed since" in browser.get(f"/studies/{study.pk}/report/").content.decode()


def _alpha(pairs: list[tuple[int, int]]) -> float:
    """Krippendorff's of two raters, nominal: by its coincidence matrix."""
    n = 2 * len(pairs)
    ones = sum(map(sum, pairs))
    at_odds = 2 * sum(a != b for a, b in pairs)
    return 1 - (n - 1) * at_odds / (2 * ones * (n - ones))


def test_the_page_shows_both_results(judged: Study, rex: User, sign_in: Callable[[User], Client]) -> None:
    computed(judged)

    page = sign_in(rex).get(f"/studies/{judged.pk}/report/").content.decode()

    for words in ("Strict majority", "3 workers judge each item", "4 items with 3 raters", "Mixed model"):
        assert words in page


def test_counts_of_raters_per_item_include_excluded_raters_and_say_so(
    judged: Study, rex: User, sign_in: Callable[[User], Client]
) -> None:
    exclude(Participation.objects.first().pk, reason="Pressed No only.", by=rex)  # type: ignore[union-attr]
    computed(judged)

    page = sign_in(rex).get(f"/studies/{judged.pk}/report/").content.decode()

    all_workers, without = page.split('<div class="by-other">', 1)
    assert "Counting the excluded workers, too:" not in all_workers
    assert "Counting the excluded workers, too: 4 items with 3 raters" in without


def test_unanimous_raters_have_no_agreement_and_the_page_says_why(
    make_queue: MakeQueue, rex: User, sign_in: Callable[[User], Client]
) -> None:
    study = make_queue(2, raters=2)
    vote(study, {("Alpha", "c1", 1): [MEH, MEH], ("Alpha", "c2", 1): [MEH, MEH]})
    computed(study)

    page = sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()

    assert (
        "<b>Does it make sense?</b> All 4 ratings are the same, so agreement cannot be told from chance."
        in page
    )


def test_a_report_without_judgments_says_so(
    make_queue: MakeQueue, rex: User, sign_in: Callable[[User], Client]
) -> None:
    study = make_queue(2)
    computed(study)

    assert "No results yet." in sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()


def test_judgments_are_exported_with_their_item(
    judged: Study, rex: User, sign_in: Callable[[User], Client]
) -> None:
    lines = sign_in(rex).get(f"/studies/{judged.pk}/turns.jsonl").getvalue().decode().splitlines()

    rows = [json.loads(line) for line in lines]
    assert len(rows) == 12
    of_c2 = [row for row in rows if row["bot"] == "Beta" and row["dialogue"] == "c2"]
    assert [row["specific"] for row in of_c2] == [False, True, False]
    assert {(row["context"], row["response"]) for row in of_c2} == {("Question 2?", "Beta answers c2.")}


def test_judgments_of_unfinished_batches_reach_the_report(
    make_queue: MakeQueue, rex: User, sign_in: SignIn
) -> None:
    study = make_queue(3, raters=2)
    later = timezone.now() + timedelta(minutes=1)
    computed(study)
    assert services.stale_studies(later) == []

    desk = begin(study)
    first, second = (UUID(shown["key"]) for shown in judging.state(desk)["items"][:2])
    judging.judge(desk, key=first, answers=YES)
    assert services.stale_studies(later) == [study]

    report = computed(study)
    assert services.stale_studies(later) == []
    judging.judge(desk, key=second, answers=YES)
    assert services.stale_studies(later) == [study]
    assert "have changed since" in sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()

    computed(study)
    judging.judge(desk, key=second, answers=NO)  # thought better of it
    assert services.stale_studies(later) == [study]
    assert report.result
    assert report.result["bots"][0]["labels"] == 1


# --- the bundle ------------------------------------------------------------------------------------


def bundled(study: Study, folder: Path) -> Path:
    path = folder / "bundle.zip"
    call_command("bundle", str(study.pk), output=path)
    return path


def test_the_bundle_alone_gives_every_number_of_the_stored_report(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun, rex: User, tmp_path: Path
) -> None:
    """Two systems, repeated runs, four raters of whom one is excluded, items that lack raters."""
    study, contexts = make_queue(raters=5, batch=100), make_contexts(9)
    for system in ("Beta", "Alpha"):
        subjects.add_responses(study, make_run(contexts, system, repetitions=2))
    vote(study, {
        (system, f"c{c}", repetition): [
            [YES, MEH, NO][(c * rater + repetition + len(system)) % 3] for rater in (1, 2, 3, 4)
        ]
        for system in ("Alpha", "Beta") for c in range(1, 10) for repetition in (1, 2)
    })  # fmt: skip
    participation = study.participations.order_by("pk").first()
    assert participation
    exclude(participation.pk, reason="Too fast", by=rex)
    stored = computed(study).result

    found = recompute(bundled(study, tmp_path))

    assert stored
    assert found.report == stored
    assert (found.differences, found.changed_files) == ([], [])
    assert stored["repetitions"]
    assert stored["other"]["bots"]
    assert any("low" in cell for row in stored["majority"] for cell in row["cells"])


def test_the_bundle_of_other_questions_is_recomputed_too(make_queue: MakeQueue, tmp_path: Path) -> None:
    study = make_queue(2, raters=3, question_set="human-likeness")
    like, unlike = {"human_like": True}, {"human_like": False}
    vote(study, {("Alpha", "c1", 1): [like, like, unlike], ("Alpha", "c2", 1): [unlike, unlike, unlike]})

    found = recompute(bundled(study, tmp_path))

    assert found.differences == []
    assert found.report["bots"][0]["cells"][0]["value"] == pytest.approx(100 / 3)


def test_the_bundle_contains_the_items_and_detects_a_changed_judgment(judged: Study, tmp_path: Path) -> None:
    path, changed = bundled(judged, tmp_path), tmp_path / "changed.zip"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        items = [json.loads(line) for line in old.read("data/items.jsonl").splitlines()]
        about = json.loads(old.read("study.json"))
        for name in old.namelist():
            content = old.read(name)
            if name == "data/judgments.jsonl":
                content = content.replace(b'"specific":true', b'"specific":false', 1)
            new.writestr(name, content)

    found = recompute(changed)

    assert about["judging"]["raters_per_item"] == 3
    assert {(row["system"], row["said_before"], row["text"]) for row in items} == {
        (system, f'["Question {n}?"]', f"{system} answers c{n}.")
        for system in ("Alpha", "Beta")
        for n in (1, 2)
    }
    assert found.changed_files == ["data/judgments.jsonl"]
    assert found.differences


def test_a_judgment_of_a_missing_item_is_named(judged: Study, tmp_path: Path) -> None:
    path, changed = bundled(judged, tmp_path), tmp_path / "changed.zip"
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(changed, "w") as new:
        for name in old.namelist():
            new.writestr(name, b"" if name == "data/items.jsonl" else old.read(name))

    with pytest.raises(FileError, match=r"data/judgments.jsonl: a judgment of item .* does not have"):
        recompute(changed)


def test_the_report_breaks_scores_down_by_kind_of_context(
    make_queue: MakeQueue, make_run: MakeRun, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    rows = [
        ContextRow(1, "c1", ("Question 1?",), "likes_and_dislikes", "en", False, ""),
        ContextRow(2, "c2", ("So?", "So.", "Question 2?"), "hobbies", "en", True, ""),
    ]
    context_set = ContextSet.objects.create(owner=rex, name="kinds", title="Kinds")
    version = contexts.import_version(context_set, rows, origin="test")
    study = make_queue(raters=3)
    subjects.add_responses(study, make_run(version, "Alpha"))
    vote(study, {("Alpha", "c1", 1): [YES, YES, MEH], ("Alpha", "c2", 1): [NO, MEH, NO]})
    stored = computed(study).result

    page = sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()

    assert stored
    found = stored["breakdown"]
    assert [part["by"] for part in found["by"]] == ["category", "turns", "consistency"]
    assert [row["name"] for row in found["hardest"]] == ["c2", "c1"]
    assert recompute(bundled(study, tmp_path)).report["breakdown"] == found
    assert "likes and dislikes" in page
    assert "Question 1?" in page
