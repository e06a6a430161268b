"""The document for an ethics board: what it says, as a page and as PDF."""

import io
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.test import Client
from matplotlib import get_data_path
from pypdf import PdfReader
from pytest_django import Settings

from tests.conftest import MakeQueue, MakeStudy
from tests.planted import SignIn
from tests.studies.test_rest import called
from turnwise.accounts.models import User
from turnwise.bots.services import register_bot
from turnwise.crowd.models import StudyPanel
from turnwise.privacy.ethics.blocks import Block, Kind, blocks_of_page
from turnwise.privacy.ethics.document import EthicsDocument, ethics_document
from turnwise.studies.models import ConsentVersion, Study, StudyBot
from turnwise.studies.sharing.services import share_with_person

pytestmark = pytest.mark.django_db(transaction=True)

ARABIC = "سوف تتحدث مع برنامج حاسوبي"
HOSTILE = "<script>alert(1)</script>"


@pytest.fixture
def designed(make_study: MakeStudy) -> Study:
    """A paid study with every text."""
    study = make_study(
        title=f"Small talk {HOSTILE}", contact="lab@example.org", conducted_by="Dialogue Lab",
        pay_amount=Decimal("1.50"), instructions=f"Talk about **rivers**. {HOSTILE}",
        debriefing="A machine answered.", exclusion_rules="All answers alike.", withdrawal_days=20,
        retention_days=90,
    )  # fmt: skip
    ConsentVersion.objects.create(study=study, number=2, text=f"You agree to *this*. {HOSTILE}")
    StudyPanel.objects.create(study=study, panel="prolific")
    return study


def facts(document: EthicsDocument, title: str) -> dict[str, str]:
    section = next(each for each in document.sections if each.title == title)
    return {each.term: each.text for each in section.blocks if each.kind is Kind.FACT}


def texts(document: EthicsDocument, title: str) -> list[str]:
    return [each.text for part in document.sections if part.title == title for each in part.blocks]


MADE_AT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC")  # a minute may end between two documents


def pdf_of(client: Client, study: Study) -> str:
    """Text of the PDF, as another library reads it."""
    sent: Any = client.get(f"/studies/{study.pk}/privacy/ethics/file/")
    assert sent["Content-Type"] == "application/pdf"
    return "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(sent.content)).pages)


def test_the_document_has_protocol_texts_data_flow_and_retention(designed: Study, rex: User) -> None:
    document = ethics_document(designed, rex)

    protocol = facts(document, "The study")
    assert protocol["Conducted by"] == "Dialogue Lab"
    assert protocol["Contact for questions"] == "lab@example.org"
    assert protocol["Pay"] == "1.50 USD"
    assert protocol["Recruited through"] == "Prolific"
    assert protocol["Length of a conversation"] == "14 to 28 messages"
    assert protocol["Rules of exclusion"] == "All answers alike."
    consent = texts(document, "Before consent, as participants read it")
    assert f"You agree to this. {HOSTILE}" in consent
    assert "I have read this and I agree to take part." in consent
    assert not any("You talk to a machine." in text for text in consent)  # an older version
    assert f"Talk about rivers. {HOSTILE}" in texts(document, "Instructions, as participants read them")
    assert texts(document, "Debriefing, on the last page") == ["A machine answered."]
    asked = texts(document, "Questions, as asked")
    assert any(text.startswith("1. ") for text in asked)
    assert {"Yes", "No"} <= {text.partition(":")[0] for text in asked}
    kept = facts(document, "How long data are kept")
    assert kept["Withdrawal"].startswith("Until 20 days after")
    assert "90 days" in kept["IDs"]


def test_services_that_read_conversations_are_named_to_those_who_may_know(
    designed: Study, rex: User, ada: User
) -> None:
    settings = {"base_url": "https://models.example.org/v1", "model": "m", "api_key": "secret-key"}
    bot = register_bot(name="ours", title="Ours", adapter="openai-chat", configuration=settings, owner=ada)
    StudyBot.objects.create(study=designed, bot=bot, target=1)
    share_with_person(designed, ada.username, "editor", may_pay=True)

    of_ada, of_rex = (facts(ethics_document(designed, each), "Data flow") for each in (ada, rex))

    assert "Ours sends the text of the conversation to models.example.org" in of_ada["To services of others"]
    assert "models.example.org" not in str(of_rex)
    assert "the owner of the bot can name" in of_rex["To services of others"]
    assert "secret-key" not in str((of_ada, of_rex))
    assert "1 person with whom it is shared" in of_rex["Who can see them"]


def test_without_services_texts_stay_here(designed: Study, rex: User) -> None:
    flow = facts(ethics_document(designed, rex), "Data flow")

    assert flow["To services of others"].startswith("None: ")
    assert "no texts and no answers" in flow["To the panel"]


def test_the_page_escapes_texts_of_researchers(designed: Study, rex: User, sign_in: SignIn) -> None:
    page = sign_in(rex).get(f"/studies/{designed.pk}/privacy/ethics/").content.decode()

    assert HOSTILE not in page
    assert page.count("&lt;script&gt;alert(1)&lt;/script&gt;") >= 4
    assert f'href="/studies/{designed.pk}/privacy/ethics/file/"' in page
    people = sign_in(rex).get(f"/studies/{designed.pk}/privacy/").content.decode()
    assert f'href="/studies/{designed.pk}/privacy/ethics/"' in people


def test_the_pdf_has_the_same_texts(designed: Study, rex: User, sign_in: SignIn) -> None:
    text = " ".join(pdf_of(sign_in(rex), designed).split())

    for says in ("Dialogue Lab", "lab@example.org", "1.50 USD", "Talk about rivers.", "A machine answered."):
        assert says in text
    assert HOSTILE in text
    assert "How long data are kept" in text


def test_a_program_gets_the_same_pdf(designed: Study, rex: User, mallory: User, sign_in: SignIn) -> None:
    path = f"/studies/{designed.code}/ethics.pdf"

    sent = called(rex, "GET", path)

    assert sent["Content-Type"] == "application/pdf"
    read = "\n".join(page.extract_text() for page in PdfReader(io.BytesIO(sent.content)).pages)
    assert MADE_AT.sub("", read) == MADE_AT.sub("", pdf_of(sign_in(rex), designed))
    assert MADE_AT.search(read)
    assert called(mallory, "GET", path).status_code == 404


def test_arabic_is_in_the_pdf(make_study: MakeStudy, rex: User, sign_in: SignIn) -> None:
    study = make_study(title=ARABIC, languages=["ar"])

    text = pdf_of(sign_in(rex), study)

    letters = {each for each in ARABIC if not each.isspace()}
    assert letters <= set(text)
    page = sign_in(rex).get(f"/studies/{study.pk}/privacy/ethics/").content.decode()
    assert f'<h2 class="ethics__title" dir="auto">{ARABIC}</h2>' in page


def test_characters_that_the_font_lacks_are_named_and_the_page_can_be_printed(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study = make_study(title="聊天", languages=["zh"])
    client = sign_in(rex)

    refused = client.get(f"/studies/{study.pk}/privacy/ethics/file/")
    program = called(rex, "GET", f"/studies/{study.code}/ethics.pdf")

    assert (refused.status_code, program.status_code) == (422, 409)
    assert "its font has no sign for 聊 天" in program.json()["detail"]
    assert "its font has no sign for 聊 天" in refused.content.decode()
    assert client.get(f"/studies/{study.pk}/privacy/ethics/").status_code == 200


def test_a_further_font_draws_what_the_first_lacks(
    make_study: MakeStudy, rex: User, sign_in: SignIn, settings: Settings
) -> None:
    study, client = make_study(title="A watch \N{WATCH}"), sign_in(rex)
    assert client.get(f"/studies/{study.pk}/privacy/ethics/file/").status_code == 422

    settings.PDF_FONT = str(Path(get_data_path()) / "fonts" / "ttf" / "STIXGeneral.ttf")

    assert "A watch \N{WATCH}" in pdf_of(client, study)


def test_every_kind_of_work_has_a_document(make_queue: MakeQueue, rex: User, sign_in: SignIn) -> None:
    queue = make_queue(raters=2)

    document = ethics_document(queue, rex)

    assert facts(document, "The study")["What people do"]
    assert "Length of a conversation" not in facts(document, "The study")
    assert "You judge responses." in texts(document, "Before consent, as participants read it")


def test_a_study_without_workers_has_none(study: Study, rex: User, sign_in: SignIn) -> None:
    Study.objects.filter(pk=study.pk).update(task="self_play")

    assert sign_in(rex).get(f"/studies/{study.pk}/privacy/ethics/").status_code == 404


def test_texts_of_a_page_are_read_in_order_without_its_controls() -> None:
    html = """<header>Bar</header><main id="main"><h1>Title</h1><p>One <b>two</b><br>three</p>
    <ul><li><p>Item</p></li><li>Last &lt;b&gt;</li></ul><dl><dt>Pay</dt><dd>1 <a href="x">USD</a></dd></dl>
    <p hidden>Hidden</p><script>no()</script><form><label>I agree</label><button>Go</button></form>
    <div>Loose</div></main><footer>Foot</footer>"""

    assert blocks_of_page(html) == [
        Block(Kind.HEADING, "Title"),
        Block(Kind.TEXT, "One two three"),
        Block(Kind.ITEM, "Item"),
        Block(Kind.ITEM, "Last <b>"),
        Block(Kind.FACT, "1 USD", "Pay"),
        Block(Kind.TEXT, "I agree"),
        Block(Kind.TEXT, "Loose"),
    ]
