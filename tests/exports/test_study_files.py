"""Files of a study by program: the ones that its page offers."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from tests.exports.test_round_trips import CHATS, OPENAI, imported, lines_of
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.exports.study_files import FILES
from turnwise.studies.models import Study

SignIn = Callable[[User], Client]
OF_PAIRS = "preferences.jsonl"


def program(user: User, *scopes: str) -> Client:
    token = credentials.create_token(user, "script", scopes=scopes)
    return Client(headers={"Authorization": f"Bearer {token}"})


@pytest.fixture
def chats(study: Study) -> Study:
    imported(study, lines_of(OPENAI), "chats.jsonl", CHATS)
    return study


def test_a_program_gets_each_file_as_its_page_has_it(chats: Study, rex: User, sign_in: SignIn) -> None:
    page, people = sign_in(rex), program(rex, "people")

    offered = {each["name"]: each for each in people.get(f"/api/studies/{chats.code}/files").json()}

    assert offered.keys() == FILES.keys() - {OF_PAIRS}
    assert all(each["about"] for each in offered.values())
    linked = set(
        re.findall(
            rf"/studies/{chats.pk}/([\w.]+\.\w+)\"", page.get(f"/studies/{chats.pk}/").content.decode()
        )
    )
    assert linked - offered.keys() <= {"bundle.zip"}
    for name, file in offered.items():
        sent = people.get(f"/api/studies/{chats.code}/files/{name}")
        shown = page.get(f"/studies/{chats.pk}/{name}")
        assert (sent.status_code, shown.status_code) == (200, 200)
        assert sent["Content-Type"] == shown["Content-Type"] == file["media_type"]
        assert sent["Content-Disposition"] == f'attachment; filename="turnwise-{chats.code}-{name}"'
        content = b"".join(sent)  # type: ignore[arg-type]
        assert content or name == "turns.jsonl"  # nobody has labelled anything
        if not name.endswith((".zip", ".xlsx")):  # those name the time at which they were made
            assert content == b"".join(shown)  # type: ignore[arg-type]


def test_a_file_that_the_study_lacks_is_refused_with_those_that_it_has(chats: Study, rex: User) -> None:
    answer = program(rex, "people").get(f"/api/studies/{chats.code}/files/{OF_PAIRS}")

    assert answer.status_code == 404
    assert answer.json()["detail"].startswith(
        "This study has no file “preferences.jsonl”. It has: turns.csv, "
    )


def test_files_need_the_scope_of_people_and_a_study_that_one_may_read(chats: Study, rex: User) -> None:
    other = User.objects.create_user("rita")
    path = f"/api/studies/{chats.code}/files/turns.csv"

    assert program(rex, "read", "studies").get(path).status_code == 403
    assert program(other, "people").get(path).status_code == 404
