"""What researchers write for workers is Markdown: formatted where it is harmless, text where it is not."""

import re

import pytest
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeStudy
from tests.live.test_markdown import HOSTILE, LINK, assert_harmless
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Outcome
from turnwise.crowd.places.ending import complete
from turnwise.live.templatetags.markdown import markdown
from turnwise.studies.forms import IN_MARKDOWN
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

WRITTEN = """\
# Please read

One line
and **another**

- [here](https://a.org)
- <script>alert("planted")</script> [x](javascript:alert(1)) <img src=x onerror=alert(1)>
"""
SHOWN = (
    "<h2>Please read</h2>",
    "<p>One line<br>\nand <strong>another</strong></p>",
    f'<li><a href="https://a.org" {LINK}>here</a></li>',
    "&lt;script&gt;",
)


def assert_formatted(page: str) -> None:
    for each in SHOWN:
        assert each in page
    for each in ('<script>alert("planted")', 'href="javascript:', "<img src=x", "<h1>Please"):
        assert each not in page


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    made = make_study(
        {"only": 5}, instructions=WRITTEN, debriefing=WRITTEN, re_entry="up_to", re_entry_most=2
    )
    made.consent_versions.create(number=2, text=WRITTEN)
    return made


def page_of(client: Client, study: Study, place: str = "") -> str:
    answer = client.get(f"/s/{study.code}/{place}")
    assert answer.status_code == 200
    return answer.content.decode()


def test_workers_read_all_texts_formatted(study: Study, sign_in: SignIn, rex: User) -> None:
    client = Client()
    assert_formatted(page_of(client, study))
    client.post(f"/s/{study.code}/consent/", {"agree": "yes", "consent": "2"})
    assert_formatted(page_of(client, study, "instructions/"))
    client.post(f"/s/{study.code}/start/")
    complete(Assignment.objects.get().pk, Outcome.COMPLETE, now=timezone.now())
    thanks = page_of(client, study, "thanks/")
    assert_formatted(thanks)
    own = re.search(rf"/s/{study.code}/(data/[^\"/]+/)", thanks)
    assert own
    assert_formatted(page_of(client, study, own[1]))
    study.consent_versions.create(number=3, text=WRITTEN)
    assert_formatted(page_of(client, study, "again/"))

    for page in ("consent", "instructions"):
        assert_formatted(sign_in(rex).get(f"/studies/{study.pk}/preview/{page}/").content.decode())


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_markup_is_removed(text: str) -> None:
    assert_harmless(markdown(text))


def test_plain_texts_look_the_same() -> None:
    assert markdown("One\r\ntwo\r\n\r\n    Three [name] & <b>") == (
        "<p>One<br>\ntwo</p>\n<p>Three [name] &amp; &lt;b&gt;</p>"
    )


def test_the_form_says_that_markdown_may_be_used(study: Study, sign_in: SignIn, rex: User) -> None:
    page = sign_in(rex).get(f"/studies/{study.pk}/edit/").content.decode()
    assert page.count("Markdown may be used") == len(IN_MARKDOWN)
