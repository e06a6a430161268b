"""Prices of tokens: typed in on the bot's page, kept in versions, and used by report and bundle."""

from datetime import date
from pathlib import Path

import pytest
from django.core.management import call_command

from evaluation.report.bundles.recomputation import recompute
from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, figures, talked
from tests.rewriting import rewriting
from turnwise.accounts.models import Event, User
from turnwise.bots.models import Bot, BotPrice
from turnwise.bots.prices import prices_by_bot
from turnwise.dialogues.models import Turn

pytestmark = pytest.mark.django_db(transaction=True)

PRICE = {"valid_from": "2026-01-01", "currency": "usd", "prompt": "2.50", "completion": "10"}


@pytest.fixture
def mine(rex: User) -> Bot:
    return Bot.objects.create(name="mine", title="Mine", adapter="scripted", configuration={}, owner=rex)


def test_a_price_is_stored_as_typed_with_its_author_and_listed(mine: Bot, rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)

    response = client.post("/bots/mine/prices/", PRICE, follow=True)
    page = client.get("/bots/mine/").content.decode()

    assert response.redirect_chain[-1][0] == "/bots/mine/prices/"
    (stored,) = BotPrice.objects.all()
    assert (stored.currency, stored.typed_by, stored.valid_from) == ("USD", rex, date(2026, 1, 1))
    assert prices_by_bot([mine.pk])[mine.pk] == [("2026-01-01", "USD", 2.5, 2.5, 10.0)]
    assert '<td data-label="Prompt">2.5</td>' in page
    assert "as prompt" in page
    assert Event.objects.filter(action="bots:prices").exists()


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"prompt": "-1"}, "greater than or equal to 0"),
        ({"prompt": "NaN"}, "Enter a number"),
        ({"currency": "$"}, "three letters"),
        ({"valid_from": "soon"}, "valid date"),
        ({"completion": ""}, "required"),
        ({"prompt": "12345678901"}, "digits"),
    ],
)
def test_bad_input_is_said_in_words_and_nothing_is_stored(
    mine: Bot, rex: User, sign_in: SignIn, changed: dict[str, str], said: str
) -> None:
    response = sign_in(rex).post("/bots/mine/prices/", PRICE | changed)

    assert response.status_code == 422
    assert said in response.content.decode()
    assert not BotPrice.objects.exists()


def test_only_those_who_may_change_the_bot_see_the_page(mine: Bot, mallory: User, sign_in: SignIn) -> None:
    assert sign_in(mallory).post("/bots/mine/prices/", PRICE).status_code == 404


def test_report_and_bundle_add_up_the_same_cost(
    make_study: MakeStudy, rex: User, sign_in: SignIn, tmp_path: Path
) -> None:
    study = make_study(min_turns=4, max_turns=8)
    talked(study, [(True, True), (False, False)])
    replies = Turn.objects.filter(bot_version__isnull=False).order_by("position")
    usage = {"prompt": 1000, "completion": 100, "cached": 200}
    first = replies[0]
    first.generation = {"usage": usage, "model": "m-1", "first_seconds": 0.25, "outcome": "refused"}
    with rewriting():
        first.save()
    bot = Bot.objects.get()
    BotPrice.objects.create(
        bot=bot, valid_from=date(2000, 1, 1), prompt="2.5", cached="1.25", completion="10", typed_by=rex
    )

    result = figures(computed(study))
    replied = result["course"]["bots"][0]["replies"]
    call_command("bundle", str(study.pk), output=tmp_path / "bundle.zip")
    page = sign_in(rex).get(f"/studies/{study.pk}/report/").content.decode()

    # 800 * 2.50 + 200 * 1.25 + 100 * 10 millionths; the other reply's tokens are unknown.
    assert replied["cost"] == {
        "amounts": [{"currency": "USD", "amount": pytest.approx(0.00325), "replies": 1}],
        "unpriced": 1,
    }
    assert result["bots"][0]["refused"] == 50
    found = recompute(tmp_path / "bundle.zip")
    assert found.differences == []
    assert found.report["course"]["bots"][0]["replies"] == replied
    assert '<td data-label="Refused, percent">50.0</td>' in page
    assert "0.0033" in page
    assert "without 1 of unknown tokens or price" in page
