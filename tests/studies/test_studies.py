"""Studies through their form, and the rules that hold them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.management import load_command_class
from django.db import IntegrityError, transaction
from django.test import Client

from tests.conftest import MakeStudy
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot
from turnwise.studies.demo_studies import create_demo_studies
from turnwise.studies.models import Study
from turnwise.studies.queries import REFERENCE_HELP, UnknownStudyError, study_named
from turnwise.studies.services import results_changed, save_study, set_state

SignIn = Callable[[User], Client]

FORM = {
    "title": "Hobbies", "languages": "en, de", "opening_speaker": "bot", "opening_text": "Hi!",
    "min_turns": "14", "max_turns": "28", "blind": "on",
    "asks-rows": "1", "asks-0-question_set": "ssa", "asks-0-when": "partner_turn:each_turn",
    "asks-0-required": "on",
    "instructions": "Talk.", "contact": "lab@example.org",
    "pay_amount": "2.50", "pay_currency": "EUR", "expected_minutes": "12",
    "consent_text": "You talk to a machine.",
    "bots-TOTAL_FORMS": "1", "bots-INITIAL_FORMS": "1", "bots-0-chosen": "on", "bots-0-target": "40",
}  # fmt: skip


@pytest.fixture
def bot(db: None) -> Bot:
    return register_bot(
        name="scripty", title="Scripty", adapter="scripted", configuration={"replies": ["Go on."]}
    )


def submit(client: Client, bot: Bot, path: str = "/studies/new/", **changes: str) -> Any:
    return client.post(path, FORM | {"bots-0-bot": str(bot.pk)} | changes)


def test_a_study_is_made_in_the_form(rex: User, bot: Bot, sign_in: SignIn) -> None:
    response = submit(sign_in(rex), bot)

    study = Study.objects.get()
    assert response.url == f"/studies/{study.pk}/"
    assert (study.owner, study.state, study.languages, study.pay) == (rex, "draft", ["en", "de"], "2.50 EUR")
    assert study.consent_versions.get().number == 1
    assert study.study_bots.get().target == 40


def test_a_page_has_a_bounded_number_of_rows(rex: User, bot: Bot, sign_in: SignIn) -> None:
    """Whoever asked for a thousand million got two thousand, and others waited for seconds."""
    client = sign_in(rex)

    sent = submit(client, bot, **{"bots-TOTAL_FORMS": "999999999", "asks-rows": "999999999"})

    assert sent.status_code == 422
    assert "bots-200-" not in sent.content.decode()
    assert not Study.objects.exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"title": ""}, "This field is required"),
        ({"min_turns": "28", "max_turns": "14"}, "leave room for the minimum"),
        ({"min_turns": "15", "max_turns": "15"}, "leave room for the minimum"),
        ({"min_turns": "0"}, "greater than or equal to 2"),
        ({"opening_text": ""}, "needs an opening text"),
        ({"languages": "klingon please"}, "is not a list of language codes"),
        ({"languages": "klingon"}, "is not a list of language codes"),
        (
            {"languages": "en, Arabic"},
            "“Arabic” is the name of a language, not its code. Write “ar”",
        ),
        ({"asks-0-question_set": "vibes"}, "There is no question set “vibes” that you can use"),
        ({"pay_amount": "-1"}, "greater than or equal to 0"),
        ({"pay_currency": "€"}, "“€” is not the code of a currency"),
        ({"pay_currency": "DOL"}, "“DOL” is not the code of a currency"),  # what is left of "dollars"
        ({"consent_text": ""}, "This field is required"),
        ({"bots-0-target": "0"}, "greater than or equal to 1"),
    ],
)
def test_an_invalid_study_is_refused_with_reasons(
    rex: User, bot: Bot, sign_in: SignIn, changes: dict[str, str], message: str
) -> None:
    response = submit(sign_in(rex), bot, **changes)

    assert response.status_code == 422
    assert message in response.content.decode()
    assert Study.objects.count() == 0


def test_a_changed_consent_text_is_a_new_version(study: Study, rex: User) -> None:
    targets = {row.bot: row.target for row in study.study_bots.all()}
    for text in ("You talk to a machine.", "You talk to a program."):
        save_study(study, owner=rex, consent_text=text, targets=targets)

    assert [version.number for version in study.consent_versions.all()] == [1, 2]


def test_an_opened_study_keeps_its_protocol(study: Study, rex: User, bot: Bot, sign_in: SignIn) -> None:
    submit(sign_in(rex), bot, f"/studies/{study.pk}/edit/", min_turns="10")
    study.refresh_from_db()
    assert study.min_turns == 14

    study.min_turns = 10
    with pytest.raises(ValidationError, match="its protocol is fixed"):
        save_study(study, owner=rex, consent_text="You talk to a machine.", targets={bot: 1})


def test_wording_and_targets_of_an_open_study_can_change(
    study: Study, rex: User, bot: Bot, sign_in: SignIn
) -> None:
    response = submit(sign_in(rex), bot, f"/studies/{study.pk}/edit/")

    assert response.status_code == 302
    assert study.study_bots.get(bot=bot).target == 40


def test_a_bot_removed_from_an_opened_study_gets_no_more_workers(make_study: MakeStudy, rex: User) -> None:
    study = make_study({"stays": 5, "goes": 5})
    stays = Bot.objects.get(name="stays")

    save_study(study, owner=rex, consent_text="You talk to a machine.", targets={stays: 5})

    assert dict(study.study_bots.values_list("bot__name", "target")) == {"stays": 5, "goes": 0}


def test_a_study_without_bots_cannot_be_opened(rex: User) -> None:
    study = save_study(Study(title="Empty", languages=["en"]), owner=rex, consent_text="Yes", targets={})

    with pytest.raises(ValidationError, match="at least one active bot"):
        set_state(study.pk, Study.State.OPEN)


def test_a_judging_study_with_an_empty_queue_cannot_be_opened(rex: User) -> None:
    study = Study(title="Empty", languages=["en"], task="judging")
    save_study(study, owner=rex, consent_text="Yes", targets={})

    with pytest.raises(ValidationError, match="to the queue"):
        set_state(study.pk, Study.State.OPEN)


@pytest.mark.parametrize("state", ["", "draft", "deleted", "'; --"])
def test_an_unknown_state_changes_nothing(study: Study, rex: User, sign_in: SignIn, state: str) -> None:
    response = sign_in(rex).post(f"/studies/{study.pk}/state/", {"state": state}, follow=True)

    assert "open or closed" in response.content.decode()
    study.refresh_from_db()
    assert study.state == Study.State.OPEN


def test_the_database_refuses_a_study_that_cannot_be_finished(study: Study) -> None:
    with pytest.raises(IntegrityError, match="study_turn_limits"), transaction.atomic():
        Study.objects.filter(pk=study.pk).update(min_turns=15, max_turns=15)


def test_saving_a_study_form_keeps_concurrent_changes(study: Study, rex: User, bot: Bot) -> None:
    in_the_form = Study.objects.get(pk=study.pk)
    in_the_form.title = "New title"
    set_state(study.pk, Study.State.CLOSED)
    for _ in range(5):
        results_changed(study.pk)
    before = Study.objects.get(pk=study.pk).results_version

    save_study(in_the_form, owner=rex, consent_text="You talk to a machine.", targets={bot: 5})

    after = Study.objects.get(pk=study.pk)
    assert (after.title, after.state) == ("New title", Study.State.CLOSED)
    assert after.results_version == before + 1


def test_the_admin_edits_an_opened_study_but_not_its_protocol(
    study: Study, ada: User, sign_in: SignIn
) -> None:
    address = f"/admin/studies/study/{study.pk}/change/"
    client = sign_in(ada)
    form = client.get(address).context["adminform"].form.initial
    bots = {"study_bots-TOTAL_FORMS": "0", "study_bots-INITIAL_FORMS": "0"}

    changes = {"title": "Renamed", "languages": "en", "min_turns": "2", "state": "draft"}
    changes |= {"pay_currency": "JPY", "withdrawal_days": "0", "retention_days": "9999"}
    promised = (study.pay_currency, study.withdrawal_days, study.retention_days)
    response = client.post(address, {k: v for k, v in form.items() if v is not None} | bots | changes)

    study.refresh_from_db()
    assert response.status_code == 302
    assert (study.title, study.min_turns, study.state) == ("Renamed", 14, Study.State.OPEN)
    assert (study.pay_currency, study.withdrawal_days, study.retention_days) == promised


def test_a_renamed_demo_study_is_not_created_again(ada: User) -> None:
    study = create_demo_studies(ada)
    Study.objects.filter(pk=study.pk).update(title="Ours now")
    Bot.objects.update(active=False)

    assert create_demo_studies(ada) is None
    assert Study.objects.count() == 4


def test_the_first_conversation_of_an_installation_is_with_the_best_bot(ada: User) -> None:
    study = create_demo_studies(ada)

    met = [row.bot.name for row in study.study_bots.order_by("pk")]  # as equally filled ones are given out

    assert met == ["meena-base", "meena-full"]


def test_the_demo_study_is_open_and_created_once(ada: User) -> None:
    study = create_demo_studies(ada)

    assert create_demo_studies(ada) == study
    assert study.state == Study.State.OPEN
    assert study.study_bots.count() == 2


def test_commands_find_a_study_by_number_code_and_link(study: Study) -> None:
    host = "https://lab.example"
    references = [
        str(study.pk),
        study.code,
        f" {host}/s/{study.code}/",
        f"{host}/s/{study.code}?PROLIFIC_PID=5",
        f"/studies/{study.pk}/edit/",
        f"{host}/studies/{study.pk}/#pay",
    ]

    assert {study_named(reference).pk for reference in references} == {study.pk}
    for unknown in ("", "999999", "9" * 400, "nothing", f"{host}/s/nothing/", host):
        with pytest.raises(UnknownStudyError, match="Give its number or code, or a link"):
            study_named(unknown)


def test_every_command_that_takes_a_study_takes_the_same_references() -> None:
    folder = Path(settings.ROOT) / "platform/turnwise/project/management/commands"
    parsers = {
        path.stem: load_command_class("turnwise.project", path.stem).create_parser("manage.py", path.stem)
        for path in folder.glob("[a-z]*.py")
    }

    found = {
        name: action.help
        for name, parser in parsers.items()
        for action in parser._actions
        if action.dest == "study"
    }

    assert {"bundle", "import_dialogues", "rehearse"} <= found.keys()
    assert set(found.values()) == {REFERENCE_HELP}
