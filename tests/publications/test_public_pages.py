"""Public pages of reports: what is on them, what is not, their versions, and how they end."""

import hashlib
import json
import re

import pytest
from django.test import Client

from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, talked
from tests.publications.conftest import SECRET, Publish
from turnwise.accounts.models import Event, User
from turnwise.crowd.models import Participation
from turnwise.publications.models import Publication, PublishedVersion
from turnwise.reports.models import Report
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)


def test_results_are_public_byte_for_byte_with_their_hash(judged: Study, published: Publish) -> None:
    version = published(judged, address="two-bots")
    reader = Client()

    page = reader.get("/published/two-bots/").content.decode()
    results = reader.get("/published/two-bots/v1/results.json")

    assert hashlib.sha256(results.content).hexdigest() == version.sha256
    assert version.sha256 in page
    for shown in (
        "Two bots",
        "Ada Lovelace",
        "Version 1",
        "Creative Commons Attribution 4.0",
        "@misc{two-bots-v1",
    ):
        assert shown in page
    document = json.loads(results.content)
    stored = Report.objects.filter(study=judged).latest("pk").result
    assert stored
    for public, private in zip(document["results"]["asks"][0]["bots"], stored["bots"], strict=True):
        assert [cell["value"] for cell in public["cells"]] == [cell["value"] for cell in private["cells"]]
        assert public["rank"] == private["rank"]
    assert document["results"]["protocol"]["key"] == "meena-interactive"


def test_nothing_about_people_is_public(judged: Study, published: Publish) -> None:
    person = Participation.objects.filter(study=judged).first()
    assert person
    Participation.objects.filter(pk=person.pk).update(signs="x")

    published(judged, address="two-bots")

    reader = Client()
    everything = b"".join(
        reader.get(f"/published/two-bots/{path}").content for path in ("", "results.json", "croissant.json")
    ).decode()
    pseudonyms = Participation.objects.filter(study=judged).values_list("pseudonym", flat=True)
    assert not [name for name in pseudonyms if name in everything]
    for private in (SECRET, judged.code, "flagged", "influence", "proposed", "excluded_reason"):
        assert private not in everything


def test_a_second_version_leaves_the_first_where_it_was(judged: Study, published: Publish) -> None:
    first = published(judged, address="two-bots")
    talked(judged, [(True, True), (True, True)])
    computed(judged)
    second = published(judged, title="Two bots again")
    reader = Client()

    old = reader.get("/published/two-bots/v1/")

    assert (second.publication, second.number) == (first.publication, 2)
    assert "Version 2 is newer." in old.content.decode()
    assert reader.get("/published/two-bots/v1/results.json").content.decode() == first.snapshot
    assert "Two bots again" in reader.get("/published/two-bots/").content.decode()
    missing = reader.get("/published/two-bots/v3/")
    assert missing.status_code == 404
    assert "the newest is version 2" in missing.content.decode()


def test_only_what_was_previewed_is_published(judged: Study, owner: Client) -> None:
    address = f"/studies/{judged.pk}/publish/"
    sent = {"title": "Two bots", "licence": "CC0-1.0", "rows": "none"}
    preview = owner.post(address, sent | {"preview": ""}).content.decode()
    digest = re.search(r'name="previewed" value="(\w+)"', preview)
    assert digest

    changed = owner.post(address, sent | {"title": "Other", "publish": "", "previewed": digest[1]})

    assert changed.status_code == 409
    assert "Nothing is published yet" in changed.content.decode()
    assert not PublishedVersion.objects.exists()
    assert not Event.objects.filter(action="publications:publish").exists()
    assert owner.post(address, sent | {"publish": "", "previewed": digest[1]}).status_code == 302
    assert Event.objects.filter(action="publications:publish").count() == 1


def test_revoked_results_are_gone_for_good(judged: Study, published: Publish, owner: Client) -> None:
    version = published(judged, address="two-bots", rows="answers")
    reader = Client()
    assert reader.get("/published/two-bots/rows.zip").status_code == 200

    owner.post(f"/studies/{judged.pk}/publish/revoke/")

    for path in ("", "v1/", "results.json", "croissant.json", "badge.svg", "rows.zip"):
        assert reader.get(f"/published/two-bots/{path}").status_code == 410, path
    assert "have revoked them" in reader.get("/published/two-bots/").content.decode()
    assert not Publication.objects.filter(versions__rows__isnull=False).exists()
    taken = owner.post(
        f"/studies/{judged.pk}/publish/",
        {"title": "x", "licence": "CC0-1.0", "rows": "none", "address": "two-bots", "preview": ""},
    )
    assert taken.status_code == 422
    assert "is taken" in taken.content.decode()
    assert published(judged, address="").publication.slug != version.publication.slug


def test_the_address_of_a_deleted_study_says_so(
    judged: Study, published: Publish, make_study: MakeStudy
) -> None:
    version = published(judged, address="two-bots")
    draft = make_study(title="Without participants")
    Publication.objects.filter(pk=version.publication_id).update(study=draft)

    draft.asks.all().delete()
    draft.study_bots.all().delete()
    draft.consent_versions.all().delete()
    draft.delete()

    gone = Client().get("/published/two-bots/")
    assert gone.status_code == 410
    assert "has been deleted" in gone.content.decode()


def test_a_study_without_a_finished_report_is_refused_in_words(judged: Study, owner: Client) -> None:
    Report.objects.filter(study=judged).update(state=Report.State.FAILED, reason="out of memory")
    sent = {"title": "x", "licence": "CC0-1.0", "rows": "none", "publish": ""}

    response = owner.post(f"/studies/{judged.pk}/publish/", sent)

    assert response.status_code == 422
    assert "has no finished report" in response.content.decode()


@pytest.mark.parametrize(
    ("field", "value", "says"),
    [
        ("address", "My Study", "cannot be part of an address"),
        ("address", "../admin", "cannot be part of an address"),
        ("licence", "mine", "not one of the available choices"),
        ("authors", ";".join("a" * 3 for _ in range(101)), "There are 101 authors"),
        ("rows", "all_texts", "You chose to publish what people wrote"),
    ],
)
def test_wrong_fields_are_refused_in_words(
    judged: Study, owner: Client, field: str, value: str, says: str
) -> None:
    sent = {"title": "x", "licence": "CC0-1.0", "rows": "none", "preview": ""} | {field: value}

    response = owner.post(f"/studies/{judged.pk}/publish/", sent)

    assert response.status_code == 422
    assert says in response.content.decode()


def test_a_reader_with_the_newest_state_is_sent_nothing(judged: Study, published: Publish) -> None:
    published(judged, address="two-bots")
    reader = Client()
    first = reader.get("/published/two-bots/")

    again = reader.get("/published/two-bots/", headers={"If-None-Match": first["ETag"]})

    assert (again.status_code, again.content) == (304, b"")
    assert first["Cache-Control"] == "public, max-age=60"
    assert first["X-Robots-Tag"] == "noindex"
    published(judged)
    assert reader.get("/published/two-bots/", headers={"If-None-Match": first["ETag"]}).status_code == 200


def test_a_title_cannot_break_out_of_the_page_its_data_or_its_badge(
    judged: Study, published: Publish
) -> None:
    hostile = "</script><script>alert(1)</script>\"}'& \\ {x}"
    published(judged, title=hostile, authors="O'Neil <b>; {Smith}", address="two-bots")

    page = Client().get("/published/two-bots/").content.decode()

    assert "<script>alert" not in page
    assert "<b>;" not in page
    linked = re.search(r'<script type="application/ld\+json">(.*?)</script>', page, re.DOTALL)
    assert linked
    assert json.loads(linked[1])["name"] == hostile
    assert r"\{x\}" in page  # in BibTeX


def test_others_cannot_publish_a_study(judged: Study, sign_in: SignIn, mallory: User) -> None:
    client = sign_in(mallory)

    assert client.get(f"/studies/{judged.pk}/publish/").status_code == 404
    assert client.post(f"/studies/{judged.pk}/publish/revoke/").status_code == 404
