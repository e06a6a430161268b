"""A bot is its owner's alone until it is shared: on every page, in the API, in forms, bundles and health."""

import json
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from tests.planted import SignIn
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot
from turnwise.bots.queries import visible_bots
from turnwise.bots.services import outside_system, register_bot, share, version_of
from turnwise.exports.bundle import describe_study
from turnwise.responses.views import RunForm
from turnwise.studies.models import Study, StudyBot
from turnwise.studies.services import save_study
from turnwise.tasks.conversation.talk_task import ConversationPage
from turnwise.tasks.self_play.task import SelfPlayPlanForm

PROMPT = "You are the secret prototype of our lab"


@pytest.fixture
def secret(rex: User) -> Bot:
    """A bot of Rex that he shares with nobody."""
    settings = {"replies": [PROMPT]}
    return register_bot(
        name="prototype", title="Prototype", adapter="scripted", configuration=settings, owner=rex
    )


@pytest.fixture
def mallorys_study(mallory: User, secret: Bot) -> Study:
    """Mallory's, with the bot of Rex, as if it had been shared for a while."""
    study = Study(title="Hers", languages=["en"])
    return save_study(study, owner=mallory, consent_text="You talk.", targets={secret: 5})


def names(user: User) -> set[str]:
    return set(visible_bots(user).values_list("name", flat=True))


def test_a_bot_is_its_owners_and_the_admins_until_it_is_shared(
    secret: Bot, rex: User, ada: User, mallory: User
) -> None:
    register_bot(name="eliza", title="ELIZA", adapter="eliza")

    assert [names(user) for user in (rex, ada, mallory)] == [
        {"eliza", "prototype"},
        {"eliza", "prototype"},
        {"eliza"},
    ]

    share(secret, named=[mallory], open_to_all=False)
    assert names(mallory) == {"eliza", "prototype"}

    share(secret, named=[], open_to_all=False)
    assert names(mallory) == {"eliza"}

    share(secret, named=[], open_to_all=True)
    assert names(mallory) == {"eliza", "prototype"}


def test_a_bot_whose_owner_has_gone_is_everybodys_no_more_than_before(
    secret: Bot, rex: User, mallory: User, ada: User
) -> None:
    rex.delete()

    assert (names(mallory), names(ada)) == (set(), {"prototype"})


def test_a_system_elsewhere_is_seen_by_whoever_has_conversations_of_it(
    mallorys_study: Study, mallory: User, rex: User
) -> None:
    StudyBot.objects.create(study=mallorys_study, bot=outside_system("Unpublished 2027"), target=0)

    assert names(mallory) == {"unpublished-2027"}
    assert names(rex) == {"prototype"}


def test_no_page_tells_another_researcher_that_there_is_such_a_bot(
    secret: Bot, mallory: User, sign_in: SignIn
) -> None:
    client = sign_in(mallory)
    pages = [reverse(f"bots:{name}", args=["prototype"]) for name in ("bot", "try", "edit")]
    pages += [reverse("judging:bot", args=["prototype"]), reverse("comparisons:bot", args=["prototype"])]

    assert {client.get(page).status_code for page in pages} == {404}
    asked = client.post(
        "/bots/prototype/try/reply/", json.dumps({"turns": ["Hi"]}), content_type="application/json"
    )
    assert asked.status_code == 404
    for page in ("/bots/", "/studies/new/conversation/"):
        content = client.get(page).content.decode()
        assert "rototype" not in content
    assert "prototype" not in client.get("/readyz").content.decode()


def test_no_call_of_the_api_does_either(secret: Bot, mallory: User) -> None:
    client = Client(headers={"Authorization": f"Bearer {credentials.create_token(mallory, 'probe')}"})

    assert client.get("/api/bots").json() == []
    for path in ("", "/versions", "/health"):
        assert client.get(f"/api/bots/prototype{path}").status_code == 404
    answer = client.post("/api/bots/prototype/reply", {"turns": ["Hi"]}, content_type="application/json")
    assert answer.status_code == 404
    assert answer.json()["detail"].startswith("There is no such thing")


def test_nobody_can_choose_a_bot_that_they_may_not_see(secret: Bot, mallory: User, rex: User) -> None:
    def choosable(user: User) -> set[Any]:
        page = ConversationPage(user, Study(task="conversation"))
        return {form.initial["bot"] for form in page.bots.rows.forms}

    assert (choosable(rex), choosable(mallory)) == ({secret.pk}, set())
    assert not RunForm(mallory).fields["bot"].queryset.exists()  # a choice
    plan = SelfPlayPlanForm(mallory, Study(task="self_play", state=Study.State.DRAFT))
    assert not plan.fields["first"].queryset.exists()  # a choice
    sent = {
        "bots-TOTAL_FORMS": "1", "bots-INITIAL_FORMS": "0", "bots-0-bot": str(secret.pk),
        "bots-0-chosen": "on", "bots-0-target": "5",
    }  # fmt: skip
    forged = ConversationPage(mallory, Study(task="conversation"), sent)
    assert not forged.bots.is_valid()


def test_who_reads_a_study_sees_the_title_and_nothing_else(
    mallorys_study: Study, secret: Bot, mallory: User, rex: User, sign_in: SignIn
) -> None:
    """The bundle of the study, too; Rex's own has everything."""
    version = version_of(secret, {"adapter": "scripted", "configuration": {"replies": [PROMPT]}})
    client = sign_in(mallory)

    history = client.get(reverse("comparisons:bot", args=["prototype"])).content.decode()
    study = client.get(f"/studies/{mallorys_study.pk}/edit/").content.decode()
    in_her_bundle = describe_study(mallorys_study)["bots"][0]
    mallorys_study.owner = rex
    in_his_bundle = describe_study(mallorys_study)["bots"][0]

    assert "Prototype" in history
    assert "Prototype" in study
    assert PROMPT not in history + study
    assert PROMPT not in json.dumps(in_her_bundle)
    assert PROMPT in json.dumps(in_his_bundle["configuration"])
    for bot in (in_her_bundle, in_his_bundle):
        assert bot["versions"][0]["fingerprint"] == version.fingerprint


def test_another_researcher_measures_no_perplexity_of_it(
    mallorys_study: Study, secret: Bot, mallory: User, sign_in: SignIn
) -> None:
    version = version_of(secret, {"adapter": "scripted"})
    address = reverse("comparisons:bot_perplexity", args=["prototype", version.pk])

    answer = sign_in(mallory).post(
        address, {f"{version.pk}-perplexity": "7", f"{version.pk}-measured_on": "x"}
    )

    version.refresh_from_db()
    assert (answer.status_code, version.perplexity) == (404, None)


# --- who shares ------------------------------------------------------------------------------------


FORM = {"title": "Prototype", "setting-replies": PROMPT, "setting-seconds": "0", "revision": "1"}


def test_its_owner_shares_it_by_name_in_its_form(
    secret: Bot, rex: User, mallory: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)

    client.post("/bots/prototype/edit/", FORM | {"shared_with": " mallory ,"})
    page = sign_in(mallory).get("/bots/prototype/")
    again = client.get("/bots/prototype/edit/").content.decode()

    assert page.status_code == 200
    assert "mallory and its owner" in page.content.decode()
    assert 'value="mallory"' in again
    assert sign_in(mallory).get("/bots/prototype/edit/").status_code == 404


def test_a_name_that_nobody_has_is_said_and_nothing_is_changed(
    secret: Bot, rex: User, mallory: User, sign_in: SignIn
) -> None:
    answer = sign_in(rex).post(
        "/bots/prototype/edit/", FORM | {"title": "New", "shared_with": "mallory, malory"}
    )

    secret.refresh_from_db()
    assert answer.status_code == 422
    assert "Nobody signs in here as “malory”" in answer.content.decode()
    assert (secret.title, secret.shared_with.count()) == ("Prototype", 0)


def test_the_api_registers_and_shares(rex: User, mallory: User) -> None:
    client = Client(headers={"Authorization": f"Bearer {credentials.create_token(rex, 'mine')}"})
    bot = {"name": "p", "title": "P", "adapter": "scripted", "configuration": {"replies": ["Hi"]}}

    made = client.post(
        "/api/bots", bot | {"shared_with": ["mallory"]}, content_type="application/json"
    ).json()
    opened = client.patch("/api/bots/p", {"open_to_all": True}, content_type="application/json").json()
    wrong = client.patch("/api/bots/p", {"shared_with": ["nobody"]}, content_type="application/json")
    resident_bots.close()

    assert (made["owner"], made["open_to_all"], made["shared_with"]) == ("rex", False, ["mallory"])
    assert (opened["open_to_all"], opened["shared_with"]) == (True, ["mallory"])
    assert wrong.status_code == 422
    assert "nobody" in wrong.json()["detail"]
