"""Workers who show signs of carelessness or fraud: named with evidence, paid, and in every figure still."""

import csv
import io
from datetime import timedelta
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db.models import F
from django.test import Client

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeStudy, pseudonym_of, worker_of
from tests.planted import SignIn, computed, figures, talked
from tests.rewriting import rewriting
from turnwise.accounts.models import User
from turnwise.crowd.entry.enrolment import consent, hash_address
from turnwise.crowd.models import Participation
from turnwise.crowd.panels import Arrival
from turnwise.dialogues.models import Dialogue
from turnwise.labels.models import Label
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def careless(make_study: MakeStudy) -> Dialogue:
    """Of two conversations the second: “ok” four times within a second, each answer after 300 ms."""
    study = make_study({"scripty": 100}, min_turns=2, max_turns=20)
    careful = talked(study, [(True, True), (True, False)])
    Dialogue.objects.filter(pk=careful.pk).update(ended_at=F("started_at") + timedelta(minutes=4))
    with rewriting():
        Label.objects.update(shown_ms=2500, answer_ms=5200)
    dialogue = talked(study, [(False, False)] * 5, text="ok")
    Dialogue.objects.filter(pk=dialogue.pk).update(ended_at=F("started_at") + timedelta(seconds=1))
    with rewriting():
        Label.objects.filter(shown_ms=None).update(shown_ms=200, answer_ms=300)
    return dialogue


EVIDENCE = (
    "Half of 5 answers came within 0.3\u00a0s of what they judge. Talking and answering took 1.0\u00a0s for "
    "5 messages. 5 of 5 messages are “ok”."
)


def test_the_report_names_the_signs_and_has_its_scores_without_these_workers(
    careless: Dialogue, rex: User, sign_in: SignIn
) -> None:
    result = figures(computed(careless.study))
    page = sign_in(rex).get(f"/studies/{careless.study_id}/report/").content.decode()

    # All: 2 of 7 sensible, 1 of 7 specific. Without the second worker: 2 of 2 and 1 of 2.
    assert result["bots"][0]["cells"][2]["value"] == pytest.approx(100 * 1.5 / 7)
    assert result["flagged"]["bots"][0]["cells"][2]["value"] == pytest.approx(75)
    assert result["flagged"]["workers"] == [
        {"worker": pseudonym_of(careless), "reason": EVIDENCE, "labels": 5}
    ]
    assert "Without the workers who show signs of carelessness or fraud" in page
    assert "5 of 5 messages are “ok”." in page


def test_participants_show_the_signs_with_their_evidence(
    careless: Dialogue, rex: User, sign_in: SignIn
) -> None:
    computed(careless.study)
    client, address = sign_in(rex), f"/studies/{careless.study_id}/participants"

    page = client.get(f"{address}/").content.decode()
    only = client.get(f"{address}/", {"state": "signs"}).context["rows"]
    rows = csv.DictReader(io.StringIO(b"".join(client.get(f"{address}.csv")).decode()))

    assert "1 participant shows signs of carelessness or fraud" in page
    assert EVIDENCE in page
    assert [each.worker for each in only] == [worker_of(careless)]
    assert sorted(row["signs"] for row in rows) == ["", EVIDENCE]
    paid = Participation.objects.get(worker=worker_of(careless))
    assert (paid.excluded_at, paid.assignment.outcome) == (None, "complete")


def test_signs_missing_in_a_later_report_are_removed(careless: Dialogue) -> None:
    computed(careless.study)
    Dialogue.objects.filter(pk=careless.pk).update(ended_at=F("started_at") + timedelta(minutes=2))
    with rewriting():
        Label.objects.update(answer_ms=4000)
    with rewriting():
        careless.turn_set.filter(position__in=(1, 3, 5)).update(text="Something else")

    computed(careless.study)

    assert not Participation.objects.exclude(signs="").exists()


def test_simulated_workers_of_a_rehearsal_get_no_flags(careless: Dialogue, study: Study) -> None:
    Study.objects.filter(pk=careless.study_id).update(rehearsal_of=study)

    assert figures(computed(careless.study))["flagged"] is None


def test_the_bundle_has_times_and_addresses_and_gives_the_same_signs(
    careless: Dialogue, tmp_path: Path, rex: User, sign_in: SignIn
) -> None:
    here = hash_address("198.51.100.7", careless.study)
    Participation.objects.update(address=here)
    version = careless.study.consent_versions.get()
    for _ in range(2):
        consent(careless.study, version, known=None, arrival=None, address="198.51.100.7")
    stored = figures(computed(careless.study))
    path = tmp_path / "bundle.zip"
    call_command("bundle", str(careless.study_id), output=path)

    found = recompute(path)
    line = sign_in(rex).get(f"/studies/{careless.study_id}/turns.csv").getvalue()

    assert found.differences == []
    assert found.report["flagged"] == stored["flagged"]
    assert all("4 participants of this study" in each["reason"] for each in stored["flagged"]["workers"])
    assert len(stored["flagged"]["workers"]) == 4
    assert here not in path.read_bytes().decode("latin-1")
    rows = list(csv.DictReader(io.StringIO(line.decode())))
    assert [(row["shown_ms"], row["answer_ms"]) for row in rows[:3]] == [("2500", "5200")] * 2 + [
        ("200", "300")
    ]


# --- addresses -------------------------------------------------------------------------------------


def agree(study: Study, address: str) -> str:
    """What is stored about the address of somebody who agrees."""
    Client(REMOTE_ADDR=address).post(f"/s/{study.code}/consent/", {"agree": "yes", "consent": "1"})
    return Participation.objects.latest("pk").address


def test_an_address_is_stored_only_as_a_keyed_hash(make_study: MakeStudy) -> None:
    one, other = make_study(title="One"), make_study(title="Other")

    first, again = agree(one, "198.51.100.7"), agree(one, "198.51.100.7")
    neighbour, elsewhere = agree(one, "198.51.100.8"), agree(other, "198.51.100.7")

    assert first == again
    assert len({first, neighbour, elsewhere}) == 3
    assert "198.51" not in first


def test_addresses_of_one_household_have_one_hash(study: Study) -> None:
    assert agree(study, "2001:db8:1:2::a") == agree(study, "2001:db8:1:2:ffff::b")
    assert agree(study, "2001:db8:1:3::a") != agree(study, "2001:db8:1:2::a")


def test_workers_without_an_address_do_not_share_one(study: Study) -> None:
    assert [hash_address(said, study) for said in ("", "unix:", "localhost")] == [""] * 3


def test_a_reused_panel_id_has_the_address_of_its_latest_user(study: Study) -> None:
    version = study.consent_versions.get()
    arrival = Arrival("prolific", "5f2c")
    first = consent(study, version, known=None, arrival=arrival, address="198.51.100.7")

    second = consent(study, version, known=None, arrival=arrival, address="198.51.100.8")

    assert (first.address, second.address) == (
        hash_address("198.51.100.7", study),
        hash_address("198.51.100.8", study),
    )
