"""The terms of a study: its contact, who conducts it, and the card at the top of the consent page."""

import re
from decimal import Decimal
from html import unescape

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from pytest_django import Settings

from tests.conftest import MakeStudy
from tests.planted import SignIn
from tests.studies.test_api import called
from tests.studies.test_studies import FORM
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot
from turnwise.crowd.models import Outcome, Participation
from turnwise.crowd.places import ending
from turnwise.exports.bundle import describe_study
from turnwise.privacy.stored_data import stored_data_of
from turnwise.studies.demo_studies import create_demo_studies
from turnwise.studies.models import ConsentVersion, Study
from turnwise.studies.opening_checks import checks, first_obstacle, open_study

pytestmark = pytest.mark.django_db(transaction=True)

LAB, HOUSE = "lab@example.org", "house@example.org"


@pytest.fixture
def draft(make_study: MakeStudy) -> Study:
    study = make_study(pay_amount=Decimal("1.50"))
    Study.objects.update(state=Study.State.DRAFT)
    study.refresh_from_db()
    return study


@pytest.fixture
def bot() -> Bot:
    return register_bot(name="well", title="Well", adapter="scripted", configuration={"replies": ["Hm."]})


def consent_page(study: Study) -> str:
    return unescape(Client().get(study.get_entry_url()).content.decode())


def terms(study: Study) -> dict[str, str]:
    """Facts on the card by their term, without markup."""
    page = consent_page(study)
    card = re.search(r'<dl class="terms">(.*?)</dl>', page, re.DOTALL)
    assert card
    rows = re.findall(r"<dt>(.*?)</dt><dd[^>]*>(.*?)</dd>", card.group(1), re.DOTALL)
    return {term: re.sub(r"<[^>]+>|\s+", " ", text).strip() for term, text in rows}


def test_a_study_that_pays_opens_only_with_a_contact(draft: Study, rex: User, sign_in: SignIn) -> None:
    obstacle = first_obstacle(draft)

    assert obstacle
    assert obstacle.title == "Contact"
    assert obstacle.address.endswith(f"/studies/{draft.pk}/edit/#id_contact")
    with pytest.raises(ValidationError, match="names no address"):
        open_study(draft, to=rex)
    page = sign_in(rex).get(f"/studies/{draft.pk}/opening/").content.decode()
    assert f'href="/studies/{draft.pk}/edit/#id_contact">Add an address for questions</a>' in page

    draft.contact = LAB
    draft.save()
    assert first_obstacle(draft) is None
    assert "lab@example.org" in {check.title: check.says for check in checks(draft)}["Contact"]


def test_the_contact_of_the_installation_is_the_default(draft: Study, settings: Settings) -> None:
    settings.CONTACT, settings.ORGANIZATION = HOUSE, "Example University"

    assert first_obstacle(draft) is None
    Study.objects.update(state=Study.State.OPEN)
    told = terms(draft)
    assert told["Contact for questions"] == HOUSE
    assert told["Conducted by"] == "Example University"
    Study.objects.update(contact=LAB, conducted_by="Dialogue Lab")
    told = terms(draft)
    assert (told["Contact for questions"], told["Conducted by"]) == (LAB, "Dialogue Lab")


def test_an_unpaid_study_without_a_contact_is_only_warned(make_study: MakeStudy) -> None:
    study = make_study()

    contact = {check.title: check for check in checks(study)}["Contact"]

    assert not contact.holds
    assert first_obstacle(study) is None


def test_an_open_study_that_pays_keeps_a_contact(rex: User, sign_in: SignIn, bot: Bot) -> None:
    client = sign_in(rex)
    form = FORM | {"bots-0-bot": str(bot.pk), "contact": LAB}
    client.post("/studies/new/", form)
    study = Study.objects.get()
    Study.objects.update(state=Study.State.OPEN)

    refused = client.post(f"/studies/{study.pk}/edit/", form | {"contact": ""})

    assert refused.status_code == 422
    assert "names no address" in refused.context["form"].errors["contact"][0]
    study.refresh_from_db()
    assert study.contact == LAB
    assert client.post(f"/studies/{study.pk}/edit/", form | {"contact": HOUSE}).status_code == 302


def test_the_card_has_every_term_and_says_once_that_people_may_stop(make_study: MakeStudy) -> None:
    study = make_study(
        pay_amount=Decimal("1.50"), contact=LAB, conducted_by="<b>Dialogue</b> Lab", notes_typing=True,
        withdrawal_days=1, retention_days=90,
    )  # fmt: skip

    told, page = terms(study), consent_page(study)

    assert list(told) == [
        "Conducted by", "Contact for questions", "Pay", "Time", "Language", "What is stored", "How long",
        "Stopping",
    ]  # fmt: skip
    assert told["Pay"] == "1.50 USD"
    assert told["Time"] == "about 15 minutes"
    assert "how many characters you paste" in told["What is stored"]
    assert "until 1 day after" in told["How long"]
    assert "90 days after you finish, provided you have been paid." in told["How long"]
    assert page.count("You may stop at any time") == 1
    assert "close the page, or press “Leave the study”" in told["Stopping"]
    assert page.index('class="terms"') < page.index('id="consent"')
    assert "&lt;b&gt;Dialogue&lt;/b&gt; Lab" in Client().get(study.get_entry_url()).content.decode()
    assert page.count("1.50 USD") == 1


def test_unpaid_work_says_so(study: Study) -> None:
    assert terms(study)["Pay"] == "This work is not paid."
    assert "180 days after you finish. What you wrote" in " ".join(terms(study)["How long"].split())
    assert "paid" not in terms(study)["How long"]
    assert "Contact for questions" not in terms(study)


@pytest.mark.parametrize(("language", "paid"), [("ar", "الأجر"), ("zh", "报酬")])
def test_the_card_is_in_the_language_of_the_study(make_study: MakeStudy, language: str, paid: str) -> None:
    study = make_study(languages=[language], pay_amount=Decimal("1.50"), contact=LAB)

    page = consent_page(study)

    assert paid in page
    card = page[page.index('<dl class="terms"') : page.index("</dl>", page.index('class="terms"'))]
    assert not re.search(r"[A-Za-z]{4,}", re.sub(r"<[^>]+>|lab@example\.org", "", card))


def test_demo_studies_name_the_contact_of_the_installation(rex: User, settings: Settings) -> None:
    settings.CONTACT = HOUSE
    create_demo_studies(rex)

    for demo in Study.objects.filter(state=Study.State.OPEN).exclude(task="self_play"):
        page = consent_page(demo)
        assert terms(demo)["Contact for questions"] == HOUSE
        assert page.count("may stop at any time") == 1


def test_the_contact_is_in_the_bundle_and_in_a_participants_data(make_study: MakeStudy) -> None:
    study = make_study(contact=LAB, conducted_by="Dialogue Lab")
    Client().post(f"/s/{study.code}/consent/", {"agree": "yes", "consent": "1"})

    described = describe_study(study)

    assert (described["contact"], described["conducted_by"]) == (LAB, "Dialogue Lab")
    assert stored_data_of(Participation.objects.get())["study"]["contact"] == LAB


def test_a_program_names_the_contact(rex: User) -> None:
    made = called(rex, "POST", "", {"title": "Ours", "contact": LAB, "conducted_by": "Dialogue Lab"})
    refused = called(rex, "POST", "", {"title": "Ours", "contact": "nobody"})

    assert made.status_code == 201
    study = Study.objects.get()
    assert (study.contact, study.conducted_by) == (LAB, "Dialogue Lab")
    assert refused.status_code == 422


def test_a_changed_text_is_agreed_to_below_the_card(make_study: MakeStudy) -> None:
    study = make_study(contact=LAB, re_entry="up_to")
    client = Client()
    client.post(f"/s/{study.code}/consent/", {"agree": "yes", "consent": "1"})
    ending.end(Participation.objects.get().pk, Outcome.COMPLETE)
    ConsentVersion.objects.create(study=study, number=2, text="Another text.")

    page = client.get(f"/s/{study.code}/again/").content.decode()

    assert page.index('class="terms"') < page.index("Another text.")
