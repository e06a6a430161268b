"""Workers are addressed in the language of their study, on pages and on sockets; researchers in English."""

import re
from collections.abc import Callable
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.template import Context
from django.test import Client, RequestFactory
from django.utils.translation import override

from tests.conftest import MakeQueue, MakeStudy, OpenTab, start_dialogue
from turnwise.accounts.models import User
from turnwise.crowd.languages import language_of_pages
from turnwise.crowd.models import Participation
from turnwise.live.templatetags.modules import module
from turnwise.studies.models import Study

ARABIC, CHINESE, ENGLISH = "الموافقة", "知情同意", "Your consent"


@pytest.mark.django_db  # languages that are translated in the product
@pytest.mark.parametrize(
    ("languages", "browser", "spoken"),
    [
        (["ar"], "en", "ar"),
        (["zh"], "en", "zh-hans"),
        (["zh-CN"], "", "zh-hans"),
        (["en", "zh"], "fr, zh-TW;q=0.8, en;q=0.5", "zh-hans"),
        (["en", "zh"], "ar", "en"),
        (["zh", "en"], "", "zh-hans"),
        (["nl", "ar"], "nl", "ar"),
        (["nl"], "ar", "en"),
        (["es-MX"], "", "es"),
        ([], "ar", "ar"),
        (["x" * 10, "ar"], "*, \x00;q=9", "ar"),
    ],
)
def test_pages_are_in_the_language_of_the_study(languages: list[str], browser: str, spoken: str) -> None:
    request = RequestFactory().get("/", headers={"Accept-Language": browser})

    assert language_of_pages(Study(languages=languages), request) == (spoken if languages else "en")
    assert languages or language_of_pages(None, request) == spoken


def test_the_first_page_and_a_refusal(client: Client, make_study: MakeStudy) -> None:
    study = make_study(languages=["ar"])

    page = client.get(study.get_entry_url())
    refused = client.get(f"{study.get_entry_url()}chat/", headers={"Accept-Language": "zh"})
    unknown = client.get("/s/nosuchcode/", headers={"Accept-Language": "zh"})

    assert '<html lang="ar" dir="rtl">' in page.text
    assert "العربيّة" in page.text  # the name of the language, too
    assert "موافقتك" in page.text
    assert "هل هو معقول؟" not in page.text
    assert "لم نتعرّف على هذا المتصفح" in refused.text
    assert "这里没有研究" in unknown.text


def test_staff_pages_stay_in_english(
    client: Client, make_study: MakeStudy, rex: User, sign_in: Callable[[User], Client]
) -> None:
    study = make_study(languages=["ar"])
    client.get(study.get_entry_url())

    page = sign_in(rex).get(study.get_absolute_url(), headers={"Accept-Language": "ar"})

    assert '<html lang="en">' in page.text
    assert not re.search("[\u0600-\u06ff]", page.text)


def test_a_form_without_csrf_token_is_refused_in_the_browsers_language(make_study: MakeStudy) -> None:
    study = make_study(languages=["zh"])
    strict = Client(enforce_csrf_checks=True)

    answer = strict.post(f"{study.get_entry_url()}consent/", headers={"Accept-Language": "zh-CN"})

    assert answer.status_code == 403
    assert "请再试一次" in answer.text


def test_scripts_get_their_translated_texts() -> None:
    with override("ar"):
        page = module(Context(), "js/lobby/main.js")
    english = module(Context(), "js/lobby/main.js")

    assert '"Your partner is here":"وصل شريكك"' in page
    assert '"2":"انتظرت دقيقتين."' in page
    assert "texts" not in english


def test_stored_data_are_shown_in_the_language_of_the_study(client: Client, make_study: MakeStudy) -> None:
    study = make_study(languages=["de"], withdrawal_days=1)
    number = study.consent_versions.get().number
    client.post(f"{study.get_entry_url()}consent/", {"agree": "yes", "consent": number})

    page = client.get(Participation.objects.get().data_link)
    unknown = client.get(f"/s/{study.code}/data/nobody/")

    assert '<html lang="de">' in page.text
    assert "bis 1 Tag nach dem Ende" in page.text
    assert "Der Link führt zu niemandes Daten." in unknown.text


async def test_a_socket_answers_in_the_language_of_its_page(make_study: MakeStudy, open_tab: OpenTab) -> None:
    study = await sync_to_async(make_study)(languages=["ar"])
    dialogue = await sync_to_async(start_dialogue)(study)
    english = await open_tab(dialogue)
    arabic = await open_tab(dialogue, language="ar")

    assert english.first["progress"]["hint"].startswith("Write your next message.")
    assert arabic.first["progress"]["hint"].startswith("اكتب رسالتك التالية.")
    for tab, said in ((arabic, "رسالتك فارغة"), (english, "Your message is empty")):
        await tab.send(type="turn", text=" ", key=str(uuid4()))
        assert (await tab.receive("refused"))["say"].startswith(said)
    # Refused on a thread of the database.
    await arabic.send(type="finish")
    assert (await arabic.receive("refused"))["say"].startswith("المحادثة ليست طويلة")


def test_readers_choose_among_the_languages_of_a_study(client: Client, make_queue: MakeQueue) -> None:
    study = make_queue(2, languages=["en", "zh"])
    code, preferred = study.code, {"Accept-Language": "zh"}
    page = client.get(study.get_entry_url(), headers=preferred)
    assert '<html lang="zh-hans">' in page.text
    number = study.consent_versions.get().number
    client.post(f"/s/{code}/consent/", {"agree": "yes", "consent": number}, headers=preferred)

    asked = client.post(f"/s/{code}/judge/start/", headers=preferred)
    begun = client.post(f"/s/{code}/judge/start/", {"language": "en"}, headers=preferred, follow=True)

    assert "您最擅长阅读哪种语言" in asked.text
    assert "简体中文" in asked.text
    assert '<html lang="en">' in begun.text
    assert "Does it make sense?" in begun.text
