"""A study of two bots with a report, and its publication through the page."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from tests.conftest import MakeStudy
from tests.planted import SignIn, computed, talked
from turnwise.accounts.models import User
from turnwise.publications.models import PublishedVersion
from turnwise.studies.models import Study

SECRET = "My name is Wanda and I live in Gdynia"
Publish = Callable[..., PublishedVersion]


@pytest.fixture
def judged(make_study: MakeStudy) -> Study:
    """Two bots, five conversations each; texts and a report."""
    study = make_study({"scripty": 50, "another": 50}, min_turns=2, max_turns=8)
    for number in range(10):
        talked(study, [(True, number % 3 > 0), (number % 4 > 0, False)], text=SECRET)
    computed(study)
    return study


@pytest.fixture
def owner(rex: User, sign_in: SignIn) -> Client:
    return sign_in(rex)


@pytest.fixture
def published(owner: Client) -> Publish:
    """Publish a study as its owner does: read the preview, then press the button."""

    def publish(study: Study, **fields: Any) -> PublishedVersion:
        address = f"/studies/{study.pk}/publish/"
        sent = {"title": "Two bots", "authors": "Ada Lovelace; Alan Turing", "licence": "CC-BY-4.0"}
        sent |= {"rows": "none"} | fields
        preview = owner.post(address, sent | {"preview": ""})
        assert preview.status_code == 200, preview.content.decode()
        found = re.search(r'name="previewed" value="(\w+)"', preview.content.decode())
        assert found
        response = owner.post(address, sent | {"publish": "", "previewed": found[1]})
        assert response.status_code == 302, response.content.decode()
        return PublishedVersion.objects.order_by("pk").last()  # type: ignore[return-value]

    return publish
