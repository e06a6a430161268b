"""Workers whom an admin sets aside: in every figure still, and the scores without them beside."""

import csv
import io

import pytest
from django.db import IntegrityError
from django.utils import timezone

from accounts.models import User
from crowd.models import Participation
from studies.models import Study
from tests.conftest import worker_of
from tests.reports.conftest import SignIn, computed, talked

pytestmark = pytest.mark.django_db(transaction=True)


def test_setting_a_worker_aside_from_the_transcript_shows_in_the_report(
    short: Study, rex: User, sign_in: SignIn
) -> None:
    careful = talked(short, [(True, True), (True, False)])
    careless = talked(short, [(False, False), (False, False)])
    client = sign_in(rex)

    answer = client.post(f"/dialogues/{careless.public_id}/set-aside/", {"reason": " Pressed No only. "})
    result = computed(short).result
    page = client.get(f"/studies/{short.pk}/report/").content.decode()

    assert answer.url == f"/dialogues/{careless.public_id}/"
    # All: 2 of 4 sensible, 1 of 4 specific. Without the second worker: 2 of 2 and 1 of 2.
    assert result["bots"][0]["cells"][2]["value"] == pytest.approx(37.5)
    assert result["without"]["bots"][0]["cells"][2]["value"] == pytest.approx(75)
    assert result["without"]["workers"] == [
        {"worker": worker_of(careless).pseudonym, "reason": "Pressed No only.", "labels": 2}
    ]
    assert "Without the workers set aside" in page
    assert "Set aside by rex" in client.get(f"/dialogues/{careless.public_id}/").content.decode()
    assert "Set aside by" not in client.get(f"/dialogues/{careful.public_id}/").content.decode()


def test_setting_aside_calls_for_a_new_report_and_can_be_taken_back(
    short: Study, rex: User, sign_in: SignIn
) -> None:
    dialogue = talked(short, [(True, True)])
    address = f"/dialogues/{dialogue.public_id}/set-aside/"
    before = Study.objects.get(pk=short.pk).results_version

    sign_in(rex).post(address, {"reason": "Too fast"})
    sign_in(rex).post(address, {"reason": ""})

    participation = Participation.objects.get(assignment=dialogue.assignment)
    assert (participation.set_aside_reason, participation.set_aside_at, participation.set_aside_by) == (
        "",
        None,
        None,
    )
    assert Study.objects.get(pk=short.pk).results_version == before + 2
    assert computed(short).result["without"] is None


def test_only_who_may_read_the_conversation_sets_its_worker_aside(
    short: Study, mallory: User, sign_in: SignIn
) -> None:
    dialogue = talked(short, [(True, True)])

    answer = sign_in(mallory).post(f"/dialogues/{dialogue.public_id}/set-aside/", {"reason": "x"})

    assert answer.status_code == 404
    assert not Participation.objects.exclude(set_aside_reason="").exists()


def test_an_admin_sets_a_worker_aside_in_the_admin(short: Study, ada: User, sign_in: SignIn) -> None:
    dialogue = talked(short, [(True, True)])
    participation = Participation.objects.get(assignment=dialogue.assignment)
    before = Study.objects.get(pk=short.pk).results_version

    answer = sign_in(ada).post(
        f"/admin/crowd/participation/{participation.pk}/change/",
        {
            "worker": participation.worker_id,
            "study": participation.study_id,
            "consent": participation.consent_id,
            "set_aside_reason": "Straight-lined",
        },
    )

    participation.refresh_from_db()
    assert answer.status_code == 302
    assert (participation.set_aside_reason, participation.set_aside_by) == ("Straight-lined", ada)
    assert participation.set_aside_at is not None
    assert Study.objects.get(pk=short.pk).results_version == before + 1


def test_the_database_refuses_a_worker_set_aside_without_a_reason(short: Study) -> None:
    talked(short, [(True, True)])

    with pytest.raises(IntegrityError, match="set_aside_for_a_reason"):
        Participation.objects.update(set_aside_at=timezone.now())


def test_the_export_keeps_their_labels_and_says_who_was_set_aside(
    short: Study, rex: User, sign_in: SignIn
) -> None:
    talked(short, [(True, True)])
    aside = talked(short, [(False, False)])
    client = sign_in(rex)
    client.post(f"/dialogues/{aside.public_id}/set-aside/", {"reason": "Too fast"})

    content = b"".join(client.get(f"/studies/{short.pk}/turns.csv").streaming_content)  # type: ignore[arg-type]

    rows = list(csv.DictReader(io.StringIO(content.decode())))
    assert [row["rater_set_aside"] for row in rows] == ["false", "true"]
