"""Registered bots inside wrappers and ensembles: chosen from a list, pinned, and nobody else's secrets."""

from collections.abc import Callable, Iterator

import pytest
from django.test import Client

from chatbots.errors import ChatbotError
from turnwise.accounts.models import User
from turnwise.bots import composition
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot
from turnwise.bots.queries import can_sample, masked_settings
from turnwise.bots.services import change_bot, register_bot, share
from turnwise.exports.bundle import describe_bot

SignIn = Callable[[User], Client]
FORM = {"name": "team", "title": "Team", "setting-seconds": "8"}


@pytest.fixture(autouse=True)
def _nothing_stays_hosted() -> Iterator[None]:
    yield
    resident_bots.close()


def scripted(name: str, owner: User | None, said: str = "Hm.") -> Bot:
    settings = {"replies": [said]}
    return register_bot(
        name=name, title=name.title(), adapter="scripted", configuration=settings, owner=owner
    )


def team(owner: User, *inside: object, name: str = "team", adapter: str = "vote") -> Bot:
    settings = {"bots": list(inside)}
    return register_bot(name=name, title=name.title(), adapter=adapter, configuration=settings, owner=owner)


def named(name: str, revision: int | None = None) -> dict[str, object]:
    return {"registered": name} | ({"revision": revision} if revision else {})


@pytest.mark.django_db(transaction=True)
def test_an_ensemble_is_made_of_registered_bots_in_its_form_and_says_who_spoke(
    rex: User, sign_in: SignIn
) -> None:
    scripted("cat", rex, "I am a cat.")
    scripted("dog", rex, "I am a dog.")
    client = sign_in(rex)
    page = client.get("/bots/new/router/").content.decode()
    assert 'value="cat@1"' in page
    assert "Cat \N{EN DASH} cat, v1" in page
    sent = FORM | {"setting-bots": ["cat@1", "dog@1"], "setting-rules": "bone: dog"}

    response = client.post("/bots/new/router/", sent)

    assert response.url == "/bots/team/", response.content.decode()
    bot = Bot.objects.get(name="team")
    assert bot.configuration["bots"] == [named("cat", 1), named("dog", 1)]
    assert "cat v1, dog v1" in client.get("/bots/team/").content.decode()
    said = client.post(
        "/bots/team/try/reply/", {"turns": ["A bone!"], "seed": 1}, content_type="application/json"
    ).json()
    assert (said["text"], said["remarks"]) == ("I am a dog.", ["router: dog spoke (rule: bone)"])


def test_a_wrapper_takes_a_registered_bot_from_the_list(rex: User, sign_in: SignIn) -> None:
    scripted("cat", rex)
    page = sign_in(rex).get("/bots/new/repetition-filter/").content.decode()
    assert '<option value="cat@1">Cat \N{EN DASH} cat, v1</option>' in page
    sent = {"name": "w", "title": "W", "setting-bot": "cat@1", "setting-fallbacks": "Oh."}

    sign_in(rex).post("/bots/new/repetition-filter/", sent)

    assert Bot.objects.get(name="w").configuration["bot"] == named("cat", 1)


@pytest.mark.parametrize(
    ("chosen", "said"),
    [
        ([], "This field is required"),
        (["cat@1"], "give at least 2"),
        (
            ["cat@1", "hers@1"],
            "“Bots” cannot be &#x27;hers&#x27;: there is no such bot that you can use. Choose another.",
        ),
        (["cat@1", "cat@9"], "“Bots” cannot be &#x27;cat v9&#x27;: its revisions go from 1 to 1."),
    ],
)
def test_a_wrong_choice_is_said_at_the_list_and_nothing_is_stored(
    rex: User, ada: User, sign_in: SignIn, chosen: list[str], said: str
) -> None:
    scripted("cat", rex)
    scripted("hers", ada)

    response = sign_in(rex).post("/bots/new/vote/", FORM | {"setting-bots": chosen})

    assert response.status_code == 422
    assert said in response.content.decode()
    assert Bot.objects.count() == 2


def test_a_bot_inside_stays_at_its_revision_until_another_is_chosen(rex: User, sign_in: SignIn) -> None:
    cat = scripted("cat", rex, "Miaow.")
    scripted("dog", rex)
    bot = team(rex, named("cat"), named("dog"))

    change_bot(cat.pk, title="Cat", configuration={"replies": ["Purr."]}, by=rex)

    [inside, _] = composition.filled(bot.adapter, bot.configuration)["bots"]
    assert inside["configuration"] == {"replies": ["Miaow."]}
    page = sign_in(rex).get("/bots/team/edit/").content.decode()
    assert "cat, v1; v2 is newer" in page
    sign_in(rex).post(
        "/bots/team/edit/", {"title": "T", "setting-seconds": "8", "setting-bots": ["cat@2", "dog@1"]}
    )
    bot.refresh_from_db()
    assert bot.configuration["bots"] == [named("cat", 2), named("dog", 1)]
    assert bot.revisions.count() == 2


def test_private_bots_of_others_are_refused_and_one_that_was_shared_is_kept(rex: User, ada: User) -> None:
    hers = scripted("hers", ada)
    scripted("cat", rex)
    with pytest.raises(ChatbotError, match="'hers': there is no such bot that you can use"):
        team(rex, named("cat"), named("hers"))
    share(hers, named=[rex], open_to_all=False)
    bot = team(rex, named("cat"), named("hers"))
    share(hers, named=[], open_to_all=False)

    settings = {"bots": [named("hers", 1), named("cat")], "seconds": 3}
    assert change_bot(bot.pk, title="T", configuration=settings, by=rex).configuration["seconds"] == 3


@pytest.mark.parametrize(
    ("inside", "why"),
    [
        (named("nobody"), "'nobody': there is no such bot that you can use"),
        (named("cat", 2), "'cat v2': its revisions go from 1 to 1"),
        (named("cat") | {"configuration": {}}, "'cat': a registered bot brings its own settings. Leave"),
        ({"adapter": "vote", "configuration": {"bots": [named("cat"), named("nobody")]}}, "'nobody'"),
        ("cat", "bots.1 = 'cat'"),
    ],
)
def test_what_cannot_be_inside_is_refused_with_its_reason(rex: User, inside: object, why: str) -> None:
    scripted("cat", rex)

    with pytest.raises(ChatbotError) as told:
        team(rex, named("cat"), inside)

    assert why in str(told.value)


def test_a_bot_cannot_be_inside_itself_by_whatever_way(rex: User) -> None:
    for name in ("cat", "dog"):
        scripted(name, rex)
    inner = team(rex, named("cat"), named("dog"), name="inner")
    team(rex, named("cat"), named("inner"), name="outer")

    for circle in (named("inner"), named("outer")):
        with pytest.raises(ChatbotError, match="'inner': a bot cannot be inside itself"):
            change_bot(inner.pk, title="T", configuration={"bots": [named("cat"), circle]}, by=rex)


def test_no_more_bots_than_sixteen_are_inside_one(rex: User) -> None:
    scripted("cat", rex)
    team(rex, *[named("cat")] * 8, name="eight")

    with pytest.raises(ChatbotError, match="'18': at most 16 bots can be inside one"):
        team(rex, named("eight"), named("eight"))


def test_settings_of_a_bot_inside_are_nowhere_in_those_of_the_bot_around_it(
    rex: User, ada: User, sign_in: SignIn
) -> None:
    service = {"base_url": "https://api.example.org/v1", "model": "m", "api_key": "sesame"}
    paid = register_bot(name="paid", title="Paid", adapter="openai-chat", configuration=service, owner=ada)
    share(paid, named=[rex], open_to_all=False)
    scripted("cat", rex)

    bot = team(rex, named("paid"), named("cat"))

    shown = [bot.configuration, masked_settings(bot), describe_bot(bot, "A", 1, is_theirs=True)]
    pages = [sign_in(rex).get(f"/bots/team/{path}").content.decode() for path in ("", "edit/")]
    assert not any(secret in str([shown, pages]) for secret in ("sesame", "api.example.org"))
    assert masked_settings(bot)["bots"][0] == named("paid", 1)


def test_a_wrapper_draws_as_the_registered_bot_inside_does(rex: User, db: None) -> None:
    for name, adapter in (("small", "meena-base"), ("slow", "eliza")):
        register_bot(name=name, title=name, adapter=adapter, configuration={}, owner=rex)
        settings = {"bot": named(name)}
        wrapped = register_bot(
            name=f"{name}-r", title="R", adapter="repetition-filter", configuration=settings, owner=rex
        )
        assert can_sample(wrapped) is (adapter == "meena-base")
