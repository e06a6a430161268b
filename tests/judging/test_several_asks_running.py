"""A study with several asks while it runs: who withdraws or is excluded, what is taken out or redacted."""

import csv
import io
from collections import Counter
from pathlib import Path

import pytest
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from evaluation.texts.personal_data import Kind
from tests.asking import LIKENESS, SSA, asking, judge_all
from tests.conftest import MakeContexts, MakeRun, enter
from tests.desks import begin
from tests.planted import SignIn, computed, figures
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.crowd.places import pilot
from turnwise.crowd.places.ending import exclude
from turnwise.crowd.redaction import redact
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.exports.bundle import write_bundle
from turnwise.exports.turn_files import csv_lines
from turnwise.judging.items import removal, subjects
from turnwise.judging.models import Item, Slot
from turnwise.judging.queries import system_counts
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.queued_task import ask_counts
from turnwise.labels.models import Label
from turnwise.monitoring.monitor import monitor
from turnwise.privacy.withdrawal import withdraw
from turnwise.studies.models import PrimaryAnalysis, Study
from turnwise.studies.queries import counts_of
from turnwise.studies.services import set_state

pytestmark = pytest.mark.django_db(transaction=True)

BAD = {"ssa": {"sensible": False}, "human-likeness": {"human_like": False}}


def recomputes(study: Study, folder: Path) -> bool:
    with (folder / "bundle.zip").open("wb") as stream:
        write_bundle(study.pk, stream)
    return recompute(folder / "bundle.zip").differences == []


def test_a_withdrawal_removes_the_answers_to_every_ask_and_others_judge_the_items(
    mixed: Study, rex: User
) -> None:
    gone, stays = begin(mixed), begin(mixed)
    for desk in (gone, stays):
        judge_all(desk)
        judging.finish(desk)

    withdraw(gone.participation_id, by=rex)

    assert Counter(Label.objects.filter(study=mixed).values_list("question_set", flat=True)) == {
        "ssa": mixed.items.filter(ask__number=0).count(), "likert": 3,
    }  # fmt: skip
    judge_all(begin(mixed))
    assert [(each.judged, each.wanted) for each in ask_counts(mixed)] == [
        (2 * each.items, 2 * each.items) for each in ask_counts(mixed)
    ]


def test_a_withdrawn_conversation_leaves_the_queue_of_every_ask(
    mixed: Study, talks: Study, rex: User, tmp_path: Path
) -> None:
    judge_all(begin(mixed))
    chatter = Participation.objects.filter(study=talks).order_by("pk")[0]

    withdraw(chatter.pk, by=rex)

    assert [each.items for each in ask_counts(mixed)] == [4, 2]
    assert Counter(Label.objects.filter(study=mixed).values_list("question_set", flat=True)) == {
        "ssa": 4, "likert": 2,
    }  # fmt: skip
    result = figures(computed(mixed))
    assert (result["bots"][0]["labels"], result["beside"][0]["bots"][0]["labels"]) == (4, 2)
    assert recomputes(mixed, tmp_path)


def test_a_system_is_removed_from_every_ask_and_restored(two: Study, tmp_path: Path) -> None:
    judge_all(begin(two))
    assert removal.take_out(two, "Beta") == 6

    assert {item.response.run.system for item in judge_all(begin(two))} == {"Alpha"}  # type: ignore[union-attr]
    (beta,) = [row for row in system_counts(two) if row.system == "Beta"]
    assert (beta.items, beta.removed, beta.judged, beta.wanted) == (0, 6, 6, 6)
    assert judging.is_judged(two, timezone.now())
    result = figures(computed(two))
    for part in (result, *result["beside"]):  # what was judged counts
        assert [(bot["bot"], bot["labels"]) for bot in part["bots"]] == [("Alpha", 6), ("Beta", 3)]
    assert recomputes(two, tmp_path)

    assert removal.put_back(two, "Beta") == 6
    done = judge_all(begin(two))
    assert Counter(item.ask.question_set for item in done) == {"ssa": 3, "human-likeness": 3}
    assert counts_of([two]) == {two.pk: (24, 24)}


def test_a_removed_item_leaves_only_its_own_ask(two: Study, tmp_path: Path) -> None:
    item = Item.objects.filter(study=two, ask__number=1).order_by("pk")[0]
    item.delete()
    judge_all(begin(two))

    assert [(each.items, each.judged) for each in ask_counts(two)] == [(6, 6), (5, 5)]
    figures(computed(two))
    assert recomputes(two, tmp_path)


def test_an_excluded_worker_is_left_out_of_every_ask(two: Study, rex: User, tmp_path: Path) -> None:
    Study.objects.filter(pk=two.pk).update(
        primary_analysis=PrimaryAnalysis.WITHOUT_EXCLUDED, exclusion_rules="Careless workers."
    )
    judge_all(begin(two))
    careless = begin(two)
    judge_all(careless, BAD)
    exclude(careless.participation_id, reason="Careless", by=rex)

    result = figures(computed(Study.objects.get(pk=two.pk)))

    for part in (result, *result["beside"]):
        assert {bot["labels"] for bot in part["bots"]} == {3}
        assert {bot["labels"] for bot in part["other"]["bots"]} == {6}
        assert [each["labels"] for each in part["excluded"]] == [6]
    assert recomputes(two, tmp_path)


def test_redactions_apply_to_the_files_of_every_ask(mixed: Study, rex: User) -> None:
    reply = Turn.objects.filter(dialogue__items__study=mixed, position=2).order_by("pk")[0]
    with rewriting():
        Turn.objects.filter(pk=reply.pk).update(text="Ask Bob Jones, he knows.")
    judge_all(begin(mixed))

    redact(mixed, [(Kind.NAME, "Bob Jones")], by=rex)

    rows = list(csv.DictReader(io.StringIO("".join(csv_lines(mixed)))))
    assert {row["question_set"] for row in rows} == {"ssa", "likert"}
    assert not any("Bob" in value for row in rows for value in row.values() if value)


def test_items_judged_by_pilot_workers_are_judged_again_for_every_ask(
    rex: User, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study = asking(rex, SSA, LIKENESS, raters=1)
    subjects.add_responses(study, make_run(make_contexts(3), "Alpha"))
    Study.objects.filter(pk=study.pk).update(
        pilot_size=1, primary_analysis=PrimaryAnalysis.WITHOUT_EXCLUDED, exclusion_rules="The pilot."
    )
    study = set_state(study.pk, Study.State.OPEN)
    first = begin(study)
    judge_all(first)
    judging.finish(first)

    pilot.end_pilot(study.pk, by=rex)
    study = Study.objects.get(pk=study.pk)

    done = judge_all(begin(study))
    assert Counter(item.ask.question_set for item in done) == {"ssa": 3, "human-likeness": 3}
    assert counts_of([study]) == {study.pk: (6, 6)}


def test_the_monitor_counts_a_batch_of_several_asks_once(mixed: Study, rex: User, sign_in: SignIn) -> None:
    done = begin(mixed)
    judge_all(done)
    judging.finish(done)
    enter(mixed)

    found = monitor(mixed)
    page = sign_in(rex).get(f"/studies/{mixed.pk}/monitor/")

    assert page.status_code == 200
    assert found.stages[-1].reached == 1
    assert Slot.objects.filter(study=mixed, label__isnull=False).count() == 9


def test_compare_has_every_ask_of_readers(two: Study, mixed: Study, rex: User, sign_in: SignIn) -> None:
    for study in (two, mixed):
        judge_all(begin(study))
        computed(study)

    page = sign_in(rex).get(f"/compare/?study={two.pk}&study={mixed.pk}").content.decode()

    for ask in (*two.work_asks, *mixed.work_asks):
        assert ask.title in page


def test_a_deleted_conversation_leaves_the_queue_of_every_ask(mixed: Study) -> None:
    with rewriting():
        Dialogue.objects.order_by("pk")[0].delete()

    assert [each.items for each in ask_counts(mixed)] == [4, 2]
    judge_all(begin(mixed))
    assert Counter(Label.objects.filter(study=mixed).values_list("question_set", flat=True)) == {
        "ssa": 4, "likert": 2,
    }  # fmt: skip
