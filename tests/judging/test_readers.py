"""Labels of those who chatted beside labels of readers of the same turns."""

from collections.abc import Callable
from datetime import timedelta

import pytest
from django.test import Client
from django.utils import timezone

from evaluation.questions import SSA
from evaluation.rater_agreement.kappa import Kappa, cohen_kappa
from tests.asking import SCALES, judge_all, judging_both
from tests.conftest import MakeQueue, MakeStudy, start_dialogue, worker_of
from tests.desks import begin, judge
from tests.planted import talked
from tests.rewriting import rewriting
from turnwise.accounts.credentials import create_token
from turnwise.accounts.models import User
from turnwise.dialogues.models import Dialogue
from turnwise.judging.items import subjects
from turnwise.judging.models import Agreement
from turnwise.judging.readers import reader_comparison
from turnwise.labels.models import Label
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import UNDER_EACH_REPLY, About, AskSpec, Moment, Party
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db

SignIn = Callable[[User], Client]
YES, NO = {"sensible": True, "specific": True}, {"sensible": False}


@pytest.fixture
def read(study: Study, make_queue: MakeQueue) -> Dialogue:
    """A conversation of seven replies: the chatter finds all sensible, two of three readers not the last."""
    dialogue = talked(study, [(True, True)] * 7)
    queue = make_queue(raters=3)
    subjects.add_turns(queue, study, language="en")
    for _ in range(2):
        judge(queue, lambda item: NO if item.turn and item.turn.position == 14 else YES)
    judge(queue, lambda item: YES)
    return dialogue


def test_labels_of_both_parties_stand_side_by_side(read: Dialogue) -> None:
    turns = reader_comparison.judged_by_both(read.study.work_asks[0])

    assert len(turns) == 7
    assert turns[0].position == 14
    assert turns[0].verdicts(SSA.questions)[0] == {"chatter": "Yes", "readers": [("No", 2), ("Yes", 1)]}


def test_scores_and_agreement_of_both_parties(read: Dialogue) -> None:
    (found,) = reader_comparison.compare_by_bot(
        SSA, reader_comparison.judged_by_both(read.study.work_asks[0])
    )

    # Readers: 6 turns with mean 1 and one with 1/3. Chatter and majority agree on 6 of 7 turns; the chatter
    # says yes always, so chance agrees as often, and kappa is 0.
    sensible, specific, both = found["scores"]
    assert [each["turns"] for each in found["scores"]] == [7, 7, 7]
    assert [each["first"] for each in found["scores"]] == [100, 100, 100]
    assert [each["third"] for each in found["scores"]] == pytest.approx([100 * (6 + 1 / 3) / 7] * 3)
    assert sensible["kappa"]["agree"] == specific["kappa"]["agree"] == pytest.approx(600 / 7)
    by_hand = cohen_kappa([[0, 0], [1, 6]])
    assert isinstance(by_hand, Kappa)
    assert sensible["kappa"]["value"] == pytest.approx(by_hand.value) == pytest.approx(0)
    assert "low" not in sensible["kappa"]  # one conversation tells nothing about others
    assert both["kappa"] is None  # an average is neither yes nor no


def test_labels_of_readers_stay_out_of_the_report_of_the_conversations(read: Dialogue) -> None:
    from turnwise.exports.turn_files import labelled_turns
    from turnwise.reports.answers import load_answers

    assert len(load_answers(read.study, SSA, read.study.asks.get())) == 7
    assert sum(map(len, labelled_turns(read.study))) == 7


def test_a_button_starts_the_comparison_and_its_result_is_stored(
    read: Dialogue, rex: User, sign_in: SignIn
) -> None:
    browser, address = sign_in(rex), f"/studies/{read.study_id}/readers/"

    assert "Compare both" in browser.get(address).content.decode()
    assert not Agreement.objects.exists()  # to look changes nothing
    browser.post(f"{address}compare/")
    before = browser.get(address).content.decode()
    assert "Both are being compared." in before
    assert "#turn-" not in before
    assert Agreement.objects.get(ask__study=read.study).state == Agreement.State.QUEUED

    reader_comparison.run_comparison(read.study.work_asks[0].pk)
    page = browser.get(address).content.decode()
    assert "cannot be told" in page
    assert page.count(f"/dialogues/{read.public_id}/#turn-") == 7
    assert page.index("#turn-14") < page.index("#turn-2")  # of which most readers think otherwise
    assert "being compared" not in page

    transcript = browser.get(f"/dialogues/{read.public_id}/").content.decode()
    assert "<b>No</b> 2, <b>Yes</b> 1" in transcript


def test_the_api_computes_and_reads_the_same(read: Dialogue, rex: User, mallory: User) -> None:
    rexs, mallorys = (
        Client(headers={"Authorization": f"Bearer {create_token(person, 'test')}"})
        for person in (rex, mallory)
    )
    address = f"/api/studies/{read.study.code}/readers"

    first = rexs.get(address).json()
    asked = rexs.post(address).json()
    reader_comparison.run_comparison(read.study.work_asks[0].pk)
    found = rexs.get(address).json()

    assert (first["state"], first["bots"], asked["state"]) == ("none", [], "queued")
    assert (found["state"], found["outdated"]) == ("ready", False)
    assert found["bots"] == Agreement.objects.get(ask__study=read.study).figures
    assert [each["first"] for each in found["bots"][0]["scores"]] == [100, 100, 100]
    assert mallorys.get(address).status_code == rexs.get(f"{address}?ask=7").status_code == 404


def test_the_api_compares_nothing_where_no_reader_judged_the_same(study: Study, rex: User) -> None:
    rexs = Client(headers={"Authorization": f"Bearer {create_token(rex, 'test')}"})
    address = f"/api/studies/{study.code}/readers"

    assert rexs.get(address).json()["state"] == "nothing-in-common"
    assert rexs.post(address).status_code == 409
    assert not Agreement.objects.exists()


def test_a_further_label_makes_the_comparison_outdated_until_the_next_one(
    read: Dialogue, rex: User, sign_in: SignIn
) -> None:
    study, now = read.study, timezone.now()
    assert reader_comparison.request_comparison(study.work_asks[0], now=now)
    assert not reader_comparison.request_comparison(study.work_asks[0], now=now)  # once
    reader_comparison.run_comparison(study.work_asks[0].pk)
    known = reader_comparison.comparison_status(study.work_asks[0], now=now)
    assert known
    assert not known.is_outdated

    with rewriting():
        Label.objects.filter(turn__dialogue=read, party="reader").first().delete()
    browser, address = sign_in(rex), f"/studies/{study.pk}/readers/"
    assert "Compare again" in browser.get(address).content.decode()
    assert reader_comparison.request_comparison(study.work_asks[0], now=now)
    assert (
        len(reader_comparison.most_disputed(study.work_asks[0], 0, 50))
        == reader_comparison.count_compared(study.work_asks[0])
        == 7
    )

    reader_comparison.run_comparison(study.work_asks[0].pk)
    found = Agreement.objects.get(ask__study=study)
    assert (found.state, found.done, found.bots) == (Agreement.State.READY, 1, 1)
    assert known.agreement
    assert found.covers != known.agreement.covers
    assert "Compare again" not in browser.get(address).content.decode()


def test_a_comparison_whose_process_died_is_restarted_and_finally_marked_as_failed(
    read: Dialogue, rex: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    study, now = read.study, timezone.now() - timedelta(hours=1)
    browser, address = sign_in(rex), f"/studies/{study.pk}/readers/"
    for attempt in range(reader_comparison.MOST_ATTEMPTS):
        now += timedelta(minutes=2)
        assert reader_comparison.request_comparison(study.work_asks[0], now=now), attempt
        with monkeypatch.context() as patch:
            patch.setattr(reader_comparison, "compare_by_bot", killed)
            with pytest.raises(SystemExit):
                reader_comparison.run_comparison(study.work_asks[0].pk)
    assert "Ask again" in browser.get(address).content.decode()
    reader_comparison.run_comparison(study.work_asks[0].pk)

    page = browser.get(address).content.decode()
    assert "The process that compared them ended 3 times before it was done." in page

    browser.post(f"{address}compare/")
    reader_comparison.run_comparison(study.work_asks[0].pk)
    assert "cannot be told" in browser.get(address).content.decode()


def killed(*_: object) -> list[dict[str, object]]:
    raise SystemExit


def test_a_study_without_readers_says_what_to_do(study: Study, rex: User, sign_in: SignIn) -> None:
    start_dialogue(study)

    assert "Nothing to compare yet." in sign_in(rex).get(f"/studies/{study.pk}/readers/").content.decode()


# --- several asks -----------------------------------------------------------------------------------


@pytest.fixture
def whole(make_study: MakeStudy) -> Study:
    """Two conversations whose chatters found them good, as a whole 5 and 7; readers say 4."""
    scales = AskSpec("likert", About.DIALOGUE, Moment.AT_END, required=False)
    study = make_study({"alpha": 3}, asks=[UNDER_EACH_REPLY, scales], min_turns=4)
    for points in (5, 7):
        dialogue, now = talked(study, [(True, True)] * 2), timezone.now()
        Label.objects.create(
            study=study, dialogue=dialogue, rater=worker_of(dialogue), party=Party.CHATTER,
            ask=study.work_asks[1], question_set="likert", answers=dict.fromkeys(SCALES, points),
            created_at=now, changed_at=now,
        )  # fmt: skip
    queue = judging_both(study, raters=2)
    for _ in range(2):
        judge_all(begin(queue))
    return study


def test_judgments_of_whole_conversations_are_compared_too(whole: Study) -> None:
    of_turns, of_wholes = (reader_comparison.judged_by_both(ask) for ask in whole.work_asks)

    assert len(of_turns) == 4
    assert [(len(each.chatters), len(each.readers), each.position) for each in of_wholes] == [
        (1, 2, None)
    ] * 2
    (found,) = reader_comparison.compare_by_bot(question_set("likert"), of_wholes)
    assert found["turns"] == 2
    # By hand: chatters (5 + 7) / 2, readers 4 throughout; the sum of five.
    assert [(each["first"], each["third"]) for each in found["scores"]] == [(6, 4)] * 5 + [(30, 20)]


def test_each_ask_has_its_comparison(whole: Study, rex: User, sign_in: SignIn) -> None:
    browser, address = sign_in(rex), f"/studies/{whole.pk}/readers/"

    sent = browser.post(f"{address}compare/", {"ask": 1})
    assert sent["Location"] == f"{address}?ask=1"
    reader_comparison.run_comparison(whole.work_asks[1].pk)

    of_wholes, of_turns = (browser.get(f"{address}?ask={ask}").content.decode() for ask in (1, 0))
    assert "The conversations on which the two differ most come first." in of_wholes
    assert of_wholes.count("Whole conversation ") == 2
    assert "Compare both" in of_turns  # nobody has asked for this one
    assert "Five ratings of a whole conversation, 1 to 7, the whole conversation</option>" in of_turns
    assert browser.get(f"{address}?ask=9").status_code == 200
