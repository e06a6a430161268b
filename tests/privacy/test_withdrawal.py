"""Somebody takes their data back: what is gone from where, what stays, and who may do it until when."""

import csv
import io
import json
import zipfile
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from asgiref.sync import async_to_sync
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.test import Client
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from evaluation.texts.cleaning import WITHDRAWN
from tests.conftest import MakeMeeting, MakeQueue, MakeStudy, enter, pseudonym_of, start_dialogue
from tests.desks import begin, judge
from tests.planted import SignIn, computed, talked
from tests.tasks.two_people.conftest import come
from turnwise.accounts.models import User
from turnwise.crowd.entry.enrolment import hash_address, hash_panel_id
from turnwise.crowd.models import Assignment, Outcome, Participation, PayEntry, Withdrawal, Worker
from turnwise.crowd.panels import Arrival
from turnwise.crowd.pay.ledger import pay
from turnwise.crowd.queries import progress
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.dialogues.models import Dialogue, Turn
from turnwise.dialogues.partner_events import end_alone
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.services import SeatOccupant, create_dialogue, finish, open_exchange
from turnwise.judging.items import subjects
from turnwise.judging.models import Item
from turnwise.judging.queue import services as judging
from turnwise.labels.models import Label
from turnwise.labels.services import record
from turnwise.privacy.erasure import due_for_erasure, erase_due
from turnwise.privacy.withdrawal import withdraw
from turnwise.studies.models import Study
from turnwise.studies.services import save_study

pytestmark = pytest.mark.django_db(transaction=True)

SECRET = "My name is Wanda and I live in Gdynia"
YES = {"sensible": True, "specific": True}


def participation_in(dialogue: Dialogue) -> Participation:
    found = dialogue.participation
    assert found
    return Participation.objects.select_related("worker", "study", "assignment").get(pk=found.pk)


@pytest.fixture
def paid(make_study: MakeStudy) -> Study:
    return make_study(
        {"scripty": 100}, min_turns=2, max_turns=8, pay_amount=Decimal("3.00"), contact="rex@example.org"
    )


def test_a_withdrawn_chat_is_gone_from_reports_exports_and_judging_studies(
    paid: Study, make_queue: MakeQueue, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    stays = talked(paid, [(True, True), (False, False)], text="Tea")
    goes = talked(paid, [(True, False)] * 3, text=SECRET)
    readers = make_queue()
    subjects.add_turns(readers, paid, language="en")
    judge(readers, lambda _item: YES)
    before = computed(paid)
    assert before.result
    assert [before.result["bots"][0]["labels"], readers.labels.count()] == [5, 5]
    own, client = participation_in(goes), sign_in(rex)

    withdrawal = withdraw(own.pk)

    assert (withdrawal.texts, withdrawal.labels) == (3, 3)
    assert withdraw(own.pk) == withdrawal
    assert list(Dialogue.objects.all()) == [stays]
    assert not Turn.objects.filter(text=SECRET).exists()
    assert [Label.objects.filter(study=each).count() for each in (paid, readers)] == [2, 2]
    assert progress(paid)[0].finished == 2  # the place was taken, and stays so
    assert own.assignment.outcome == Outcome.COMPLETE
    # Of the other, by hand: one of two replies is sensible, and specific, too.
    report = computed(paid)
    assert report.result
    assert [cell["value"] for cell in report.result["bots"][0]["cells"]] == pytest.approx([50.0, 50.0, 50.0])
    assert not paid.reports.filter(pk=before.pk).exists()
    assert computed(readers).result["bots"][0]["labels"] == 2  # type: ignore[index]

    call_command("bundle", str(paid.pk), output=tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    workers = [json.loads(line) for line in files["data/workers.jsonl"].splitlines()]
    assert [bool(row["withdrawn_at"]) for row in workers] == [False, True]
    assert not [name for name, content in files.items() if SECRET.encode() in content]
    found = recompute(tmp_path / "bundle.zip")
    assert (found.differences, found.changed_files) == ([], [])
    told = b"".join(client.get(f"/studies/{paid.pk}/turns.csv").streaming_content)  # type: ignore[attr-defined]
    assert {row["rater"] for row in csv.DictReader(io.StringIO(told.decode()))} == {pseudonym_of(stays)}
    assert "1 person has withdrawn" in client.get(f"/studies/{paid.pk}/dialogues/").content.decode()
    gone = client.get(f"/dialogues/{goes.public_id}/")
    assert gone.status_code == 410
    assert "This conversation was withdrawn" in gone.content.decode()


def test_the_partner_s_messages_stay(make_meeting: MakeMeeting) -> None:
    study = make_meeting()
    first, second = come(study), come(study)
    dialogue = create_dialogue(
        study, SeatOccupant(assignment=first), SeatOccupant(assignment=second), now=timezone.now()
    )
    seats = [
        seat_of(dialogue.public_id, worker)
        for worker in dialogue.seats.order_by("number").values_list("worker_id", flat=True)
    ]

    @async_to_sync
    async def talk() -> None:
        for place, text in enumerate((SECRET, "Nice to meet you", "And I like tea")):
            await open_exchange(seats[place % 2], text=text, key=uuid4())
            await record(seats[1 - place % 2], position=place, answers=YES)

    talk()
    for seat in seats:
        finish(seat)

    withdraw(first.participation_id)

    assert [turn.text for turn in dialogue.turn_set.all()] == [WITHDRAWN, "Nice to meet you", WITHDRAWN]
    # Gone are the answers of who withdrew, and those about their words: of three labels none is left.
    assert not Label.objects.exists()
    withdraw(second.participation_id)
    assert not Dialogue.objects.exists()


def test_withdrawing_during_the_work_ends_it(make_meeting: MakeMeeting) -> None:
    study = make_meeting()
    first, second = come(study), come(study)
    dialogue = create_dialogue(
        study, SeatOccupant(assignment=first), SeatOccupant(assignment=second), now=timezone.now()
    )
    seats = {seat.number: seat.worker_id for seat in dialogue.seats.all()}

    withdraw(first.participation_id)

    first.refresh_from_db()
    assert first.outcome == Outcome.WITHDRAWN
    assert seats[1]
    end_alone(seat_of(dialogue.public_id, seats[1]))  # refused while the other one is there
    dialogue.refresh_from_db()
    assert dialogue.ending == Dialogue.Ending.PARTNER_LEFT


def test_slots_of_a_withdrawn_reader_are_free_again(make_queue: MakeQueue) -> None:
    study = make_queue(2, raters=1, batch=2)
    desk = begin(study)
    for item in judging.state(desk)["items"]:
        judging.judge(desk, key=UUID(item["key"]), answers=YES)
    reader = Participation.objects.get(study=study)
    assert Label.objects.count() == 2

    assert withdraw(reader.pk).labels == 2

    assert not Label.objects.exists()
    judge(study, lambda _item: {"sensible": False})
    assert Item.objects.filter(slots__label__answers__sensible=False).count() == 2


def test_pay_stays_and_the_id_is_erased_once_paid(paid: Study, make_study: MakeStudy, rex: User) -> None:
    arrival = Arrival("prolific", "5f00000000000000000000aa")
    dialogue = talked(paid, [(True, True)])
    own = participation_in(dialogue)
    Worker.objects.filter(pk=own.worker_id).update(panel="prolific", panel_id=arrival.worker)
    other = make_study({"scripty": 100}, title="Another")
    elsewhere = start_dialogue(other, arrival)

    withdraw(own.pk)
    assert erase_due() == 0  # 3.00 are due
    assert Participation.objects.get(pk=own.pk).worker.panel_id
    pay(paid, total=Decimal("3.00"), by=rex)
    entries = list(PayEntry.objects.values())

    assert erase_due() == 1

    assert list(PayEntry.objects.values()) == entries
    own = Participation.objects.select_related("worker").get(pk=own.pk)
    assert (own.worker.panel, own.worker.panel_id, own.address, own.submission) == ("", "", "", "")
    told = Client().get(own.data_link).content.decode()
    assert own.known_by == hash_panel_id(
        "prolific", arrival.worker, paid
    )  # as whoever has the key can find out
    assert "Anyone who holds the key can check whether a given id fits." in told
    kept = participation_in(elsewhere)
    assert kept.worker.panel_id == arrival.worker
    assert kept.pseudonym != own.pseudonym
    with pytest.raises(EntryRefusedError, match="you already have"):
        enter(paid, arrival)
    assert Participation.objects.filter(study=paid).count() == 1


def test_ids_due_for_erasure_equal_those_of_a_simple_loop(
    paid: Study, make_study: MakeStudy, rex: User
) -> None:
    now, studies = timezone.now(), [paid, make_study({"scripty": 100}, title="Another")]
    Study.objects.filter(pk=paid.pk).update(retention_days=10)
    Study.objects.filter(pk=studies[1].pk).update(retention_days=30)
    for n in range(24):
        own = enter(studies[n % 2])
        began = now - timedelta(days=3 * n)
        if n % 3:
            ended = began + timedelta(days=n % 5)
            Assignment.objects.create(
                participation=own, study=own.study, assigned_at=began, active_at=ended,
                outcome="complete" if n % 4 else "", ended_at=ended if n % 4 else None,
            )  # fmt: skip
        if n % 7 == 0:
            withdraw(own.pk, by=rex)
        Participation.objects.filter(pk=own.pk).update(
            consented_at=began, erased_at=now if n % 11 == 0 else None
        )

    wanted = set()
    for own in Participation.objects.select_related("study", "assignment", "withdrawal"):
        place = getattr(own, "assignment", None)
        last = (place.ended_at or place.active_at) if place else own.consented_at
        is_over = last <= now - timedelta(days=own.study.retention_days)
        if own.erased_at is None and (is_over or hasattr(own, "withdrawal")):
            wanted.add((own.study_id, own.pk))

    assert 0 < len(wanted) < 24
    assert set(due_for_erasure(now).values_list("study", "pk")) == wanted
    for study in studies:
        found = set(due_for_erasure(now, study).values_list("study", "pk"))
        assert found == {each for each in wanted if each[0] == study.pk}


def rows_read(cursor: CursorWrapper) -> int:
    """Rows of participations that this connection has read lately."""
    cursor.execute(
        "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_xact_user_tables"
        " WHERE relname = 'crowd_participation'"
    )
    (read,) = cursor.fetchone()
    return int(read)


def rows_read_to_erase(study: Study, people: int) -> int:
    """Rows of participations that erasing so many people reads, by index as in a large table."""
    now, owns = timezone.now(), [enter(study) for _ in range(people)]
    Participation.objects.filter(pk__in=[own.pk for own in owns]).update(
        consented_at=now - timedelta(days=20)
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_seqscan = off")
        cursor.execute("ANALYZE crowd_participation, crowd_assignment, crowd_withdrawal, studies_study")
        before = rows_read(cursor)
        assert erase_due(now=now) == people
        return rows_read(cursor) - before


def test_erasing_twice_as_many_people_reads_about_twice_as_much(paid: Study) -> None:
    Study.objects.filter(pk=paid.pk).update(retention_days=10, pay_amount=0)
    paid.refresh_from_db()

    few, many = rows_read_to_erase(paid, 20), rows_read_to_erase(paid, 40)

    assert many < 2.5 * few


def test_ids_are_erased_after_the_retention_period(paid: Study) -> None:
    Study.objects.filter(pk=paid.pk).update(retention_days=10, pay_amount=0)
    paid.refresh_from_db()
    own = participation_in(start_dialogue(paid, Arrival("url:id", "me@example.org")))
    Participation.objects.filter(pk=own.pk).update(address="0" * 32)
    Assignment.objects.update(outcome="complete", ended_at=timezone.now())

    assert erase_due(now=timezone.now() + timedelta(days=9)) == 0
    assert erase_due(now=timezone.now() + timedelta(days=11)) == 1
    assert erase_due(now=timezone.now() + timedelta(days=12)) == 0

    own.refresh_from_db()
    assert (own.worker.panel_id, own.address) == ("", "")
    assert Dialogue.objects.count() == 1


def test_after_the_deadline_only_staff_can_withdraw_data(
    paid: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    dialogue = talked(paid, [(True, True)])
    own = participation_in(dialogue)
    Assignment.objects.update(ended_at=timezone.now() - timedelta(days=31))

    answer = Client().post(f"{own.data_link}withdraw/", {"sure": "yes"})

    assert answer.status_code == 403
    assert "write to rex@example.org" in answer.content.decode()
    with pytest.raises(ValidationError, match="could withdraw your texts and answers until"):
        withdraw(own.pk)
    assert Dialogue.objects.exists()
    page = f"/studies/{paid.pk}/participants/{own.pk}/withdraw/"
    assert sign_in(mallory).post(page).status_code == 404
    assert Dialogue.objects.exists()
    client = sign_in(rex)
    assert "What is stored about" in client.get(page).content.decode()
    assert client.post(page, follow=True).status_code == 200
    assert not Dialogue.objects.exists()
    assert Withdrawal.objects.get().by == rex
    assert "rex" in client.get(f"/studies/{paid.pk}/privacy/").content.decode()


def test_the_data_link_shows_downloads_and_withdraws_and_cannot_be_forged(paid: Study) -> None:
    dialogue = talked(paid, [(True, False)], text=SECRET)
    own = participation_in(dialogue)
    someone = participation_in(talked(paid, [(True, False)], text="Not yours"))
    Participation.objects.filter(pk=own.pk).update(address=hash_address("192.0.2.7", paid))
    link, client = own.data_link, Client()

    page = client.get(link)
    stored = client.get(f"{link}file/").json()

    assert SECRET in page.content.decode()
    assert "Not yours" not in page.content.decode()
    assert "Anyone who holds the key can check whether a given address fits." in page.content.decode()
    assert page["Referrer-Policy"] == "no-referrer"
    assert stored["conversation"]["turns"][1] == {
        "by": "you",
        "text": SECRET,
        "at": stored["conversation"]["turns"][1]["at"],
    }
    assert list(stored["answers"][0]["answers"].values()) == ["Yes", "No"]
    assert stored["pay"][-1]["amount"] == "3.00"
    token = link.split("/")[-2]
    for forged in (token[:-1], token.replace(str(own.pk), str(someone.pk), 1), "x" * 2000, f"{own.pk}:", "0"):
        assert client.get(f"/s/{paid.code}/data/{forged}/").status_code == 404
    assert client.post(f"{link}withdraw/").status_code == 422  # the box is not ticked
    assert Dialogue.objects.filter(pk=dialogue.pk).exists()
    done = client.post(f"{link}withdraw/", {"sure": "yes"}, follow=True)
    assert "You withdrew on" in done.content.decode()
    assert SECRET not in done.content.decode()
    assert client.post(f"{link}withdraw/", {"sure": "yes"}, follow=True).status_code == 200
    assert Dialogue.objects.count() == 1


def test_a_promised_retention_cannot_be_extended_later(paid: Study, rex: User) -> None:
    for field, worse, better in (("withdrawal_days", 29, 31), ("retention_days", 181, 90)):
        setattr(paid, field, worse)
        with pytest.raises(ValidationError, match="People have agreed"):
            save_study(paid, owner=rex, consent_text="You talk to a machine.", targets={})
        setattr(paid, field, better)
        save_study(paid, owner=rex, consent_text="You talk to a machine.", targets={})
