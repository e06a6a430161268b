"""Simulated workers say something of themselves, too, and the report must find it again."""

from contextlib import suppress

import pytest
from django.core.management import CommandError

from tests.conftest import MakeQueue, MakeStudy
from tests.questionnaires.test_path import HOW, SSA, WHO
from tests.rehearsals.conftest import rehearsed
from turnwise.labels.models import Label
from turnwise.rehearsals.findings import findings_about
from turnwise.rehearsals.injected_effects import Kind, mix
from turnwise.rehearsals.simulated_worker import SelfReports
from turnwise.reports.descriptions import questionnaire_sets
from turnwise.studies.ask_rules import rows_of
from turnwise.studies.models import Ask

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("_same_database")
def test_answers_of_chatters_about_themselves_are_recovered(make_study: MakeStudy) -> None:
    study = make_study({"scripty": 3}, min_turns=2, max_turns=4, asks=[SSA, WHO, HOW])

    said = rehearsed(study, "--workers", "30")

    assert "The report recovers the injected effects" in said, said
    assert "Age, gender, language, and use of chatbots: the report counts 30 answers, and 0 who" in said
    # Some leave before they are done; of the others every fifth skips what may be skipped.
    done = [number for number, kind in enumerate(mix(30)) if kind is not Kind.LEAVING]
    skip = sum(number % 5 == 0 for number in done)
    assert (len(done), skip) == (27, 5)
    assert f"instructions, pages, pay: the report counts {27 - skip} answers, and {skip} who" in said
    assert "What is your gender?”: injected" in said
    told = Label.objects.filter(study=study.rehearsal).exclude(participation=None)
    assert told.filter(question_set="demographics").count() == 30


@pytest.mark.usefixtures("_same_database")
def test_answers_of_readers_about_themselves_are_recovered(make_queue: MakeQueue) -> None:
    study = make_queue(12, raters=2, batch=6)
    Ask.objects.bulk_create(rows_of(study, [*[each.declared for each in study.work_asks], WHO, HOW])[1:])

    with suppress(CommandError):  # so few workers cannot tell every score
        rehearsed(study, "--workers", "8")

    found = study.rehearsal.outcome.findings
    about_people = [each for each in found if "left them out." in each["words"]]
    assert len(about_people) == 2
    assert all(each["holds"] for each in about_people), about_people


def test_a_report_with_wrong_counts_is_detected(make_study: MakeStudy) -> None:
    study = make_study(asks=[SSA, WHO])
    people = SelfReports.about(questionnaire_sets(study))
    plan = people.plans["demographics"]
    plan.meet("1", "everybody")
    plan.note("1", Kind.CAREFUL, plan.deal("1", Kind.CAREFUL))
    empty = [{"choices": [{"answers": 0, "share": 0, "choice": each.label} for each in question.choices],
              "answers": 1, "question": question.wording} if question.choices else {"answers": 0}
             for question in plan.questions.questions]  # fmt: skip
    told = {"question_set": "demographics", "title": "Who", "answers": 1, "left_out": 0, "questions": empty}

    found = findings_about(people, {"people": [told]})

    assert found[0].holds is False
