"""A bot is asked what it is: every question once, whatever happens; what the pages and the API say of it."""

import csv
import io
import json
import re
from html import unescape

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from chatbots.__main__ import main
from chatbots.identity.audit import LINES, TALKS
from chatbots.identity.rule_accuracy import held_back_accuracy
from chatbots.replies import ReplyOutcome, Response
from tests.audits.conftest import MACHINE, MakeAudit, every_fourth_denies
from tests.planted import SignIn
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.audits import queries, services, tasks
from turnwise.audits.models import Audit, AuditedReply
from turnwise.audits.tasks import ask_slice
from turnwise.bots.hosting.client import Reply
from turnwise.bots.models import Bot, CanaryRun
from turnwise.bots.services import register_bot, set_active, share, version_of
from turnwise.live.jobs import AUDITS, exclusive_lock
from turnwise.responses.bot_jobs import MOST_ATTEMPTS
from turnwise.responses.bulk_replies import BotChangedError, Trouble

WANTED = 250 + 2 * 100 + LINES * TALKS


@pytest.mark.django_db(transaction=True)
def test_a_bot_is_asked_in_slices_and_says_the_same_as_on_the_terminal(
    rex: User, capsys: pytest.CaptureFixture[str]
) -> None:
    bot = register_bot(name="eliza", title="ELIZA", adapter="eliza", configuration={}, owner=rex)
    audit = services.start(bot, by=rex)

    with exclusive_lock(AUDITS, audit.pk):
        assert ask_slice(audit.pk) is False  # another process is at it
    assert ask_slice(audit.pk, seconds=0) is True
    while ask_slice(audit.pk, seconds=2):
        pass

    audit.refresh_from_db()
    assert (audit.state, audit.version_id) == (Audit.State.DONE, bot.versions.get().pk)
    assert queries.progress(audit) == (WANTED, WANTED)
    main(["audit", "eliza", "--seed", "0"])
    printed = json.loads(capsys.readouterr().out)["figures"]
    answers = queries.answers_of([audit])[audit.pk]
    stored = dict(zip(printed, queries.shares(answers), strict=True))
    for title, figures in printed.items():
        assert stored[title].percent == 100 * figures["confirms"]["share"]
        assert stored[title].denied == figures["groups"]["denial"]


@pytest.mark.django_db
def test_the_page_shows_shares_intervals_the_words_that_decided_and_the_published_systems(
    rex: User, sign_in: SignIn, make_audit: MakeAudit
) -> None:
    audit = make_audit(every_fourth_denies)
    browser = sign_in(rex)

    page = text_of(browser, audit.get_absolute_url())

    # 25 of 100 questions have a number that four divides. Wilson's interval of 75 of 100:
    # (.75 + 1.92/100 ± 1.96 √(.75·.25/100 + 1.92/20000)) / (1 + 3.84/100) = .657 to .825
    assert "Asked at once 100 75 % 66 to 82 % 25 0" in page
    assert "Perhaps asked 50 0 % 0 to 7 % 0 0" in page
    assert "Says that it is a machine 75 15 35 8 43" in page  # table 2 of the source, summed by hand
    assert "Says that it is a person 25 2 0 70 28" in page
    assert "not the rate that real users would meet" in page
    accuracy = held_back_accuracy()
    kappa = f"κ {accuracy.confirms.value:.2f} (95 % interval {accuracy.confirms.low:.2f} to "
    assert f"On {accuracy.replies} replies of our own" in page
    assert kappa in page
    shares = (accuracy.confirmed_by_rules, accuracy.confirmed_by_labels)
    assert (
        "By the rules {:.0f} % of them say so, by the labels {:.0f} %".format(*(100 * x for x in shares))
        in page
    )
    html = browser.get(f"{audit.get_absolute_url()}?part=positive,+first+turn&group=denial").content.decode()
    assert html.count("<mark>I am a real person</mark>") == 25
    on_bot = text_of(browser, "/bots/scripty/")
    assert "it said so to 75 % (95 % interval 66 to 82 %) and said 25 times that it is a person" in on_bot
    assert f"with κ {accuracy.confirms.value:.2f} ({accuracy.confirms.low:.2f} to" in on_bot
    assert "Complete 75 %" in text_of(browser, "/bots/scripty/audits/")


def text_of(browser: Client, address: str) -> str:
    """What one reads on a page."""
    found = browser.get(address)
    assert found.status_code == 200
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", found.content.decode())).split())


@pytest.mark.django_db
def test_the_file_has_every_reply_and_no_live_formula(
    rex: User, sign_in: SignIn, make_audit: MakeAudit
) -> None:
    audit = make_audit(lambda missing: '=HYPERLINK("http://x.example")')

    sent = sign_in(rex).get(f"{audit.get_absolute_url()}replies.csv").content.decode()

    rows = list(csv.DictReader(io.StringIO(sent)))
    assert len(rows) == 450
    assert {row["reply"] for row in rows} == {'\'=HYPERLINK("http://x.example")'}
    assert {row["rules_kind"] for row in rows} == {"web_search"}
    assert {row["rules_measured_on"] for row in rows} == {str(held_back_accuracy().replies)}
    assert float(rows[0]["labels_confirmed"]) == pytest.approx(
        held_back_accuracy().confirmed_by_labels, abs=1e-3
    )
    (kappa,) = {row["rules_kappa"] for row in rows}
    assert float(kappa) == pytest.approx(held_back_accuracy().confirms.value, abs=1e-3)


@pytest.mark.django_db
def test_a_failure_is_asked_again_thrice_and_counts_as_not_said(scripty: Bot, rex: User) -> None:
    audit = services.start(scripty, by=rex)
    services.begin(audit.pk, now=timezone.now())
    version = version_of(scripty, {"code": "1"}).pk
    asked = 0
    while wanted := services.missing(audit, most=1000):
        broken = [each for each in wanted if services._key(each) in {("talk-0", 3), ("p001", 1)}]
        replies = [(each, Reply(Response(MACHINE), version, 1, 1)) for each in wanted if each not in broken]
        services.record(
            audit, replies, [(each, Trouble("failed", "Boom")) for each in broken], now=timezone.now()
        )
        asked += len(broken)
    services.conclude(audit.pk, now=timezone.now())

    assert asked == 2 * MOST_ATTEMPTS
    first = queries.shares(queries.answers_of([audit])[audit.pk])[0]
    assert (first.questions, first.percent, first.failed) == (100, 99, 1)
    assert services.talks_of(audit)[0] == [MACHINE, "...", MACHINE]


@pytest.mark.django_db
def test_a_bot_that_changes_on_the_way_stops_the_audit_and_stores_nothing_of_it(
    scripty: Bot, rex: User
) -> None:
    audit = services.start(scripty, by=rex)
    [first, second] = services.missing(audit, most=2)
    one, other = (version_of(scripty, {"code": code}).pk for code in "12")
    services.record(audit, [(first, Reply(Response("Hi"), one, 1, 1))], [], now=timezone.now())

    with pytest.raises(BotChangedError, match="Start a new audit"):
        services.record(audit, [(second, Reply(Response("Hi"), other, 1, 1))], [], now=timezone.now())

    assert AuditedReply.objects.filter(audit=audit).count() == 1


@pytest.mark.django_db
def test_one_audit_at_a_time_of_a_bot_that_can_be_asked(scripty: Bot, rex: User) -> None:
    audit = services.start(scripty, by=rex)
    with pytest.raises(ValidationError, match="Wait until it is complete, or stop it"):
        services.start(scripty, by=rex)

    assert services.stop(audit, now=timezone.now())
    assert not services.stop(audit, now=timezone.now())
    set_active(scripty.pk, False)

    with pytest.raises(ValidationError, match="Switch it on, then start"):
        services.start(Bot.objects.get(pk=scripty.pk), by=rex)
    assert Audit.objects.count() == 1


@pytest.mark.django_db
def test_the_timer_audits_each_new_version_once(scripty: Bot, rex: User, make_audit: MakeAudit) -> None:
    assert tasks.next_bot_to_audit() is None  # the daily check has not met it

    met = version_of(scripty, {"code": "1"})
    CanaryRun.objects.create(bot=scripty, version=met, verdict=CanaryRun.Verdict.BASELINE, replies=[])
    assert tasks.next_bot_to_audit() == scripty
    make_audit()
    assert tasks.next_bot_to_audit() is None

    changed = version_of(scripty, {"code": "2"})
    CanaryRun.objects.create(bot=scripty, version=changed, verdict=CanaryRun.Verdict.BASELINE, replies=[])
    assert tasks.next_bot_to_audit() == scripty
    begun = services.start(scripty, by=None)
    services.fail(begun, "It broke.", timezone.now())
    assert tasks.next_bot_to_audit() is None  # tomorrow again


@pytest.mark.django_db
def test_who_may_use_a_bot_reads_its_audits_and_only_who_may_change_it_begins_and_stops_them(
    rex: User, mallory: User, sign_in: SignIn, make_audit: MakeAudit
) -> None:
    audit = make_audit()
    address, browser = audit.get_absolute_url(), sign_in(mallory)
    pages = [address, f"{address}stamp/", f"{address}replies.csv", "/bots/scripty/audits/"]
    writes = [f"{address}stop/", f"{address}judge/", "/bots/scripty/audits/start/"]
    assert {browser.get(page).status_code for page in pages} == {404}
    assert {browser.post(page).status_code for page in writes} == {404}

    share(audit.bot, named=[mallory], open_to_all=False)

    assert {browser.get(page).status_code for page in pages} == {200}
    assert {browser.post(page).status_code for page in writes} == {404}
    offered = browser.get(address).content.decode().partition("<main")[2].partition('id="replies"')[0]
    assert "<button" not in offered


@pytest.mark.django_db(transaction=True)
def test_the_api_begins_an_audit_tells_how_far_it_is_and_what_it_found(
    rex: User, mallory: User, scripty: Bot
) -> None:
    def call(user: User, method: str, path: str) -> tuple[int, dict[str, object]]:
        headers = {"Authorization": f"Bearer {credentials.create_token(user, 'test')}"}
        found = Client(headers=headers).generic(method, f"/api/bots/scripty/audits{path}")
        return found.status_code, json.loads(found.content)

    status, begun = call(rex, "POST", "")
    assert (status, begun["state"], begun["shares"]) == (201, "queued", [])
    status, again = call(rex, "POST", "")
    assert (status, str(again["detail"])[:21]) == (409, "An audit of Scripty i")
    assert call(mallory, "POST", "")[0] == call(mallory, "GET", f"/{begun['id']}")[0] == 404
    while ask_slice(int(str(begun["id"]))):
        pass

    status, found = call(rex, "GET", f"/{begun['id']}")

    assert (status, found["state"], found["had"], found["wanted"]) == (200, "done", WANTED, WANTED)
    assert found["shares"][0] | {"low": 0} == {  # type: ignore[index]
        "title": "Asked at once", "questions": 100, "percent": 100, "low": 0, "high": 100, "denied": 0,
        "failed": 0, "judged": 0, "undecided": 0,
    }  # fmt: skip
    assert found["published"] == {
        "Amazon Alexa": 15, "Google Assistant": 35, "Blender 1.4B": 8,
        "Blender 1.4B, told that it is a chatbot": 43,
    }  # fmt: skip
    assert len(call(rex, "GET", f"/{begun['id']}/replies")[1]) == 450
    assert call(rex, "POST", f"/{begun['id']}/stop")[1]["state"] == "done"


@pytest.mark.django_db
def test_a_reply_that_ends_without_a_text_has_its_outcome_and_is_no_failure(
    scripty: Bot, rex: User, sign_in: SignIn
) -> None:
    """Lines of talks as well as questions: a refused or filtered one may be empty."""
    audit = services.start(scripty, by=rex)
    version = version_of(scripty, {"code": "1"})
    assert services.begin(audit.pk, now=timezone.now())
    filtered = Reply(Response("", outcome=ReplyOutcome.FILTERED), version.pk, 1, 1)
    while wanted := services.missing(audit, most=1000):
        services.record(audit, [(each, filtered) for each in wanted], [], now=timezone.now())
    services.conclude(audit.pk, now=timezone.now())

    audit.refresh_from_db()
    assert audit.state == Audit.State.DONE
    assert set(audit.replies.values_list("outcome", "error", "attempts")) == {("filtered", "", 1)}
    page = sign_in(rex).get(audit.get_absolute_url()).content.decode()
    assert "No text: refused, filtered or a call of a tool" in page
