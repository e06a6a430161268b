"""A version carries its perplexity: reported by the bot, or entered by a researcher."""

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError
from django.test import Client

from turnwise.accounts.credentials import create_token
from turnwise.accounts.models import User
from turnwise.bots.models import Bot, BotVersion
from turnwise.bots.services import record_perplexity, register_bot, version_of

TOLD = {"perplexity": 31.77, "data": "held-out pairs", "tokenizer": "BPE 4,096"}


@pytest.fixture
def scripty(db: None) -> Bot:
    return register_bot(name="scripty", title="Scripty", adapter="scripted")


@pytest.fixture
def version(scripty: Bot) -> BotVersion:
    return version_of(scripty, {"adapter": "scripted"})


def test_a_reported_perplexity_is_stored_with_the_version(scripty: Bot) -> None:
    version = version_of(scripty, {"perplexity": TOLD})

    version.refresh_from_db()
    assert version.perplexity == 31.77
    assert (version.perplexity_data, version.perplexity_tokenizer) == ("held-out pairs", "BPE 4,096")
    assert version.perplexity_entered_by is None


@pytest.mark.parametrize(
    "told", [31.77, "low", {"perplexity": 31.77}, TOLD | {"perplexity": 0.5}, TOLD | {"perplexity": "nan"}]
)
def test_a_reported_perplexity_that_cannot_be_is_left_out(
    scripty: Bot, told: object, caplog: pytest.LogCaptureFixture
) -> None:
    version = version_of(scripty, {"perplexity": told})

    assert version.perplexity is None
    assert "is left out" in caplog.text


def test_a_perplexity_is_entered_and_taken_back(version: BotVersion, rex: User) -> None:
    record_perplexity(version, perplexity=10.2, data="  our   test set ", tokenizer="", by=rex)
    version.refresh_from_db()
    assert (version.perplexity, version.perplexity_data) == (10.2, "our test set")
    assert version.perplexity_entered_by == rex

    record_perplexity(version, perplexity=None, data="", tokenizer="", by=rex)
    version.refresh_from_db()
    assert (version.perplexity, version.perplexity_data) == (None, "")
    assert version.perplexity_entered_by is None


@pytest.mark.parametrize(
    ("value", "data", "why"),
    [
        (0.99, "test set", "0.99 is not a perplexity"),
        (float("nan"), "test set", "nan is not a perplexity"),
        (float("inf"), "test set", "inf is not a perplexity"),
        (20.0, " ", "on which held-out data"),
        (20.0, "x" * 301, "Shorten it to 300"),
    ],
)
def test_a_perplexity_that_cannot_be_is_refused(
    version: BotVersion, rex: User, value: float, data: str, why: str
) -> None:
    with pytest.raises(ValidationError, match=why):
        record_perplexity(version, perplexity=value, data=data, tokenizer="", by=rex)

    version.refresh_from_db()
    assert version.perplexity is None


def test_what_the_bot_reports_is_not_overwritten(scripty: Bot, rex: User) -> None:
    version = version_of(scripty, {"perplexity": TOLD})

    with pytest.raises(ValidationError, match="reports the perplexity of this version itself"):
        record_perplexity(version, perplexity=1.5, data="wishes", tokenizer="", by=rex)


@pytest.mark.parametrize(
    "fields", [{"perplexity": 20.0}, {"perplexity": 0.5, "perplexity_data": "x"}, {"perplexity_data": "x"},
               {"perplexity": float("nan"), "perplexity_data": "x"}]
)  # fmt: skip
def test_the_database_refuses_a_perplexity_without_its_data_or_below_1(
    version: BotVersion, fields: dict[str, object]
) -> None:
    with pytest.raises(IntegrityError, match="bot_version_perplexity_says_on_what"):
        BotVersion.objects.filter(pk=version.pk).update(**fields)


def test_what_somebody_else_entered_is_theirs_the_owner_s_or_an_admin_s_to_change(
    version: BotVersion, rex: User, mallory: User, ada: User
) -> None:
    record_perplexity(version, perplexity=10.2, data="our test set", tokenizer="", by=rex)
    version.refresh_from_db()

    with pytest.raises(ValidationError, match="rex entered this perplexity"):
        record_perplexity(version, perplexity=1.5, data="wishes", tokenizer="", by=mallory)
    record_perplexity(version, perplexity=9.8, data="our test set", tokenizer="", by=ada)

    version.refresh_from_db()
    assert version.perplexity == 9.8


def test_a_perplexity_is_noted_over_the_api(version: BotVersion, rex: User, mallory: User) -> None:
    Bot.objects.update(owner=rex, open_to_all=False)
    address = f"/api/bots/scripty/versions/{version.pk}/perplexity"
    rexs, mallorys = (
        Client(headers={"Authorization": f"Bearer {create_token(person, 'test')}"})
        for person in (rex, mallory)
    )
    sent = {"perplexity": 31.77, "measured_on": "held-out pairs", "tokenizer": "BPE 4,096"}

    noted = rexs.put(address, sent, content_type="application/json")
    refused = rexs.put(address, sent | {"measured_on": ""}, content_type="application/json")

    assert noted.status_code == 200
    (listed,) = rexs.get("/api/bots/scripty/versions").json()
    assert (listed["perplexity"], listed["perplexity_data"]) == (31.77, "held-out pairs")
    assert (refused.status_code, "held-out data" in refused.json()["detail"]) == (422, True)
    assert mallorys.put(address, sent, content_type="application/json").status_code == 404
    assert (
        rexs.put(address, {"perplexity": None}, content_type="application/json").json()["perplexity"] is None
    )
