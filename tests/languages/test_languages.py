"""A language made in the product: workers read it on pages, sockets and in scripts, in every process."""

import csv
import io
import os
import subprocess
import sys
from collections.abc import Callable
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.template import Context
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.translation import override

from tests.conftest import MakeStudy, OpenTab, start_dialogue
from tests.project.test_dumps import address_of
from turnwise.accounts.models import User
from turnwise.crowd.languages import catalog_of
from turnwise.languages import files, live_texts, queries, services
from turnwise.languages.catalog_files import FileFaultsError
from turnwise.languages.models import Language, Revision
from turnwise.languages.services import faults
from turnwise.languages.texts import WorkerText, key_of, worker_texts
from turnwise.live.templatetags.modules import module
from turnwise.questions.question_sets import questions_json
from turnwise.studies.opening_checks import checks

SignIn = Callable[[User], Client]
TWO_FORMS = "nplurals=2; plural=(n != 1);"
CONSENT, PARTNER = "Your consent", "Your partner is here"
EMPTY = "Your message is empty. Write something, then send it."
SENSIBLE = "Does it make sense?"

pytestmark = pytest.mark.django_db


def add(user: User, code: str = "sw", name: str = "Swahili", **more: object) -> Language:
    return services.add_language(user, code=code, name=name, local_name=name, plural_forms=TWO_FORMS, **more)


def translate(language: Language, user: User, **texts: str) -> None:
    """Save translations of texts without plural, by English text."""
    services.save_translations(language, user, {key_of(english): [text] for english, text in texts.items()})
    live_texts.refresh(at_once=True)


@pytest.fixture
def swahili(rex: User) -> Language:
    language = add(rex)
    translate(
        language, rex,
        **{CONSENT: "Ridhaa yako", PARTNER: "Mwenzako yuko hapa"},
        **{EMPTY: "Ujumbe ni tupu.", SENSIBLE: "Ina maana?"},
    )  # fmt: skip
    return language


def test_a_researcher_fills_the_table_and_workers_read_it(
    client: Client, make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    researcher, study = sign_in(rex), make_study(languages=["sw"])
    added = researcher.post("/languages/", {"code": "SW"})
    swahili = Language.objects.get()
    page = researcher.get(added.url, {"find": CONSENT, "only": "missing"})
    text = next(row.row.text for row in page.context["rows"] if row.row.text.english == CONSENT)
    total = page.context["progress"].total

    sent = {f"text-{text.key}-0": " Ridhaa yako ", "seen": page.context["seen"], "query": "find=consent"}
    saved = researcher.post(added.url, sent, follow=True)
    live_texts.refresh(at_once=True)  # as after two seconds
    entry = client.get(study.get_entry_url())

    assert (swahili.code, swahili.name, swahili.local_name) == ("sw", "Swahili", "Kiswahili")
    assert saved.redirect_chain == [(f"{added.url}?find=consent", 302)]
    assert "1 text is saved." in saved.text
    assert saved.context["progress"].missing == total - 1
    assert '<html lang="sw">' in entry.text
    assert "Ridhaa yako" in entry.text
    assert "Skip to content" in entry.text  # not translated yet
    says = [check.says for check in checks(study) if check.title == "Language"]
    assert says == [
        f"{total - 1} of {total} texts of worker pages are not translated to Swahili. Workers read them in "
        "English. Complete them on the page Languages."
    ]


def test_scripts_questions_and_other_numbers(swahili: Language, rex: User) -> None:
    plural = next(text for text in worker_texts().values() if text.plural and "waited" in text.english)
    one, many = plural.english.replace("minute", "dakika"), plural.plural.replace("minutes", "dakika")
    services.save_translations(swahili, rex, {plural.key: [one, many]})
    live_texts.refresh(at_once=True)

    with override(catalog_of("sw")):
        script = module(Context(), "js/lobby/main.js")

    assert f'"{PARTNER}":"Mwenzako yuko hapa"' in script
    assert f'"100":"{many}"' in script
    wordings = [question["wording"] for question in questions_json("ssa", "sw")]
    assert wordings == ["Ina maana?", "Is it specific?"]
    assert questions_json("ssa", "en")[0]["wording"] == SENSIBLE


@pytest.mark.django_db(transaction=True)
async def test_a_socket_speaks_it_and_an_open_one_takes_up_changes(
    make_study: MakeStudy, open_tab: OpenTab, rex: User
) -> None:
    swahili = await sync_to_async(add)(rex)
    study = await sync_to_async(make_study)(languages=["sw"])
    dialogue = await sync_to_async(start_dialogue)(study)
    tab = await open_tab(dialogue, language="sw")

    said = []
    for words in ("", "Ujumbe ni tupu."):
        if words:
            await sync_to_async(translate)(swahili, rex, **{EMPTY: words})
        await tab.send(type="turn", text=" ", key=str(uuid4()))
        said.append((await tab.receive("refused"))["say"])

    assert said == [EMPTY, "Ujumbe ni tupu."]


OTHER_PROCESS = """
import time
from django.utils.translation import gettext, override
from turnwise.crowd.languages import catalog_of
seen = ""
for _ in range(600):
    with override(catalog_of("sw") or "en"):
        if (now := gettext("Your consent")) != seen:
            print(seen := now, flush=True)
    if seen == "Ridhaa":
        break
    time.sleep(0.05)
"""


@pytest.mark.django_db(transaction=True)
def test_another_process_takes_up_changes(swahili: Language, rex: User) -> None:
    database = address_of(connection.settings_dict["NAME"])
    other = subprocess.Popen(
        [sys.executable, "manage.py", "shell", "-v", "0", "-c", OTHER_PROCESS],
        env=os.environ | {"DATABASE_URL": database}, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    with other:
        assert other.stdout
        first = other.stdout.readline()
        translate(swahili, rex, **{CONSENT: "Ridhaa"})
        then = other.stdout.read()

    assert (first, then) == ("Ridhaa yako\n", "Ridhaa\n")


def text_of(english: str, plural: str = "") -> WorkerText:
    return WorkerText(key_of(english, plural), english, plural, "", (), "other", 300)


@pytest.mark.parametrize(
    ("english", "translation", "fault"),
    [
        ("Study %(title)s", "Somo %(title)s", ""),
        ("Study %(title)s", "Somo", "%(title)s is missing"),
        ("Study %(title)s", "%(title)s %(secret)s", "%(secret)s is not in the English"),
        ("Study %(title)s", "%(title)s 100%", "percent sign"),
        ("Up to {most}", "{most.__class__}", "{most} is missing"),
        ("<b>Agree</b> first", "Kwanza <b>kubali</b>", ""),
        ("<b>Agree</b> first", "</b>Kwanza<b>", "another order"),
        ("<b>Agree</b>", "<b>Kubali</b><script>x</script>", "<script> is not in"),
        ("<b>Agree</b>", '<b onclick="x">Kubali</b>', "<b> is missing"),
        ("Close", 'x" formaction="https://evil.example', "straight quotation marks"),
        ("Close", "Funga <img src=x", "< is not in the English"),
        ("Close", "&#60;", "& is not in the English"),
        ("Close", "Funga\u202e", "control character"),
        ("Close", "f" * 301, "301 characters"),
    ],
)  # fmt: skip
def test_a_translation_has_the_values_and_tags_of_the_english(
    english: str, translation: str, fault: str
) -> None:
    found = faults(text_of(english), [translation], 2)

    assert bool(found) == bool(fault)
    assert fault in " ".join(found)


def test_plural_forms_are_complete_and_the_last_one_has_the_number() -> None:
    text = text_of("%(n)d try", "%(n)d tries")

    assert faults(text, ["Jaribio moja", "Majaribio %(n)d"], 2) == []
    assert faults(text, ["Jaribio", ""], 2) == ["Translate every plural form, or none."]
    assert "%(n)d is missing." in faults(text, ["Jaribio %(n)d", "Majaribio"], 2)[0]
    assert faults(text, ["Jaribio %(n)d"], 2) == ["It has 1 forms, but this text needs 2."]


def test_the_page_refuses_whole_and_keeps_what_was_typed(
    swahili: Language, rex: User, sign_in: SignIn
) -> None:
    good, bad = key_of(CONSENT), key_of("Skip to content")
    sent = {f"text-{good}-0": "Idhini", f"text-{bad}-0": "<script>", "seen": Revision.objects.latest("pk").pk}

    answer = sign_in(rex).post(swahili.get_absolute_url(), sent)

    assert answer.status_code == 422
    assert "&lt;script&gt; is not in the English text" in answer.text
    assert ">Idhini</textarea>" in answer.text
    assert ">&lt;script&gt;</textarea>" in answer.text
    assert live_texts.current_forms(swahili)[good] == ["Ridhaa yako"]


def test_what_two_people_change_at_once_is_not_lost(swahili: Language, rex: User, ada: User) -> None:
    seen, key, other = Revision.objects.latest("pk").pk, key_of(CONSENT), key_of(PARTNER)
    services.save_translations(swahili, ada, {key: ["Idhini"]}, seen=seen)

    unchanged = {key: ["Ridhaa yako"], other: ["Yuko hapa"]}
    assert services.save_translations(swahili, rex, unchanged, seen=seen) == 1
    with pytest.raises(services.RefusedTranslationsError, match="Someone else changed"):
        services.save_translations(swahili, rex, {key: ["Ridhaa"]}, seen=seen)

    row = next(row for row in queries.rows_of(swahili) if row.text.key == key)
    assert (row.written, row.author) == (["Idhini"], "ada")


def test_files_come_back_as_they_were_written(swahili: Language, rex: User) -> None:
    catalog, table = files.catalog_text(swahili), files.csv_file(swahili)
    before = live_texts.current_forms(swahili)

    assert files.upload(swahili, rex, "a.po", catalog.encode()) == 0
    assert files.upload(swahili, rex, "a.csv", table.encode()) == 0
    assert files.upload(swahili, rex, "a.csv", f"english,translation\n{CONSENT}, \n".encode()) == 0
    skip = 'msgid "Skip to content"\nmsgstr "'
    translated = catalog.replace(skip, f"{skip}Ruka")
    assert files.upload(swahili, rex, "a.po", translated.encode()) == 1

    assert live_texts.current_forms(swahili) == before | {key_of("Skip to content"): ["Ruka"]}
    assert len(list(csv.DictReader(io.StringIO(table)))) == len(worker_texts())


PO = """msgid ""
msgstr "Plural-Forms: nplurals=2; plural=(n != 1);"

msgid "Your consent"
msgstr "Idhini"

msgid "Skip to content"
msgstr "<b>Ruka</b>"

msgid "No such text"
msgstr "Hakuna"
"""
CSV = 'english,translation\n"Your consent",Idhini\n"Skip to content","Ruka\n"" onclick"\nNone,x\n'


@pytest.mark.parametrize(
    ("name", "content", "lines"),
    [
        ("a.po", PO, [7, 7, 10]),
        ("a.po", 'msgid "Your consent"\nmsgstr "Idhini"\nnonsense\n', [3]),
        ("a.po", PO.replace("nplurals=2; plural=(n != 1);", "nplurals=3; plural=n%3;"), [1]),
        ("a.po", PO.replace("plural=(n != 1);", "plural=1/(n-1);"), [1]),
        ("a.po", 'msgid "Your consent"\nmsgstr[1] "Idhini"\n', [1]),
        ("a.po", "x\n" * 2_000, [*range(1, 1_001), 1_000]),
        ("a.csv", "english,translation\n" + "a,\n" * 2_000, [*range(2, 1_002), 1_001]),
        ("a.csv", CSV, [3, 5]),
        ("a.csv", "english,other\n", [1]),
        ("a.po", b'msgid "Your consent"\nmsgstr "\xff"\n', [2]),
        ("a.txt", "", [0]),
    ],
)
def test_an_upload_is_refused_whole_with_its_lines(
    name: str, content: str | bytes, lines: list[int], swahili: Language, rex: User
) -> None:
    sent = content if isinstance(content, bytes) else content.encode()

    with pytest.raises(FileFaultsError) as refused:
        files.upload(swahili, rex, name, sent)

    assert [fault.line for fault in refused.value.faults] == lines
    assert live_texts.current_forms(swahili)[key_of(CONSENT)] == ["Ridhaa yako"]


def test_the_upload_page_names_the_line(swahili: Language, rex: User, mallory: User, sign_in: SignIn) -> None:
    def send(user: User) -> "object":
        file = SimpleUploadedFile("sw.po", PO.encode())
        return sign_in(user).post(f"{swahili.get_absolute_url()}upload/", {"file": file})

    refused = send(rex)

    assert refused.status_code == 422  # type: ignore[attr-defined]
    assert "Nothing of the file was saved." in refused.text  # type: ignore[attr-defined]
    assert "Line 10: Workers cannot read “No such text”" in refused.text  # type: ignore[attr-defined]
    assert send(mallory).status_code == 404  # type: ignore[attr-defined]


def test_who_may_translate(swahili: Language, rex: User, mallory: User, ada: User, sign_in: SignIn) -> None:
    address, sent = swahili.get_absolute_url(), {f"text-{key_of(CONSENT)}-0": "Idhini"}
    reader, owner = sign_in(mallory), sign_in(rex)
    assert "readonly" in reader.get(address).text
    assert reader.post(address, sent).status_code == 404

    names = {"name": "Swahili", "local_name": "Kiswahili", "active": "on"}
    unknown = owner.post(f"{address}settings/", {**names, "editors": "nobody"})
    owner.post(f"{address}settings/", {**names, "editors": "mallory"})
    newest = Revision.objects.latest("pk").pk

    assert "Nobody is called “nobody” here." in unknown.text
    assert reader.post(address, {**sent, "seen": newest}).status_code == 302
    assert reader.get(f"{address}settings/").status_code == 404
    with pytest.raises(ValidationError, match="running studies may use them"):
        add(rex, "zh-Hans", "Chinese")
    assert add(ada, "zh-Hans", "Chinese").catalog == "zh-hans"
    with pytest.raises(ValidationError, match="already in the list"):
        add(ada, "sw")


def test_a_variant_falls_back_to_what_comes_with_turnwise(
    client: Client, make_study: MakeStudy, ada: User
) -> None:
    language = services.add_language(
        ada, code="ar-EG", name="Egyptian", local_name="مصري", right_to_left=True,
        plural_forms="nplurals=6; plural=n==0 ? 0 : n==1 ? 1 : n==2 ? 2 : n%100>=3 && n%100<=10 ? 3 : "
        "n%100>=11 && n%100<=99 ? 4 : 5;",
    )  # fmt: skip
    translate(language, ada, **{"Skip to content": "روح"})

    page = client.get(make_study(languages=["ar-EG"]).get_entry_url()).text

    assert '<html lang="ar-eg" dir="rtl">' in page
    assert "روح" in page
    assert "موافقتك" in page  # from the Arabic catalog
    assert queries.progress_of(language).missing == 0


def test_a_language_that_django_does_not_know(
    client: Client, make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    researcher, form = sign_in(rex), {"code": "ps", "right_to_left": "on"}
    refused = researcher.post("/languages/", form)
    added = researcher.post(
        "/languages/", {**form, "name": "Pashto", "local_name": "پښتو", "plural_forms": TWO_FORMS}
    )
    study = make_study(languages=["ps"])
    page = client.get(study.get_entry_url()).text

    assert "Turnwise does not know this language. Write its name." in refused.text
    assert added.status_code == 302
    assert '<html lang="ps" dir="rtl">' in page
    assert "پښتو" in page  # its name, on the card of the study
    Language.objects.update(active=False)
    Revision.objects.create(language=Language.objects.get(), origin=Revision.Origin.SETTINGS)
    live_texts.refresh(at_once=True)
    assert '<html lang="en">' in client.get(study.get_entry_url()).text


def test_the_preview_is_in_any_language_also_one_that_is_not_offered(
    study: "object", swahili: Language, rex: User, sign_in: SignIn
) -> None:
    researcher, pk = sign_in(rex), study.pk  # type: ignore[attr-defined]

    frame = researcher.get(f"/studies/{pk}/preview/?language=sw").text
    page = researcher.get(f"/studies/{pk}/preview/consent/?language=sw").text
    table = researcher.get(swahili.get_absolute_url()).text

    assert "Swahili (not offered)" in frame
    assert '<html lang="sw">' in page
    assert "Ridhaa yako" in page
    assert f"/studies/{pk}/preview/?language=sw" in table


def test_a_page_asks_at_most_once_whether_translations_changed(
    client: Client, make_study: MakeStudy, swahili: Language, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(live_texts, "CHECK_SECONDS", 3600)
    numbers = {}
    for code in ("en", "sw"):
        address = make_study({f"bot-{code}": 9}, languages=[code]).get_entry_url()
        live_texts.forget()
        for visit in ("first", "second"):
            with CaptureQueriesContext(connection) as made:
                client.get(address)
            numbers[code, visit] = sum("languages_" in query["sql"] for query in made)

    assert numbers["en", "first"] == numbers["en", "second"] == 0
    assert numbers["sw", "first"] == 3  # whether anything changed, then the languages and the texts
    assert numbers["sw", "second"] == 0
