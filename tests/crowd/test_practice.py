"""Practice before the work: due once for each worker and question set, and never a label."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client

from tests.conftest import MakePairs, MakeStudy
from tests.questions.conftest import TONE
from turnwise.crowd.entry.practice import page_settings
from turnwise.crowd.models import Assignment, Participation, Practice, StudyPanel
from turnwise.crowd.panels.study_panels import save_panels
from turnwise.labels.models import Label
from turnwise.questions import question_sets
from turnwise.questions.services import create_set
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study

# The two examples of human-likeness: the author says yes to the first and no to the second.
PANELS: dict[str, dict[str, str]] = {"open": {}, "prolific": {"complete": "D0NE"}}
TRIED = {"0-0": {"human_like": True}, "0-1": {"human_like": True}}


@pytest.fixture(autouse=True)
def _sets_are_forgotten() -> Iterator[None]:
    """A version is read once per process; the next test has another database."""
    yield
    question_sets.forget_question_sets()


def entered(study: Study, client: Client | None = None, prolific: str = "") -> Client:
    """Somebody who agreed, by the plain link or that of Prolific with this id."""
    client = client or Client()
    consent = {"agree": "yes", "consent": "1"}
    if prolific:
        rows = [StudyPanel(panel=panel, codes=codes) for panel, codes in PANELS.items()]
        save_panels(study, rows, closed_to=())
        page = client.get(f"/s/{study.code}/?PROLIFIC_PID={prolific}").content.decode()
        consent["arrival"] = re.findall(r'name="arrival" value="([^"]+)"', page)[0]
    assert client.post(f"/s/{study.code}/consent/", consent).status_code == 302
    return client


def practise(client: Client, study: Study, answers: Any = TRIED) -> Any:
    sent = answers if isinstance(answers, str) else json.dumps(answers)
    return client.post(f"/s/{study.code}/practice/", {"answers": sent}, follow=True)


@pytest.fixture
def practising(make_study: MakeStudy) -> Study:
    return make_study(question_set="human-likeness", practice=True)


def test_no_worker_starts_before_trying_every_example(practising: Study) -> None:
    client = entered(practising)
    instructions = client.get(f"/s/{practising.code}/instructions/").content.decode()
    assert "Try the questions" in instructions
    assert "Start the conversation" not in instructions

    early = client.post(f"/s/{practising.code}/start/")
    assert early.url == f"/s/{practising.code}/practice/"  # a redirect
    assert not Assignment.objects.exists()

    done = practise(client, practising)

    assert done.redirect_chain[-1][0] == f"/s/{practising.code}/chat/"
    assert Practice.objects.get().question_set == "human-likeness"
    assert not Label.objects.exists()


def test_questionnaires_come_first_and_the_button_says_so(make_study: MakeStudy) -> None:
    about_people = AskSpec("demographics", About.PERSON, Moment.BEFORE_WORK)
    asks = [AskSpec("human-likeness", About.PARTNER_TURN, Moment.EACH_TURN), about_people]
    study = make_study(asks=asks, practice=True)
    client = entered(study)

    page = client.get(f"/s/{study.code}/instructions/").content.decode()

    assert "Then you try the questions on short examples" in page
    assert "First you try" not in page
    assert "Try the questions" not in page
    way = re.findall(r'href="([^"]+)">Continue</a>', page)
    assert way == [f"/s/{study.code}/practice/"]
    assert client.get(way[0]).headers["Location"] == f"/s/{study.code}/before/"


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({"0-0": {"human_like": True}}, "You have not tried every example yet."),
        (TRIED | {"0-1": {"human_like": "maybe"}}, "maybe"),
        (TRIED | {"0-1": {"other": True}}, "is not a question of this form"),
        (TRIED | {"0-1": [True]}, "You have not tried every example yet."),
        ("[]", "could not be read"),
        ("", "could not be read"),
        ("[" * 99_000, "could not be read"),
        ('"' + "x" * 200_000 + '"', "could not be read"),
    ],
)
def test_invalid_practice_answers_are_refused(practising: Study, answers: Any, says: str) -> None:
    client = entered(practising)

    response = practise(client, practising, answers)

    assert response.status_code == 422
    assert says in response.content.decode()
    assert not Practice.objects.exists()
    assert not Assignment.objects.exists()


def test_workers_who_practised_the_same_questions_may_skip(make_study: MakeStudy, practising: Study) -> None:
    again = make_study({"other": 5}, question_set="human-likeness", practice=True)
    client = entered(practising, prolific="wanda")
    practise(client, practising)

    entered(again, client, prolific="wanda")
    assert b"Start the conversation" in client.get(f"/s/{again.code}/instructions/").content
    assert b">Skip<" in client.get(f"/s/{again.code}/practice/").content
    assert client.post(f"/s/{again.code}/start/").url == f"/s/{again.code}/chat/"

    # Elsewhere, too, for whom the panel names; not for another person at the same browser.
    third = make_study({"third": 5}, question_set="human-likeness", practice=True)
    elsewhere = entered(third, prolific="wanda")
    assert elsewhere.post(f"/s/{third.code}/start/").url.endswith("/chat/")
    entered(third, client, prolific="rita")
    assert b">Skip<" not in client.get(f"/s/{third.code}/practice/").content
    assert client.post(f"/s/{third.code}/start/").url.endswith("/practice/")


def test_other_questions_require_new_practice(make_study: MakeStudy, practising: Study) -> None:
    client = entered(practising)
    practise(client, practising)
    other = make_study({"other": 5}, question_set="ssa", practice=True)

    entered(other, client)

    assert client.post(f"/s/{other.code}/start/").url.endswith("/practice/")


def test_practice_is_optional_and_absent_without_examples(make_study: MakeStudy) -> None:
    optional = AskSpec("votes", About.PARTNER_TURN, Moment.BEFORE_FINISH, required=False)
    for study in (
        make_study(question_set="ssa", practice=False),
        make_study({"other": 5}, asks=[optional], practice=True),
    ):
        client = entered(study)
        assert client.get(f"/s/{study.code}/practice/").url.endswith("/instructions/")
        assert client.post(f"/s/{study.code}/start/").url.endswith("/chat/")


def test_workers_who_have_started_are_not_sent_back(practising: Study) -> None:
    client = entered(practising)
    practise(client, practising)
    Practice.objects.all().delete()  # as if the set had got examples meanwhile

    assert client.post(f"/s/{practising.code}/start/").url.endswith("/chat/")
    assert client.get(f"/s/{practising.code}/practice/").url.endswith("/chat/")


def test_examples_are_in_the_language_of_the_study(make_study: MakeStudy) -> None:
    declared = {
        **TONE,
        "examples": [
            {"context": [["You", "Hello!"]], "response": "Go away.", "why": "It is rude.",
             "answers": {"polite": False, "warmth": 1}}
        ],
        "translations": {"de": {"Hello!": "Hallo!", "Go away.": "Geh weg.", "It is rude.": "Das ist grob."}},
    }  # fmt: skip
    owner = make_study().owner
    key = create_set(declared, owner=owner).key
    study = make_study({"b": 1}, question_set=key, practice=True, languages=["de"])

    example = page_settings(study)["examples"][0]

    assert example["answers"] == {"polite": False, "warmth": 1}
    assert example["context"] == [{"name": "You", "is_own": True, "text": "Hallo!"}]
    assert (example["text"], example["why"]) == ("Geh weg.", "Das ist grob.")


def test_practice_of_pairs_shows_both_sides(make_pairs: MakePairs) -> None:
    study = make_pairs(2, practice=True)
    client = entered(study)
    assert client.post(f"/s/{study.code}/compare/start/").url.endswith("/practice/")

    response = practise(client, study, {"0-0": {"better": "second"}, "0-1": {"better": "first"}})

    assert response.redirect_chain[-1][0] == f"/s/{study.code}/compare/"
    assert all(example["other"] for example in page_settings(study)["examples"])


def test_the_researcher_can_try_the_practice(practising: Study, sign_in: Any) -> None:
    page = sign_in(practising.owner).get(f"/studies/{practising.pk}/preview/practice/")

    assert f"/studies/{practising.pk}/preview/work/" in page.text  # "Start now" leads on
    assert "<form" not in page.text
    assert not Participation.objects.exists()
