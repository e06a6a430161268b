"""What workers read beside a conversation: given when it begins, never changed, told to whoever looks."""

import csv
import json
import zipfile
from collections.abc import Iterator
from io import BytesIO, StringIO
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction
from django.test import Client

from chatbots.base import Passage
from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeStudy, worker_of
from tests.planted import SignIn, talked
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.dialogues import reading_material
from turnwise.dialogues.models import Dialogue, Material, Seat
from turnwise.dialogues.queries import context_of, seat_of
from turnwise.exports.bundle import write_bundle
from turnwise.exports.turn_files import LABELLED_TURNS, OWN_MATERIAL, labelled_turns
from turnwise.knowledge.reading_sets import Section
from turnwise.studies.models import Study

TEXTS = "# Bees\nThey <b>dance</b>.\n\n# Wasps\n=SUM(A1)"


@pytest.fixture
def reading(make_study: MakeStudy) -> Study:
    return make_study(material=TEXTS, min_turns=2, max_turns=8)


@pytest.mark.django_db
def test_the_worker_gets_the_texts_and_they_cannot_be_changed(reading: Study) -> None:
    dialogue = talked(reading, [(True, True)])

    seats = {seat.number: list(seat.materials.all()) for seat in dialogue.seats.all()}
    assert [(m.number, m.key, m.title, m.text) for m in seats[1]] == [
        (1, "S1", "Bees", "They <b>dance</b>."),
        (2, "S2", "Wasps", "=SUM(A1)"),
    ]
    assert seats[0] == []
    with pytest.raises(IntegrityError, match="material_never_changes"), transaction.atomic():
        Material.objects.update(text="Other")
    with rewriting():
        dialogue.delete()
    assert not Material.objects.exists()


@pytest.mark.django_db
def test_a_bot_gets_what_its_seat_has_and_nothing_else(make_study: MakeStudy, reading: Study) -> None:
    shared = make_study(code="shared", material=TEXTS, bots_read=True, min_turns=2, max_turns=8)

    def given(study: Study) -> tuple[Passage, ...]:
        dialogue = talked(study, [(True, True)])
        seated = seat_of(dialogue.public_id, worker_of(dialogue).pk)
        return context_of(seated, ["Hi!", "Hello."]).material

    assert given(shared) == (Passage("They <b>dance</b>.", "Bees"), Passage("=SUM(A1)", "Wasps"))
    assert given(reading) == ()
    reading_material.store_material(
        Seat.objects.filter(bot__isnull=False, dialogue__study=reading).get(),
        [Section("FS1", "Factual Section 1", "Jazz is old.", "Jazz", ("It swings.", "It is loud."))],
    )
    dialogue = Dialogue.objects.get(study=reading)
    seated = seat_of(dialogue.public_id, worker_of(dialogue).pk)
    assert seated.bot_material == (
        Passage("Jazz is old.\nIt swings.\nIt is loud.", "Factual Section 1: Jazz"),
    )


@pytest.mark.django_db
def test_the_transcript_shows_them_as_text(reading: Study, sign_in: SignIn, rex: User) -> None:
    dialogue = talked(reading, [(True, True)])

    page = sign_in(rex).get(f"/dialogues/{dialogue.public_id}/").content.decode()

    assert "The worker had 2 texts to read" in page
    assert "They &lt;b&gt;dance&lt;/b&gt;." in page


@pytest.mark.django_db
def test_every_label_has_the_texts_that_its_rater_read(
    reading: Study, make_study: MakeStudy, sign_in: SignIn, rex: User
) -> None:
    dialogue = talked(reading, [(True, True), (True, False)])
    (bot,) = Seat.objects.filter(bot__isnull=False, dialogue=dialogue)
    reading_material.store_material(bot, [Section("S1", "Only the bot's", "Jazz is old.")])
    own = [
        {"seat": 1, "title": "Bees", "text": "They <b>dance</b>."},
        {"seat": 1, "title": "Wasps", "text": "=SUM(A1)"},
    ]
    page = sign_in(rex)

    lines = b"".join(page.get(f"/studies/{reading.pk}/turns.jsonl")).splitlines()
    rows = csv.DictReader(StringIO(b"".join(page.get(f"/studies/{reading.pk}/turns.csv")).decode()))

    assert [json.loads(line)["material"] for line in lines] == [own, own]
    assert [json.loads(row["material"]) for row in rows] == [own, own]
    without = make_study(code="without", min_turns=2, max_turns=8)
    talked(without, [(True, True)])
    assert [row.material for row in chain(*labelled_turns(without))] == [None]


@pytest.mark.django_db
def test_labels_of_a_study_without_texts_are_read_without_extra_joins(make_study: MakeStudy) -> None:
    """Whether there are any is asked once; no row looks for its own; the joins are those of a bare column."""
    study, reads = make_study(min_turns=2, max_turns=8), make_study(material=TEXTS, min_turns=2, max_turns=8)
    for each in (study, study, reads):
        talked(each, [(True, True)] * 3)

    def plan(statement: str, study: Study) -> dict[str, Any]:
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE")
            cursor.execute("EXPLAIN (ANALYZE, FORMAT JSON) " + statement, {"study": study.pk})
            ((found,),) = cursor.fetchall()
        return dict(found[0]["Plan"])

    def nodes(plan: dict[str, Any]) -> Iterator[dict[str, Any]]:
        yield plan
        for each in plan.get("Plans", ()):
            yield from nodes(each)

    def times_read(plan: dict[str, Any], alias: str) -> int:
        return int(next(each["Actual Loops"] for each in nodes(plan) if each.get("Alias") == alias))

    def joins(plan: dict[str, Any]) -> list[Any]:
        """Without what stands in the columns alone."""
        below = [each for each in plan.get("Plans", ()) if "Plan" not in each["Parent Relationship"]]
        return [plan["Node Type"], plan.get("Alias"), plan.get("Index Name"), *map(joins, below)]

    without, having = plan(LABELLED_TURNS, study), plan(LABELLED_TURNS, reads)
    bare = plan(LABELLED_TURNS.replace(OWN_MATERIAL, "NULL::text"), study)

    assert (times_read(without, "read"), times_read(having, "read")) == (0, 3)
    assert times_read(without, "given") <= 2  # of two conversations, their seats
    assert joins(without) == joins(bare)


@pytest.mark.django_db(transaction=True)
def test_the_bundle_has_them_and_gives_the_same_numbers(
    reading: Study, make_study: MakeStudy, tmp_path: Path
) -> None:
    dialogue = talked(reading, [(True, True), (True, False)])
    stream = BytesIO()
    write_bundle(reading.pk, stream)
    path = tmp_path / "bundle.zip"
    path.write_bytes(stream.getvalue())

    with zipfile.ZipFile(path) as archive:
        rows = [json.loads(line) for line in archive.read("data/materials.jsonl").splitlines()]
        as_csv = archive.read("data/materials.csv").decode()

    assert [(row["dialogue"], row["seat"], row["number"], row["title"], row["text"]) for row in rows] == [
        (str(dialogue.public_id), 1, 1, "Bees", "They <b>dance</b>."),
        (str(dialogue.public_id), 1, 2, "Wasps", "=SUM(A1)"),
    ]
    assert "'=SUM(A1)" in as_csv
    found = recompute(path)
    assert (found.changed_files, found.differences) == ([], [])
    assert found.comparison.values > 50


@pytest.mark.django_db
def test_the_form_names_the_line_that_cannot_be_read(
    client: Client, sign_in: SignIn, rex: User, reading: Study
) -> None:
    page = sign_in(rex)
    reading.state = Study.State.DRAFT
    reading.save()
    asked = {
        "title": "Reads", "languages": "en", "opening_speaker": "bot", "opening_text": "Hi!", "min_turns": 2,
        "max_turns": 8, "pay_amount": 0, "pay_currency": "USD", "expected_minutes": 5, "consent_text": "Yes",
        "material": "# Empty\n", "bots_read": "on", "bots-TOTAL_FORMS": 0, "bots-INITIAL_FORMS": 0,
        "asks-rows": 1,
        "asks-0-question_set": "ssa", "asks-0-when": "partner_turn:each_turn",
        "asks-0-required": "on",
    }  # fmt: skip

    refused = page.post(f"/studies/{reading.pk}/edit/", asked)
    assert refused.status_code == 422
    assert "Line 1: there is no text under “Empty”." in refused.content.decode()

    taken = page.post(f"/studies/{reading.pk}/edit/", asked | {"material": "# Full\nText"})
    reading.refresh_from_db()
    assert (taken.status_code, reading.material, reading.bots_read) == (302, "# Full\nText", True)
