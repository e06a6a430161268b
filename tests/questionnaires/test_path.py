"""Questions about the person: before the work once in a study, after it each time, and never a judgment."""

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from evaluation.questions import DEMOGRAPHICS, FEEDBACK
from tests.conftest import MakePairs, MakeQueue, MakeStudy, MakeWriting
from tests.rewriting import rewriting
from turnwise.crowd.models import Assignment, Outcome, Participation
from turnwise.crowd.places.ending import complete
from turnwise.labels.models import Label
from turnwise.monitoring.funnel import Progress, stages
from turnwise.privacy.withdrawal import withdraw
from turnwise.questionnaires.services import due_questionnaires
from turnwise.questions import question_sets
from turnwise.studies.ask_rules import rows_of
from turnwise.studies.asks import About, AskSpec, Moment, Party
from turnwise.studies.models import ReEntry, Study
from turnwise.studies.services import save_study

SSA = AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN)
WHO = AskSpec("demographics", About.PERSON, Moment.BEFORE_WORK)
HOW = AskSpec("feedback", About.PERSON, Moment.AFTER_WORK, required=False)

OLD_HAND = {
    "age": "35-44",
    "gender": "own_words",
    "gender_in_own_words": "Fae",
    "language": "fluent",
    "chatbots": "daily",
}
FINE = {"instructions": 4, "pages": "well", "pay": "fair", "anything_else": "Nice bot."}


@pytest.fixture(autouse=True)
def _sets_are_forgotten() -> Iterator[None]:
    yield
    question_sets.forget_question_sets()


def agreed(study: Study, client: Client | None = None) -> Client:
    client = client or Client()
    assert client.post(f"/s/{study.code}/consent/", {"agree": "yes", "consent": "1"}).status_code == 302
    return client


def send(client: Client, study: Study, moment: str, answers: Any, **more: Any) -> Any:
    sent = answers if isinstance(answers, str) else json.dumps(answers)
    return client.post(f"/s/{study.code}/{moment}/", {"answers": sent}, **more)


def finish(study: Study, outcome: Outcome = Outcome.COMPLETE) -> Participation:
    """End the work of whoever is at it."""
    work = Assignment.objects.select_related("participation").get(participation__study=study, outcome="")
    with transaction.atomic():
        complete(work.pk, outcome, now=timezone.now())
    return work.participation


@pytest.fixture
def both(make_study: MakeStudy) -> Study:
    """A study that asks before and after."""
    return make_study(asks=[SSA, WHO, HOW])


def test_work_begins_only_after_the_questionnaire(both: Study) -> None:
    client = agreed(both)
    assert "First you answer some questions" in client.get(f"/s/{both.code}/instructions/").content.decode()

    early = client.post(f"/s/{both.code}/start/")
    assert early.url == f"/s/{both.code}/before/"
    assert not Assignment.objects.exists()
    page = client.get(early.url).content.decode()
    assert "A few questions about you" in page
    assert "You may skip them" not in page

    sent = {"demographics": {"answers": OLD_HAND, "timing": {"shown_ms": 9000, "answer_ms": 9100}}}
    done = send(client, both, "before", sent, follow=True)

    assert done.redirect_chain[-1][0] == f"/s/{both.code}/chat/"
    label = Label.objects.get()
    assert (label.answers, label.party, label.shown_ms) == (OLD_HAND, Party.THEMSELVES, 9000)
    assert label.participation == Participation.objects.get()
    assert label.rater == label.participation.worker
    assert label.ask in both.questionnaires
    # Who has begun is not asked again.
    assert client.get(f"/s/{both.code}/before/").url == f"/s/{both.code}/chat/"


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        ({}, "You have not answered every question yet."),
        ({"demographics": {"answers": None}}, "You have not answered every question yet."),
        ({"demographics": [1]}, "You have not answered every question yet."),
        ({"demographics": {"answers": OLD_HAND | {"age": "17"}}}, "17"),
        ({"demographics": {"answers": OLD_HAND | {"shoe_size": 43}}}, "is not a question of this form"),
        ({"demographics": {"answers": {"age": "25-34"}}}, "Please answer"),
        ("[]", "could not be read"),
        ("", "could not be read"),
        ("[" * 99_000, "could not be read"),
        ('"' + "x" * 200_000 + '"', "could not be read"),
    ],
)
def test_missing_answers_are_refused_and_not_stored(both: Study, answers: Any, says: str) -> None:
    client = agreed(both)

    response = send(client, both, "before", answers)

    assert response.status_code == 422
    assert says in response.content.decode()
    assert not Label.objects.exists()
    assert not Assignment.objects.exists()


def test_an_unknown_visitor_gets_no_questionnaire_and_stores_nothing(both: Study) -> None:
    for moment in ("before", "after"):
        assert Client().get(f"/s/{both.code}/{moment}/").status_code == 401
        assert send(Client(), both, moment, {"feedback": {"answers": FINE}}).status_code == 401
    assert not Label.objects.exists()


def test_the_questionnaire_comes_before_the_practice(make_study: MakeStudy) -> None:
    study = make_study(asks=[SSA, WHO], practice=True)
    client = agreed(study)

    assert client.get(f"/s/{study.code}/practice/").url == f"/s/{study.code}/before/"
    done = send(client, study, "before", {"demographics": {"answers": OLD_HAND}}, follow=True)

    assert done.redirect_chain[-1][0] == f"/s/{study.code}/practice/"


def test_the_last_page_comes_after_the_questions_and_the_pay_before_them(both: Study) -> None:
    client = agreed(both)
    send(client, both, "before", {"demographics": {"answers": OLD_HAND}}, follow=True)
    assert client.get(f"/s/{both.code}/after/").url == f"/s/{both.code}/chat/"
    own = finish(both)

    led = client.get(f"/s/{both.code}/thanks/")
    assert led.url == f"/s/{both.code}/after/"
    # Whoever closes the page and comes back by the link is led there again.
    back = client.get(f"/s/{both.code}/", follow=True)
    assert back.redirect_chain[-1][0] == f"/s/{both.code}/after/"
    page = back.content.decode()
    assert "Your work is done and saved" in page
    assert own.completion_code not in page

    done = send(client, both, "after", {"feedback": {"answers": FINE}}, follow=True)

    assert own.completion_code in done.content.decode()
    assert Label.objects.get(question_set="feedback").answers == FINE
    # Once more changes nothing.
    send(client, both, "after", {"feedback": {"answers": FINE | {"instructions": 1}}})
    assert Label.objects.get(question_set="feedback").answers == FINE


def test_a_skipped_questionnaire_is_recorded_and_not_shown_again(both: Study) -> None:
    client = agreed(both)
    send(client, both, "before", {"demographics": {"answers": OLD_HAND}}, follow=True)
    finish(both)

    done = send(client, both, "after", {"feedback": {"answers": None}}, follow=True)

    assert done.redirect_chain[-1][0] == f"/s/{both.code}/thanks/"
    assert Label.objects.get(question_set="feedback").answers == {}


def test_a_required_questionnaire_is_shown_until_it_is_answered(make_study: MakeStudy) -> None:
    must = AskSpec("feedback", About.PERSON, Moment.AFTER_WORK)
    study = make_study(asks=[SSA, must])
    client = agreed(study)
    client.post(f"/s/{study.code}/start/")
    own = finish(study)

    assert send(client, study, "after", {"feedback": {"answers": None}}).status_code == 422
    assert own.completion_code not in client.get(f"/s/{study.code}/thanks/", follow=True).content.decode()


@pytest.mark.parametrize("outcome", [each for each in Outcome if each != Outcome.COMPLETE])
def test_incomplete_work_has_no_final_questionnaire(both: Study, outcome: Outcome) -> None:
    client = agreed(both)
    send(client, both, "before", {"demographics": {"answers": OLD_HAND}}, follow=True)
    finish(both, outcome)

    assert client.get(f"/s/{both.code}/thanks/").status_code == 200
    assert client.get(f"/s/{both.code}/after/").url == f"/s/{both.code}/thanks/"


def test_repeated_participation_repeats_only_the_final_questionnaire(make_study: MakeStudy) -> None:
    study = make_study(asks=[SSA, WHO, HOW], re_entry=ReEntry.UP_TO, re_entry_most=2)
    client = agreed(study)
    send(client, study, "before", {"demographics": {"answers": OLD_HAND}}, follow=True)
    finish(study)
    send(client, study, "after", {"feedback": {"answers": FINE}})

    client.post(f"/s/{study.code}/again/", {"after": "1", "consent": "1"})
    assert client.post(f"/s/{study.code}/start/").url == f"/s/{study.code}/chat/"
    finish(study)
    assert client.get(f"/s/{study.code}/thanks/").url == f"/s/{study.code}/after/"
    send(client, study, "after", {"feedback": {"answers": FINE | {"instructions": 2}}})

    first, second = Participation.objects.order_by("number")
    assert [each.question_set for each in first.labels.order_by("pk")] == ["demographics", "feedback"]
    assert [each.answers["instructions"] for each in second.labels.all()] == [2]


def test_another_study_shows_its_questionnaire_again(both: Study, make_study: MakeStudy) -> None:
    client = agreed(both)
    send(client, both, "before", {"demographics": {"answers": OLD_HAND}}, follow=True)
    other = make_study({"other": 5}, asks=[SSA, WHO])

    agreed(other, client)

    assert client.post(f"/s/{other.code}/start/").url == f"/s/{other.code}/before/"


def test_every_task_with_workers_asks(
    make_queue: MakeQueue, make_pairs: MakePairs, make_writing: MakeWriting
) -> None:
    made = (("judge", make_queue(2)), ("compare", make_pairs(2)), ("write", make_writing()))
    for path, study in made:
        study.asks.bulk_create(rows_of(study, [*[a.declared for a in study.work_asks], WHO])[-1:])
        client = agreed(study)
        start = re.findall(
            r'<form method="post" action="([^"]+)"',
            client.get(f"/s/{study.code}/instructions/").content.decode(),
        )[0]
        assert client.post(start).url == f"/s/{study.code}/before/"
        done = send(client, study, "before", {"demographics": {"answers": OLD_HAND}}, follow=True)
        assert path in done.redirect_chain[-1][0]
        assert done.status_code == 200


def test_after_a_withdrawal_nothing_is_kept_or_asked(both: Study) -> None:
    client = agreed(both)
    send(client, both, "before", {"demographics": {"answers": OLD_HAND}}, follow=True)
    own = finish(both)

    withdraw(own.pk)

    assert not Label.objects.exists()
    own = Participation.objects.get()
    assert not due_questionnaires(own, Moment.AFTER_WORK)
    assert client.get(f"/s/{both.code}/thanks/").status_code in (200, 403)


def test_only_suitable_question_sets_are_offered(make_study: MakeStudy) -> None:
    study = make_study()
    study.state = Study.State.DRAFT
    study.save()

    def asking(*asks: AskSpec) -> None:
        save_study(study, owner=study.owner, consent_text="You talk.", targets={}, asks=asks)

    with pytest.raises(ValidationError, match="Only the people themselves are asked about"):
        asking(WHO)
    with pytest.raises(ValidationError, match="can be asked about responses or single turns only"):
        asking(SSA, AskSpec("ssa", About.PERSON, Moment.BEFORE_WORK))
    with pytest.raises(ValidationError, match="before they begin, or once their work is done"):
        asking(SSA, AskSpec("demographics", About.PERSON, Moment.AT_END))
    with pytest.raises(ValidationError, match="before they begin, or once their work is done"):
        asking(AskSpec("ssa", About.PARTNER_TURN, Moment.AFTER_WORK))
    with pytest.raises(ValidationError, match="asked twice"):
        asking(SSA, WHO, AskSpec("demographics", About.PERSON, Moment.AFTER_WORK))
    asking(HOW, WHO, SSA)
    study = Study.objects.get(pk=study.pk)
    assert [each.question_set for each in study.every_ask] == ["ssa", "demographics", "feedback"]
    assert [each.question_set for each in study.work_asks] == ["ssa"]


def test_a_label_about_a_person_has_no_other_subject(both: Study) -> None:
    client = agreed(both)
    send(client, both, "before", {"demographics": {"answers": OLD_HAND}}, follow=True)
    label = Label.objects.get()
    for wrong in ({"party": Party.CHATTER}, {"participation": None}):
        with pytest.raises(IntegrityError), transaction.atomic(), rewriting():
            Label.objects.filter(pk=label.pk).update(**wrong)


def test_the_team_can_preview_the_questionnaire_pages(both: Study, sign_in: Any) -> None:
    page = sign_in(both.owner)
    for moment in ("before", "after"):
        told = page.get(f"/studies/{both.pk}/preview/?page={moment}").text
        address = f"/studies/{both.pk}/questionnaires/{moment}/"
        assert f'src="{address}?' in told
        assert f"/studies/{both.pk}/preview/" in page.get(address).text.partition('id="begin"')[2]
    assert not Participation.objects.exists()


def test_the_shipped_sets_offer_not_to_say() -> None:
    for question in DEMOGRAPHICS.questions:
        declined = [each.value for each in question.choices if each.value == "undisclosed"]
        assert declined or not question.required
    assert {question.kind for question in FEEDBACK.questions} == {"scale", "one", "text"}


def test_workers_who_stop_at_the_questionnaire_are_counted_there(both: Study) -> None:
    """Two agree, one of them answers: the way of workers says who was lost where."""
    agreed(both)
    client = agreed(both)
    send(client, both, "before", {"demographics": {"answers": OLD_HAND}})

    told = {each.title: each.reached for each in stages(both, Progress(both, timezone.now()))}

    assert told["Agreed to take part"] == 2
    assert told["Answered, practised or qualified, as the study wants"] == 1
