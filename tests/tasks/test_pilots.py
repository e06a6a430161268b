"""The pilot of every kind of study: it holds, and what its people did is wanted once more, of others."""

import json
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.management import call_command
from django.db.models import Count
from django.test import Client
from django.utils import timezone

from evaluation.questions import Answer
from evaluation.report.bundles.recomputation import recompute
from evaluation.report.label_columns import PILOT
from tests.conftest import (
    MakeContexts,
    MakeMeeting,
    MakePairs,
    MakeQueue,
    MakeRun,
    MakeVersion,
    MakeWriting,
    enter,
)
from tests.desks import begin
from tests.planted import SignIn, computed
from tests.tasks.two_people.conftest import come
from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Outcome
from turnwise.crowd.places import pilot
from turnwise.crowd.places.ending import complete
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.services import SeatOccupant, create_dialogue, finish
from turnwise.judging.items import subjects
from turnwise.judging.models import Battery, Item, Slot
from turnwise.judging.queries import system_counts
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.labels.models import Label
from turnwise.reports.descriptions import method
from turnwise.responses.files import parse
from turnwise.responses.models import Response, ResponseRun
from turnwise.studies.models import PrimaryAnalysis, Study
from turnwise.studies.queries import counts_of
from turnwise.studies.services import set_state
from turnwise.tasks.writing import services as writing

pytestmark = pytest.mark.django_db(transaction=True)

YES, NO = {"sensible": True, "specific": True}, {"sensible": False}
PILOT_OF_TWO = {"pilot_size": 2, "primary_analysis": "without_excluded"}


def judge_next(desk: RaterSession, answers: Mapping[str, Answer]) -> None:
    judging.judge(desk, key=UUID(judging.state(desk)["items"][0]["key"]), answers=answers)


def judge_all(desk: RaterSession, answers: Mapping[str, Answer]) -> None:
    while judging.state(desk)["items"]:
        judge_next(desk, answers)
    judging.finish(desk)


def go_on(study: Study, by: User) -> None:
    assert pilot.end_pilot(study.pk, by=by) == 2
    study.refresh_from_db()


def wanted(study: Study) -> tuple[int, int]:
    return counts_of([study])[study.pk]


def recomputed(study: Study, folder: Path) -> dict[str, Any]:
    """The study's report, which its bundle gives once more."""
    stored = computed(study).result
    call_command("bundle", str(study.pk), output=folder / "bundle.zip")
    found = recompute(folder / "bundle.zip")
    assert (found.differences, found.report) == ([], stored)
    assert stored
    return stored


def assert_held(study: Study) -> None:
    page = Client().get(study.get_entry_url())
    assert (page.status_code, "The research team has paused it" in page.text) == (403, True)


def test_items_of_a_pilot_are_judged_again(make_queue: MakeQueue, rex: User, tmp_path: Path) -> None:
    study = make_queue(3, raters=2, **PILOT_OF_TWO)
    for _ in range(2):
        judge_all(begin(study), NO)
    assert wanted(study) == (6, 6)
    study.refresh_from_db()
    assert_held(study)
    with pytest.raises(EntryRefusedError, match="paused it for now"):
        begin(study)

    go_on(study, rex)
    assert wanted(study) == (0, 6)
    assert [(row.judged, row.wanted) for row in system_counts(study)] == [(0, 6)]
    for _ in range(2):
        judge_all(begin(study), YES)

    assert wanted(study) == (6, 6)
    with pytest.raises(EntryRefusedError, match="nothing left"):
        begin(study)
    assert Counter(Slot.objects.filter(study=study).values_list("item", flat=True)) == dict.fromkeys(
        Item.objects.values_list("pk", flat=True), 4
    )
    stored = recomputed(study, tmp_path)
    (without,), (with_pilot,) = stored["bots"], stored["other"]["bots"]
    assert without["cells"][0]["value"] == 100
    assert with_pilot["cells"][0]["value"] == 50
    assert [row["reason"] for row in stored["excluded"]] == [PILOT] * 2
    assert "2 workers (of these, 2 of its pilot, the first to take part)" in method(study, stored).text


def test_late_judgments_of_a_pilot_do_not_count(make_queue: MakeQueue, rex: User) -> None:
    study = make_queue(2, raters=1, batch=1, **PILOT_OF_TWO)
    early, late = begin(study), begin(study)
    judge_next(early, NO)

    go_on(study, rex)
    judge_next(late, NO)
    [key] = Slot.objects.filter(batch=late.batch_id).values_list("key", flat=True)
    judging.judge(late, key=key, answers=YES)  # a changed mind makes no more of it

    assert wanted(study) == (0, 2)
    for _ in range(2):
        judge_all(begin(study), YES)
    assert wanted(study) == (2, 2)
    assert Label.objects.count() == 4


def test_a_third_rater_comes_from_the_main_phase(make_queue: MakeQueue, rex: User) -> None:
    study = make_queue(1, raters=2, **PILOT_OF_TWO)
    plan = judging.plan_of(study)
    plan.third_rater = True
    plan.save()
    for answers in (YES, NO):  # who differ, so that a third is wanted
        judge_all(begin(study), answers)
    assert wanted(study) == (2, 3)

    go_on(study, rex)
    for _ in range(2):
        judge_all(begin(study), YES)

    assert wanted(study) == (2, 2)  # these agree


def test_a_battery_is_judged_again_as_a_whole(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun, rex: User
) -> None:
    study = make_queue(
        question_set="reply-impression",
        protocol="r-u-a-robot-user-study",
        exclusion_rules="As declared.",
        **PILOT_OF_TWO,
    )
    Study.objects.filter(pk=study.pk).update(state=Study.State.DRAFT)
    study.refresh_from_db()
    contexts = make_contexts(3)
    for system in ("Denies", "Confirms"):
        subjects.add_responses(study, make_run(contexts, system))
    subjects.add_responses(study, make_run(make_contexts(5), "Small talk"))
    subjects.save_battery(
        Battery(plan=judging.plan_of(study), targets=["Denies", "Confirms"],
                fillers_of=["Small talk"], fillers=4, repeats=1, workers=2, compared_with="Confirms",
                reasons_at=[], repeat_points=2, repeat_questions=2, least_spread=2.0)
    )  # fmt: skip
    study = set_state(study.pk, Study.State.OPEN)
    rated = {"appropriate": 4, "trustworthy": 4, "friendly": 4}
    first, second = begin(study), begin(study)
    judge_all(first, rated)
    judge_next(second, rated)

    go_on(study, rex)
    judge_all(second, rated)  # goes on, and is paid, though it no longer counts

    size = 2 + 4 + 1
    assert wanted(study) == (0, 2 * size)
    for _ in range(2):
        judge_all(begin(study), rated)
    assert wanted(study) == (2 * size, 2 * size)
    with pytest.raises(EntryRefusedError, match="nothing left"):
        begin(study)


def test_pairs_are_compared_again(make_pairs: MakePairs, rex: User, tmp_path: Path) -> None:
    study = make_pairs(2, raters=2, **PILOT_OF_TWO)
    for _ in range(2):
        judge_all(begin(study), {"better": "first"})
    assert_held(study)

    go_on(study, rex)
    assert wanted(study) == (0, 4)
    for _ in range(2):
        judge_all(begin(study), {"better": "tied"})

    assert wanted(study) == (4, 4)
    sides = Slot.objects.values_list("item", "is_swapped").annotate(n=Count("pk"))
    assert {n for *_, n in sides} == {2}  # each side first as often as before
    stored = recomputed(study, tmp_path)
    assert [row["reason"] for row in stored["excluded"]] == [PILOT] * 2
    assert stored["other"]
    assert "of its pilot, the first to take part" in method(study, stored).text


def write_all(assignment: Assignment) -> None:
    own = assignment.participation
    desk = writing.find_writer_context(own.study.code, own.worker_id)
    while place := writing.hold_place(assignment):
        writing.write(
            desk, key=place.context.key, text=f"My own answer {assignment.pk} to {place.context.key}"
        )
    writing.finish(desk)


def piloted_writing(make_writing: MakeWriting) -> Study:
    study = make_writing(2, responses=2, batch=2)
    Study.objects.filter(pk=study.pk).update(**PILOT_OF_TWO)
    study.refresh_from_db()
    return study


def test_other_workers_write_in_place_of_a_pilot(
    make_writing: MakeWriting, make_queue: MakeQueue, rex: User, sign_in: SignIn
) -> None:
    study = piloted_writing(make_writing)
    people = [writing.begin(enter(study).pk) for _ in range(2)]
    with pytest.raises(EntryRefusedError, match="paused it for now"):
        writing.begin(enter(study).pk)
    for each in people:
        write_all(each)
    run = ResponseRun.objects.get()
    assert (run.state, counts_of([study])) == ("done", {study.pk: (4, 4)})

    go_on(study, rex)
    run.refresh_from_db()
    assert (run.state, counts_of([study])) == ("running", {study.pk: (0, 4)})
    for _ in range(2):
        write_all(writing.begin(enter(study).pk))

    run.refresh_from_db()
    assert (run.state, counts_of([study])) == ("done", {study.pk: (4, 4)})
    assert sorted(run.responses.values_list("repetition", "author__pilot")) == [
        *[(1, False)] * 2, *[(2, False)] * 2, *[(3, True)] * 2, *[(4, True)] * 2,
    ]  # fmt: skip
    queue = make_queue()
    assert subjects.add_responses(queue, run).items == 4
    assert not queue.items.filter(response__author__pilot=True).exists()
    lines = sign_in(rex).get(f"/responses/{run.pk}/responses.jsonl").getvalue().decode().splitlines()
    assert Counter(json.loads(line)["pilot"] for line in lines) == {True: 4, False: 4}
    keys = dict(run.context_version.contexts.values_list("key", "pk"))
    read = parse("\n".join(lines), "jsonl", keys)
    assert (read.problems, len(read.responses)) == ([], 4)


def test_late_pilot_writers_take_no_place_of_the_main_phase(make_writing: MakeWriting, rex: User) -> None:
    study = piloted_writing(make_writing)
    first, second = (writing.begin(enter(study).pk) for _ in range(2))
    go_on(study, rex)
    write_all(first)
    write_all(second)

    assert counts_of([study]) == {study.pk: (0, 4)}
    assert Response.objects.filter(author__pilot=True).count() == 4
    assert set(Assignment.objects.values_list("outcome", flat=True)) == {"complete"}


def test_the_writing_form_explains_the_pilot(
    make_writing: MakeWriting, make_version: MakeVersion, rex: User, sign_in: SignIn
) -> None:
    version = make_version(2)
    page = sign_in(rex).get("/studies/new/", {"task": "writing"}).text
    assert "A study of responses has no scores of its own" in page
    sent = {
        "task": "writing", "title": "Answers", "languages": "en", "consent_text": "You write.",
        "pilot_size": 3, "writing-context_version": version.pk, "writing-responses_per_context": 1,
        "writing-batch_size": 1, "pay_currency": "EUR", "pay_amount": 0, "expected_minutes": 5,
    }  # fmt: skip
    answer = sign_in(rex).post("/studies/new/?task=writing", sent)
    assert answer.status_code == 302, answer.context["form"].errors
    made = Study.objects.get(pilot_size=3)
    assert made.primary_analysis == PrimaryAnalysis.WITHOUT_EXCLUDED


@pytest.mark.parametrize("task", ["conversation", "judging", "pairs", "two_people", "writing"])
def test_every_task_with_workers_can_have_a_pilot(
    task: str, rex: User, make_meeting: MakeMeeting, make_version: MakeVersion, sign_in: SignIn
) -> None:
    make_version(2)
    make_meeting()  # so that there is a bot

    assert 'name="pilot_size"' in sign_in(rex).get("/studies/new/", {"task": task}).text


def talk(study: Study) -> Dialogue:
    first, second = (SeatOccupant(assignment=come(study)) for _ in range(2))
    dialogue = create_dialogue(study, first, second, now=timezone.now())
    for worker in dialogue.seats.values_list("worker_id", flat=True):
        seat = seat_of(dialogue.public_id, worker)
        Dialogue.objects.filter(pk=dialogue.pk).update(turns=2, bot_turns=0, due_0=[], due_1=[])
        finish(seat)
    dialogue.refresh_from_db()
    assert dialogue.ending == "complete"
    return dialogue


def test_conversations_of_a_pilot_are_repeated_and_its_waiting_workers_are_paid(
    make_meeting: MakeMeeting, rex: User, sign_in: SignIn
) -> None:
    study = make_meeting(conversations=2, **PILOT_OF_TWO)
    one = come(study)
    complete(one.pk, Outcome.COMPLETE, now=timezone.now())  # by a way that no other took
    come(study)
    come(study)  # else the second would wait for a partner who is never admitted
    with pytest.raises(EntryRefusedError, match="paused it for now"):
        come(study)
    Assignment.objects.filter(outcome="").delete()
    study.participations.all().delete()

    talk(study)
    assert_held(study)
    assert counts_of([study]) == {study.pk: (1, 2)}
    assert "The pilot is done." in sign_in(rex).get(f"/studies/{study.pk}/monitor/").text

    go_on(study, rex)

    assert counts_of([study]) == {study.pk: (0, 2)}
    talk(study)
    assert counts_of([study]) == {study.pk: (1, 2)}
