"""Contexts as what is judged, with all that a queue can: gold, removal, a pilot, third raters, batteries."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.urls import reverse

from evaluation.questions import CONTEXT_FITNESS
from evaluation.questions.validation import DeclarationError
from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeQueue, enter
from tests.desks import begin, held
from tests.planted import SignIn, computed
from turnwise.accounts.models import User
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet, ContextSetVersion
from turnwise.contexts.services import import_version
from turnwise.crowd.entry import practice
from turnwise.crowd.places import pilot
from turnwise.judging.gold import gold_items
from turnwise.judging.gold.gold_items import Gold
from turnwise.judging.items import removal, subjects
from turnwise.judging.items.item_selection import select_contexts
from turnwise.judging.models import Battery, JudgingPlan, Slot
from turnwise.judging.queries import system_counts
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.studies.models import Study
from turnwise.studies.queries import counts_of
from turnwise.studies.services import set_state

pytestmark = pytest.mark.django_db(transaction=True)

FIT = {"clear": True, "answerable": True, "fit_to_show": True}
VAGUE = {"clear": False, "fit_to_show": True}
UNFIT = {"clear": True, "answerable": False, "fit_to_show": False}


def version_of(owner: User, name: str, number: int) -> ContextSetVersion:
    """A set of so many contexts, of two categories in turn, called by the name of the set and a number."""
    rows = [
        ContextRow(
            n, f"{name}{n}", ("Hi!", f"{name} {n}?"), "hobbies" if n % 2 else "feelings", "en", False, ""
        )
        for n in range(1, number + 1)
    ]
    own = ContextSet.objects.create(name=name, title=name.title(), licence="CC0", owner=owner)
    return import_version(own, rows, origin="test")


@pytest.fixture
def make_judged(make_queue: MakeQueue, rex: User) -> MakeQueue:
    """An open study in which readers judge the contexts of these sets, each of so many."""

    def make(sets: Mapping[str, int], **fields: object) -> Study:
        study = make_queue(question_set="context-fitness", protocol="", **fields)
        for name, number in sets.items():
            subjects.add_selection(select_contexts(study, version_of(rex, name, number)))
        return study

    return make  # type: ignore[return-value]


def judge_all(study: Study, answers: Mapping[str, Mapping[str, bool]]) -> RaterSession:
    """Somebody new answers so about the contexts with these keys, all others fit."""
    desk = begin(study)
    while keys := held(desk):
        (key,) = Slot.objects.filter(batch=desk.batch_id, key=keys[0]).values_list(
            "item__context__key", flat=True
        )
        judging.judge(desk, key=UUID(keys[0]), answers=answers.get(key, FIT))
    judging.finish(desk)
    return desk


def recomputed(study: Study, folder: Path) -> dict[str, Any]:
    """The study's report, which its bundle gives once more."""
    stored = computed(study).result
    call_command("bundle", str(study.pk), output=folder / "bundle.zip")
    found = recompute(folder / "bundle.zip")
    assert (found.differences, found.changed_files, found.report) == ([], [], stored)
    assert stored
    return stored


def test_gold_contexts_are_mixed_in_and_count_nowhere(
    make_judged: MakeQueue, tmp_path: Path, rex: User, sign_in: SignIn
) -> None:
    study = make_judged({"four": 5}, raters=2, batch=4)
    known = study.items.get(context__key="four1")
    gold_items.declare_gold(study, {known.key: Gold({"clear": [False]})})
    gold_items.set_gold_per_worker(study, 1)

    judge_all(study, {"four1": VAGUE})
    judge_all(study, {})

    result = recomputed(study, tmp_path)
    (row,) = result["bots"]
    assert (row["conversations"], row["labels"], row["cells"][0]["value"]) == (4, 8, 100)
    assert "four 1?" in sign_in(rex).get(f"/studies/{study.pk}/queue/gold/").text
    assert sorted((each.right, each.judged) for each in gold_items.gold_counts(study)) == [(0, 1), (1, 1)]


def test_a_set_is_taken_out_of_the_queue_and_put_back(
    make_judged: MakeQueue, rex: User, sign_in: SignIn
) -> None:
    study = make_judged({"one": 3, "two": 2}, raters=1, batch=10)

    client = sign_in(rex)
    page = client.get(reverse("judging:take_out", args=[study.pk]), {"system": "Two, version 1"}).text
    assert "Take Two, version 1 out of the queue?" in page
    removal.take_out(study, "Two, version 1")
    judge_all(study, {"one1": UNFIT})

    assert counts_of([study])[study.pk] == (3, 3)
    removal.put_back(study, "Two, version 1")
    judge_all(study, {"two1": UNFIT})
    assert [(row.system, row.judged, row.wanted) for row in system_counts(study)] == [
        ("One, version 1", 3, 3),
        ("Two, version 1", 2, 2),
    ]


def test_after_a_pilot_all_contexts_are_judged_again(
    make_judged: MakeQueue, rex: User, tmp_path: Path
) -> None:
    study = make_judged({"four": 4}, raters=1, batch=4, pilot_size=1, primary_analysis="without_excluded")
    judge_all(study, {f"four{n}": UNFIT for n in range(1, 5)})
    assert pilot.end_pilot(study.pk, by=rex) == 1
    study.refresh_from_db()

    judge_all(study, {"four1": VAGUE})

    result = recomputed(study, tmp_path)
    (without,), (with_pilot,) = result["bots"], result["other"]["bots"]
    # Clear: 3 of 4 without the pilot, whose four were all clear: 7 of 8 with it.
    assert (without["cells"][0]["value"], with_pilot["cells"][0]["value"]) == (75, 87.5)


def test_a_context_with_two_different_judgments_goes_to_a_third_reader(make_judged: MakeQueue) -> None:
    study = make_judged({"four": 2}, raters=2, batch=2)
    plan = JudgingPlan.objects.get(study=study)
    plan.third_rater = True
    subjects.save_plan(plan)

    judge_all(study, {})
    judge_all(study, {"four2": VAGUE})

    waiting = Slot.objects.filter(study=study, label=None).values_list("item__context__key", flat=True)
    assert [*waiting] == ["four2"]
    judge_all(study, {"four2": VAGUE})
    assert Slot.objects.filter(study=study, label=None).count() == 0


def test_a_battery_of_sets_is_dealt_judged_and_recomputed(make_judged: MakeQueue, tmp_path: Path) -> None:
    study = make_judged({"one": 3, "two": 3, "more": 4}, primary_analysis="all")
    Study.objects.filter(pk=study.pk).update(state=Study.State.DRAFT)
    study.refresh_from_db()
    battery = Battery(
        plan=judging.plan_of(study), targets=["One, version 1", "Two, version 1"],
        fillers_of=["More, version 1"], fillers=2, repeats=1, workers=2,
        compared_with="One, version 1",
    )  # fmt: skip
    subjects.save_battery(battery)
    study = set_state(study.pk, Study.State.OPEN)

    for _ in range(2):
        judge_all(study, {f"two{n}": UNFIT for n in range(1, 4)})

    result = recomputed(study, tmp_path)
    fitness = {row["bot"]: row["cells"][3]["value"] for row in result["bots"]}
    # Of three questions, contexts of Two have one yes.
    assert fitness == {
        "More, version 1": 100, "One, version 1": 100, "Two, version 1": pytest.approx(100 / 3)
    }  # fmt: skip


def test_workers_practise_on_examples_that_have_no_response(
    make_judged: MakeQueue, rex: User, sign_in: SignIn
) -> None:
    study = make_judged({"four": 2}, raters=1, practice=True)

    shown = practice.page_settings(study)
    client = sign_in(rex)
    instructions = client.get(reverse("crowd:preview_page", args=[study.pk, "instructions"])).text

    assert [(each["text"], len(each["context"])) for each in shown["examples"]] == [
        ("", 3), ("", 3), ("", 1), ("", 3),
    ]  # fmt: skip
    assert shown["examples"][2]["answers"] == {"clear": False, "fit_to_show": True}
    assert practice.is_due(enter(study))
    assert "Is it clear what is being said?" in instructions
    Study.objects.filter(pk=study.pk).update(practice=False)
    read = client.get(reverse("crowd:preview_page", args=[study.pk, "instructions"])).text
    assert (read.count("example__talk"), read.count("is-judged")) == (4, 0)


def test_only_examples_of_contexts_may_be_without_a_response() -> None:
    declared = CONTEXT_FITNESS.to_json() | {"format": 1}
    assert type(CONTEXT_FITNESS).from_json(declared) == CONTEXT_FITNESS

    with pytest.raises(DeclarationError, match="examples"):
        type(CONTEXT_FITNESS).from_json(declared | {"subjects": ["response"]})
    without = [dict(declared["examples"][0]) | {"context": []}]
    with pytest.raises(DeclarationError, match=r"examples\[0\].context"):
        type(CONTEXT_FITNESS).from_json(declared | {"examples": without})


def test_the_report_names_contexts_and_their_sets(make_judged: MakeQueue, rex: User, sign_in: SignIn) -> None:
    study = make_judged({"one": 4, "two": 2}, raters=3, batch=10)
    for answers in (UNFIT, VAGUE, FIT):
        judge_all(study, {"one1": answers, "one2": answers})
    computed(study)
    client = sign_in(rex)

    page = client.get(reverse("reports:study", args=[study.pk])).text
    main = " ".join(page.partition("<main")[2].split())

    assert "Differences between the sets of contexts" in main
    assert '<th scope="col">Set of contexts</th>' in main
    assert '<th scope="col">Category</th>' in main
    assert "The contexts with the lowest Fitness" in main
    assert "the lowest Fitness first." in main
    assert "hardest" not in main
    assert '<th scope="col">System</th>' not in main
    for name in ("judging:queue", "judging:items"):
        assert ">System</th>" not in client.get(reverse(name, args=[study.pk])).text


def test_a_battery_whose_sets_have_too_few_contexts_says_so(make_judged: MakeQueue) -> None:
    study = make_judged({"one": 1, "two": 1, "more": 1})
    Study.objects.filter(pk=study.pk).update(state=Study.State.DRAFT)
    study.refresh_from_db()
    battery = Battery(
        plan=judging.plan_of(study), targets=["One, version 1", "Two, version 1"],
        fillers_of=["More, version 1"], fillers=3, repeats=0, workers=1, compared_with="One, version 1",
    )  # fmt: skip

    with pytest.raises(ValidationError, match="Add more, or ask for fewer"):
        subjects.save_battery(battery)
