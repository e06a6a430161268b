"""The pages of knowledge bases, and the services below: versions, import, sharing."""

import json
from io import BytesIO
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client

from tests.knowledge.bases import article, base_file, entity, make_base
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.knowledge.files import parse
from turnwise.knowledge.models import Article, BaseVersion, Entity, KnowledgeBase
from turnwise.knowledge.services import import_version

pytestmark = pytest.mark.django_db


def upload(client: Client, found: Any, **fields: str) -> Any:
    file = BytesIO(found if isinstance(found, bytes) else json.dumps(found).encode())
    file.name = "base.json"
    about = {"title": "Mine", "name": "mine", "licence": "CC0"} | fields
    return client.post("/knowledge/new/", about | {"file": file})


def test_a_file_is_looked_at_and_then_imported(sign_in: SignIn, rex: User) -> None:
    client = sign_in(rex)
    sent = upload(client, base_file())
    preview = client.get(sent["Location"])
    assert "4 entities" in preview.content.decode()
    assert not KnowledgeBase.objects.exists()

    done = client.post(sent["Location"], follow=True)

    version = BaseVersion.objects.get()
    assert (version.entity_count, version.article_count, version.base.owner) == (4, 2, rex)
    assert "Imported as version 1." in done.content.decode()
    again = client.post(sent["Location"], follow=True)
    assert again.redirect_chain[-1][0] == version.get_absolute_url()  # to what the first press made
    assert BaseVersion.objects.count() == 1


def test_nothing_is_half_imported(sign_in: SignIn, rex: User) -> None:
    client = sign_in(rex)
    sent = upload(client, base_file() | {"articles": [article(1, 1, 2, 3), article(2, 1, 2)]})

    for method in (client.get, client.post):
        refused = method(sent["Location"])
        assert refused.status_code == 422
        assert "articles[1]" in refused.content.decode()
    assert not KnowledgeBase.objects.exists()


def test_files_that_are_none_are_refused(sign_in: SignIn, rex: User) -> None:
    client = sign_in(rex)
    assert "Line 2 is not UTF-8 text" in upload(client, b"{\n\xff").content.decode()
    make_base(rex)
    KnowledgeBase.objects.update(name="mine")
    assert "You already have a knowledge base of the name" in upload(client, base_file()).content.decode()


def test_what_no_page_can_show_or_takes_too_long_is_refused_in_words(
    sign_in: SignIn, rex: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = sign_in(rex)
    half = json.dumps(base_file()).replace("Thing 1 has 0 sides", "\\ud800").encode()
    refused = client.get(upload(client, half)["Location"])
    assert (refused.status_code, "U+D800" in refused.content.decode()) == (422, True)

    monkeypatch.setattr(
        "turnwise.live.subprocesses.TIMEOUT_SECONDS", 0.01
    )  # no process of Python is there so soon
    refused = client.get(upload(client, base_file())["Location"])
    assert (refused.status_code, "could not be read within" in refused.content.decode()) == (422, True)


def test_versions_never_change_and_the_same_is_not_imported_twice(rex: User) -> None:
    version = make_base(rex)

    for model in (BaseVersion, Entity, Article):
        with pytest.raises(IntegrityError, match="never_changes"), transaction.atomic():
            model.objects.update(number=9)
    with pytest.raises(ValidationError, match="Version 1 has exactly this content"):
        import_version(version.base, parse(json.dumps(base_file())), origin="x")
    assert import_version(version.base, parse(json.dumps(base_file(5))), origin="x").number == 2


def test_the_pages_show_what_is_known(sign_in: SignIn, rex: User) -> None:
    found = base_file()
    found["entities"][0] |= {"name": "<i>Thing 1</i>", "aliases": ["Thing 1"]}
    version = make_base(rex, found)
    client = sign_in(rex)
    at = version.get_absolute_url()

    shown = client.get(at).content.decode()
    assert "&lt;i&gt;Thing 1&lt;/i&gt;" in shown
    assert "News 1" in shown
    narrowed = client.get(at, {"topic": "Books", "text": "Thing 4 has 3"}).content.decode()
    assert "Thing 4" in narrowed
    assert "Thing 2" not in narrowed.partition("Articles")[0]
    assert "No entity matches." in client.get(at, {"text": "nowhere"}).content.decode()
    one = client.get(f"{at}entities/2/").content.decode()
    assert "Thing 2 has 9 sides." in one
    assert "News 1" in one
    assert client.get(f"{at}entities/99/").status_code == 404
    exported = client.get(f"{at}base.json").content.decode()
    assert parse(exported).may_be_imported


@pytest.mark.parametrize(("asked", "sections"), [("A", 14), ("C", 6), ("Z", 14)])
def test_an_article_shows_what_two_people_would_read(
    sign_in: SignIn, rex: User, asked: str, sections: int
) -> None:
    at = f"{make_base(rex).get_absolute_url()}articles/1/"

    shown = sign_in(rex).get(at, {"configuration": asked, "seed": "x"}).content.decode()

    assert shown.count('class="section"') == sections


def test_a_base_without_facts_for_a_says_so_on_the_page(sign_in: SignIn, rex: User) -> None:
    few = base_file(configurations="BCD") | {"entities": [entity(n, facts=4) for n in range(1, 5)]}
    at = f"{make_base(rex, few).get_absolute_url()}articles/1/"

    assert "has 4 facts; configuration A needs 8." in sign_in(rex).get(at).content.decode()


def test_a_base_is_private_until_it_is_shared(sign_in: SignIn, rex: User, mallory: User, ada: User) -> None:
    base = make_base(rex).base
    at = base.get_absolute_url()
    theirs = sign_in(mallory)
    assert (theirs.get(at).status_code, sign_in(ada).get(at).status_code) == (404, 200)
    assert theirs.post(f"{at}share/", {"open_to_all": "on"}).status_code == 404

    mine = sign_in(rex)
    refused = mine.post(f"{at}share/", {"shared_with": "mallory, nobody"})
    assert "Nobody signs in as “nobody”." in refused.content.decode()
    assert theirs.get(at).status_code == 404
    mine.post(f"{at}share/", {"shared_with": "mallory"})
    assert theirs.get(at).status_code == 200
    assert theirs.get(f"{at}import/").status_code == 404
    mine.post(f"{at}share/", {})
    assert theirs.get(at).status_code == 404
    mine.post(f"{at}share/", {"open_to_all": "on"})
    assert theirs.get(at).status_code == 200
