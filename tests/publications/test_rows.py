"""The archive of published rows: allowed columns only, and gone as soon as somebody withdraws."""

import csv
import io
import json
import re
import zipfile
from typing import Any

import pytest
from django.test import Client

from tests.conftest import MakeQueue
from tests.desks import judge
from tests.planted import computed, talked
from tests.publications.conftest import SECRET, Publish
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.crowd.places.ending import exclude
from turnwise.dialogues.models import Dialogue
from turnwise.judging.items import subjects
from turnwise.labels.models import Label
from turnwise.privacy.erasure import anonymize, erase_ids
from turnwise.privacy.withdrawal import withdraw
from turnwise.publications.models import PublishedRows, PublishedVersion
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)


def tables_at(address: str) -> dict[str, list[dict[str, str]]]:
    response = Client().get(address)
    assert response.status_code == 200
    with zipfile.ZipFile(io.BytesIO(response.content)) as archive:
        return {
            name.removesuffix(".csv"): list(csv.DictReader(io.StringIO(archive.read(name).decode())))
            for name in archive.namelist()
            if name.endswith(".csv")
        }


def share_of_yes(rows: list[dict[str, str]], question: str) -> float:
    answers = [row[question] for row in rows]
    return 100 * answers.count("true") / len(answers)


def test_rows_give_the_published_scores_without_saying_who_gave_them(
    judged: Study, published: Publish
) -> None:
    version = published(judged, address="two-bots", rows="answers")

    found = tables_at("/published/two-bots/rows.zip")

    assert set(found["labels"][0]) == {
        "conversation", "turn", "rater", "ask", "question_set", "sensible", "specific",
    }  # fmt: skip
    assert "turns" not in found
    bot_of = {row["conversation"]: row["bot"] for row in found["conversations"]}
    snapshot = json.loads(version.snapshot)["results"]["asks"][0]
    column = [each["key"] for each in snapshot["columns"]].index("sensible")
    for bot in snapshot["bots"]:
        of_bot = [row for row in found["labels"] if bot_of[row["conversation"]].title() == bot["bot"]]
        assert share_of_yes(of_bot, "sensible") == pytest.approx(bot["cells"][column]["value"])
    raters = {row["rater"] for row in found["labels"]}
    assert raters == {str(number) for number in range(1, 11)}
    everything = json.dumps(found)
    private = [
        *Participation.objects.filter(study=judged).values_list("pseudonym", flat=True),
        *map(str, Dialogue.objects.values_list("public_id", flat=True)),
        SECRET,
    ]
    assert not [each for each in private if each in everything]


def test_texts_are_published_only_if_they_are_chosen(judged: Study, published: Publish) -> None:
    published(judged, address="two-bots", rows="bot_texts")
    of_bots = tables_at("/published/two-bots/v1/rows.zip")["turns"]
    published(judged, rows="all_texts", consents="on")
    of_all = tables_at("/published/two-bots/v2/rows.zip")["turns"]

    assert set(of_bots[0]) == {"conversation", "turn", "speaker", "bot", "text"}
    assert {row["text"] for row in of_bots if row["speaker"] == "worker" and not row["bot"]} == {""}
    assert {row["text"] for row in of_bots if row["bot"]} == {SECRET}
    assert SECRET in {row["text"] for row in of_all if row["speaker"] == "worker"}


def test_excluded_people_are_not_in_the_rows_of_an_analysis_without_them(
    judged: Study, published: Publish, rex: User
) -> None:
    Study.objects.filter(pk=judged.pk).update(
        primary_analysis="without_excluded", exclusion_rules="Always the same answer."
    )
    person = Participation.objects.filter(study=judged).first()
    assert person
    exclude(person.pk, reason="Always the same answer", by=rex)
    computed(judged)

    published(judged, address="two-bots", rows="answers")

    found = tables_at("/published/two-bots/rows.zip")
    assert len({row["rater"] for row in found["labels"]}) == 9
    results = Client().get("/published/two-bots/results.json").json()
    assert sum(bot["labels"] for bot in results["results"]["asks"][0]["bots"]) == len(found["labels"])


def test_a_withdrawal_deletes_the_published_rows_and_keeps_the_figures(
    judged: Study, published: Publish
) -> None:
    version = published(judged, address="two-bots", rows="all_texts", consents="on")
    person = Participation.objects.filter(study=judged).first()
    assert person

    withdraw(person.pk)

    assert not PublishedRows.objects.exists()
    reader = Client()
    gone = reader.get("/published/two-bots/rows.zip")
    assert gone.status_code == 410
    assert "data of the study were withdrawn" in gone.content.decode()
    assert "were removed on" in reader.get("/published/two-bots/").content.decode()
    assert "rows.zip" not in reader.get("/published/two-bots/croissant.json").content.decode()
    assert reader.get("/published/two-bots/results.json").content.decode() == version.snapshot


def test_results_with_withdrawn_data_cannot_be_published(
    judged: Study, published: Publish, owner: Client
) -> None:
    person = Participation.objects.filter(study=judged).first()
    assert person
    withdraw(person.pk)

    refused = owner.post(
        f"/studies/{judged.pk}/publish/",
        {"title": "x", "licence": "CC0-1.0", "rows": "none", "preview": ""},
    )

    assert refused.status_code == 422
    assert "withdrew after this report was computed" in refused.content.decode()
    computed(judged)
    results = json.loads(published(judged).snapshot)["results"]
    assert sum(bot["labels"] for bot in results["asks"][0]["bots"]) == Label.objects.count() == 18


def test_erasure_on_request_and_redaction_delete_the_rows_too(
    judged: Study, published: Publish, owner: Client
) -> None:
    published(judged, address="two-bots", rows="answers")
    person = Participation.objects.filter(study=judged).last()
    assert person

    erase_ids(person.pk)

    assert not PublishedRows.objects.exists()
    published(judged, rows="bot_texts")
    owner.post(f"/studies/{judged.pk}/privacy/texts/redact/", {"own": "Wanda"})
    assert not PublishedRows.objects.exists()


def test_ids_that_are_erased_after_their_time_leave_rows_that_never_had_them(
    judged: Study, published: Publish
) -> None:
    from django.db import transaction
    from django.utils import timezone

    published(judged, address="two-bots", rows="answers")
    person = Participation.objects.select_related("study", "worker").filter(study=judged).first()
    assert person

    with transaction.atomic():
        anonymize(person, now=timezone.now())

    assert PublishedRows.objects.count() == 1


def test_rows_of_a_study_that_judges_withdrawn_replies_go_as_well(
    judged: Study, published: Publish, make_queue: MakeQueue
) -> None:
    readers = make_queue(title="Readers")
    subjects.add_turns(readers, judged, language="en")
    judge(readers, lambda _item: {"sensible": True, "specific": True})
    computed(readers)
    published(readers, title="Readers", rows="bot_texts")
    assert PublishedRows.objects.count() == 1
    person = Participation.objects.filter(study=judged).first()
    assert person

    withdraw(person.pk)

    assert not PublishedRows.objects.exists()
    assert PublishedVersion.objects.get().rows_removed_at


def test_rows_that_do_not_fit_the_figures_are_refused(judged: Study, owner: Client) -> None:
    talked(judged, [(True, True), (True, True)])

    refused = owner.post(
        f"/studies/{judged.pk}/publish/",
        {"title": "x", "licence": "CC0-1.0", "rows": "answers", "preview": ""},
    )

    assert refused.status_code == 422
    assert "newer results than its report" in refused.content.decode()


def described_files(document: dict[str, Any]) -> dict[str, str]:
    return {each["@id"]: each["sha256"] for each in document["distribution"]}


def test_croissant_names_every_file_with_its_hash_and_every_column(judged: Study, published: Publish) -> None:
    import hashlib

    published(judged, address="two-bots", rows="answers")
    reader = Client()

    document = reader.get("/published/two-bots/croissant.json").json()

    # Required by the format, version 1.0, and by schema.org for data sets.
    required = {"@context", "@type", "name", "description", "conformsTo", "license", "url", "creator",
                "datePublished", "version", "citeAs", "distribution", "recordSet"}  # fmt: skip
    assert required <= set(document)
    hashes = described_files(document)
    for name in ("results.json", "rows.zip"):
        content = reader.get(f"/published/two-bots/{name}").content
        assert hashes[name] == hashlib.sha256(content).hexdigest()
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for name in ("labels.csv", "conversations.csv"):
            assert hashes[name] == hashlib.sha256(archive.read(name)).hexdigest()
            header = archive.read(name).decode().splitlines()[0].split(",")
            records = next(each for each in document["recordSet"] if f"{each['@id']}.csv" == name)
            assert [field["source"]["extract"]["column"] for field in records["field"]] == header
    identifiers = {each["@id"] for each in document["distribution"]}
    for records in document["recordSet"]:
        for field in records["field"]:
            assert field["source"]["fileObject"]["@id"] in identifiers
            assert re.fullmatch(r"sc:\w+", field["dataType"])
