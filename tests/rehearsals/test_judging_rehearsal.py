"""A rehearsal of a judging study through real pages and the real socket, against the injected effects."""

import asyncio
from collections import Counter
from contextlib import suppress
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.management import CommandError
from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from evaluation.questions import question_set
from evaluation.report.bundles.tables import labels_table
from tests.conftest import MakeContexts, MakeQueue, MakeRun, MakeStudy, enter
from tests.desks import begin
from tests.planted import SignIn, talked
from tests.rehearsals.conftest import rehearsed, rows
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet
from turnwise.contexts.services import import_version
from turnwise.crowd.models import Assignment, Participation, Worker
from turnwise.exports.rows import answered_sets
from turnwise.exports.rows import rows as bundle_rows
from turnwise.judging.items import subjects
from turnwise.judging.items.item_selection import select_contexts
from turnwise.judging.models import Item, JudgingPlan, Slot
from turnwise.judging.queue import services as judging
from turnwise.judging.readers.reader_comparison import judged_by_both
from turnwise.labels.models import Label
from turnwise.rehearsals.injected_effects import Kind, Plan, mix
from turnwise.rehearsals.run import run
from turnwise.rehearsals.services import delete_rehearsal, make_rehearsal
from turnwise.reports.queries import unlabelled_replies
from turnwise.studies.models import Study
from turnwise.tasks.judging.rehearsal import Rater
from turnwise.transcripts.importing import ImportRefusedError
from turnwise.transcripts.undoing import refuse_labelled

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def queue(make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> Study:
    """Two systems at 60 contexts, each response to be judged by five raters."""
    study, contexts = make_queue(raters=5, batch=20), make_contexts(60)
    for system in ("Alpha", "Beta"):
        subjects.add_responses(study, make_run(contexts, system))
    return study


def raters_of_items(study: Study) -> Counter[int]:
    counted = Item.objects.filter(study=study).annotate(labels=Count("slots__label"))
    return Counter(counted.values_list("labels", flat=True))


@pytest.mark.usefixtures("_same_database")
def test_scores_and_alpha_are_recovered_and_the_study_is_unchanged(
    queue: Study, rex: User, sign_in: SignIn
) -> None:
    judged = judging.state(begin(queue))["items"][0]["key"]
    version = Study.objects.get(pk=queue.pk).results_version
    before = rows()

    said = rehearsed(queue, "--workers", "40")

    rehearsal = queue.rehearsal
    assert "The report recovers the injected effects: 23 of 23 findings hold." in said, said
    assert said.count(": inside.") == 20  # two systems with three tables of three columns; two alphas
    assert "alpha of “Does it make sense?”: injected 0." in said
    assert "Planted alpha, if workers of all kinds judge every item alike: 0." in said
    assert max(raters_of_items(rehearsal)) == 5
    assert raters_of_items(rehearsal)[5] > 110  # all, unless latecomers came to the same ones by chance
    # four leave half-way, the others finish, but latecomers may find nothing left
    given = Assignment.objects.filter(participation__study=rehearsal)
    outcomes = Counter(given.values_list("outcome", flat=True))
    assert outcomes[""] == mix(40).count(Kind.LEAVING) == 4
    assert 31 <= outcomes["complete"] <= 36
    # who slips with every seventh item takes it back
    assert 40 <= Label.objects.filter(changes__gt=0).count() <= 100
    aside = Participation.objects.filter(excluded_at__isnull=False)
    reasons = Counter(aside.values_list("excluded_reason", flat=True))
    assert set(reasons) == {"Rehearsal: careless", "Rehearsal: straight-lining"}
    # four of each kind, but for latecomers who found nothing left
    assert all(2 <= number <= 4 for number in reasons.values())

    queue.refresh_from_db()
    assert (queue.results_version, queue.state, rehearsal.state) == (version, "open", "closed")
    assert raters_of_items(queue) == {0: 120}
    assert Slot.objects.filter(study=queue, batch__isnull=False).count() == 3
    assert Item.objects.get(key=judged).study == queue
    assert (queue.judging.lease_seconds, rehearsal.judging.lease_seconds) == (600, 10)

    client = sign_in(rex)
    assert "Rehearsal of" not in client.get("/studies/").content.decode()
    for page in ("", "report/", "queue/", "items/"):
        assert "This is a rehearsal." in client.get(f"/studies/{rehearsal.pk}/{page}").content.decode()
        assert "This is a rehearsal." not in client.get(f"/studies/{queue.pk}/{page}").content.decode()

    report = client.get(f"/studies/{rehearsal.pk}/report/").content.decode()
    assert "23 of 23 findings hold." in report
    assert report.count(": inside.") == 20
    assert "Injected effects" not in client.get(f"/studies/{queue.pk}/report/").content.decode()

    client.post(f"/studies/{rehearsal.pk}/rehearsal/delete/")

    assert rows() == before


@pytest.mark.usefixtures("_same_database")
def test_readers_of_two_languages_find_their_items(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study = make_queue(raters=2, batch=4, languages=["en", "de"], question_set="human-likeness")
    for language in ("en", "de"):
        subjects.add_responses(study, make_run(make_contexts(6, language=language), "Alpha"))

    with suppress(CommandError):  # of twelve items an interval may well be too wide or none at all
        rehearsed(study, "--workers", "14")

    assert set(raters_of_items(study.rehearsal)) <= {1, 2}
    assert raters_of_items(study.rehearsal).total() == 12
    assert set(study.rehearsal.batches.values_list("language", flat=True)) == {"en", "de"}


@pytest.mark.usefixtures("_same_database")
def test_workers_who_find_nothing_or_lose_items_continue_and_nothing_counts_twice(
    queue: Study, shared_server: str
) -> None:
    taken = make_rehearsal(queue, 9)
    Slot.objects.filter(study=taken).update(leased_until=timezone.now() + timedelta(hours=9))
    plan = Plan(question_set("ssa"), ["Alpha"], alone=False)
    said: list[str] = []

    late = Rater(0, Kind.CAREFUL, shared_server, taken.get_entry_url(), plan=plan, language="en")
    work = asyncio.run(late.work())

    rehearsal = make_rehearsal(queue, 20)
    # Leases that are over at once: everybody takes the items away that others have before them.
    JudgingPlan.objects.filter(study=rehearsal).update(lease_seconds=0)
    outcome = run(rehearsal, server=shared_server, workers=20, at_once=10, say=said.append)

    assert (work.work_id, work.labels) == ("", {})
    assert max(raters_of_items(rehearsal)) <= 5
    counts = [
        each for each in outcome.findings if "the workers judged" in each.words or "rests" in each.words
    ]
    assert len(counts) == 3
    assert all(each.holds for each in counts), counts


# --- what cannot be rehearsed ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("fields", "options", "said"),
    [
        ({"items": 0}, [], "nothing to judge yet. Add responses or conversations"),
        (
            {"items": 3, "raters": 5},
            ["--workers", "4"],
            "wants 5 different raters, and only 4 of 4 .* --workers 5 or",
        ),
        # the seventh of every ten leaves
        ({"items": 3, "raters": 7}, ["--workers", "7"], "only 6 of 7 .* to the end. Use --workers 8 or more"),
    ],
)
def test_an_impossible_rehearsal_is_refused_before_anything_is_created(
    make_queue: MakeQueue, fields: dict[str, Any], options: list[str], said: str
) -> None:
    study = make_queue(fields.pop("items"), **fields)
    before = rows()

    with pytest.raises(CommandError, match=said):
        rehearsed(study, *options)

    assert rows() == before


def test_whole_contexts_are_drawn_so_that_systems_are_compared_on_the_same_ones(queue: Study) -> None:
    # Of 10 workers one leaves: 9.5 batches of 20 less 12 are 178 places for 178 / 5.25 = 33 items, so for 16
    # contexts of two.
    rehearsal = make_rehearsal(queue, 10)
    # Of 5 workers, who stay: 100 / 5.25 = 19 items, of which the last has no partner.
    contexts = Counter(rehearsal.items.values_list("response__context", flat=True))
    assert sorted(contexts.values()) == [2] * 16
    assert make_rehearsal(queue, 5).items.count() == 18


def test_one_context_too_large_for_the_workers_is_drawn_in_part(talk: Study, make_queue: MakeQueue) -> None:
    study = make_queue(raters=3, batch=2)
    subjects.add_turns(study, talk, language="en")

    # 3 workers with 2 items each have 6 places; 6 / 3.15 = 1 item of the conversation's three.
    assert make_rehearsal(study, 3).items.count() == 1


def test_an_earlier_rehearsal_stays_if_a_new_one_is_refused(make_queue: MakeQueue) -> None:
    study = make_queue(3, raters=5)
    earlier = make_rehearsal(study, 10)

    with pytest.raises(CommandError):
        rehearsed(study, "--workers", "4")

    assert study.rehearsal == earlier


# --- kept apart ----------------------------------------------------------------------------------------


@pytest.fixture
def talk(make_study: MakeStudy) -> Study:
    """A study with one conversation of three labelled replies."""
    study = make_study(min_turns=2, max_turns=8)
    talked(study, [(True, True), (True, False), (False, False)])
    return study


@pytest.fixture
def readers_rehearsal(talk: Study, make_queue: MakeQueue) -> Study:
    """A rehearsal of a study that has others judge these replies; somebody has judged all of them there."""
    study = make_queue(raters=1, batch=3)
    subjects.add_turns(study, talk, language="en")
    rehearsal = make_rehearsal(study, 5)
    JudgingPlan.objects.filter(study=rehearsal).update(batch_size=3)
    judge_all(rehearsal)
    return rehearsal


def judge_all(study: Study, participation: Participation | None = None) -> None:
    desk = begin(study, participation)
    while items := judging.state(desk)["items"]:
        judging.judge(desk, key=UUID(items[0]["key"]), answers={"sensible": False})


def test_answers_of_a_rehearsal_are_not_shown_next_to_those_of_chatters(
    talk: Study, readers_rehearsal: Study, rex: User, sign_in: SignIn
) -> None:
    client, dialogue = sign_in(rex), talk.dialogues.get()
    assert Label.objects.filter(slot__study=readers_rehearsal).count() == 3
    transcript = f"/dialogues/{dialogue.public_id}/"
    rehearsed_page = client.get(transcript).content

    assert judged_by_both(talk.work_asks[0]) == []
    readers_rehearsal.rehearsal_of = None  # of people the same answers would be there
    readers_rehearsal.save(update_fields=["rehearsal_of"])
    assert len(judged_by_both(talk.work_asks[0])) == 3
    assert client.get(transcript).content != rehearsed_page


def test_replies_that_only_a_rehearsal_has_judged_count_as_unlabelled(
    talk: Study, readers_rehearsal: Study
) -> None:
    with rewriting():
        Label.objects.filter(slot=None).delete()

    assert unlabelled_replies(talk) == 3
    assert [each.key for each in answered_sets(talk)] == ["ssa"]


def test_labels_of_a_rehearsal_are_in_no_bundle_of_the_conversations(
    talk: Study, readers_rehearsal: Study
) -> None:
    (given,) = bundle_rows(talk, labels_table(answered_sets(talk)))

    assert [row[-2:] for row in given] == [[True, True], [True, False], [False, False]]


def test_conversations_that_only_a_rehearsal_has_judged_can_be_taken_back(
    talk: Study, readers_rehearsal: Study
) -> None:
    dialogues = [talk.dialogues.get().pk]
    with transaction.atomic(), pytest.raises(ImportRefusedError):
        refuse_labelled(dialogues)

    with rewriting():
        Label.objects.filter(slot=None).delete()

    with transaction.atomic():
        refuse_labelled(dialogues)


def test_deleting_removes_all_answers_of_a_worker_who_also_takes_part_in_earnest(
    talk: Study, readers_rehearsal: Study
) -> None:
    delete_rehearsal(readers_rehearsal)
    source = Study.objects.get(task="judging")
    again = make_rehearsal(source, 5)
    both = enter(again)
    judge_all(again, both)
    consent = source.consent_versions.get()
    Participation.objects.create(worker=both.worker, study=source, consent=consent)

    delete_rehearsal(again)

    assert Worker.objects.filter(pk=both.worker.pk).exists()
    assert not Label.objects.filter(rater=both.worker).exists()
    assert Label.objects.count() == 3  # of who talked


@pytest.mark.usefixtures("_same_database")
def test_injected_effects_about_contexts_are_recovered(make_queue: MakeQueue, rex: User) -> None:
    study = make_queue(raters=5, batch=20, question_set="context-fitness", protocol="")
    own = ContextSet.objects.create(name="asked", title="Asked", licence="CC0", owner=rex)
    contexts = [ContextRow(n, f"c{n}", ("Hi!", f"Why {n}?"), "", "en", False, "") for n in range(100)]
    subjects.add_selection(select_contexts(study, import_version(own, contexts, origin="test")))

    said = rehearsed(study, "--workers", "20")

    assert "The report recovers the injected effects:" in said, said
    assert "Asked, version 1" in said
    assert {*Label.objects.values_list("study", flat=True)} == {study.rehearsal.pk}
    assert not Label.objects.filter(context=None).exists()
