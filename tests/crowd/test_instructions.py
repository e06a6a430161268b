"""What workers read before they begin: all that their study asks, and how much that is."""

import re

import pytest
from django.test import Client
from django.utils import timezone
from django.utils.html import escape

from tests.asking import asking
from tests.conftest import MakeQueue, MakeStudy
from tests.crowd.test_entry import agree
from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Outcome
from turnwise.crowd.places.ending import complete
from turnwise.questions.question_sets import question_set
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study
from turnwise.studies.services import set_state

pytestmark = pytest.mark.django_db


def test_asks_about_the_same_subject_are_explained_together(make_study: MakeStudy) -> None:
    under_each_reply = (About.PARTNER_TURN, Moment.EACH_TURN)
    asks = [
        AskSpec("ssa", *under_each_reply),
        AskSpec("human-likeness", *under_each_reply),
        AskSpec("likert", About.DIALOGUE, Moment.AT_END),
    ]
    study, client = make_study(asks=asks), Client()
    agree(client, study)

    page = client.get(f"/s/{study.code}/instructions/").content.decode()

    assert "Under each reply you will find up to 3 short questions." in page
    assert "one short question" not in page
    assert page.count("<h3>Under each reply</h3>") == 1
    assert "3. Would a person have given this answer?" in page


def test_finished_workers_are_led_to_the_last_page(make_study: MakeStudy) -> None:
    study, client = make_study(), Client()
    agree(client, study)
    client.post(f"/s/{study.code}/start/")
    instructions = f"/s/{study.code}/instructions/"
    assert "Back to the conversation" in client.get(instructions).content.decode()

    complete(Assignment.objects.get().pk, Outcome.COMPLETE, now=timezone.now())

    assert client.get(instructions).headers["Location"] == f"/s/{study.code}/thanks/"


def test_every_set_of_a_study_of_pairs_is_explained(rex: User) -> None:
    study = asking(rex, AskSpec("preference", About.PAIR), AskSpec("preferences", About.PAIR), task="pairs")
    Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)  # its queue may be empty here
    client = Client()
    agree(client, study)

    page = client.get(f"/s/{study.code}/instructions/").content.decode()

    assert "the questions change" in page
    for asked in study.work_asks:
        for question in question_set(asked.question_set).questions:
            assert escape(question.wording) in page, question.wording


@pytest.mark.parametrize(
    ("task", "about", "sets", "heading"),
    [
        ("judging", About.RESPONSE, ("ssa", "human-likeness"), "About a single reply"),
        ("pairs", About.PAIR, ("preference", "preferences"), "About two side by side"),
    ],
)
def test_question_sets_about_the_same_subject_have_separate_headings(
    rex: User, task: str, about: About, sets: tuple[str, str], heading: str
) -> None:
    one, both = (asking(rex, *[AskSpec(key, about) for key in keys], task=task) for keys in (sets[:1], sets))
    Study.objects.update(state=Study.State.OPEN)  # their queues may be empty here

    def headings(study: Study) -> list[str]:
        client = Client()
        agree(client, study)
        page = client.get(f"/s/{study.code}/instructions/").content.decode()
        return re.findall(rf"<h3>({heading}.*?)</h3>", page)

    assert headings(one) == []
    assert headings(both) == [f"{heading}, set 1 of 2", f"{heading}, set 2 of 2"]


def test_an_example_omits_questions_that_its_author_left_out(rex: User) -> None:
    study = asking(rex, AskSpec("likert", About.DIALOGUE))
    Study.objects.filter(pk=study.pk).update(state=Study.State.OPEN)  # its queue may be empty here
    client = Client()
    agree(client, study)

    page = client.get(f"/s/{study.code}/instructions/").content.decode()

    assert page.count("Is there anything else you would like to say about it?") == 1  # among the questions
    assert "not asked" not in page


def test_a_closed_study_does_not_link_to_the_same_page(study: Study) -> None:
    set_state(study.pk, Study.State.CLOSED)

    page = Client().get(f"/s/{study.code}/").content.decode()

    assert "your work is safe and you can finish it: in the browser you started" in page
    assert "first page" not in page


@pytest.mark.parametrize(
    ("key", "says"),
    [
        ("human-likeness", "answer one short question about the marked part."),
        ("ssa", "answer up to 2 short questions about the marked part."),
        ("likert", "answer up to 6 short questions about each of them as a whole."),
    ],
)
def test_instructions_of_readers_mention_a_marked_part_only_if_there_is_one(
    make_queue: MakeQueue, key: str, says: str
) -> None:
    study, client = make_queue(question_set=key), Client()
    agree(client, study)

    page = client.get(f"/s/{study.code}/instructions/").content.decode()

    assert says in page
    assert ("the marked part" in page) == (key != "likert")
