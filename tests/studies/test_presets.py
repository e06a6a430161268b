"""A new study begins as a published protocol has it, and its report then finds nothing to remark."""

import json
import re
from html import unescape
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from evaluation.protocols import protocols
from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, talked
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.bots.services import register_bot
from turnwise.exports.bundle import describe_study
from turnwise.reports.page import published_of
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import ReplyDisplay, Study
from turnwise.studies.presets import PRESETS, Preset
from turnwise.studies.services import save_study
from turnwise.studies.tasks import task_of, tasks


def sent(page: str) -> dict[str, str]:
    """What a browser would send of the form without a change."""
    fields = dict(re.findall(r'<input[^>]*name="([^"]+)"[^>]*value="([^"]*)"', page))
    ticked = re.findall(r'<input type="checkbox"[^>]*name="([^"]+)"[^>]*checked', page)
    boxes = set(re.findall(r'<input type="checkbox"[^>]*name="([^"]+)"', page))
    chosen = {
        name: found.group(1)
        for name, options in re.findall(r'<select[^>]*name="([^"]+)"[^>]*>(.*?)</select>', page, re.S)
        if (found := re.search(r'<option value="([^"]*)" selected', options))
        or (found := re.search(r'<option value="([^"]*)"', options))  # as a browser does
    }
    written = re.findall(r'<textarea[^>]*name="([^"]+)"[^>]*>\s*(.*?)</textarea>', page, re.S)
    fields |= {name: unescape(text) for name, text in written}
    kept = {name: value for name, value in fields.items() if name not in boxes}
    return kept | chosen | dict.fromkeys(ticked, "on")


PUBLISHED = [preset for preset in PRESETS if preset.asks]


@pytest.mark.parametrize("preset", PUBLISHED, ids=lambda preset: preset.protocol)
def test_the_form_sent_as_it_is_makes_a_study_of_the_protocol(
    rex: User, sign_in: SignIn, preset: Preset
) -> None:
    register_bot(name="scripty", title="Scripty", adapter="scripted", configuration={"replies": ["Go on."]})
    browser: Client = sign_in(rex)
    address = f"/studies/new/?protocol={preset.protocol}"
    page = browser.get(address).content.decode()

    made = browser.post(
        address, sent(page) | {"title": "New", "consent_text": "Yes?", "opening_text": preset_opening(preset)}
    )

    assert made.status_code == 302, made.content.decode()
    study = Study.objects.get()
    assert study.task == preset.task
    assert study.protocol == preset.protocol
    assert [ask.declared for ask in study.asks.all()] == list(preset.asks)
    for name, value in preset.fields.items():
        assert getattr(study, name) == value
    assert study.question_set in protocols()[preset.protocol].question_sets


def preset_opening(preset: Preset) -> str:
    return str(preset.fields.get("opening_text", "Hi!"))


def test_the_page_of_a_new_study_offers_presets(rex: User, sign_in: SignIn) -> None:
    page = sign_in(rex).get("/studies/new/").content.decode()

    for preset in PUBLISHED:
        assert f'?protocol={preset.key}">{preset.title}<' in page


def test_a_custom_design_follows_no_protocol(rex: User, sign_in: SignIn) -> None:
    register_bot(name="scripty", title="Scripty", adapter="scripted", configuration={"replies": ["Go on."]})
    browser, address = sign_in(rex), "/studies/new/?protocol=empty&task=judging"
    page = browser.get(address).content.decode()

    given = {"title": "New", "consent_text": "Yes?", "asks-0-question_set": "ssa"}
    made = browser.post(address, sent(page) | given)

    assert made.status_code == 302, made.content.decode()
    study = Study.objects.get()
    assert (study.task, study.protocol) == ("judging", "")


def test_a_protocol_can_be_chosen_and_left_until_the_study_opens(rex: User, sign_in: SignIn) -> None:
    study = save_study(
        Study(title="New", languages=["en"]), owner=rex, consent_text="Yes?", targets={}, asks=None
    )
    browser, address = sign_in(rex), f"/studies/{study.pk}/edit/"

    browser.post(address, sent(browser.get(address).content.decode()) | {"protocol": "meena-interactive"})
    study.refresh_from_db()
    assert study.protocol == "meena-interactive"
    # A program that sends nothing of it leaves it.
    fields = sent(browser.get(address).content.decode())
    browser.post(address, {name: value for name, value in fields.items() if name != "protocol"})
    study.refresh_from_db()
    assert study.protocol == "meena-interactive"

    page = browser.post(address, fields | {"protocol": "meena-static"}).content.decode()
    assert "Select a valid choice" in page

    Study.objects.filter(pk=study.pk).update(state="open")
    browser.post(address, fields | {"protocol": ""})
    study.refresh_from_db()
    assert study.protocol == "meena-interactive"


def test_a_protocol_of_another_task_is_refused_with_those_that_fit(rex: User) -> None:
    study = Study(title="New", languages=["en"], task="pairs", protocol="meena-static")

    with pytest.raises(ValidationError, match=r"cannot be made by “meena-static”.*neural.chat") as refused:
        save_study(study, owner=rex, consent_text="Yes?", targets={})
    assert "protocol" in refused.value.message_dict


@pytest.mark.django_db(transaction=True)
def test_a_study_keeps_its_protocol_with_further_asks(make_study: MakeStudy) -> None:
    """Nothing of its questions says that it was made by the protocol; its report still names what departs."""
    asks = [
        AskSpec("likert", About.DIALOGUE, Moment.AT_END),
        AskSpec("votes", About.PARTNER_TURN, Moment.EACH_TURN),
    ]
    study = make_study(asks=asks, protocol="meena-interactive")

    result = computed(study).result

    assert result
    assert (result["protocol_key"], result["level"]) == ("meena-interactive", 0.95)
    assert (
        "Workers answer the questions “likert”; in the paper sensibleness and specificity alone."
        in (result["deviations"])
    )
    assert any(each.startswith("This study also asks “") for each in result["deviations"])
    assert published_of(study, study.question_set) is None  # it scored systems on other questions


@pytest.mark.django_db(transaction=True)
def test_the_report_of_a_custom_design_checks_no_protocol(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study = make_study(protocol="", min_turns=2)
    talked(study, [(True, True)])

    result = computed(study).result

    assert result
    assert (result["protocol"], result["deviations"]) == ("", [])
    page = sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()
    assert "there is no protocol to compare it with" in page
    assert "XiaoIce" not in page


def called(user: User, method: str, address: str, body: object = None) -> Any:
    return Client().generic(
        method,
        address,
        "" if body is None else json.dumps(body),
        content_type="application/json",
        HTTP_AUTHORIZATION=f"Bearer {credentials.create_token(user, 'test')}",
    )


@pytest.mark.parametrize("preset", PRESETS, ids=lambda preset: preset.key)
def test_the_api_creates_a_draft_of_each_preset(rex: User, sign_in: SignIn, preset: Preset) -> None:
    listed = {each["key"]: each for each in called(rex, "GET", "/api/presets").json()}
    assert listed[preset.key]["title"] == preset.title
    made = called(rex, "POST", "/api/studies", {"title": "By API", "preset": preset.key})

    assert made.status_code == 201, made.content
    study = Study.objects.get(code=made.json()["code"])
    assert (study.protocol, study.state, study.owner) == (preset.protocol, "draft", rex)
    assert [ask.declared for ask in study.asks.all()] == list(preset.asks or task_of(study).asks)
    asked = called(rex, "GET", f"/api/studies/{study.code}/asks").json()
    assert listed[preset.key]["asks"] == listed[preset.key]["tasks"][study.task] == asked
    browser = sign_in(rex)
    for page in ("", "edit/", "opening/"):
        assert browser.get(f"/studies/{study.pk}/{page}").status_code == 200


def test_the_analysis_is_declared_by_the_api(rex: User) -> None:
    plan = {"primary_analysis": "without_excluded", "exclusion_rules": "Too fast", "margin": 4.5}

    made = called(rex, "POST", "/api/studies", {"title": "By API", "preset": "meena-interactive"} | plan)

    study = Study.objects.get(code=made.json()["code"])
    assert {name: getattr(study, name) for name in plan} == plan


TALK = {
    "reply_display": "fixed_pace",
    "reply_pace": 45,
    "may_stop_replies": True,
    "takes_pictures": True,
}


def test_how_replies_appear_is_chosen_by_the_api_and_in_the_bundle(rex: User) -> None:
    made = called(rex, "POST", "/api/studies", {"title": "By API", "preset": "meena-interactive"} | TALK)

    study = Study.objects.get(code=made.json()["code"])
    assert {name: getattr(study, name) for name in TALK} == TALK
    assert TALK.items() <= describe_study(study)["protocol"].items()
    assert task_of(study).protocol(study)["Replies appear"] == (
        "At the same pace for all bots, 45 characters per second; workers can stop them"
    )
    assert task_of(study).protocol(study)["Pictures"] == "people may send one with a message"


@pytest.mark.parametrize(
    "sent",
    [{"reply_display": "slowly"}, {"reply_pace": 5}, {"reply_pace": 2001}, {"may_stop_replies": "maybe"}],
)
def test_the_api_refuses_an_unknown_way_in_which_replies_appear(rex: User, sent: dict[str, object]) -> None:
    made = called(rex, "POST", "/api/studies", {"title": "By API", "preset": "meena-interactive"} | sent)

    assert made.status_code == 422
    assert not Study.objects.filter(title="By API").exists()


def test_the_api_refuses_growing_replies_where_nobody_talks_with_chatbots(rex: User) -> None:
    made = called(rex, "POST", "/api/studies", {"title": "By API", "task": "judging"} | TALK)

    assert made.status_code == 422
    assert "Nobody talks with chatbots in it" in made.content.decode()


def test_every_preset_shows_replies_when_they_are_complete() -> None:
    assert {preset.study().reply_display for preset in PRESETS} == {ReplyDisplay.WHEN_DONE}


@pytest.mark.parametrize("task", [task.key for task in tasks()])
def test_the_api_creates_a_custom_design_of_each_task(rex: User, sign_in: SignIn, task: str) -> None:
    made = called(rex, "POST", "/api/studies", {"title": "By API", "task": task})

    assert made.status_code == 201, made.content
    study = Study.objects.get(code=made.json()["code"])
    assert (study.protocol, study.task) == ("", task)
    (empty,) = (each for each in called(rex, "GET", "/api/presets").json() if each["key"] == "empty")
    assert empty["tasks"][task] == called(rex, "GET", f"/api/studies/{study.code}/asks").json()
    browser = sign_in(rex)
    for page in ("", "edit/", "opening/"):
        assert browser.get(f"/studies/{study.pk}/{page}").status_code == 200


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"preset": "meena"}, "no preset “meena”. There are: empty, meena-interactive"),
        ({"task": "singing"}, "cannot have the task “singing”, only: conversation"),
        ({"preset": "meena-static", "task": "pairs"}, "cannot have the task “pairs”, only: judging"),
        ({"margin": 500}, "less than or equal to 100"),
        ({"primary_analysis": "best"}, "The request is not as"),
        ({"task": "writing", "margin": 5}, "asks nothing, so leave out margin"),
    ],
)
def test_the_api_names_the_valid_choices(rex: User, sent: dict[str, object], said: str) -> None:
    answer = called(rex, "POST", "/api/studies", {"title": "X"} | sent)

    assert answer.status_code == 422
    assert said in answer.json()["detail"]
    assert [each["field"] for each in answer.json()["errors"]] == [[*sent][-1]]
    assert not Study.objects.exists()
