"""Somebody asks to be erased: they are found by what they have, seen, and erased by whoever may."""

from decimal import Decimal

import pytest

from tests.conftest import MakeStudy, enter
from tests.planted import SignIn, talked
from turnwise.accounts.models import Event, User
from turnwise.crowd.models import Participation, Worker
from turnwise.crowd.pay.ledger import pay
from turnwise.dialogues.models import Turn
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

FIND = "/people/data/"


@pytest.fixture
def paid(make_study: MakeStudy) -> Study:
    return make_study({"scripty": 100}, min_turns=2, max_turns=8, pay_amount=Decimal("3.00"), title="Paid")


@pytest.fixture
def wanda(paid: Study, make_study: MakeStudy) -> Participation:
    """She talked in one study and agreed in another, known to a panel."""
    own = talked(paid, [(True, True)], text="I live in Gdynia").participation
    assert own
    Worker.objects.filter(pk=own.worker_id).update(panel="prolific", panel_id="5f2c9d")
    other = enter(make_study(title="Another"))
    Participation.objects.filter(pk=other.pk).update(worker=own.worker_id)
    Participation.objects.filter(pk=own.pk).update(submission="SUB-7")
    enter(paid)
    return Participation.objects.select_related("worker").get(pk=own.pk)


def test_people_are_found_by_any_id_in_the_user_s_studies(
    wanda: Participation, ada: User, rex: User, mallory: User, sign_in: SignIn
) -> None:
    admin, owner, stranger = sign_in(ada), sign_in(rex), sign_in(mallory)
    had = (
        "5f2c9d", "SUB-7", wanda.pseudonym.lower(), f" {wanda.worker.pseudonym} ", wanda.completion_code,
        wanda.resume_code.lower().replace("-", ""),
    )  # fmt: skip
    for sought in had:
        for client in (admin, owner):
            page = client.get(FIND, {"find": sought}).content.decode()
            assert (page.count("See or erase</a>"), "Another" in page) == (2, True), sought
    assert "No participant matches" in stranger.get(FIND, {"find": "5f2c9d"}).content.decode()
    unknown = owner.get(FIND, {"find": "<b>5F2C9D"}).content.decode()
    assert "No participant matches “&lt;b&gt;5F2C9D”." in unknown
    assert "See or erase</a>" not in owner.get(FIND).content.decode()


def test_erasure_asks_for_confirmation_and_is_recorded(
    wanda: Participation, paid: Study, ada: User, mallory: User, sign_in: SignIn
) -> None:
    admin, page = sign_in(ada), f"/studies/{paid.pk}/participants/{wanda.pk}/withdraw/"
    assert sign_in(mallory).post(page, {"what": "everything"}).status_code == 404
    shown = admin.get(page).content.decode()
    assert ("prolific: 5f2c9d" in shown, "SUB-7" in shown, "still to be paid" in shown) == (True, True, True)

    owed = admin.post(page, {"what": "ids"})
    odd = admin.post(page, {"what": "all"})
    assert (owed.status_code, "is still to be paid" in owed.content.decode()) == (422, True)
    assert (odd.status_code, "“all” is not something to erase." in odd.content.decode()) == (422, True)
    wanda.refresh_from_db()
    assert wanda.erased_at is None
    pay(paid, total=Decimal("3.00"), by=ada)
    assert "stays." in admin.post(page, {"what": "ids"}, follow=True).content.decode()
    wanda.refresh_from_db()
    assert (wanda.worker.panel_id, wanda.submission) == ("", "")
    assert Turn.objects.filter(text="I live in Gdynia").exists()

    admin.post(page, {"what": "everything"})
    assert not Turn.objects.filter(text="I live in Gdynia").exists()
    assert Event.objects.filter(name="ada", action="privacy:withdraw_for", path=page).count() == 2
    assert "erased somebody&#x27;s data at their request" in admin.get("/people/audit-log/").content.decode()
    # Her other participation, in the other study, is hers still.
    assert Worker.objects.get(panel_id="5f2c9d").participations.count() == 1
