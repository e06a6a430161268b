"""Home and each study's pages while studies of every task run, several of each."""

from collections.abc import Callable, Iterator

import pytest
from django.core.cache import cache
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from benchmarks.pages import MOST_QUERIES
from benchmarks.staff_pages import OF_JUDGING, OF_STUDY
from tests.arenas import make_arena
from tests.asking import LIKENESS, SSA, asking
from tests.conftest import (
    MakeContexts,
    MakeMeeting,
    MakePairs,
    MakeQueue,
    MakeRun,
    MakeStudy,
    MakeWriting,
    enter,
    start_dialogue,
)
from tests.desks import begin
from tests.knowledge.bases import make_base
from tests.planted import SignIn, computed, talked
from turnwise.accounts.models import User
from turnwise.bots.models import OPERATED, Bot
from turnwise.bots.services import register_bot
from turnwise.crowd.models import Outcome, Participation
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import complete
from turnwise.dialogues.models import Fault
from turnwise.judging.items import subjects
from turnwise.judging.models import Battery, JudgingPlan
from turnwise.judging.queue import services as judging
from turnwise.reports.models import Report
from turnwise.studies.models import Study
from turnwise.studies.services import save_study, set_state
from turnwise.studies.tasks import tasks
from turnwise.tasks.self_play.models import SelfPlayPlan
from turnwise.workspace.home import MOST_SHOWN

pytestmark = pytest.mark.django_db(transaction=True)

MakeAll = Callable[[], list[Study]]


@pytest.fixture
def make_all(
    rex: User,
    make_study: MakeStudy,
    make_queue: MakeQueue,
    make_pairs: MakePairs,
    make_writing: MakeWriting,
    make_meeting: MakeMeeting,
    make_contexts: MakeContexts,
    make_run: MakeRun,
) -> MakeAll:
    """Make an open study of each task, and of those that a researcher can set up in several ways, of each."""

    def talking() -> Iterator[Study]:
        """With two bots, one of whom a person answers for, in its pilot; with texts to read; with results."""
        n = Study.objects.count()
        piloted = make_study(
            {f"ann{n}": 9, f"bob{n}": 9},
            pilot_size=1,
            primary_analysis="without_excluded",
            exclusion_rules="x",
        )
        Bot.objects.filter(name=f"bob{n}").update(adapter=OPERATED, configuration={})
        complete(assign(enter(piloted).pk).pk, Outcome.COMPLETE, now=timezone.now())
        Participation.objects.filter(study=piloted).update(signs="All answers alike.")
        yield piloted
        yield make_study({f"cid{n}": 8}, knowledge=make_base(rex))
        told = make_study({f"dan{n}": 9, f"eve{n}": 9}, min_turns=2, max_turns=8)
        for sensible in (True, False):
            talked(told, [(sensible, False)])
        computed(told)
        Fault.objects.create(dialogue=start_dialogue(told), position=2, kind="Slow", at=timezone.now())
        yield told
        failed = make_study({f"fay{n}": 9})
        Report.objects.create(
            study=failed, state="failed", reason="x", results_version=1, requested_at=timezone.now()
        )
        yield failed

    def judged() -> Iterator[Study]:
        """By one ask and by two, in batteries, and of what a file brought."""
        queue = make_queue(3, raters=2)
        begin(queue)
        yield queue
        two = asking(rex, SSA, LIKENESS)
        subjects.add_responses(two, make_run(make_contexts(3), "Alpha"))
        JudgingPlan.objects.filter(study=two).update(shows_reading=True)
        yield set_state(two.pk, Study.State.OPEN)
        dealt = asking(rex, SSA, LIKENESS)
        for system in ("Alpha", "Beta"):
            subjects.add_responses(dealt, make_run(make_contexts(2), system))
        plan = judging.plan_of(dealt)
        subjects.save_battery(Battery(plan=plan, targets=["Alpha", "Beta"], compared_with="Alpha", workers=2))
        yield set_state(dealt.pk, Study.State.OPEN)
        brought = make_queue(2)
        JudgingPlan.objects.filter(study=brought).update(of_transcripts=True)
        yield brought
        yield make_pairs(2)

    def playing() -> Study:
        bot = register_bot(
            name=f"player{Study.objects.count()}",
            title="Player",
            adapter="scripted",
            configuration={"replies": ["x"]},
        )
        play = save_study(
            Study(title="Play", languages=["en"], task="self_play"), owner=rex, consent_text="x", targets={},
            plan=SelfPlayPlan(first=bot, second=bot),
        )  # fmt: skip
        return set_state(play.pk, Study.State.OPEN)

    def battling() -> Study:
        n = Study.objects.count()
        return make_arena(rex, (f"left{n}", f"right{n}"))

    def make() -> list[Study]:
        made = [*talking(), *judged(), make_meeting(conversations=2), make_writing(), playing(), battling()]
        Study.objects.filter(pk__in=[each.pk for each in made]).update(pay_amount=2)
        save_study(Study(title="Idea", languages=["en"]), owner=rex, consent_text="x", targets={})
        return made

    return make


def queries_of(client: Client, address: str) -> int:
    """How often the page asks the database; 0 if the study has no such page."""
    with CaptureQueriesContext(connection) as made:
        answer = client.get(address)
        answer.close()
    return len(made) if answer.status_code == 200 else 0


def test_home_asks_seldom_though_studies_of_every_task_run(
    make_all: MakeAll, rex: User, sign_in: SignIn
) -> None:
    client, addresses = sign_in(rex), ("/home/", "/studies/")

    def at_first() -> dict[str, int]:
        """For whom nothing was kept."""
        cache.clear()
        return {address: queries_of(client, address) for address in addresses}

    made = make_all()
    assert {each.task for each in made} == {task.key for task in tasks()}
    # Home shows all others that run.
    Study.objects.filter(pk=next(each.pk for each in made if each.task == "judging")).update(state="closed")
    some = at_first()
    make_all()
    assert Study.objects.filter(state=Study.State.OPEN).count() > MOST_SHOWN

    many = at_first()

    # Where more run than are shown, how far the others are is counted for the costs alone.
    assert many == {"/home/": some["/home/"] + 1, "/studies/": some["/studies/"]}
    assert max(many.values()) <= MOST_QUERIES


@pytest.mark.timeout(300)  # some hundred pages
def test_no_page_of_a_study_of_any_task_asks_often(make_all: MakeAll, rex: User, sign_in: SignIn) -> None:
    client, shown, often = sign_in(rex), set(), {}
    for study in make_all():
        for path in {path for _name, path in (*OF_STUDY, *OF_JUDGING)}:
            address = f"/studies/{study.pk}/{path}"
            cache.clear()  # the limits on attempts
            made = queries_of(client, address)
            if made > MOST_QUERIES:  # with what is learnt once, and kept
                made = queries_of(client, address)
            if made:
                shown.add((study.task, path))
            if made > MOST_QUERIES:
                often[study.task, study.pk, path] = made

    assert len(shown) > 100
    assert often == {}
