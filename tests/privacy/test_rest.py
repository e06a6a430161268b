"""Requests about a person's data over the REST API."""

from decimal import Decimal

import pytest

from tests.conftest import MakeStudy, worker_of
from tests.planted import talked
from tests.studies.test_rest import called, fields_of
from turnwise.accounts.models import User
from turnwise.crowd.models import Outcome, Participation
from turnwise.crowd.places.ending import end
from turnwise.dialogues.models import Dialogue
from turnwise.labels.models import Label
from turnwise.studies.models import Study
from turnwise.studies.sharing.services import share_with_person

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    return make_study({"only": 5}, pay_amount=Decimal(0), min_turns=2)


def person_who_talked(study: Study) -> Participation:
    dialogue = talked(study, [(True, True)], text="I live in Turku")
    return Participation.objects.get(study=study, worker=worker_of(dialogue))


def test_a_person_is_found_their_data_read_and_erased(study: Study, rex: User, mallory: User) -> None:
    person, other = person_who_talked(study), person_who_talked(study)
    path = f"/studies/{study.code}/participants/{person.pseudonym}"

    found = called(rex, "GET", "/people", find=person.resume_code).json()
    data = called(rex, "GET", f"{path}/data").json()
    for_others = called(mallory, "GET", "/people", find=person.resume_code).json()
    erased = called(rex, "POST", f"{path}/erasure", {"what": "everything"})
    again = called(rex, "POST", f"{path}/erasure", {"what": "everything"})

    assert [(each["study"], each["worker"], each["withdrawn"]) for each in found] == [
        (study.code, person.pseudonym, False)
    ]
    assert for_others == []
    assert "I live in Turku" in str(data["conversation"])
    assert data["you"]["pseudonym"] == person.pseudonym
    assert person.resume_code not in str(data)
    assert (erased.status_code, erased.json()["withdrawn"], again.status_code) == (200, True, 200)
    assert "I live in Turku" not in str(called(rex, "GET", f"{path}/data").json())
    assert not Label.objects.filter(rater=person.worker_id).exists()
    assert Label.objects.filter(rater=other.worker_id).exists()
    assert Dialogue.objects.filter(seats__worker=other.worker_id).exists()


def test_a_reader_and_a_stranger_get_no_data_and_erase_nothing(
    study: Study, rex: User, mallory: User
) -> None:
    person = person_who_talked(study)
    path = f"/studies/{study.code}/participants/{person.pseudonym}"
    share_with_person(study, mallory.username, "reviewer")

    assert called(mallory, "GET", f"{path}/data").status_code == 404
    assert called(mallory, "POST", f"{path}/erasure", {"what": "everything"}).status_code == 404
    assert Label.objects.filter(rater=person.worker_id).exists()
    assert fields_of(called(rex, "POST", f"{path}/erasure", {"what": "some"})) == {"what"}
    assert called(rex, "GET", f"{path}/data", number=2).status_code == 404


def test_ids_of_a_person_who_is_still_to_be_paid_stay(make_study: MakeStudy, rex: User) -> None:
    study = make_study({"paid": 5}, pay_amount=Decimal(2), min_turns=2)
    person = person_who_talked(study)
    end(person.pk, Outcome.BOT_FAILED)  # paid in full
    path = f"/studies/{study.code}/participants/{person.pseudonym}/erasure"

    refused = called(rex, "POST", path, {"what": "ids"})

    assert refused.status_code == 409
    assert "still to be paid" in refused.json()["detail"]
