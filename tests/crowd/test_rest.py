"""Panels, participants, time limits and payments over the REST API."""

from decimal import Decimal
from typing import Any

import pytest

from tests.conftest import MakeStudy, enter
from tests.crowd.test_prolific_api import (  # noqa: F401  # fixtures
    VARIABLE,
    FakeProlific,
    panel,
    theirs,
    worked,
)
from tests.studies.test_rest import called, fields_of
from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Outcome, PanelAct, Participation, PayEntry, StudyPanel
from turnwise.crowd.pay import panel_acts
from turnwise.crowd.places.assignment import assign
from turnwise.studies.models import Study
from turnwise.studies.sharing.services import share_with_person

pytestmark = pytest.mark.django_db


def done(user: User, method: str, path: str, body: object = None) -> Any:
    answer = called(user, method, path, body)
    assert answer.status_code == 200, answer.content
    return answer.json()


def named(*people: Participation) -> list[dict[str, Any]]:
    return [{"worker": each.pseudonym, "number": each.number} for each in people]


# --- panels -----------------------------------------------------------------------------------


def test_panels_are_read_and_replaced_with_their_codes(make_study: MakeStudy, rex: User) -> None:
    study, before = make_study(), make_study({"other": 1}, title="Before")
    path = f"/studies/{study.code}/panels"

    plain = done(rex, "GET", path)
    body = {
        "panels": {
            "open": {},
            "prolific": {"codes": {"complete": "DONE1", "screened_out": "OUT1"}},
            "url": {
                "parameter": "pid",
                "secret": "a-secret-of-sixteen",
                "return_url": "https://panel.example/{code}",
            },
        },
        "closed_to": [before.code],
    }
    changed = done(rex, "PUT", path, body)
    kept = done(rex, "PUT", path, {"panels": {"prolific": {}, "url": {}}})

    assert list(plain["panels"]) == ["open"]
    assert plain["panels"]["open"]["link"] == f"http://testserver/s/{study.code}/"
    assert plain["known"]["prolific"]["needed"] == ["complete"]
    assert changed["panels"]["prolific"]["codes"] == {"complete": "DONE1", "screened_out": "OUT1"}
    assert changed["panels"]["prolific"]["link"].endswith("SESSION_ID={{%SESSION_ID%}}")
    assert changed["panels"]["url"]["is_signed"]
    assert "a-secret" not in str(changed)
    assert changed["closed_to"] == kept["closed_to"] == [before.code]
    assert set(kept["panels"]) == {"prolific", "url"}
    assert kept["panels"]["prolific"]["codes"] == {"complete": "DONE1", "screened_out": "OUT1"}
    assert StudyPanel.objects.get(panel="url").secret == "a-secret-of-sixteen"


def test_a_new_panel_without_codes_gets_proposed_ones(make_study: MakeStudy, rex: User) -> None:
    found = done(rex, "PUT", f"/studies/{make_study().code}/panels", {"panels": {"prolific": {}}})

    assert set(found["panels"]["prolific"]["codes"]) == {str(each) for each in Outcome}


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"panels": {"facebook": {}}}, "panels.facebook"),
        ({"panels": {"open": {"token": "X"}}}, "panels.open.token"),
        ({"panels": {"prolific": {"codes": {"complete": "a b"}}}}, "panels.prolific.codes.complete"),
        ({"panels": {"prolific": {"codes": {}}}}, "panels.prolific.codes.complete"),
        ({"panels": {"prolific": {"token": "secret-token", "their_study": "s"}}}, "panels.prolific.token"),
        ({"panels": {"prolific": {"colour": "red"}}}, "panels.prolific.colour"),
        ({"panels": {}, "closed_to": ["nowhere"]}, "closed_to.0"),
    ],
)
def test_wrong_panels_are_refused_at_their_fields(
    make_study: MakeStudy, rex: User, body: object, field: str
) -> None:
    study = make_study()

    refused = called(rex, "PUT", f"/studies/{study.code}/panels", body)

    assert (refused.status_code, fields_of(refused)) == (422, {field})
    assert not study.panels.exists()


def test_a_panel_with_people_stays(panel: StudyPanel, rex: User) -> None:  # noqa: F811
    worked(panel, "s1")

    refused = called(rex, "PUT", f"/studies/{panel.study.code}/panels", {"panels": {"open": {}}})

    assert fields_of(refused) == {"panels.prolific"}
    assert panel.study.panels.get().panel == "prolific"


# --- Prolific ---------------------------------------------------------------------------------


def test_a_study_is_steered_at_prolific(theirs: FakeProlific, panel: StudyPanel, rex: User) -> None:  # noqa: F811
    path = f"/studies/{panel.study.code}/prolific"

    first = done(rex, "GET", path)
    done(rex, "POST", f"{path}/state", {"action": "PUBLISH"})
    placed = done(rex, "PUT", f"{path}/places", {"places": 50})
    theirs.fails = [403]
    refused = called(rex, "GET", path)
    theirs.fails = [500] * 3
    unknown = called(rex, "POST", f"{path}/state", {"action": "PAUSE"})

    assert (first["status"], first["places"], first["taken"]) == ("UNPUBLISHED", 20, 3)
    assert (placed["status"], placed["places"], theirs.places) == ("ACTIVE", 50, 50)
    assert (refused.status_code, unknown.status_code) == (409, 503)
    assert theirs.status == "ACTIVE"


def test_bonuses_and_their_requests_at_prolific(
    theirs: FakeProlific,  # noqa: F811
    panel: StudyPanel,  # noqa: F811
    rex: User,
) -> None:
    theirs.submissions = {"s1": "APPROVED"}
    theirs.answers_payments_with = 500
    late = worked(panel, "s1", Outcome.TIMED_OUT, minutes=5)
    path = f"/studies/{panel.study.code}/prolific"

    asked = done(rex, "POST", f"{path}/bonuses")
    panel_acts.send_due_acts()
    (listed,) = done(rex, "GET", f"{path}/requests")["items"]
    settled = done(rex, "POST", f"{path}/requests/{listed['id']}/settle", {"was_done": True})
    twice = called(rex, "POST", f"{path}/requests/{listed['id']}/settle", {"was_done": True})

    earned = PayEntry.objects.get(reason="partly").amount
    assert (asked["people"], Decimal(asked["total"]), asked["currency"]) == (1, earned, "GBP")
    assert (listed["worker"], listed["kind"], listed["state"]) == (late.pseudonym, "bonus", "unsure")
    assert settled["state"] == "done"
    assert twice.status_code == 409


def test_a_study_without_a_token_says_where_to_set_it(make_study: MakeStudy, rex: User) -> None:
    refused = called(rex, "GET", f"/studies/{make_study().code}/prolific")

    assert refused.status_code == 409
    assert "PUT …/panels" in refused.json()["detail"]


# --- participants -----------------------------------------------------------------------------


def test_work_is_ended_once(make_study: MakeStudy, rex: User) -> None:
    study = make_study()
    at_work = enter(study)
    assign(at_work.pk)
    path = f"/studies/{study.code}/participants/{at_work.pseudonym}/end"

    first = done(rex, "POST", path, {"outcome": "timed_out"})
    second = done(rex, "POST", path, {"outcome": "withdrawn"})

    assert (first["outcome"], first["was_open"]) == ("timed_out", True)
    assert (second["outcome"], second["was_open"]) == ("timed_out", False)
    assert fields_of(called(rex, "POST", path, {"outcome": "complete"})) == {"outcome"}
    assert fields_of(called(rex, "POST", path, {"outcome": "withdrawn", "number": 7})) == {"number.0.worker"}
    nobody = called(rex, "POST", f"/studies/{study.code}/participants/XYZ/end", {"outcome": "withdrawn"})
    assert nobody.status_code == 404


def test_a_message_goes_over_the_panel_or_nowhere(
    theirs: FakeProlific,  # noqa: F811
    panel: StudyPanel,  # noqa: F811
    rex: User,
) -> None:
    there, elsewhere = worked(panel, "s1"), enter(panel.study)
    base = f"/studies/{panel.study.code}/participants"

    said = done(rex, "POST", f"{base}/{there.pseudonym}/message", {"text": "Thank you!"})
    refused = called(rex, "POST", f"{base}/{elsewhere.pseudonym}/message", {"text": "Thank you!"})
    both = called(
        rex, "POST", f"{base}/actions", {"action": "write", "people": named(there, elsewhere), "note": "Hi"}
    )
    panel_acts.send_due_acts()

    assert "on its way" in said["says"]
    assert (refused.status_code, both.status_code) == (409, 409)
    assert theirs.messages == [("person-s1", "Thank you!")]
    assert PanelAct.objects.count() == 1


def test_several_participants_are_excluded_taken_back_and_ended(make_study: MakeStudy, rex: User) -> None:
    study = make_study({"only": 5})
    people = [enter(study) for _ in range(3)]
    for each in people:
        assign(each.pk)
    path = f"/studies/{study.code}/participants/actions"

    unexplained = called(rex, "POST", path, {"action": "exclude", "people": named(*people)})
    assert unexplained.status_code == 409
    assert not study.participations.exclude(excluded_at=None).exists()
    done(rex, "POST", path, {"action": "exclude", "people": named(*people[:2]), "note": "One letter each."})
    assert study.participations.exclude(excluded_at=None).count() == 2
    done(rex, "POST", path, {"action": "include", "people": named(people[0])})
    assert [each.pk for each in study.participations.exclude(excluded_at=None)] == [people[1].pk]
    ended = done(rex, "POST", path, {"action": "end-withdrawn", "people": named(*people)})
    assert ended["says"] == "The work of 3 participants is ended; the places are free."
    assert set(Assignment.objects.values_list("outcome", flat=True)) == {"withdrawn"}

    unknown = [*named(people[0]), {"worker": "NOBODY"}]
    assert fields_of(called(rex, "POST", path, {"action": "include", "people": unknown})) == {
        "people.1.worker"
    }
    bonus = {"action": "bonus", "people": named(people[0]), "note": ""}
    assert fields_of(called(rex, "POST", path, bonus)) == {"action"}


def test_participants_of_another_study_are_unknown(make_study: MakeStudy, rex: User) -> None:
    here, there = make_study(), enter(make_study({"other": 1}))

    refused = called(
        rex,
        "POST",
        f"/studies/{here.code}/participants/actions",
        {"action": "exclude", "people": named(there), "note": "Why not"},
    )

    assert fields_of(refused) == {"people.0.worker"}


def test_time_limits_are_read_and_changed(make_study: MakeStudy, rex: User) -> None:
    study = make_study()
    path = f"/studies/{study.code}/limits"

    changed = done(rex, "PATCH", path, {"message_minutes": 5, "session_minutes": 30})
    short = called(rex, "PATCH", path, {"session_minutes": 2})
    late = called(rex, "PATCH", path, {"notes_typing": True})  # the study is open

    assert (changed["message_minutes"], changed["session_minutes"]) == (5, 30)
    assert done(rex, "GET", path) == changed
    assert (fields_of(short), fields_of(late)) == ({"session_minutes"}, {"notes_typing"})
    study.refresh_from_db()
    assert (study.session_minutes, study.notes_typing) == (30, False)


# --- payments ---------------------------------------------------------------------------------


def account(user: User, study: Study, person: Participation) -> dict[str, Any]:
    rows = done(user, "GET", f"/studies/{study.code}/payments")["accounts"]
    (found,) = [each for each in rows if each["worker"] == person.pseudonym]
    return dict(found)


def test_bonuses_reversals_and_single_payments(panel: StudyPanel, rex: User) -> None:  # noqa: F811
    first, second, third = (worked(panel, key) for key in ("s1", "s2", "s3"))
    at_work = enter(panel.study)
    path = f"/studies/{panel.study.code}/payments"

    done(rex, "POST", f"{path}/bonuses", {"people": named(first, second), "amount": "0.50", "note": "Fast"})
    early = called(rex, "POST", f"{path}/bonuses", {"people": named(third, at_work), "amount": "0.50"})
    nothing = called(rex, "POST", f"{path}/bonuses", {"people": named(third), "amount": "0"})
    assert (early.status_code, nothing.status_code) == (409, 409)
    assert Decimal(account(rex, panel.study, first)["due"]) == Decimal("3.50")
    assert Decimal(account(rex, panel.study, third)["bonus"]) == 0

    silent = called(rex, "POST", f"{path}/reversals", {**named(second)[0], "note": " "})
    done(rex, "POST", f"{path}/reversals", {**named(second)[0], "note": "Consent withdrawn"})
    again = called(rex, "POST", f"{path}/reversals", {**named(second)[0], "note": "Consent withdrawn"})
    assert (fields_of(silent), again.status_code) == ({"note"}, 409)
    assert Decimal(account(rex, panel.study, second)["due"]) == 0

    stale = called(rex, "POST", f"{path}/some", {"people": [{**named(first)[0], "due": "3.00"}]})
    paid = done(rex, "POST", f"{path}/some", {"people": [{**named(first)[0], "due": "3.50"}]})
    assert stale.status_code == 409
    assert Decimal(account(rex, panel.study, first)["paid"]) == Decimal("3.50")
    assert (paid["people"], Decimal(paid["total"])) == (1, Decimal("3.00"))


def test_an_editor_without_payments_gives_no_bonus(panel: StudyPanel, mallory: User) -> None:  # noqa: F811
    person = worked(panel, "s1")
    share_with_person(panel.study, mallory.username, "editor")

    refused = called(
        mallory,
        "POST",
        f"/studies/{panel.study.code}/payments/bonuses",
        {"people": named(person), "amount": "1.00"},
    )

    assert refused.status_code == 404
    assert not PayEntry.objects.filter(reason="bonus").exists()


def test_the_token_of_the_panel_is_never_asked_for(panel: StudyPanel, rex: User) -> None:  # noqa: F811
    assert done(rex, "GET", f"/studies/{panel.study.code}/panels")["panels"]["prolific"]["token"] == VARIABLE
