"""What readers have beside an item: the study's own texts, and what those who talked had to read."""

import csv
import json
import zipfile
from io import BytesIO, StringIO
from itertools import chain
from pathlib import Path
from uuid import UUID

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakePairs, MakeQueue, MakeStudy
from tests.desks import begin, judge
from tests.planted import SignIn, talked
from turnwise.accounts.models import User
from turnwise.dialogues import reading_material
from turnwise.dialogues.models import Dialogue, Material
from turnwise.exports.bundle import write_bundle
from turnwise.exports.turn_files import labelled_turns
from turnwise.judging.items import pairs, subjects
from turnwise.judging.items.pairs import PairSource
from turnwise.judging.models import Item, JudgingPlan, Slot
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import reading_of_items
from turnwise.judging.queue.services import plan_of
from turnwise.knowledge.reading_sets import Section
from turnwise.labels.models import Pair
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db

BEES = Section("S1", "Bees", "They <b>dance</b>.")
WASPS = Section("S2", "Wasps", "=SUM(A1)", "Nests", ("Paper.",))
YES = {"sensible": True, "specific": True}


@pytest.fixture
def chats(make_study: MakeStudy) -> Study:
    return make_study(code="chats", min_turns=2, max_turns=8)


def chat_with(chats: Study, *, bot: tuple[Section, ...] = (), worker: tuple[Section, ...] = ()) -> Dialogue:
    """A conversation in which each had this to read; the bot speaks first."""
    dialogue = talked(chats, [(True, True)])
    for seat in dialogue.seats.all():
        reading_material.store_material(seat, bot if seat.bot_id else worker)
    return dialogue


def queue_of(make_queue: MakeQueue, chats: Study, *, shows: bool = True) -> Study:
    queue = make_queue(raters=1)
    JudgingPlan.objects.filter(study=queue).update(shows_reading=shows)
    subjects.add_turns(queue, chats, language="en")
    return queue


def beside(queue: Study) -> list[tuple[str, str]]:
    """Titles and notes of what stands beside the first item of somebody new."""
    return [(each.title, each.note) for each in judging.state(begin(queue))["items"][0]["reading"]]


def test_a_reader_gets_the_chatters_material_without_learning_who_is_a_person(
    make_queue: MakeQueue, chats: Study
) -> None:
    chat_with(chats, worker=(BEES, WASPS))

    assert beside(queue_of(make_queue, chats)) == [("Bees", ""), ("Wasps", "")]


def test_material_of_only_one_speaker_is_marked(make_queue: MakeQueue, chats: Study) -> None:
    chat_with(chats, bot=(BEES,), worker=(BEES, WASPS))

    assert beside(queue_of(make_queue, chats)) == [
        ("Bees", ""),
        ("Wasps", "Only Speaker B could read this."),
    ]


def test_material_is_shown_only_if_the_plan_says_so(make_queue: MakeQueue, chats: Study) -> None:
    chat_with(chats, worker=(BEES,))
    queue = queue_of(make_queue, chats, shows=False)

    assert "reading" not in judging.state(begin(queue))["items"][0]


def test_for_two_conversations_the_material_names_the_side_that_the_rater_sees(
    make_pairs: MakePairs, make_study: MakeStudy
) -> None:
    both = make_study({"one": 1, "other": 1}, code="both", min_turns=2, max_turns=8)
    chat_with(both, worker=(BEES,))
    chat_with(both, worker=(WASPS,))
    study = make_pairs(raters=2)
    JudgingPlan.objects.filter(study=study).update(shows_reading=True)
    pairs.add(study, PairSource.of_conversations([both], language="en"))
    first = Pair.objects.get().first_dialogue
    (title,) = Material.objects.filter(seat__dialogue=first).values_list("title", flat=True)

    seen = []
    for _ in range(2):
        desk = begin(study)
        (item,) = judging.state(desk)["items"]
        swapped = Slot.objects.get(batch=desk.batch_id).is_swapped
        assert [each.note for each in item["reading"]] == [
            "For the first conversation only.",
            "For the second conversation only.",
        ]
        assert (item["reading"][0].title == title) is not swapped
        seen.append([each.title for each in item["reading"]])
        judging.judge(desk, key=UUID(item["key"]), answers={"better": "tied"})
    item = Item.objects.get().pk
    assert {each.title for each in reading_of_items([item])[item]} == {"Bees", "Wasps"}
    exported = [json.loads(row.material or "") for row in chain(*labelled_turns(study))]
    told = [
        {each["conversation"]: each["title"] for each in reading_material} for reading_material in exported
    ]
    assert told == [{"first": first, "second": second} for first, second in seen]


def test_an_opened_study_keeps_its_material(make_queue: MakeQueue, sign_in: SignIn, rex: User) -> None:
    queue = make_queue(1)
    plan = plan_of(queue)
    plan.shows_reading = True
    page = sign_in(rex)

    with pytest.raises(ValidationError, match="what its judges read is fixed"):
        subjects.save_plan(plan)
    sent = {"raters_per_item": 1, "batch_size": 5, "lease_seconds": 600, "shows_reading": "on"}
    assert page.post(f"/studies/{queue.pk}/queue/", sent).status_code == 302
    assert not plan_of(queue).shows_reading
    Study.objects.filter(pk=queue.pk).update(state=Study.State.DRAFT)
    page.post(f"/studies/{queue.pk}/queue/", sent)
    assert plan_of(queue).shows_reading


def test_the_form_takes_material_for_all_items_and_names_its_problems(
    make_queue: MakeQueue, sign_in: SignIn, rex: User
) -> None:
    queue, page = make_queue(1), sign_in(rex)
    Study.objects.filter(pk=queue.pk).update(state=Study.State.DRAFT)
    sent = {
        "title": "Judged", "languages": "en", "asks-0-question_set": "ssa", "consent_text": "Yes",
        "pay_amount": 0, "pay_currency": "USD", "expected_minutes": 5,
    }  # fmt: skip

    refused = page.post(f"/studies/{queue.pk}/edit/", sent | {"material": "# Empty\n"})
    assert "Line 1: there is no text under “Empty”" in refused.content.decode()
    taken = page.post(f"/studies/{queue.pk}/edit/", sent | {"material": "# Rules\nBe kind."})

    queue.refresh_from_db()
    assert (taken.status_code, queue.material) == (302, "# Rules\nBe kind.")
    Study.objects.filter(pk=queue.pk).update(state=Study.State.OPEN)
    shown = page.get(f"/studies/{queue.pk}/items/{queue.items.get().key}/").content.decode()
    assert "Raters had a text to read beside it" in shown


def test_the_item_page_shows_material_as_text(
    make_queue: MakeQueue, chats: Study, sign_in: SignIn, rex: User
) -> None:
    chat_with(chats, worker=(BEES, WASPS))
    queue = queue_of(make_queue, chats)

    page: Client = sign_in(rex)
    shown = page.get(f"/studies/{queue.pk}/items/{queue.items.get().key}/").content.decode()

    assert "Raters had 2 texts to read beside it" in shown
    assert "They &lt;b&gt;dance&lt;/b&gt;." in shown


def test_the_rows_of_judgments_contain_the_material(
    make_queue: MakeQueue, chats: Study, sign_in: SignIn, rex: User
) -> None:
    chat_with(chats, worker=(BEES, WASPS))
    queue, page = queue_of(make_queue, chats), sign_in(rex)
    judge(queue, lambda item: YES)

    line = b"".join(page.get(f"/studies/{queue.pk}/turns.jsonl")).decode()
    as_csv = b"".join(page.get(f"/studies/{queue.pk}/turns.csv")).decode()

    in_seat_1 = [
        {"seat": 1, "title": "Bees", "text": "They <b>dance</b>."},
        {"seat": 1, "title": "Wasps", "heading": "Nests", "text": "=SUM(A1)", "points": ["Paper."]},
    ]
    assert json.loads(line)["material"] == in_seat_1
    (row,) = csv.DictReader(StringIO(as_csv))
    assert json.loads(row["material"]) == in_seat_1
    JudgingPlan.objects.filter(study=queue).update(shows_reading=False)
    assert [row.material for row in chain(*labelled_turns(queue))] == [None]
    Study.objects.filter(pk=queue.pk).update(material="# Rules\nBe kind.")
    queue.refresh_from_db()
    rules = {"title": "Rules", "text": "Be kind."}
    assert [json.loads(row.material or "") for row in chain(*labelled_turns(queue))] == [[rules]]
    JudgingPlan.objects.filter(study=queue).update(shows_reading=True)
    assert [json.loads(row.material or "") for row in chain(*labelled_turns(queue))] == [[*in_seat_1, rules]]


@pytest.mark.django_db(transaction=True)
def test_the_bundle_contains_the_material_of_each_item(
    make_queue: MakeQueue, chats: Study, tmp_path: Path
) -> None:
    dialogue = chat_with(chats, worker=(BEES, WASPS))
    queue = queue_of(make_queue, chats)
    Study.objects.filter(pk=queue.pk).update(material="# Rules\nBe kind.")
    judge(queue, lambda item: YES)
    file = BytesIO()

    write_bundle(queue.pk, file)

    with zipfile.ZipFile(file) as archive:
        rows = [json.loads(line) for line in archive.read("data/item_materials.jsonl").splitlines()]
        as_csv = archive.read("data/item_materials.csv").decode()
        about = json.loads(archive.read("study.json"))
    key = str(queue.items.get().key)
    assert [(row["item"], row["dialogue"], row["seat"], row["title"], row["points"]) for row in rows] == [
        (key, str(dialogue.public_id), 1, "Bees", "[]"),
        (key, str(dialogue.public_id), 1, "Wasps", '["Paper."]'),
    ]
    assert "'=SUM(A1)" in as_csv
    assert (about["protocol"]["material"], about["judging"]["shows_reading"]) == ("# Rules\nBe kind.", True)
    (tmp_path / "bundle.zip").write_bytes(file.getvalue())
    again = recompute(tmp_path / "bundle.zip")
    assert (again.differences, again.changed_files) == ([], [])
