"""People who take part in a study more than once, by its rule."""

import csv
import io
import json
import re
import zipfile
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeStudy, worker_of
from tests.planted import SignIn, add_exchange, add_label, bot_of, computed
from turnwise.accounts.models import User
from turnwise.bots.services import version_of
from turnwise.crowd.models import Assignment, Outcome, Participation, StudyPanel, Worker
from turnwise.crowd.panels.study_panels import save_panels
from turnwise.crowd.pay import ledger
from turnwise.crowd.places import pilot
from turnwise.crowd.places.ending import end, exclude
from turnwise.crowd.queries import progress
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.services import finish
from turnwise.labels.models import Label
from turnwise.privacy.erasure import erase_due
from turnwise.quality.flagging import describe_flag
from turnwise.quality.models import Flag
from turnwise.studies.models import Study
from turnwise.studies.services import save_study

pytestmark = pytest.mark.django_db(transaction=True)

TWICE = {"re_entry": "up_to", "re_entry_most": 2}


@pytest.fixture
def twice(make_study: MakeStudy) -> Study:
    return make_study({"scripty": 100}, min_turns=2, max_turns=8, pay_amount=Decimal("3.00"), **TWICE)


def begin(client: Client, study: Study, link: str = "") -> Any:
    """Come by the link, agree, and start."""
    sent = {"agree": "yes", "consent": "1"}
    if link:
        page = client.get(f"/s/{study.code}/?{link}").content.decode()
        carried = re.search(r'name="arrival" value="([^"]+)"', page)
        assert carried, page
        sent["arrival"] = carried[1]
    client.post(f"/s/{study.code}/consent/", sent)
    return client.post(f"/s/{study.code}/start/")


def talk(study: Study, labels: Sequence[tuple[bool, bool]] = ((True, True),)) -> Participation:
    """Talk to the end in the conversation that was begun last."""
    dialogue = Dialogue.objects.filter(study=study).order_by("-pk")[0]
    version = version_of(bot_of(dialogue), {"adapter": "scripted"})
    for n, (sensible, specific) in enumerate(labels):
        add_exchange(dialogue, version, text=f"Tea {n}", latency=10)
        add_label(dialogue, position=2 * n + 2, answers={"sensible": sensible, "specific": specific})
    finish(seat_of(dialogue.public_id, worker_of(dialogue).pk))
    return newest(study)


def newest(study: Study) -> Participation:
    rows = Participation.objects.select_related("assignment__study_bot__bot", "worker", "study")
    return rows.filter(study=study).order_by("-pk")[0]


def again(client: Client, study: Study, after: int = 1, **sent: str) -> Any:
    return client.post(f"/s/{study.code}/again/", {"after": str(after), **sent})


def twice_done(client: Client, study: Study) -> list[Participation]:
    begin(client, study)
    talk(study, [(True, True), (True, False)])
    again(client, study)
    client.post(f"/s/{study.code}/start/")
    talk(study, [(False, False)])
    return list(Participation.objects.filter(study=study).order_by("number"))


def says(response: Any) -> str:
    return " ".join(response.content.decode().split())


def test_a_study_admits_a_person_once_by_default(study: Study) -> None:
    client = Client()
    begin(client, study)
    talk(study, [(True, True)] * 7)

    assert "Take part again" not in says(client.get(f"/s/{study.code}/thanks/"))
    refused = again(client, study)
    assert refused.status_code == 409
    assert "only once, and you already have" in says(refused)
    assert Participation.objects.count() == 1


def test_up_to_twice(twice: Study) -> None:
    client = Client()
    begin(client, twice)
    talk(twice)
    assert f"/s/{twice.code}/again/" in says(client.get(f"/s/{twice.code}/thanks/"))
    assert client.get(f"/s/{twice.code}/again/").status_code == 200

    assert again(client, twice).headers["Location"] == f"/s/{twice.code}/instructions/"
    assert client.post(f"/s/{twice.code}/start/").headers["Location"] == f"/s/{twice.code}/chat/"
    assert client.get(f"/s/{twice.code}/").headers["Location"] == f"/s/{twice.code}/chat/"
    talk(twice)

    first, second = Participation.objects.order_by("number")
    assert (first.worker, first.pseudonym) == (second.worker, second.pseudonym)
    assert first.completion_code != second.completion_code
    thanks = says(client.get(f"/s/{twice.code}/thanks/"))
    assert second.completion_code in thanks
    assert "again/" not in thanks
    refused = again(client, twice, after=2)
    assert refused.status_code == 409
    assert "as often as you can" in says(refused)
    assert [each.finished for each in progress(twice)] == [2]


def test_once_with_each_chatbot(make_study: MakeStudy) -> None:
    study = make_study({"ann": 9, "bob": 9, "cid": 9}, min_turns=2, max_turns=8, re_entry="per_bot")
    client, met = Client(), []
    begin(client, study)
    for number in (1, 2, 3):
        met.append(talk(study).assignment.study_bot.bot.name)
        if number < 3:
            again(client, study, number)
            client.post(f"/s/{study.code}/start/")

    assert sorted(met) == ["ann", "bob", "cid"]
    refused = again(client, study, after=3)
    assert refused.status_code == 409
    assert "with every chatbot in this study" in says(refused)


def test_only_new_chatbots_with_a_free_place_are_assigned(make_study: MakeStudy) -> None:
    study = make_study({"ann": 1, "bob": 1}, min_turns=2, max_turns=8, re_entry="per_bot")
    client, other = Client(), Client()
    begin(client, study)
    talk(study)
    again(client, study)
    begin(other, study)
    talk(study)

    refused = client.post(f"/s/{study.code}/start/")

    assert refused.status_code == 409
    assert "All places are taken" in says(refused)
    assert [(each.finished, each.target) for each in progress(study)] == [(1, 1), (1, 1)]


def test_two_tabs_at_once_create_one_new_participation(twice: Study) -> None:
    client = Client()
    begin(client, twice)
    talk(twice)

    def press(_tab: int) -> int:
        tab = Client()
        tab.cookies = client.cookies
        try:
            return int(again(tab, twice).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as tabs:
        answers = list(tabs.map(press, range(6)))

    assert answers == [302] * 6
    assert list(Participation.objects.order_by("number").values_list("number", flat=True)) == [1, 2]


def test_an_old_tab_does_not_start_a_third_participation(make_study: MakeStudy) -> None:
    study = make_study(min_turns=2, max_turns=8, re_entry="up_to", re_entry_most=5)
    client = Client()
    twice_done(client, study)

    assert again(client, study, after=1).status_code == 200  # the page, which asks once more
    assert Participation.objects.count() == 2


def test_workers_who_left_cannot_start_again(twice: Study) -> None:
    client = Client()
    begin(client, twice)
    end(newest(twice).pk, Outcome.WITHDRAWN)

    assert again(client, twice).status_code == 409
    assert Participation.objects.count() == 1


def test_a_worker_returns_to_an_unfinished_participation(twice: Study) -> None:
    client = Client()
    begin(client, twice)

    assert again(client, twice).headers["Location"] == f"/s/{twice.code}/chat/"
    assert Participation.objects.count() == 1


def test_a_stranger_with_a_known_panel_id_cannot_start_again(twice: Study) -> None:
    save_panels(twice, [StudyPanel(panel="prolific", codes={"complete": "C0"})], closed_to=())
    owner = Client()
    begin(owner, twice, "PROLIFIC_PID=wanda&SESSION_ID=s1")
    talk(twice)

    stranger = Client()
    page = says(stranger.get(f"/s/{twice.code}/?PROLIFIC_PID=wanda&SESSION_ID=s2"))

    assert "resume code" in page
    assert again(stranger, twice).status_code == 401
    assert Participation.objects.count() == 1


def test_each_participation_is_paid_by_its_own_submission(twice: Study) -> None:
    save_panels(twice, [StudyPanel(panel="prolific", codes={"complete": "C0"})], closed_to=())
    client = Client()
    begin(client, twice, "PROLIFIC_PID=wanda&SESSION_ID=s1")
    talk(twice)

    assert "again/" not in says(client.get(f"/s/{twice.code}/thanks/"))
    assert "again from your panel" in says(again(client, twice))
    page = client.get(f"/s/{twice.code}/?PROLIFIC_PID=wanda&SESSION_ID=s2")
    carried = re.search(r'name="arrival" value="([^"]+)"', page.content.decode())
    assert carried
    assert again(client, twice, arrival=carried[1] + "x").status_code == 400
    assert Participation.objects.count() == 1
    assert again(client, twice, arrival=carried[1]).status_code == 302
    again(client, twice, arrival=carried[1])

    assert list(Participation.objects.order_by("number").values_list("submission", flat=True)) == ["s1", "s2"]


def test_consent_is_asked_again_only_if_its_text_has_changed(twice: Study, rex: User) -> None:
    client = Client()
    begin(client, twice)
    talk(twice)
    assert 'name="agree"' not in says(client.get(f"/s/{twice.code}/again/"))
    save_study(
        twice,
        owner=rex,
        consent_text="Another text.",
        targets={each.bot: each.target for each in twice.study_bots.all()},
    )

    assert "Another text." in says(client.get(f"/s/{twice.code}/again/"))
    assert again(client, twice).status_code == 422
    assert again(client, twice, agree="yes", consent="1").status_code == 422
    unticked = again(client, twice, consent="2")
    assert unticked.status_code == 422
    assert "To take part, please tick that you agree." in says(unticked)
    assert Participation.objects.count() == 1
    assert again(client, twice, agree="yes", consent="2").status_code == 302
    assert newest(twice).consent.number == 2


def test_each_participation_is_paid_once(twice: Study, rex: User) -> None:
    twice_done(Client(), twice)

    accounts = ledger.accounts(twice)
    assert [each.due for each in accounts] == [Decimal("3.00")] * 2
    assert ledger.pay(twice, total=Decimal("6.00"), by=rex) == 2
    assert [each.due for each in ledger.accounts(twice)] == [0, 0]


def test_reports_exports_and_bundles_know_one_worker(
    twice: Study, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    first, _second = twice_done(Client(), twice)
    begin(Client(), twice)
    talk(twice, [(True, True)])

    report = computed(twice)
    assert report.result
    assert report.result["bots"][0]["labels"] == 4
    sent = sign_in(rex).get(f"/studies/{twice.pk}/turns.csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(sent).decode())))
    assert len(rows) == 4  # none of them twice
    assert [row["rater"] for row in rows].count(first.pseudonym) == 3
    call_command("bundle", str(twice.pk), output=tmp_path / "bundle.zip")
    with zipfile.ZipFile(tmp_path / "bundle.zip") as archive:
        lines = archive.read("data/workers.jsonl").splitlines()
        about = json.loads(archive.read("study.json"))
    assert [json.loads(line)["rater"] for line in lines].count(first.pseudonym) == 1
    assert len(lines) == 2
    assert about["protocol"]["re_entry"] == "up_to"
    found = recompute(tmp_path / "bundle.zip")
    assert (found.differences, found.changed_files) == ([], [])
    assert "up to 2 times" in says(sign_in(rex).get(f"/studies/{twice.pk}/report/"))


def test_an_exclusion_covers_all_participations_and_prevents_re_entry(twice: Study, rex: User) -> None:
    Study.objects.update(re_entry_most=5)
    client = Client()
    first, _second = twice_done(client, twice)

    exclude(first.pk, reason="All alike", by=rex)

    assert set(Participation.objects.values_list("excluded_reason", flat=True)) == {"All alike"}
    assert again(client, twice, after=2).status_code == 409


def test_both_participations_can_be_excluded_at_the_same_time(twice: Study, rex: User) -> None:
    times = [each.pk for each in twice_done(Client(), twice)]

    def exclude_over_and_over(time: int) -> None:
        try:
            for number in range(25):
                exclude(time, reason=f"Time {time}, {number}", by=rex)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as people:
        list(people.map(exclude_over_and_over, times))  # raises what one of them raises

    [reason] = set(Participation.objects.filter(pk__in=times).values_list("excluded_reason", flat=True))
    assert reason in {f"Time {time}, 24" for time in times}


def test_withdrawal_covers_all_participations(twice: Study) -> None:
    client = Client()
    first, second = twice_done(client, twice)
    page = says(client.get(first.data_link))
    assert second.completion_code in page
    told = json.loads(client.get(f"{second.data_link}file/").content)
    assert [each["number"] for each in told["other_times"]] == [1]
    assert [len(each["pay"]) for each in (told, told["other_times"][0])] == [2, 2]

    client.post(f"{first.data_link}withdraw/", {"sure": "yes"})

    assert not Dialogue.objects.exists()
    assert not Label.objects.exists()
    assert Participation.objects.filter(withdrawal__isnull=False).count() == 2
    assert again(client, twice, after=2).status_code == 409
    # Both are still to be paid, for which the id is needed.
    assert not Participation.objects.exclude(erased_at=None).exists()


def test_erasure_waits_for_the_last_participation_and_covers_all(make_study: MakeStudy) -> None:
    study, other = (make_study(min_turns=2, max_turns=8, title=name, **TWICE) for name in ("One", "Two"))
    client = Client()
    first, second = twice_done(client, study)
    begin(client, other)
    long_ago = timezone.now() - timedelta(days=1000)
    Participation.objects.filter(study=study).update(consented_at=long_ago)
    Assignment.objects.filter(participation=first).update(ended_at=long_ago)

    assert erase_due() == 0
    Assignment.objects.filter(participation=second).update(ended_at=long_ago)
    assert erase_due() in (1, 2)

    rows = Participation.objects.filter(study=study)
    assert rows.exclude(erased_at=None).count() == 2
    (kept,) = set(rows.values_list("worker", flat=True))
    assert set(Label.objects.filter(study=study).values_list("rater", flat=True)) == {kept}
    assert Participation.objects.get(study=other).worker_id != kept
    assert Worker.objects.filter(pk=kept).exists()


@pytest.mark.parametrize(
    ("language", "sentence"),
    [("en", "as often as you can"), ("zh", "次数已达上限"), ("ar", "أقصى عدد مسموح به")],
)
def test_the_refusal_is_in_the_language_of_the_study(
    make_study: MakeStudy, language: str, sentence: str
) -> None:
    study = make_study(min_turns=2, max_turns=8, languages=[language], **TWICE)
    client = Client()
    twice_done(client, study)

    assert sentence in says(again(client, study, after=2))


@pytest.mark.parametrize(
    ("language", "sentence"), [("zh", "每个聊天机器人各谈过一次"), ("ar", "مرة مع كل منها")]
)
def test_a_worker_who_talked_with_every_chatbot_gets_an_explanation(
    make_study: MakeStudy, language: str, sentence: str
) -> None:
    study = make_study(min_turns=2, max_turns=8, languages=[language], re_entry="per_bot")
    client = Client()
    begin(client, study)
    talk(study)

    assert sentence in says(again(client, study))


def test_a_pilot_excludes_all_participations_of_its_workers(make_study: MakeStudy, rex: User) -> None:
    study = make_study(min_turns=2, max_turns=8, pilot_size=1, primary_analysis="without_excluded", **TWICE)
    client = Client()
    begin(client, study)
    talk(study)

    assert again(client, study).status_code == 403
    assert pilot.end_pilot(study.pk, by=rex) == 1
    assert again(client, study).status_code == 409


def test_only_chatbot_conversation_studies_allow_re_entry(make_study: MakeStudy) -> None:
    with pytest.raises(ValidationError, match="only where they talk with chatbots"):
        make_study(task="two_people", **TWICE)


def test_the_list_of_participants_numbers_participations_and_shows_all_flags(
    twice: Study, make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    _first, second = twice_done(Client(), twice)
    figures = {"unread": 3, "answers": 5}
    Flag.objects.create(participation=second, kind="unread", figures=figures, found_at=timezone.now())
    client = sign_in(rex)

    page = client.get(f"/studies/{twice.pk}/participants/")
    lines = b"".join(client.get(f"/studies/{twice.pk}/participants.csv")).decode()

    assert [each.number for each in page.context["rows"]] == [2, 1]
    text = page.content.decode()
    assert "Participation" in text
    assert text.count(describe_flag("unread", figures)) == 2
    assert [row["number"] for row in csv.DictReader(io.StringIO(lines))] == ["2", "1"]

    once = make_study({"other": 1})
    assert "Participation" not in client.get(f"/studies/{once.pk}/participants/").content.decode()
    assert "number" not in b"".join(client.get(f"/studies/{once.pk}/participants.csv")).decode()
