"""A rehearsal of a study with batteries through real pages and a real socket: injected effects come out."""

import pytest

from tests.asking import LIKENESS, asking
from tests.conftest import MakeContexts, MakeQueue, MakeRun
from tests.rehearsals.conftest import rehearsed
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.judging.items import subjects
from turnwise.judging.models import Battery, Slot
from turnwise.judging.queue import services as judging
from turnwise.labels.models import Label
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.models import Study

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("_same_database")]


def test_injected_effects_in_batteries_are_recovered(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study: Study = make_queue(question_set="reply-impression", protocol="r-u-a-robot-user-study")
    Study.objects.filter(pk=study.pk).update(state=Study.State.DRAFT)
    study.refresh_from_db()
    asked = make_contexts(6)
    for system in ("Confirms", "Denies", "Evades"):
        subjects.add_responses(study, make_run(asked, system))
    subjects.add_responses(study, make_run(make_contexts(6), "Small talk"))
    composed = Battery(
        plan=judging.plan_of(study), targets=["Confirms", "Denies", "Evades"], fillers_of=["Small talk"],
        fillers=5, repeats=1, reasons_at=[3], workers=10, compared_with="Confirms", repeat_points=2,
        repeat_questions=2, least_spread=2.0,
    )  # fmt: skip
    subjects.save_battery(composed)

    said = rehearsed(study, "--workers", "20")

    assert "OUTSIDE" not in said, said
    assert "The report recovers the injected effects: " in said, said
    within = [line for line in said.splitlines() if "within workers" in line]
    assert len(within) == 6  # two targets against the third, three scores
    assert said.count("judged twice") == 3
    rehearsal = study.rehearsal
    # Two of twenty leave half-way; what they left goes to others as a whole.
    finished = Participation.objects.filter(study=rehearsal, assignment__outcome="complete")
    assert finished.count() == 18
    assert Label.objects.filter(study=rehearsal, occasion=2).count() >= 18
    assert Label.objects.filter(study=rehearsal, answers__has_key="reason").count() >= 18
    assert not Slot.objects.filter(study=rehearsal, label=None).exists()
    assert Participation.objects.filter(study=rehearsal).exclude(proposed_reason="").exists()


def test_injected_effects_of_each_ask_in_batteries_are_recovered(
    rex: User, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study = asking(rex, AskSpec("reply-impression", About.RESPONSE), LIKENESS)
    asked = make_contexts(6)
    for system in ("Confirms", "Denies"):
        subjects.add_responses(study, make_run(asked, system))
    subjects.add_responses(study, make_run(make_contexts(6), "Small talk"))
    composed = Battery(
        plan=judging.plan_of(study), targets=["Confirms", "Denies"], fillers_of=["Small talk"], fillers=5,
        repeats=1, reasons_at=[3], workers=10, compared_with="Confirms", repeat_points=2, least_spread=2.0,
    )  # fmt: skip
    subjects.save_battery(composed)

    said = rehearsed(study, "--workers", "20")

    assert "The report recovers the injected effects: " in said, said
    assert len([line for line in said.splitlines() if "within workers" in line]) == 3 + 1
    assert said.count("judged twice") == 3
    assert "The declared rules propose to exclude" in said
    given = Label.objects.filter(study=study.rehearsal)
    for key in ("reply-impression", "human-likeness"):
        assert given.filter(question_set=key, occasion=2).count() >= 18
