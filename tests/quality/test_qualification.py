"""Qualifications: before real work, with a pass mark and a number of tries."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client

from tests.conftest import MakeQueue, MakeStudy, enter
from turnwise.accounts.models import User
from turnwise.crowd.entry.sessions import signed
from turnwise.crowd.models import Assignment, Outcome, Participation, Worker
from turnwise.crowd.panels import Arrival
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.judging.models import Batch
from turnwise.privacy.stored_data import stored_data_of
from turnwise.quality import qualification_tests
from turnwise.quality.models import Attempt, Qualification
from turnwise.quality.qualification_tests import format_questions, parse_questions
from turnwise.studies.models import Study

TEXT = """Which reply makes sense?
* Fine, thanks.
- Banana of the.
> The other is no sentence.

Which are colours?
* red
- seven
* blue
"""
RIGHT = {"q0": "0", "q1": ["0", "2"]}
HALF = {"q0": "0", "q1": ["0"]}

pytestmark = pytest.mark.django_db


@pytest.fixture
def wanted(rex: User) -> Qualification:
    """Both answers right, in two tries."""
    return qualification_tests.save_qualification(
        Qualification(owner=rex, title="Reading", questions=parse_questions(TEXT), pass_mark=2, tries=2)
    )


def browser_of(participation: Participation) -> Client:
    client = Client()
    client.cookies["turnwise_worker"] = signed(participation)
    return client


def begun(study: Study, qualification: Qualification) -> tuple[Participation, Client, str]:
    qualification_tests.set_requirement(study, qualification)
    participation = enter(study)
    return participation, browser_of(participation), f"/s/{study.code}/qualification/"


def test_a_worker_who_passes_starts_and_need_not_repeat_it(
    make_study: MakeStudy, make_queue: MakeQueue, wanted: Qualification
) -> None:
    study, other = make_study(), make_queue(2)
    participation, browser, page = begun(study, wanted)

    first = browser.post(f"/s/{study.code}/start/")
    assert (first.status_code, first["Location"]) == (302, page)
    once = browser.post(page, HALF)
    assert once.status_code == 422
    assert "1 of 2 were right" in once.content.decode()
    assert "You have 1 attempt left." in once.content.decode()
    passed = browser.post(page, RIGHT)
    assert "You have passed" in passed.content.decode()
    assert browser.post(f"/s/{study.code}/start/")["Location"] == f"/s/{study.code}/chat/"

    qualification_tests.set_requirement(other, wanted)
    version = other.consent_versions.get()
    own = Participation.objects.create(worker=participation.worker, study=other, consent=version)
    browser.cookies["turnwise_worker"] = signed(own)
    browser.post(f"/s/{other.code}/judge/start/")
    assert Batch.objects.filter(study=other).count() == 1


def test_a_worker_who_fails_is_screened_out_with_the_reason(
    make_queue: MakeQueue, make_study: MakeStudy, wanted: Qualification
) -> None:
    study, other = make_queue(2), make_study()
    participation, browser, page = begun(study, wanted)
    other_tab = browser.get(page)
    assert other_tab.status_code == 200
    for _ in range(2):
        answer = browser.post(page, HALF)

    assert answer["Location"] == f"/s/{study.code}/thanks/"
    assert "requires 2 of 2 right answers" in browser.get(answer["Location"]).content.decode()
    assert Assignment.objects.get(participation=participation).outcome == "screened_out"
    assert browser.post(page, RIGHT)["Location"] == f"/s/{study.code}/thanks/"
    assert Attempt.objects.count() == 2
    assert [each["right"] for each in stored_data_of(participation)["qualification"]] == [1, 1]
    qualification_tests.set_requirement(other, wanted)
    with pytest.raises(EntryRefusedError, match="did not pass") as refused:
        enter_as(participation.worker, other)
    assert refused.value.outcome == Outcome.SCREENED_OUT


def enter_as(worker: Worker, study: Study) -> Participation:
    worker.panel, worker.panel_id = "prolific", "P1"
    worker.save()
    return enter(study, Arrival("prolific", "P1"))


@pytest.mark.django_db(transaction=True)
def test_two_tabs_share_the_attempts(make_study: MakeStudy, wanted: Qualification) -> None:
    study = make_study()
    qualification_tests.set_requirement(study, wanted)
    participation = enter(study)

    def tried(_: int) -> bool:
        try:
            own = Participation.objects.select_related("study").get(pk=participation.pk)
            return qualification_tests.record_attempt(own, {}) is not None
        finally:
            connection.close()

    with ThreadPoolExecutor(6) as tabs:
        assert sum(tabs.map(tried, range(6))) == 2

    assert Assignment.objects.get(participation=participation).outcome == "screened_out"


def test_incomplete_answers_are_no_attempt_and_feedback_is_optional(
    make_study: MakeStudy, wanted: Qualification
) -> None:
    wanted.feedback = False
    qualification_tests.save_qualification(wanted)
    _, browser, page = begun(make_study(), wanted)

    incomplete = browser.post(page, {"q0": "7"}).content.decode()
    assert "did not count as an attempt" in incomplete
    assert "You have 2 attempts left." in incomplete
    tried = browser.post(page, HALF).content.decode()
    assert "The other is no sentence" not in tried
    assert "You are not told which ones" in tried


def test_the_pass_mark_cannot_exceed_the_questions(wanted: Qualification) -> None:
    wanted.pass_mark = 3
    with pytest.raises(ValidationError, match="Nobody could pass: 3 right answers are required"):
        qualification_tests.save_qualification(wanted)


def test_a_qualification_with_attempts_cannot_be_changed(wanted: Qualification) -> None:
    Attempt.objects.create(
        worker=Worker.objects.create(), qualification=wanted, number=1, right=2, passed=True, given={}
    )
    with pytest.raises(ValidationError, match="it is fixed"):
        qualification_tests.save_qualification(wanted)


def test_a_warning_is_shown_when_the_first_ten_fail(
    wanted: Qualification, make_study: MakeStudy, sign_in: Callable[[User], Client], rex: User
) -> None:
    study, client = make_study(), sign_in(rex)
    qualification_tests.set_requirement(study, wanted)
    page = f"/studies/{study.pk}/quality/"

    def fail(people: int) -> None:
        for _ in range(people):
            worker = Worker.objects.create()
            for number in (1, 2):
                Attempt.objects.create(
                    worker=worker, qualification=wanted, number=number, right=1, passed=False, given={}
                )

    fail(9)
    assert "nobody has passed" not in client.get(page).content.decode()
    fail(1)
    assert "10 people have used all attempts, and nobody has passed" in client.get(page).content.decode()
    assert "nobody has passed" in client.get("/qualifications/").content.decode()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "Write a question"),
        ("Yes?\n- no\n- never", "Line 1: No choice is right."),
        ("Yes?\n* no\n* never", "Every choice is right"),
        ("Yes?\n* no", "has 1 choices"),
        ("* a\n- b", "no question above"),
        ("Well?\n* a\n- a", "Line 3: “a” appears twice."),
        ("Well?\n* a\n- \n", "Line 3: There is nothing after"),
        ("Well?\n* a\n- b\nAnd?\n", "Line 4: A choice begins"),
        ("x" * 1001, "more than 1000 characters"),
    ],
)
def test_invalid_questions_are_refused_with_the_line(text: str, says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        parse_questions(text)


def test_formatted_questions_parse_to_the_same() -> None:
    assert format_questions(parse_questions(TEXT)) == TEXT.strip()
    assert parse_questions(format_questions(parse_questions(TEXT))) == parse_questions(TEXT)


def test_a_qualification_is_created_and_required_on_the_pages(
    sign_in: Callable[[User], Client], rex: User, mallory: User, make_study: MakeStudy
) -> None:
    client, study = sign_in(rex), make_study()
    sent = {"title": "Reading", "text": TEXT, "pass_mark": "3", "tries": "2", "feedback": "on"}

    refused = client.post("/qualifications/new/", sent)
    assert refused.status_code == 422
    assert "Nobody could pass" in refused.content.decode()
    client.post("/qualifications/new/", sent | {"pass_mark": "1"})
    made = Qualification.objects.get()
    client.post(f"/studies/{study.pk}/qualification/", {"qualification": made.pk})

    assert qualification_tests.required_qualification(study) == made
    assert sign_in(mallory).get(f"/qualifications/{made.pk}/").status_code == 404
