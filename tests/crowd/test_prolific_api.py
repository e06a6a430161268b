"""Prolific over its API: a local server speaks the protocol of its reference."""

import csv
import io
from collections.abc import Iterator
from datetime import timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from tests.chatbots.local_service import Received, Sent, running
from tests.conftest import MakeStudy, enter
from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Outcome, PanelAct, Participation, StudyPanel
from turnwise.crowd.panels import Arrival
from turnwise.crowd.panels.prolific import NoTokenError, api_account
from turnwise.crowd.pay import ledger, panel_acts
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import complete
from turnwise.quality import decisions
from turnwise.studies.models import Study

VARIABLE, TOKEN = "TURNWISE_PROLIFIC_LAB", "a-token-of-prolific"
LONG = "The chat has four messages, and each of them is the same single letter, sent within one second. " * 2


class FakeProlific:
    """What Prolific keeps, and how it answers; `fails` are statuses that it answers first."""

    def __init__(self) -> None:
        self.status, self.places = "UNPUBLISHED", 20
        self.submissions: dict[str, str] = {}
        self.told: list[tuple[str, object]] = []
        self.paid: list[str] = []
        self.messages: list[tuple[str, str]] = []
        self.fails: list[int] = []
        self.answers_payments_with = 202

    def answer(self, asked: Received) -> Sent:
        assert asked.headers["authorization"] == f"Token {TOKEN}"
        if self.fails:
            return Sent({"error": "later"}, status=self.fails.pop(0))
        path = asked.path.removeprefix("/api/v1/").strip("/").split("/")
        if path[:2] == ["studies", "theirs"]:
            return self._of_study(asked, path[2:])
        if asked.method == "GET":
            return self._read(asked, path)
        return self._write(asked, path)

    def _of_study(self, asked: Received, path: list[str]) -> Sent:
        if asked.method == "PATCH":
            self.places = asked.json["total_available_places"]
        elif path == ["transition"]:
            self.status = {"PUBLISH": "ACTIVE", "PAUSE": "PAUSED", "START": "ACTIVE"}[asked.json["action"]]
        return Sent(self.study())

    def _read(self, asked: Received, path: list[str]) -> Sent:
        if path == ["submissions"]:
            rows = [
                {"id": key, "participant_id": "p", "status": status}
                for key, status in self.submissions.items()
            ]
            return Sent({"results": rows if asked.query["page"] == "1" else []})
        return Sent({"status": self.submissions[path[1]]})

    def _write(self, asked: Received, path: list[str]) -> Sent:
        match path:
            case ["submissions", "bonus-payments"]:
                self.told.append(("bonus", asked.json))
                return Sent({"id": "bulk-" + asked.json["csv_bonuses"].replace(",", "-")}, status=201)
            case ["bulk-bonus-payments", key, "pay"]:
                self.paid.append(key)
                return Sent(body=b"", status=self.answers_payments_with)
            case ["submissions", key, "transition"]:
                self.told.append((key, asked.json))
                self.submissions[key] = {"APPROVE": "APPROVED", "REJECT": "REJECTED"}[asked.json["action"]]
                return Sent({"status": self.submissions[key]})
            case ["messages"]:
                self.messages.append((asked.json["recipient_id"], asked.json["body"]))
                return Sent(body=b"", status=204)
        return Sent({"error": "unknown"}, status=404)

    def study(self) -> dict[str, object]:
        return {
            "name": "Chat", "status": self.status,
            "total_available_places": self.places, "places_taken": 3,
        }  # fmt: skip


@pytest.fixture
def theirs(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProlific]:
    fake = FakeProlific()
    with running(fake.answer) as service:
        monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")
        monkeypatch.setenv(VARIABLE, f"{service.url} rex {TOKEN}")
        monkeypatch.setattr("chatbots.services.client.pause_before_retry", lambda answer, attempt: 0.0)
        yield fake


@pytest.fixture
def panel(make_study: MakeStudy) -> StudyPanel:
    study = make_study({"only": 9}, pay_amount=Decimal(3), pay_currency="GBP")
    return StudyPanel.objects.create(
        study=study, panel="prolific", codes={"complete": "C1"}, token=VARIABLE, their_study="theirs"
    )


def worked(
    panel: StudyPanel, key: str, outcome: Outcome = Outcome.COMPLETE, minutes: int = 5
) -> Participation:
    own = enter(panel.study, Arrival("prolific", f"person-{key}", key, {}, panel.pk))
    begun = timezone.now() - timedelta(minutes=minutes)
    place = assign(own.pk, now=begun)
    Assignment.objects.filter(pk=place.pk).update(active_at=timezone.now())
    complete(place.pk, outcome, now=timezone.now())
    return own


def now_later() -> None:
    PanelAct.objects.update(next_at=timezone.now())


def test_a_decision_reaches_prolific_and_only_once(
    theirs: FakeProlific, panel: StudyPanel, rex: User
) -> None:
    theirs.submissions = {"s1": "AWAITING REVIEW", "s2": "AWAITING REVIEW"}
    good, bad = worked(panel, "s1"), worked(panel, "s2")
    with pytest.raises(ValidationError, match="at least 100 characters; this one has 9"):
        decisions.decide(bad, "reject", reason="Too short", by=rex)

    decisions.decide(good, "approve", reason="", by=rex)
    decisions.decide(bad, "reject", reason=LONG, by=rex, category="LOW_EFFORT")
    assert panel_acts.send_due_acts() == 2
    assert panel_acts.send_due_acts() == 0

    assert theirs.told == [
        ("s1", {"action": "APPROVE"}),
        ("s2", {"action": "REJECT", "message": LONG.strip(), "rejection_category": "LOW_EFFORT"}),
    ]
    assert set(PanelAct.objects.values_list("state", flat=True)) == {"done"}


def test_submissions_approved_at_prolific_are_not_approved_again(
    theirs: FakeProlific, panel: StudyPanel, rex: User
) -> None:
    theirs.submissions = {"s1": "APPROVED"}
    decisions.decide(worked(panel, "s1"), "approve", reason="", by=rex)

    panel_acts.send_due_acts()

    assert theirs.told == []
    assert PanelAct.objects.get().state == "done"


def test_a_decision_undone_in_time_is_not_sent(theirs: FakeProlific, panel: StudyPanel, rex: User) -> None:
    made = decisions.decide(worked(panel, "s1"), "approve", reason="", by=rex)

    decisions.undo(made, by=rex)

    assert panel_acts.send_due_acts() == 0


def test_requests_are_retried_while_prolific_is_down_but_not_after_a_refusal(
    theirs: FakeProlific, panel: StudyPanel, rex: User
) -> None:
    theirs.submissions = {"s1": "AWAITING REVIEW"}
    theirs.fails = [503, 503, 503]  # of one try with its repetitions
    decisions.decide(worked(panel, "s1"), "approve", reason="", by=rex)
    panel_acts.send_due_acts()
    act = PanelAct.objects.get()
    assert (act.state, act.tries) == ("waiting", 1)
    assert "503" in act.problem
    assert TOKEN not in act.problem
    assert panel_acts.send_due_acts() == 0  # not before half a minute has passed
    now_later()

    panel_acts.send_due_acts()
    act.refresh_from_db()
    assert (act.state, act.tries) == ("done", 2)

    theirs.fails = [404]
    decisions.decide(worked(panel, "s9"), "approve", reason="", by=rex)
    panel_acts.send_due_acts()
    assert PanelAct.objects.get(participation__submission="s9").state == "failed"


def test_bonuses_are_paid_once_even_if_the_answer_is_lost(
    theirs: FakeProlific, panel: StudyPanel, rex: User
) -> None:
    late = worked(panel, "s1", Outcome.TIMED_OUT, minutes=5)  # 5 of 15 minutes of 3.00
    good = worked(panel, "s2")
    worked(panel, "s3")
    ledger.add_bonus(good.pk, Decimal("0.50"), note="", by=rex)

    assert panel_acts.pay_bonuses(panel.study, by="rex") == (2, Decimal("1.50"))
    assert panel_acts.pay_bonuses(panel.study, by="rex") == (0, Decimal(0))
    panel_acts.send_due_acts()
    assert theirs.paid == ["bulk-s1-1.00", "bulk-s2-0.50"]

    # The same, had the connection broken after Prolific got the payment: nobody sends it again but a person.
    PanelAct.objects.filter(participation=late).update(state="sending", next_at=timezone.now())
    panel_acts.send_due_acts()
    act = PanelAct.objects.get(participation=late)
    assert act.state == "unsure"
    assert panel_acts.send_due_acts() == 0
    panel_acts.settle(act, was_done=True)
    assert len(theirs.paid) == 2


def test_a_payment_with_unknown_result_is_sent_once(theirs: FakeProlific, panel: StudyPanel) -> None:
    worked(panel, "s1", Outcome.TIMED_OUT)
    panel_acts.pay_bonuses(panel.study, by="rex")
    theirs.answers_payments_with = 500

    panel_acts.send_due_acts()
    now_later()

    assert panel_acts.send_due_acts() == 0
    assert PanelAct.objects.get().state == "unsure"
    assert theirs.paid == ["bulk-s1-1.00"]


def test_the_page_steers_the_study_and_compares_both_sides(
    theirs: FakeProlific, panel: StudyPanel, rex: User
) -> None:
    client = Client()
    client.force_login(rex)
    at = f"/studies/{panel.study.pk}/prolific/"
    theirs.submissions = {"s1": "AWAITING REVIEW", "s7": "ACTIVE"}
    here = worked(panel, "s1")
    lost = worked(panel, "s2")

    client.post(f"{at}steer/", {"action": "PUBLISH"})
    client.post(f"{at}steer/", {"action": "places", "places": "35"})
    page = client.get(at, {"compare": "yes"}).text

    assert "ACTIVE" in page
    assert "3 of 35 taken" in page
    assert "s7" in page
    assert lost.pseudonym in page
    for wrong in ("0", "-1", "x", "1" * 10_000):
        told = client.post(f"{at}steer/", {"action": "places", "places": wrong}, follow=True).text
        assert "is not a number of places" in told
    assert theirs.places == 35

    client.post(f"/studies/{panel.study.pk}/participants/{here.pk}/write/", {"text": "Thank you!"})
    panel_acts.send_due_acts()
    assert theirs.messages == [("person-s1", "Thank you!")]


def test_a_token_is_for_its_owners_and_never_stored(
    panel: StudyPanel, rex: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = Client()
    client.force_login(rex)
    at = f"/studies/{panel.study.pk}/panels/"
    sent = {"prolific-taken": "on", "prolific-code_complete": "C1", "prolific-their_study": "theirs"}

    def said(token: str) -> str:
        return client.post(at, sent | {"prolific-token": token}).content.decode()

    assert "never the token itself" in said(TOKEN)
    assert "TURNWISE_PROLIFIC_NONE is not set" in said("TURNWISE_PROLIFIC_NONE")
    monkeypatch.setenv("TURNWISE_PROLIFIC_ADA", f"https://api.prolific.com ada {TOKEN}")
    assert "is not for studies of rex" in said("TURNWISE_PROLIFIC_ADA")
    monkeypatch.setenv("TURNWISE_PROLIFIC_BARE", TOKEN)
    with pytest.raises(NoTokenError, match="is not written as") as refused:
        api_account("TURNWISE_PROLIFIC_BARE", "rex")
    assert TOKEN not in str(refused.value)
    with pytest.raises(NoTokenError, match="SECRET_KEY is not set"):
        api_account("SECRET_KEY", "rex")


def test_bulk_files_list_everybody_once(panel: StudyPanel, rex: User) -> None:
    study: Study = panel.study
    StudyPanel.objects.filter(pk=panel.pk).update(token="")
    StudyPanel.objects.create(study=study, panel="mturk")
    late, good, bad = worked(panel, "s1", Outcome.TIMED_OUT), worked(panel, "s2"), worked(panel, "s3")
    ledger.add_bonus(good.pk, Decimal("0.5"), note="", by=rex)
    decisions.decide(bad, "reject", reason="=No work", by=rex)
    turker = StudyPanel.objects.get(panel="mturk")
    for key in ("a1", "a2"):
        own = enter(study, Arrival("mturk", f"T{key}", key, {}, turker.pk))
        complete(assign(own.pk).pk, Outcome.COMPLETE, now=timezone.now())
    decisions.decide(own, "reject", reason="=No work", by=rex)
    client = Client()
    client.force_login(rex)

    def rows(name: str) -> list[list[str]]:
        text = client.get(f"/studies/{study.pk}/payments/{name}.csv").getvalue().decode()  # type: ignore[attr-defined]
        return list(csv.reader(io.StringIO(text)))

    assert rows("prolific-approve") == [["s2"]]
    assert rows("prolific-bonus") == [["s1", "1.00"], ["s2", "0.50"]]
    assert rows("mturk-review") == [
        ["AssignmentId", "WorkerId", "Approve", "Reject"],
        ["a1", "Ta1", "x", ""],
        ["a2", "Ta2", "", "'=No work"],
    ]
    assert client.get(f"/studies/{study.pk}/payments/nobody.csv").status_code == 404

    due = sum(account.due for account in ledger.unpaid_accounts(study))
    ledger.pay(study, total=Decimal(due), by=rex)
    assert rows("prolific-approve") == rows("prolific-bonus") == []
    assert late.pseudonym
