"""Contexts that readers judge themselves, without a response: from the set to the report."""

import csv
import io
from hashlib import md5
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import IntegrityError, transaction
from django.urls import reverse
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeQueue
from tests.desks import OPEN, begin, held
from tests.planted import SignIn, computed
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.contexts.files import ContextRow
from turnwise.contexts.models import ContextSet, ContextSetVersion
from turnwise.contexts.services import import_version
from turnwise.judging.items import subjects
from turnwise.judging.items.item_selection import ContextSample, select_contexts
from turnwise.judging.models import Batch, Item, JudgingPlan, Slot
from turnwise.judging.queue import services as judging
from turnwise.judging.readers.second_group import add_sample, compare_groups, other_groups_of
from turnwise.labels.models import Label
from turnwise.privacy.stored_data import stored_data_of
from turnwise.questions.services import create_set
from turnwise.studies.asks import About, Party
from turnwise.studies.models import Study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_sets_are_forgotten")]


@pytest.fixture
def version(rex: User) -> ContextSetVersion:
    """Four contexts, of two categories in turn; the last in Chinese."""
    rows = [
        ContextRow(
            n, f"c{n}", ("Hi!", "Hello.", f"Question {n}?"), "hobbies" if n % 2 else "feelings",
            "zh" if n == 4 else "en", False, "",
        )
        for n in range(1, 5)
    ]  # fmt: skip
    own = ContextSet.objects.create(name="four", title="Four", licence="CC0", owner=rex)
    return import_version(own, rows, origin="test")


@pytest.fixture
def queue(make_queue: MakeQueue, rex: User, version: ContextSetVersion) -> Study:
    """Two readers are wanted for each of the three contexts in English."""
    study = make_queue(raters=2, question_set=create_set(OPEN, owner=rex).key, protocol="")
    subjects.add_selection(select_contexts(study, version))
    return study


def judge_all(study: Study, answers: dict[str, bool]) -> None:
    """Somebody new answers so about each context, by its key."""
    desk = begin(study)
    while keys := held(desk):
        item = Item.objects.select_related("context").get(key=keys[0])
        assert item.context
        judging.judge(desk, key=UUID(keys[0]), answers={"open": answers[item.context.key]})
    judging.finish(desk)


@pytest.fixture
def judged(queue: Study) -> Study:
    judge_all(queue, {"c1": True, "c2": False, "c3": True})
    judge_all(queue, {"c1": True, "c2": True, "c3": False})
    return queue


def test_a_reader_sees_only_the_context_and_labels_it(queue: Study) -> None:
    desk = begin(queue)
    (item, *_) = judging.state(desk)["items"]
    row = Item.objects.get(key=item["key"])
    assert row.context
    assert (item["context"], item["text"]) == (row.context.turns, None)

    judging.judge(desk, key=UUID(item["key"]), answers={"open": True})

    label = Label.objects.get()
    assert (label.context, label.party, label.turn, label.response) == (row.context, Party.READER, None, None)
    assert label.ask
    assert (label.ask.about, label.ask.question_set) == (About.CONTEXT, "open-v1")


def test_every_context_gets_its_readers_and_no_worker_judges_one_twice(judged: Study) -> None:
    found = list(Label.objects.values_list("context__key", "rater"))

    assert sorted(key for key, _rater in found) == ["c1", "c1", "c2", "c2", "c3", "c3"]
    assert len({*found}) == 6
    assert judging.is_judged(judged, timezone.now())


def test_a_worker_who_judged_it_in_another_study_does_not_get_it(
    judged: Study, make_queue: MakeQueue, version: ContextSetVersion
) -> None:
    again = make_queue(raters=2, question_set="open-v1", protocol="")
    subjects.add_selection(select_contexts(again, version))
    known = Label.objects.order_by("pk")[0].rater
    desk = begin(again)
    assert len(held(desk)) == 3
    Slot.objects.filter(batch=desk.batch_id).update(batch=None, leased_until=None)
    Batch.objects.filter(pk=desk.batch_id).update(worker=known)

    assert held(desk) == []


def test_a_label_is_of_one_subject(judged: Study) -> None:
    label = Label.objects.order_by("pk")[0]
    assert label.context
    with pytest.raises(IntegrityError, match="label_has_one_subject"), transaction.atomic(), rewriting():
        Label.objects.filter(pk=label.pk).update(context=None)
    with pytest.raises(IntegrityError, match="label_of_context_once_per_rater"), transaction.atomic():
        Label.objects.bulk_create([Label(**{**_fields(label), "id": None})])


def _fields(label: Label) -> dict[str, Any]:
    return {field.attname: getattr(label, field.attname) for field in Label._meta.concrete_fields}


def test_adding_again_adds_only_new_contexts_and_draws_are_reproducible(
    make_queue: MakeQueue, queue: Study, version: ContextSetVersion
) -> None:
    assert (
        select_contexts(queue, version).count()
        == subjects.add_selection(select_contexts(queue, version))
        == 0
    )

    some = make_queue(question_set="open-v1", protocol="")
    assert select_contexts(some, version, ContextSample(2, seed=7)).count() == 2
    subjects.add_selection(select_contexts(some, version, ContextSample(2, seed=7)))
    by_digest = sorted(("c1", "c2", "c3"), key=lambda key: md5(f"{key} 7".encode()).hexdigest())
    assert {*some.items.values_list("context__key", flat=True)} == {*by_digest[:2]}
    # Those that are there come first, whatever the seed: a larger draw adds the third alone.
    assert subjects.add_selection(select_contexts(some, version, ContextSample(3, seed=99))) == 1
    assert [row["version"] for row in JudgingPlan.objects.get(study=some).draws] == ["Four, version 1"] * 2


def test_a_refused_addition_names_the_reason(
    queue: Study, make_queue: MakeQueue, version: ContextSetVersion
) -> None:
    wanted = ContextSample(2, categories=("feelings",))
    with pytest.raises(ValidationError, match="2 contexts are wanted, and “Four, version 1” has 1 that fit"):
        select_contexts(queue, version, wanted)
    with pytest.raises(ValidationError, match="cannot be asked about contexts"):
        select_contexts(make_queue(), version)


def test_the_queue_page_previews_and_adds_contexts(
    make_queue: MakeQueue, rex: User, mallory: User, sign_in: SignIn, version: ContextSetVersion
) -> None:
    study = make_queue(raters=2, question_set=create_set(OPEN, owner=rex).key, protocol="")
    client, sent = sign_in(rex), {"version": str(version.pk), "contexts": "2", "seed": "7"}
    empty = client.get(reverse("judging:queue", args=[study.pk])).text
    assert "Add contexts" in empty
    assert "Add responses" not in empty

    assert "2 new items" in client.get(reverse("judging:foreseen", args=[study.pk]), sent).text
    page = client.post(reverse("judging:add", args=[study.pk]), sent, follow=True).text

    assert "2 items added." in page
    assert "2 of 3 contexts of Four, version 1 were drawn with the seed 7" in " ".join(page.split())
    too_many = client.post(reverse("judging:add", args=[study.pk]), sent | {"contexts": "9"})
    assert (too_many.status_code, "9 contexts are wanted" in too_many.text) == (422, True)
    foreign = ContextSet.objects.create(name="theirs", title="Theirs", licence="CC0", owner=mallory)
    theirs = import_version(foreign, [ContextRow(1, "x", ("Hm?",), "", "en", False, "")], origin="test")
    refused = client.post(reverse("judging:add", args=[study.pk]), {"version": theirs.pk})
    assert (refused.status_code, study.items.count()) == (422, 2)


def test_the_report_has_the_set_and_its_categories(judged: Study, rex: User, sign_in: SignIn) -> None:
    result = computed(judged).result

    # c1: yes, yes; c2: no, yes; c3: yes, no. Of hobbies, c1 and c3, 3 of 4; of feelings, c2, 1 of 2.
    assert result
    (row,) = result["bots"]
    assert (row["bot"], row["conversations"], row["labels"]) == ("Four, version 1", 3, 6)
    assert row["cells"][0]["value"] == pytest.approx(100 * 4 / 6)
    (by_category,) = result["breakdown"]["by"]
    found = {each["level"]: each["cells"][0]["value"] for each in by_category["rows"]}
    assert found == {"feelings": pytest.approx(50), "hobbies": pytest.approx(75)}

    client = sign_in(rex)
    page = client.get(reverse("reports:study", args=[judged.pk])).text
    assert "By category" in page
    assert reverse("judging_task:contexts", args=[judged.pk]) not in page  # there are no responses to read
    votes = client.get(reverse("judging:items", args=[judged.pk])).text
    assert (votes.count("The context"), "Whole conversation" in votes) == (3, False)
    item = judged.items.get(context__key="c1")
    assert "Question 1?" in client.get(reverse("judging:item", args=[judged.pk, item.key])).text


def test_the_bundle_alone_gives_every_number_again(judged: Study, tmp_path: Path) -> None:
    computed(judged)
    path = tmp_path / "bundle.zip"
    call_command("bundle", str(judged.pk), output=path)

    assert recompute(path).differences == []


def test_the_export_marks_labels_of_contexts(judged: Study, rex: User, sign_in: SignIn) -> None:
    lines = b"".join(sign_in(rex).get(f"/studies/{judged.pk}/turns.csv")).decode()  # type: ignore[arg-type]
    rows = list(csv.DictReader(io.StringIO(lines)))

    assert {(row["subject"], row["bot"], row["ask"]) for row in rows} == {("context", "Four, version 1", "0")}
    assert sorted(row["dialogue"] for row in rows) == ["c1", "c1", "c2", "c2", "c3", "c3"]


def test_a_rater_s_own_data_name_the_context(judged: Study) -> None:
    participation = judged.participations.order_by("pk")[0]

    told = stored_data_of(participation)["answers"]

    assert sorted(each["about"] for each in told) == [f"Question {n}?" for n in (1, 2, 3)]


def test_a_second_group_judges_the_same_contexts(judged: Study, make_queue: MakeQueue) -> None:
    second = make_queue(raters=1, question_set="open-v1", protocol="")
    assert add_sample(second, judged, number=2, seed=1, language="en").items == 2
    judge_all(second, dict.fromkeys(("c1", "c2", "c3"), True))

    assert other_groups_of(judged) == [second.pk]
    ((found,),) = (of.systems for of in compare_groups(judged, second))
    assert (found["system"], found["items"]) == ("Four, version 1", 2)
    assert found["scores"][0]["second"]["value"] == 100


def test_a_copy_of_the_study_judges_the_same_contexts(queue: Study, make_queue: MakeQueue) -> None:
    copy = make_queue(question_set="open-v1", protocol="")
    subjects.add_all_items_of(copy, queue)

    keys = [{*study.items.values_list("context", flat=True)} for study in (queue, copy)]
    assert keys[0] == keys[1]


def test_the_reading_material_of_a_context_is_shown_beside_it(make_queue: MakeQueue, rex: User) -> None:
    study = make_queue(raters=1, question_set=create_set(OPEN, owner=rex).key, protocol="")
    JudgingPlan.objects.filter(study=study).update(shows_reading=True)
    own = ContextSet.objects.create(name="known", title="Known", licence="CC0", owner=rex)
    row = ContextRow(1, "c1", ("Tell me of bees.",), "", "en", False, "", material=("Bees dance.",))
    subjects.add_selection(select_contexts(study, import_version(own, [row], origin="test")))

    (item,) = judging.state(begin(study))["items"]

    assert [each.text for each in item["reading"]] == ["Bees dance."]
