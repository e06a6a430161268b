"""Registering, changing, switching and trying bots on their pages."""

import json
import re
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Annotated, Any, Literal

import pytest
from django.db.models.functions import Now
from django.test import Client
from django.utils import timezone
from pydantic import Field, SecretStr

from chatbots import base, replies
from chatbots.bots.meena import SHIPPED
from chatbots.registry import REGISTRY
from tests.conftest import MakeStudy
from turnwise.accounts.models import User
from turnwise.bots import queries
from turnwise.bots.forms import BotForm, label_of
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot, BotCopy, BotRevision
from turnwise.bots.services import register_bot, share
from turnwise.studies.models import Study
from turnwise.studies.services import set_state

SignIn = Callable[[User], Client]
FORM = {"name": "parrot", "title": "Parrot", "setting-replies": "Hello!\nBye.", "setting-seconds": "0"}


class Everything(base.Bot):
    """Has a setting of every kind."""

    class Configuration(base.BotConfiguration):
        needed: str
        key: SecretStr | None = None
        mode: Literal["fast", "good"] = "good"
        top_k: int | None = Field(40, ge=1, description="Draw from so many.")
        numbers: tuple[Annotated[int, Field(ge=0)], ...] = (1, 2)
        extra: dict[str, object] = Field(default={}, examples=[{"a": 1}])
        polite: bool = True

    def respond(self, contexts):
        return [
            replies.Response(
                "yes",
                (replies.Candidate("yes", -1.5), replies.Candidate("no", -2.0)),
                replies.Usage(completion=1),
            )
            for _ in contexts
        ]


@pytest.fixture(autouse=True)
def _everything_is_a_kind() -> Iterator[None]:
    REGISTRY.registered_names()
    REGISTRY.register("everything")(Everything)
    yield
    del REGISTRY._classes["everything"]
    resident_bots.close()


@pytest.fixture
def rexs_bot(rex: User) -> Bot:
    settings = {"needed": "x", "key": "sesame"}
    return register_bot(name="every", title="Every", adapter="everything", configuration=settings, owner=rex)


def test_a_bot_is_registered_in_its_form(rex: User, sign_in: SignIn) -> None:
    response = sign_in(rex).post("/bots/new/scripted/", FORM)

    bot = Bot.objects.get()
    assert response.url == "/bots/parrot/"
    assert (bot.owner, bot.adapter, bot.title) == (rex, "scripted", "Parrot")
    assert bot.configuration["replies"] == ["Hello!", "Bye."]
    assert bot.revisions.get().number == 1


def test_a_bot_registered_a_moment_ago_is_not_yet_missed(rex: User, sign_in: SignIn, settings: Any) -> None:
    settings.BOTS_HERE = frozenset()
    client = sign_in(rex)

    fresh = client.post("/bots/new/scripted/", FORM, follow=True).content.decode()
    assert "It is being loaded; this page shows it within seconds." in fresh
    assert "Not hosted anywhere" not in fresh

    BotRevision.objects.update(made_at=timezone.now() - timedelta(minutes=1))
    later = client.get("/bots/parrot/").content.decode()
    assert "Not hosted anywhere" in later
    assert "No process has it loaded." in later


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"setting-seconds": "-3"}, "“Seconds” cannot be -3: give 0 or more."),
        ({"setting-seconds": "soon"}, "Enter a number"),
        ({"setting-fail_on": "1\nx"}, "“Fail on”, entry 2 cannot be &#x27;x&#x27;: give a whole number."),
        ({"name": "two words"}, "Use letters, digits"),
        ({"name": ""}, "This field is required"),
    ],
)
def test_a_wrong_setting_is_said_where_it_stands_and_nothing_is_stored(
    rex: User, sign_in: SignIn, changes: dict[str, str], said: str
) -> None:
    response = sign_in(rex).post("/bots/new/scripted/", FORM | changes)

    assert response.status_code == 422
    assert said in response.content.decode()
    assert not Bot.objects.exists()


def test_a_name_that_is_taken_is_refused(rex: User, rexs_bot: Bot, sign_in: SignIn) -> None:
    response = sign_in(rex).post("/bots/new/scripted/", FORM | {"name": "every"})

    assert response.status_code == 422
    assert "A bot is called &#x27;every&#x27; already" in response.content.decode()


def test_every_kind_of_setting_comes_out_of_the_form_as_it_went_in(db: None) -> None:
    sent = {
        "name": "e", "title": "E", "setting-needed": "x", "setting-key": "sesame", "setting-mode": "fast",
        "setting-top_k": "", "setting-numbers": "3\n4", "setting-extra": '{"b": [2]}',
    }  # fmt: skip

    form = BotForm("everything", sent)

    assert form.is_valid(), form.errors
    assert REGISTRY.configuration("everything", form.settings()).model_dump(mode="json") == {
        "needed": "x", "key": "**********", "mode": "fast", "top_k": None, "numbers": [3, 4],
        "extra": {"b": [2]}, "polite": False,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("adapter", "given", "taken"),
    [
        ("huggingface-causal", {"model": "a/b"}, {"revision": "main", "device": "cpu", "sha256": None}),
        ("hierarchical", {"checkpoint": "/no/such"}, {}),
        ("meena-base", {}, {"device": "cpu", "checkpoint": str(SHIPPED)}),
        (
            "http",
            {"url": "https://8.8.8.8/"},
            {"key_header": "Authorization", "key_prefix": "", "timeout": 60},
        ),
    ],
)
def test_a_setting_that_is_emptied_takes_its_default_unless_nothing_can_be_meant(
    adapter: str, given: dict[str, str], taken: dict[str, Any], db: None
) -> None:
    emptied = {name: "" for name in BotForm(adapter).fields if name.startswith("setting-")}
    named = {f"setting-{key}": value for key, value in given.items()}

    form = BotForm(adapter, emptied | named | {"name": "e", "title": "E"})

    if taken:
        assert form.is_valid(), form.errors
        found = REGISTRY.configuration(adapter, form.settings()).model_dump(mode="json")
        assert {key: found[key] for key in taken} == taken
    else:  # what is wrong is still said, and nothing else is
        assert [*form.errors] == ["setting-checkpoint"]


def test_a_device_of_no_known_name_is_refused_in_the_form_and_one_of_another_machine_is_not(db: None) -> None:
    sent = {"name": "d", "title": "D", "setting-choose": "best"}

    refused = BotForm("vhred", sent | {"setting-device": "foo"})

    assert refused.errors["setting-device"] == [
        "“Device” cannot be 'foo': give cpu, cuda, one of several GPUs such as cuda:1, or mps, xpu or hpu."
    ]
    assert BotForm("vhred", sent | {"setting-device": "cuda:7"}).is_valid()


def test_a_secret_is_shown_nowhere_and_stays_when_its_field_is_left_empty(
    rex: User, ada: User, rexs_bot: Bot, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    pages = ["/bots/", "/bots/every/", "/bots/every/edit/", "/bots/every/try/"]
    assert not any("sesame" in client.get(page).content.decode() for page in pages)
    admin = sign_in(ada).get(f"/admin/bots/bot/{rexs_bot.pk}/change/")
    assert admin.status_code == 200
    assert "sesame" not in admin.content.decode()

    client.post(
        "/bots/every/edit/",
        {"title": "Every", "setting-needed": "y", "setting-mode": "good", "setting-numbers": "1"},
    )

    rexs_bot.refresh_from_db()
    assert (rexs_bot.configuration["needed"], rexs_bot.configuration["key"]) == ("y", "sesame")


def test_a_secret_inside_a_wrapped_bot_is_masked_and_kept(rex: User, sign_in: SignIn) -> None:
    inner = {"adapter": "everything", "configuration": {"needed": "x", "key": "sesame"}}
    bot = register_bot(
        name="wrapped", title="W", adapter="repetition-filter", configuration={"bot": inner}, owner=rex
    )
    client = sign_in(rex)
    page = client.get("/bots/wrapped/edit/").content.decode()
    assert "sesame" not in page
    assert "**********" in page

    changed = inner | {"configuration": {"needed": "y", "key": "**********"}}
    client.post(
        "/bots/wrapped/edit/", {"title": "W", "setting-bot": json.dumps(changed), "setting-fallbacks": "Hm."}
    )

    bot.refresh_from_db()
    assert bot.configuration["bot"]["configuration"] == {"needed": "y", "key": "sesame"}


def test_a_change_is_a_new_revision_and_a_mere_title_is_not(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    client.post("/bots/new/scripted/", FORM)
    edited = {key: value for key, value in FORM.items() if key != "name"}

    client.post("/bots/parrot/edit/", edited | {"title": "Polly"})
    assert BotRevision.objects.count() == 1
    client.post("/bots/parrot/edit/", edited | {"setting-replies": "Squawk."})

    numbers = BotRevision.objects.values_list("number", "made_by__username", "configuration__replies")
    assert list(numbers) == [(2, "rex", ["Squawk."]), (1, "rex", ["Hello!", "Bye."])]


def test_a_title_changed_in_the_form_leaves_settings_that_a_program_left_out(
    rex: User, sign_in: SignIn
) -> None:
    bot = register_bot(
        name="sent", title="S", adapter="scripted", configuration={"replies": ["Hello!", "Bye."]}, owner=rex
    )
    edited = {key: value for key, value in FORM.items() if key != "name"}

    sign_in(rex).post("/bots/sent/edit/", edited | {"title": "Polly"})

    bot.refresh_from_db()
    assert (bot.title, bot.configuration) == ("Polly", {"replies": ["Hello!", "Bye."]})
    assert bot.revisions.count() == 1


def test_a_change_in_another_tab_is_not_undone_by_an_older_page(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    client.post("/bots/new/scripted/", FORM)
    edited = {key: value for key, value in FORM.items() if key != "name"} | {"revision": "1"}
    assert b'name="revision" value="1"' in client.get("/bots/parrot/edit/").content

    client.post("/bots/parrot/edit/", edited | {"setting-replies": "Squawk."})
    late = client.post("/bots/parrot/edit/", edited | {"title": "Polly"})

    assert late.status_code == 422
    assert "this is revision 1, the newest is 2" in late.content.decode()
    bot = Bot.objects.get()
    assert (bot.title, bot.configuration["replies"]) == ("Parrot", ["Squawk."])


def test_what_cannot_be_stored_is_said_at_its_setting(rex: User, sign_in: SignIn) -> None:
    sent = {"name": "odd", "title": "Odd", "setting-url": "https://bot.example.org/"}
    client = sign_in(rex)

    for template in ('{"a": "\\u0000"}', '{"a": NaN}'):
        page = client.post("/bots/new/http/", sent | {"setting-template": template})
        assert page.status_code == 422
        assert b"that can" in page.content
    assert not Bot.objects.exists()


def test_all_that_is_wrong_is_said_at_once(rex: User, sign_in: SignIn) -> None:
    sent = {"setting-base_url": "http://10.0.0.1/v1", "setting-timeout": "soon", "setting-api_key": "sk 1"}

    page = sign_in(rex).post("/bots/new/openai-chat/", sent).content.decode()

    assert page.count("This field is required.") == 3  # name, title, model
    for said in ("an admin adds its network", "Enter a number.", "Copy it again"):
        assert page.count(said) == 1
    assert "sk 1" not in page


def test_the_page_of_a_bot_that_cannot_be_loaded_says_what_to_do(
    rex: User, mallory: User, rexs_bot: Bot, sign_in: SignIn
) -> None:
    health = {"state": "failed", "last_error": "File of the bot\nOSError: no weights in /srv/m"}
    copy = BotCopy.objects.create(
        bot=rexs_bot, channel="x", host="gpu 7", state="failed", seen_at=Now(), health=health
    )
    share(rexs_bot, named=[mallory], open_to_all=False)
    advice = "the bot is loaded again when somebody tries it"

    own, others = (sign_in(each).get("/bots/every/").content.decode() for each in (rex, mallory))
    BotCopy.objects.filter(pk=copy.pk).update(state="ready", health=health | {"state": "ready"})
    ready = sign_in(rex).get("/bots/every/").content.decode()

    assert "OSError: no weights" in own
    assert "OSError: no weights" in ready  # the newest error of a request
    assert (advice in own, advice in others, advice in ready) == (True, False, False)


def test_labels_keep_their_abbreviations() -> None:
    labels = [label_of({"title": title}) for title in ("API key", "Fail On", "Base URL", "Top-k")]

    assert labels == ["API key", "Fail on", "Base URL", "Top-k"]


def test_a_bot_cannot_have_the_address_of_another_page(rex: User, sign_in: SignIn) -> None:
    page = sign_in(rex).post("/bots/new/scripted/", FORM | {"name": "new"})

    assert page.status_code == 422
    assert "is the address of another page" in page.content.decode()


def test_admins_look_at_versions_but_make_none(ada: User, sign_in: SignIn) -> None:
    client = sign_in(ada)

    assert client.get("/admin/bots/botversion/").status_code == 200
    assert client.get("/admin/bots/botversion/add/").status_code == 403


def test_others_may_use_a_shared_bot_but_not_change_it(mallory: User, rexs_bot: Bot, sign_in: SignIn) -> None:
    share(rexs_bot, named=[mallory], open_to_all=False)
    client = sign_in(mallory)

    assert client.get("/bots/every/").status_code == 200
    assert b"/bots/every/edit/" not in client.get("/bots/every/").content
    assert client.get("/bots/every/edit/").status_code == 404
    assert client.post("/bots/every/active/", {"active": "no"}).status_code == 404
    rexs_bot.refresh_from_db()
    assert rexs_bot.active


def test_who_switches_a_bot_off_learns_which_open_studies_have_it(
    ada: User, make_study: MakeStudy, sign_in: SignIn
) -> None:
    make_study({"ann": 5}, title="One")
    make_study({"ann": 5}, title="Two")
    set_state(make_study({"ann": 5}, title="Closed").pk, Study.State.CLOSED)
    make_study({"bob": 5}, title="Another")
    client = sign_in(ada)

    page = client.post("/bots/ann/active/", {"active": "no"}, follow=True).content.decode()

    assert "2 open studies have it and send nobody new to it." in page
    page = client.post("/bots/ann/active/", {"active": "yes"}, follow=True).content.decode()
    assert "open studies have it" not in page


def test_nobody_sees_bots_without_signing_in(rexs_bot: Bot) -> None:
    for page in ("/bots/", "/bots/new/", "/bots/every/", "/bots/every/try/"):
        response = Client().get(page)
        assert response.status_code == 302
        assert response.url.startswith("/sign-in/")


@pytest.mark.django_db(transaction=True)
def test_a_trial_shows_the_reply_with_its_candidates_and_stores_nothing(
    rex: User, rexs_bot: Bot, sign_in: SignIn
) -> None:
    response = sign_in(rex).post(
        "/bots/every/try/reply/",
        json.dumps({"turns": ["Hi", "Hello", "Well?"], "seed": 3}),
        "application/json",
    )

    body = response.json()
    assert response.status_code == 200
    assert (body["text"], body["usage"]["completion"], body["seed"]) == ("yes", 1, 3)
    assert body["candidates"] == [{"text": "yes", "score": -1.5}, {"text": "no", "score": -2.0}]
    assert body["version"] == rexs_bot.versions.get().pk


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("reply", "markdown", "warns"),
    [
        ("**Yes**, and `no`.", False, True),
        ("**Yes**, and `no`.", True, False),
        ("| a |\n|---|\n| b |", False, True),
        ("Yes: 2 * 3 * 4 costs $5 or $6.", False, False),
    ],
)
def test_a_trial_warns_of_markdown_that_workers_see_as_written(
    reply: str, markdown: bool, warns: bool, make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study = make_study(script={"replies": [reply]}, markdown=markdown)
    bot = study.study_bots.get().bot

    response = sign_in(rex).post(
        f"/bots/{bot.name}/try/reply/", json.dumps({"turns": ["Hi"]}), "application/json"
    )

    assert response.json()["unformatted"] is warns


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("x", "not JSON"),
        ("[]", "Send an object"),
        ("[" * 100_000, "not JSON"),
        ('{"turns": ["\\ud83d"]}', "nothing to answer"),
        ('{"turns": []}', "one or more texts"),
        ('{"turns": [3]}', "one or more texts"),
        ('{"turns": ["  "]}', "nothing to answer"),
        ('{"turns": ["Hi"], "seed": -1}', "whole number"),
        ('{"turns": ["Hi"], "seed": true}', "whole number"),
        (json.dumps({"turns": ["x" * 32_001]}), "32000 characters"),
        (json.dumps({"turns": ["x"] * 201}), "200 texts"),
    ],
)
def test_an_unusable_trial_says_what_to_send(
    rex: User, rexs_bot: Bot, sign_in: SignIn, sent: str, said: str
) -> None:
    response = sign_in(rex).post("/bots/every/try/reply/", sent, "application/json")

    assert response.status_code == 422
    assert said in response.json()["error"]


def test_bots_are_listed_by_kind(rex: User, rexs_bot: Bot, sign_in: SignIn) -> None:
    filtered = {"bot": {"adapter": "eliza", "configuration": {}}}
    for name, adapter, settings in (
        ("parrot", "scripted", {}),
        ("far", "http", {"url": "https://bot.example/reply"}),
        ("quiet", "repetition-filter", filtered),
    ):
        register_bot(name=name, title=name.title(), adapter=adapter, configuration=settings, owner=rex)

    page = sign_in(rex).get("/bots/").content.decode()

    told = re.findall(r'scope="rowgroup"[^>]*>([^<]+?) <|scope="row"><a[^>]*>([^<]+)<', page)
    assert ["".join(each) for each in told] == [
        "Services", "Far", "Models on this machine", "Every", "Classic", "Parrot",
        "Wrappers and ensembles", "Quiet",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        (["every", "hidden"], "There is no bot “hidden” that you can ask now."),
        (["every", "off"], "There is no bot “off” that you can ask now."),
        (["every"], "Tick a second bot"),
        (["every", "b1", "b2", "b3", "b4"], "5 bots are ticked; at most 4 are asked at once."),
    ],
    ids=lambda value: str(value)[:20],
)
def test_who_asks_several_bots_asks_those_they_may_and_no_more_than_they_can(
    rex: User, mallory: User, rexs_bot: Bot, sign_in: SignIn, asked: list[str], says: str
) -> None:
    register_bot(name="hidden", title="Hidden", adapter="scripted", owner=mallory)
    register_bot(name="off", title="Off", adapter="scripted", owner=rex)
    Bot.objects.filter(name="off").update(active=False)
    for n in range(1, 5):
        register_bot(name=f"b{n}", title=f"B{n}", adapter="scripted", owner=rex)

    answer = sign_in(rex).get("/bots/side-by-side/", {"bot": asked})

    page = answer.content.decode()
    assert answer.status_code == 422
    assert says in page
    assert 'id="say"' not in page
    assert "Hidden" not in page
    assert 'value="hidden"' not in page


def test_a_long_list_of_bots_has_pages_and_can_be_searched(
    rex: User, rexs_bot: Bot, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(queries, "PER_PAGE", 3)
    for name in ("delta", "alpha", "charlie", "bravo"):
        register_bot(name=name, title=name.title(), adapter="scripted", owner=rex)
    Bot.objects.filter(name="alpha").update(active=False)
    client = sign_in(rex)

    pages = [client.get(f"/bots/{query}").content.decode() for query in ("", "?page=2", "?find=RAV")]

    told = [re.findall(r'scope="row"><a[^>]*>([^<]+)<', page) for page in pages]
    # rexs_bot is a model; the others are classic, and their group says how many it has in all.
    assert told == [["Every", "Alpha", "Bravo"], ["Charlie", "Delta"], ["Bravo"]]
    assert all('Classic <span class="soft">4</span>' in page for page in pages[:2])
    assert "Switched off" in pages[0] and "Switched off" not in pages[1]  # noqa: PT018
    assert "No bot is called" in client.get("/bots/?find=zebra").content.decode()


def test_a_secret_is_asked_for_again_where_the_form_comes_back(rex: User, sign_in: SignIn) -> None:
    client, again = sign_in(rex), "Enter it again: what you entered was not kept."
    form = {"name": "mine", "title": "", "setting-needed": "x", "setting-key": "sesame"}

    page = client.post("/bots/new/everything/", form).content.decode()
    without = client.post("/bots/new/everything/", form | {"setting-key": ""}).content.decode()

    assert again in page
    assert "sesame" not in page
    assert again not in without


def test_settings_that_must_be_given_stand_first(db: None) -> None:
    fields = [field.name for field in BotForm("openai-chat").setting_fields()]

    assert fields[:3] == ["setting-base_url", "setting-model", "setting-api_key"]


def test_what_most_leave_as_it_is_is_folded_unless_it_is_wrong_or_changed(rex: User, sign_in: SignIn) -> None:
    client, folded = sign_in(rex), '<details class="fold">'
    usual = {"method": "POST", "template": '{"text": "{{text}}"}', "reply": "/reply", "key_header": "X-Key"}
    form = {f"setting-{key}": value for key, value in usual.items()}
    form |= {
        "name": "mine",
        "title": "Mine",
        "setting-url": "https://bot.example.org/",
        "setting-timeout": "60",
    }

    empty = client.get("/bots/new/http/").content.decode()
    wrong = client.post("/bots/new/http/", form | {"setting-timeout": "-1"}).content.decode()
    client.post("/bots/new/http/", form | {"setting-retries": "7", "setting-parallel": "64"})
    edited = client.get("/bots/mine/edit/").content.decode()

    assert empty.index('name="setting-reply"') < empty.index(folded) < empty.index('name="setting-retries"')
    assert '<details class="fold" open>' in wrong
    assert edited.index('name="setting-retries"') < edited.index(folded) < edited.index("setting-timeout")


@pytest.mark.parametrize(
    ("adapter", "setting", "said"),
    [
        (
            "openai-chat",
            {"base_url": "localhost:1"},
            "cannot be &#x27;localhost:1&#x27;: it is not an address",
        ),
        (
            "huggingface-causal",
            {"sha256": "abc"},
            "“Expected hash” cannot be &#x27;abc&#x27;: give the 64 digits and letters from a to f",
        ),
        ("best-of-several", {"scorer": "best"}, "it is none of likelihood, overlap, nor a class of the lab"),
        (
            "router",
            {"rules": "rain eliza"},
            "“Rules”: &#x27;rain eliza&#x27; is not a rule. Write words, a colon",
        ),
    ],
)
def test_what_is_wrong_with_a_setting_is_a_sentence(
    adapter: str, setting: dict[str, str], said: str, rex: User, sign_in: SignIn
) -> None:
    inside = [register_bot(name=name, title=name, adapter="generic", configuration={}) for name in ("a", "b")]
    share(inside[0], named=[], open_to_all=True)
    share(inside[1], named=[], open_to_all=True)
    form = {"name": "mine", "title": "Mine", "setting-model": "m", "setting-bots": ["a@1", "b@1"]}

    page = sign_in(rex).post(
        f"/bots/new/{adapter}/", form | {f"setting-{key}": text for key, text in setting.items()}
    )

    assert said in page.content.decode()
