"""Lists of the admin stay quick when there is much to list."""

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from tests.conftest import MakeStudy, enter
from turnwise.accounts.models import User
from turnwise.crowd.places.assignment import assign
from turnwise.dialogues.services import begin


def queries_of(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


@pytest.mark.parametrize("page", ["dialogues/dialogue", "dialogues/seat", "dialogues/turn", "labels/label"])
def test_the_admin_asks_as_often_for_many_as_for_one(make_study: MakeStudy, ada: User, page: str) -> None:
    study = make_study()
    client = Client()
    client.force_login(ada)
    begin(assign(enter(study).pk))
    first = apps.get_model(page.replace("/", ".")).objects.first()
    forms = ("", f"{first.pk}/change/" if first else "")
    for _ in range(2):  # the first time, what is kept from then on is read as well
        for_one = [queries_of(client, f"/admin/{page}/{form}") for form in forms]
    for _ in range(4):
        begin(assign(enter(study).pk))

    assert [queries_of(client, f"/admin/{page}/{form}") for form in forms] == for_one
