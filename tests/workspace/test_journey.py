"""The way of a study: which step is next, and what stands in its way."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.db.models.functions import Now
from django.utils import timezone

from tests.conftest import MakeMeeting, MakePairs, MakeQueue, MakeStudy, MakeWriting, enter
from tests.planted import SignIn, computed, talked
from turnwise.accounts.models import User
from turnwise.bots.models import Bot, BotCopy
from turnwise.judging.models import Item
from turnwise.responses.models import Response
from turnwise.studies.bundles import record_export
from turnwise.studies.models import Bundle, Study
from turnwise.studies.services import clone, results_changed, save_study, set_state
from turnwise.studies.sharing.services import share_with_person
from turnwise.tasks.writing import services as writing
from turnwise.workspace.study_steps import StepState, next_step, steps_of

pytestmark = pytest.mark.django_db(transaction=True)


def next_of(study: Study) -> str:
    found = [step.title for step in steps_of(study) if step.standing is StepState.NEXT]
    assert len(found) == 1
    return found[0]


def hosted(bot: Bot, state: str = "ready") -> None:
    later = Now() + timedelta(hours=1)  # so that it answers for as long as the test takes
    BotCopy.objects.update_or_create(
        bot=bot, channel="x", defaults={"host": "here", "state": state, "seen_at": later, "health": {}}
    )


def test_a_draft_without_bots_is_still_to_be_designed(rex: User) -> None:
    study = save_study(Study(title="New", languages=["en"]), owner=rex, consent_text="x", targets={})

    steps = steps_of(study)

    assert next_of(study) == "Design"
    assert "Choose at least one active bot" in steps[0].says
    assert [step.standing for step in steps[1:]] == [StepState.LATER] * 6


def test_an_open_study_whose_bots_do_not_answer_says_which(short: Study, bot: Bot) -> None:
    says = {step.title: step for step in steps_of(short)}["Recruit"]

    assert [step.standing for step in steps_of(short)][:4] == ["done", "passed", "passed", "next"]
    assert says.warning
    assert says.says == "No bot answers, so nobody new is admitted: Scripty (not hosted anywhere)."


def test_a_study_that_is_full_with_a_certain_answer_is_to_be_exported(make_study: MakeStudy) -> None:
    study = make_study({"ann": 8, "bob": 8}, min_turns=2, max_turns=4)
    for each in study.study_bots.select_related("bot"):
        hosted(each.bot)
    assert next_of(study) == "Recruit"
    for n in range(16):
        talked(study, [(n % 2 == 0 or n == 5, n % 2 == 0 and n != 4)])
    study.refresh_from_db()  # with its version of results, by which its count is remembered
    assert next_of(study) == "Results"

    computed(study)

    assert next_of(study) == "Export"


def test_who_leads_while_a_study_fills_leads_so_far(make_study: MakeStudy) -> None:
    study = make_study({"ann": 16, "bob": 16}, min_turns=2, max_turns=4)
    for n in range(16):
        talked(study, [(n % 2 == 0 or n == 5, n % 2 == 0 and n != 4)])
    computed(study)

    results = {step.title: step for step in steps_of(study)}["Results"]

    assert (results.standing, results.says) == (StepState.LATER, "The report says who leads so far.")


def test_a_study_that_is_full_needs_no_bot_any_more(make_study: MakeStudy) -> None:
    study = make_study({"ann": 1}, min_turns=2, max_turns=4)
    assert {step.title: step for step in steps_of(study)}["Recruit"].warning
    talked(study, [(True, True)])
    study.refresh_from_db()

    recruit = {step.title: step for step in steps_of(study)}["Recruit"]

    assert (recruit.standing, recruit.says, recruit.warning) == (
        StepState.DONE,
        "1 of 1 conversation finished.",
        False,
    )
    assert next_of(study) == "Results"


def test_a_study_that_was_closed_early_is_exported_and_then_done(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study = make_study({"ann": 8, "bob": 8}, min_turns=2, max_turns=4)
    talked(study, [(True, True)])
    computed(study)
    set_state(study.pk, Study.State.CLOSED)
    study.refresh_from_db()

    recruit, _, results, export = steps_of(study)[-4:]

    assert (recruit.standing, recruit.says) == (StepState.PASSED, "1 of 16 conversations finished.")
    assert results.standing == StepState.DONE
    assert export.standing == StepState.NEXT
    assert next_step(study) == export

    now = timezone.now()
    Bundle.objects.create(study=study, by=rex, asked_at=now, made_at=now)
    record_export(study.pk, results_version=study.results_version, judgments=0)

    assert steps_of(study)[-1].says == "Its bundle is ready to download."
    Bundle.objects.all().delete()  # as it is a day later
    assert (steps_of(study)[-1].standing, steps_of(study)[-1].says) == (
        StepState.DONE, "Its results have been exported.",
    )  # fmt: skip
    assert next_step(study) is None

    results_changed(study.pk)
    study.refresh_from_db()
    export = steps_of(study)[-1]
    assert (export.standing, export.says) == (
        StepState.NEXT,
        "Results have changed since they were exported.",
    )

    list(sign_in(rex).get(f"/studies/{study.pk}/turns.csv"))
    assert next_step(study) is None


def test_the_page_names_the_next_step_and_leads_to_what_workers_read(
    short: Study, rex: User, mallory: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)

    page = client.get(f"/studies/{short.pk}/").content.decode()
    instructions = client.get(f"/studies/{short.pk}/preview/instructions/").text
    consent = client.get(f"/studies/{short.pk}/preview/consent/").text

    assert 'aria-current="step"' in page
    assert f"/studies/{short.pk}/preview/" in page
    assert "Does it make sense?" in instructions
    assert "You talk to a machine." in consent
    assert 'method="post"' not in instructions + consent
    assert sign_in(mallory).get(f"/studies/{short.pk}/preview/").status_code == 404


# --- of every task, and on every page -------------------------------------------------------------


def titles(study: Study) -> list[str]:
    return [step.title for step in steps_of(study)]


def test_every_task_has_a_way_of_its_own(
    make_queue: MakeQueue,
    make_pairs: MakePairs,
    make_writing: MakeWriting,
    make_meeting: MakeMeeting,
    short: Study,
    rex: User,
) -> None:
    alone = Study(title="By themselves", task="self_play", languages=["en"])
    self_play = save_study(alone, owner=rex, consent_text="", targets={}, asks=[])
    whole = ["Design", "Preview", "Rehearse", "Recruit", "Monitor", "Results", "Export"]

    assert titles(short) == titles(make_queue(1)) == titles(make_pairs()) == titles(make_meeting()) == whole
    assert titles(make_writing()) == [*whole[:5], "Have it judged"]
    assert titles(self_play) == ["Design", "Start", "Results", "Have it judged", "Export"]
    assert next_of(self_play) == "Design"


def test_a_preview_that_was_looked_at_is_done(make_study: MakeStudy, rex: User, sign_in: SignIn) -> None:
    study = make_study()
    Study.objects.filter(pk=study.pk).update(state="draft")
    study.refresh_from_db()
    assert next_of(study) == "Preview"

    page = sign_in(rex).get(f"/studies/{study.pk}/preview/").text

    assert "Next: Rehearse" in page
    study.refresh_from_db()
    assert next_of(study) == "Rehearse"
    assert clone(study, owner=rex).previewed_at is None


def test_responses_that_were_written_are_judged_next(
    make_writing: MakeWriting, make_queue: MakeQueue
) -> None:
    study = make_writing(1, batch=1)
    wanda = writing.begin(enter(study).pk)
    desk = writing.find_writer_context(study.code, wanda.participation.worker_id)
    place = writing.hold_place(wanda)
    assert place
    writing.write(desk, key=place.context.key, text="I would love to hear more of it.")
    assert next_of(study) == "Have it judged"

    response = Response.objects.filter(run__study=study).first()
    queue = make_queue(1)
    Item.objects.create(study=queue, ask=queue.work_asks[0], response=response, key=uuid4(), language="en")

    assert [step.standing for step in steps_of(study)][-1] == StepState.DONE


def test_the_next_step_alone_is_that_of_the_whole_way(
    make_study: MakeStudy, make_queue: MakeQueue, make_writing: MakeWriting, rex: User
) -> None:
    draft = save_study(Study(title="New", languages=["en"]), owner=rex, consent_text="x", targets={})
    for study in (draft, make_study({"ann": 3}), make_queue(1), make_writing()):
        step = next_step(study)
        assert step
        assert step.title == next_of(study)


def test_every_page_of_a_study_names_the_next_step(
    short: Study, bot: Bot, rex: User, mallory: User, sign_in: SignIn
) -> None:
    hosted(bot)
    client = sign_in(rex)

    for page in ("monitor/", "dialogues/", "participants/", "report/", "quality/", "preview/"):
        told = client.get(f"/studies/{short.pk}/{page}").text
        assert told.count("Next: Recruit") == 1, page
        assert "Give its link to workers: 0 of 100 conversations finished." in told
    assert "Next: Recruit" not in client.get(f"/studies/{short.pk}/").text  # the whole way stands there

    share_with_person(short, "mallory", "reader")
    assert "Next: " not in sign_in(mallory).get(f"/studies/{short.pk}/report/").text
