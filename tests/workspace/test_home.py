"""What a researcher sees first, and the list of studies when there are many."""

import re
from decimal import Decimal

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.conftest import MakeQueue, MakeStudy, enter, start_dialogue
from tests.planted import SignIn, computed, talked
from tests.workspace.test_journey import hosted
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.crowd.models import Outcome, Participation
from turnwise.crowd.pay.ledger import pay
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import complete
from turnwise.crowd.running.pausing import pause, resume
from turnwise.crowd.running.spending import spend_of
from turnwise.dialogues.models import Fault
from turnwise.judging.models import JudgingPlan
from turnwise.reports.models import Report
from turnwise.studies.models import Study
from turnwise.studies.services import archive, save_study, set_state
from turnwise.workspace import home
from turnwise.workspace.home import costs

pytestmark = pytest.mark.django_db(transaction=True)


def queries(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as asked:
        assert client.get(path).status_code == 200
    return len(asked)


def test_it_tells_what_needs_somebody_what_runs_and_what_came_out(
    make_study: MakeStudy, rex: User, mallory: User, sign_in: SignIn
) -> None:
    study = make_study({"ann": 8, "bob": 8}, min_turns=2, max_turns=4, title="Hobbies")
    for each in study.study_bots.select_related("bot"):
        hosted(each.bot)
    for n in range(16):
        dialogue = talked(study, [(n % 2 == 0 or n == 5, n % 2 == 0 and n != 4)])
    computed(study)
    Fault.objects.create(dialogue=dialogue, position=2, kind="Slow", at=timezone.now())
    Participation.objects.filter(assignment__seat__dialogue=dialogue).update(signs="All answers alike.")
    start_dialogue(make_study({"silent": 3}, title="Second"))
    failed = make_study({"third": 3}, title="Third")
    set_state(failed.pk, Study.State.CLOSED)
    Report.objects.create(
        study=failed, state="failed", reason="x", results_version=1, requested_at=timezone.now()
    )
    client = sign_in(rex)

    page = client.get("/home/").content.decode()

    for said in (
        "It has everything it wanted, and is still open.",
        "1 reply failed within a day.",
        "signs of carelessness or fraud.",
        "Its newest report failed.",
        "No bot answers, so nobody new is admitted: Silent.",
        "16 of 16",
        "1 person at work",
        "</strong> leads",
    ):
        assert said in page, said
    assert page.index("No bot answers") < page.index("It has everything")  # the worst first
    other = sign_in(mallory).get("/home/").content.decode()
    assert "No studies yet." in other
    assert "Hobbies" not in other
    assert queries(client, "/home/") <= 15


def test_a_bot_that_is_being_loaded_is_no_alarm(make_study: MakeStudy, rex: User, sign_in: SignIn) -> None:
    study = make_study({"ann": 8, "bob": 8}, title="Just started")
    first, second = (each.bot for each in study.study_bots.select_related("bot").order_by("pk"))
    hosted(first)
    hosted(second, "loading")
    client = sign_in(rex)

    assert "Being loaded, and ready in a moment: Bob." in (page := client.get("/home/").content.decode())
    assert "is-bad" not in page
    hosted(second)
    assert "Nothing at the moment." in client.get("/home/").content.decode()
    hosted(second, "failed")
    assert "Bots do not answer: Bob." in client.get("/home/").content.decode()


def test_a_bot_that_nobody_needs_is_no_alarm(make_study: MakeStudy, rex: User, sign_in: SignIn) -> None:
    full = make_study({"ann": 1}, min_turns=2, max_turns=4)
    paused = make_study({"bob": 5}, min_turns=2, max_turns=4)
    talked(full, [(True, True)])
    pause(paused.pk, holds=False, by="rex")
    client = sign_in(rex)

    page = client.get("/home/").content.decode()
    assert "It has everything it wanted" in page
    assert "No bot answers" not in page
    assert "Bots do not answer" not in page

    # Who is in the middle of a conversation needs it, though nobody else is admitted anyhow.
    resume(paused.pk, by="rex")
    start_dialogue(paused)
    pause(paused.pk, holds=False, by="rex")
    page = client.get("/home/").content.decode()
    assert "Bots do not answer: Bob." in page
    assert "nobody new is admitted" not in page


def test_an_open_study_whose_bots_are_all_switched_off_is_an_alarm(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study = make_study({"ann": 8, "bob": 8}, title="Switched off")
    ann, bob = (each.bot for each in study.study_bots.select_related("bot").order_by("pk"))
    for bot in (ann, bob):
        hosted(bot)
    client = sign_in(rex)

    Bot.objects.filter(pk=ann.pk).update(active=False)
    assert "No bot answers" not in client.get("/home/").content.decode()

    Bot.objects.filter(pk=bob.pk).update(active=False)
    assert "No bot answers, so nobody new is admitted: Ann, Bob." in client.get("/home/").content.decode()
    assert "Ann (switched off), Bob (switched off)" in client.get(study.get_absolute_url()).content.decode()


def test_signing_in_leads_home(rex: User, sign_in: SignIn) -> None:
    assert sign_in(rex).get("/").headers["Location"] == "/home/"
    assert 'action="/sign-in/"' in Client().get("/").content.decode()
    assert Client().get("/home/").headers["Location"].startswith("/sign-in/")


def test_what_is_archived_needs_nobody(study: Study, rex: User, sign_in: SignIn) -> None:
    Report.objects.create(
        study=study, state="failed", reason="x", results_version=1, requested_at=timezone.now()
    )
    assert "Its newest report failed." in sign_in(rex).get("/home/").content.decode()
    set_state(study.pk, Study.State.CLOSED)
    archive(study.pk)

    assert "Its newest report failed." not in sign_in(rex).get("/home/").content.decode()


def test_a_study_is_found_among_many(study: Study, rex: User, mallory: User, sign_in: SignIn) -> None:
    Study.objects.bulk_create(Study(title=f"Number {n}", owner=rex, languages=["en"]) for n in range(120))
    client = sign_in(rex)

    first, last = client.get("/studies/").content.decode(), client.get("/studies/?page=3").content.decode()
    found = client.get("/studies/?find=number+11").content.decode()

    assert "Page 1 of 3" in first
    assert study.title in last
    assert study.title not in first
    assert [f"Number {n}<" in found for n in (1, 11, 110, 119)] == [False, True, True, True]
    assert study.title in client.get(f"/studies/?find={study.code}").content.decode()
    assert "No study is called “&lt;b&gt;”." in client.get("/studies/?find=<b>").content.decode()
    assert (
        "Number" not in sign_in(mallory).get("/studies/?find=number").content.decode().partition("<table")[2]
    )
    assert queries(client, "/studies/") <= 15


def test_it_tells_what_studies_cost_by_their_ledgers(
    make_study: MakeStudy, make_queue: MakeQueue, rex: User, sign_in: SignIn
) -> None:
    talk = make_study({"ann": 4}, title="Talk", pay_amount="2.00", pay_currency="EUR")
    queue = make_queue(5, raters=2)
    Study.objects.filter(pk=queue.pk).update(title="Judge", pay_amount="3.00", pay_currency="USD")
    JudgingPlan.objects.filter(study=queue).update(batch_size=4)
    few = make_queue(2, raters=3)
    Study.objects.filter(pk=few.pk).update(title="Few", pay_amount="1.00", pay_currency="USD")
    closed = make_study({"bob": 4}, title="Over", pay_amount="1.50", pay_currency="EUR")
    for study in (talk, talk, closed):
        complete(assign(enter(study).pk).pk, Outcome.COMPLETE, now=timezone.now())
    pay(talk, total=Decimal("4.00"), by=rex)
    set_state(closed.pk, Study.State.CLOSED)
    client = sign_in(rex)

    each, in_all, *_ = costs(rex)

    told = {cost.title: (cost.spend.paid, cost.spend.owed, cost.spend.full) for cost in each}
    assert {title: [*map(float, amounts)] for title, amounts in told.items()} == {
        "Talk": [4, 0, 8],  # two of four places are left at 2.00
        "Judge": [0, 0, 9],  # ten judgments, four by each: three people at 3.00
        "Few": [0, 0, 3],  # six judgments fit one batch, but each item wants three people
        "Over": [0, 1.5, 1.5],
    }
    assert {cost.currency: [*map(float, (cost.paid, cost.owed, cost.full))] for cost in in_all} == {
        "EUR": [4, 1.5, 9.5],
        "USD": [0, 0, 12],
    }
    pay(closed, total=Decimal("1.50"), by=rex)
    assert "Over" not in {cost.title for cost in costs(rex).each}  # at once
    page = client.get("/home/").text
    assert "All studies in EUR" in page
    assert f"/studies/{talk.pk}/payments/" in page
    assert queries(client, "/home/") <= 15


def test_of_many_studies_the_running_and_the_newest_are_added_up_until_somebody_wants_all(
    make_study: MakeStudy, rex: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(home, "MOST_SUMMED", 2)
    first, second, third = (
        make_study({bot: 1}, title=bot, pay_amount=f"{pay}.00", pay_currency="EUR")
        for pay, bot in ((1, "ann"), (10, "bob"), (100, "cat"))
    )
    for study in (first, second, third):
        complete(assign(enter(study).pk).pk, Outcome.COMPLETE, now=timezone.now())
    for study in (second, third):
        set_state(study.pk, Study.State.CLOSED)
    client = sign_in(rex)

    few, every = client.get("/home/").text, client.get("/home/?costs=all").text

    (total,) = costs(rex).totals
    assert (total.owed, costs(rex).has_more) == (Decimal(101), True)  # the one that runs, then the newest
    (total,) = costs(rex, sums_all=True).totals
    assert (total.owed, costs(rex, sums_all=True).has_more) == (Decimal(111), False)
    assert "These 2 studies, in EUR" in few
    assert 'href="?costs=all#cost">Add up all studies</a>' in few
    assert "All studies in EUR" in every
    assert "Add up all studies" not in every


def test_a_lead_in_a_study_that_fills_is_certain_at_a_single_look_wherever_it_is_told(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study = make_study({"ann": 16, "bob": 16}, min_turns=2, max_turns=4)
    for n in range(16):
        talked(study, [(n % 2 == 0 or n == 5, n % 2 == 0 and n != 4)])
    computed(study)
    client = sign_in(rex)

    def told() -> list[str]:
        pages = [client.get(path).content.decode() for path in ("/home/", f"/studies/{study.pk}/report/")]
        return [" ".join(re.sub(r"<[^>]+>", "", page).split()) for page in pages]

    for page in told():
        assert (
            "so far: statistically clear (if you looked once). "
            "The study still runs, with 16 of 32 conversations" in page
        )
    set_state(study.pk, Study.State.CLOSED)
    for page in told():
        assert "): statistically clear." in page
        assert "still runs" not in page


def test_somebody_at_work_is_paid_though_the_study_is_closed(make_study: MakeStudy, rex: User) -> None:
    study = make_study({"ann": 4}, pay_amount="2.00", pay_currency="EUR")
    start_dialogue(study)
    set_state(study.pk, Study.State.CLOSED)

    spend = spend_of([Study.objects.get(pk=study.pk)], {})[study.pk]

    assert [*map(float, (spend.paid, spend.owed, spend.full))] == [0, 0, 2]


def test_progress_says_what_it_counts(
    make_study: MakeStudy, make_queue: MakeQueue, rex: User, sign_in: SignIn
) -> None:
    talk, judge = make_study({"ann": 3}, title="Talk"), make_queue(1)
    set_state(judge.pk, Study.State.OPEN)
    wanted = judge.items.count() * judge.judging.raters_per_item
    client = sign_in(rex)

    for page in (client.get("/home/").text, client.get("/studies/").text):
        assert "0 of 3 conversations finished" in page
        assert f"0 of {wanted} judgments given" in page
    monitor = client.get(f"/studies/{talk.pk}/monitor/").text
    assert "Give its link to workers: 0 of 3 conversations finished." in monitor


def test_without_results_a_rehearsal_shows_what_they_look_like(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study, client = make_study({"ann": 3}, title="Hobbies"), sign_in(rex)

    home = client.get("/home/").text
    assert f'href="/studies/{study.pk}/rehearsal/">Rehearse “Hobbies”</a>' in home
    assert "link to workers." in client.get(f"/studies/{study.pk}/report/").text

    draft = save_study(
        Study(title="New", languages=["en"]),
        owner=rex,
        consent_text="x",
        targets={},
        asks=[ask.declared for ask in study.work_asks],
    )
    report = client.get(f"/studies/{draft.pk}/report/").text
    assert f'href="/studies/{draft.pk}/rehearsal/">Rehearse</a>' in report
    assert "Open the study, then give its link to workers." in report
