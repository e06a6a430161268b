"""A rehearsal of a study in which people write, through real pages and the real socket."""

import re
from collections import Counter

import pytest
from django.core.management import CommandError
from django.db.models import Count

from tests.conftest import MakeQueue, MakeWriting
from tests.planted import SignIn
from tests.rehearsals.conftest import rehearsed, rows
from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Participation
from turnwise.rehearsals.injected_effects import Kind, mix
from turnwise.rehearsals.services import enough_workers
from turnwise.rehearsals.simulated_answers import ASSISTANT_TEXT, response_text
from turnwise.responses.checks import problem_of
from turnwise.responses.models import Response, ResponseRun
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study
from turnwise.studies.services import save_study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_same_database")]


def test_every_response_is_written_once_by_different_people_and_the_study_is_unchanged(
    make_writing: MakeWriting, make_queue: MakeQueue, rex: User, sign_in: SignIn
) -> None:
    study = make_writing(20, responses=3, batch=5)
    before = rows()

    told = rehearsed(study, "--workers", "20")

    rehearsal, run = study.rehearsal, ResponseRun.objects.get()
    assert "The study shows the injected effects: 7 of 7 findings hold." in told, told
    assert "OUTSIDE" not in told
    written = Response.objects.filter(run__study=rehearsal)
    each = written.values_list("context").annotate(n=Count("pk"), people=Count("author", distinct=True))
    assert {(n, people) for _, n, people in each} == {(3, 3)}  # 60 of 60
    assert (run.state, run.study, written.count()) == ("done", rehearsal, 60)
    # Two leave, unless the second comes when others are at all that is left.
    ends = Counter(Assignment.objects.filter(study=rehearsal).values_list("outcome", flat=True))
    assert 1 <= ends["withdrawn"] <= mix(20).count(Kind.LEAVING) == 2
    assert ends.total() == ends["withdrawn"] + ends["complete"]
    assert not written.filter(text=ASSISTANT_TEXT).exists()
    assert written.filter(text__endswith="That is what I think.").exists()

    client = sign_in(rex)
    at = f"/studies/{study.pk}"
    assert f"{at}/rehearsal/" in client.get(f"{at}/").content.decode()
    page = client.get(f"{at}/rehearsal/").content.decode()
    assert "7 of 7 findings hold." in page
    assert "Words of a response: injected" in page
    assert "/report/" not in page
    assert "This is a rehearsal." in client.get(f"/studies/{rehearsal.pk}/").content.decode()
    # What simulated people wrote is nowhere offered to be judged.
    assert f'href="{run.get_absolute_url()}"' not in client.get("/responses/").content.decode()
    queue = make_queue(1)
    offered = client.get(f"/studies/{queue.pk}/queue/").content.decode()
    runs = re.findall(r'name="run" value="(\d+)"', offered)
    assert runs == [str(ResponseRun.objects.exclude(pk=run.pk).get().pk)]
    assert client.get(run.get_absolute_url()).status_code == 200
    assert not study.participations.exists()

    study.refresh_from_db()
    before += rows() - before  # of the queue
    client.post(f"/studies/{rehearsal.pk}/rehearsal/delete/")

    assert not Study.objects.filter(rehearsal_of=study).exists()
    assert not ResponseRun.objects.filter(pk=run.pk).exists()
    assert not Participation.objects.exists()


def test_few_people_write_what_they_can_and_answer_questionnaires(
    make_writing: MakeWriting,
) -> None:
    study = make_writing(40, responses=1, batch=2)
    Study.objects.filter(pk=study.pk).update(state="draft")
    study.refresh_from_db()
    asks = [
        AskSpec("demographics", About.PERSON, Moment.BEFORE_WORK, required=False),
        AskSpec("feedback", About.PERSON, Moment.AFTER_WORK),
    ]
    save_study(study, owner=study.owner, consent_text="You write.", targets={}, asks=asks)

    told = rehearsed(study, "--workers", "10")

    # Nine write their two, and who leaves writes one before.
    assert "The study has 19 responses to 19 contexts" in told, told
    assert "\nNO " not in told, told
    assert told.count("the report counts") == 2


def test_the_suggested_number_of_people_reaches_the_target(make_writing: MakeWriting) -> None:
    # Of 10 one leaves and two come last: 7 of 2 are 14. Of 20, two and three: 15 of 2 are 30.
    assert enough_workers(make_writing(14, batch=2)) == 10
    assert enough_workers(make_writing(15, batch=2)) == 20
    assert enough_workers(make_writing(5000, batch=2)) == 200


def test_too_few_people_for_different_responses_are_refused_before_the_start(
    make_writing: MakeWriting,
) -> None:
    study = make_writing(2, responses=7)

    with pytest.raises(CommandError, match=r"only 6 of 7 simulated workers stay to the end. Use --workers 8"):
        rehearsed(study, "--workers", "7")

    assert not Study.objects.exclude(pk=study.pk)


def test_injected_texts_are_accepted_or_refused_correctly() -> None:
    texts = [response_text(7, number) for number in range(200)]

    assert len(set(texts)) == 200
    assert [problem_of(text, ["What do you think?"], texts[:place]) for place, text in enumerate(texts)] == [
        ""
    ] * 200
    assert problem_of(ASSISTANT_TEXT, ["What do you think?"], [])
