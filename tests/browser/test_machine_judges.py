"""Pages of machine judges on wide and narrow screens, light and dark."""

from datetime import timedelta

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from tests.browser.conftest import Visit
from tests.browser.test_staff_pages import PASSWORD, sign_in
from tests.conftest import MakeContexts, MakePairs, MakeQueue, MakeRun
from tests.desks import judge
from tests.planted import computed
from turnwise.accounts.models import User
from turnwise.bots.services import register_bot
from turnwise.judges import services
from turnwise.judges.models import DriftCheck, JudgeRun, MachineLabel
from turnwise.judging.items import subjects
from turnwise.judging.models import Item, Slot

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

LONG = "I would rather say a few words about it than choose one of the answers. " * 20


def answers_about(item: Item) -> dict[str, bool]:
    """Answers of a person about a response; every third makes no sense."""
    assert item.response
    sensible = int(item.response.context.key[1:]) % 3 > 0
    return {"sensible": sensible, **({"specific": item.pk % 2 == 0} if sensible else {})}


@pytest.fixture
def run(rex: User, make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> JudgeRun:
    """A complete run over 50 items of two systems, most of which people have judged."""
    rex.set_password(PASSWORD)
    rex.save()
    queue = make_queue(25, raters=2, batch=45)
    subjects.add_responses(queue, make_run(make_contexts(25), "A system with a rather long name, version 2"))
    for _ in range(2):
        judge(queue, answers_about)
    bot = register_bot(
        name="umpire", title="Umpire", adapter="scripted", configuration={"replies": ["Yes"]}, owner=rex
    )
    found = services.start(queue.asks.get(number=0), bot, draws=1, by=rex)
    MachineLabel.objects.bulk_create(
        MachineLabel(run=found, item=item, at=timezone.now(), **_label(item, number))
        for number, item in enumerate(services.items_to_judge(found.ask))
    )
    JudgeRun.objects.filter(pk=found.pk).update(
        state=JudgeRun.State.DONE, finished_at=timezone.now(), is_watched=True
    )
    _check_daily(found)
    computed(queue)
    return found


def _check_daily(found: JudgeRun) -> None:
    """Nine daily checks, of which one was skipped and the last is an alarm."""
    agreed = (1.0, 0.98, 1.0, 0.95, None, 0.98, 0.95, 0.93, 0.6)
    for day, agreement in enumerate(agreed):
        values: dict[str, object] = {"verdict": "same", "agreement": agreement, "expected": 0.98, "p": 0.4}
        if day == 0:
            values |= {"verdict": "repeated", "p": None}
        elif agreement is None:
            reason = "The daily check needs 20 requests, which the budget of this run does not pay."
            values = {"verdict": "failed", "reason": reason}
        elif agreement < 0.9:
            reason = "12 of 20 items are answered in another way than in the run."
            values |= {"verdict": "departed", "p": 0.00001, "reason": reason}
        check = DriftCheck.objects.create(run=found, **values)
        DriftCheck.objects.filter(pk=check.pk).update(at=timezone.now() - timedelta(days=len(agreed) - day))


def _label(item: Item, number: int) -> dict[str, object]:
    if number % 10 == 3:
        return {
            "outcome": "outside",
            "text": LONG,
            "why": "The answer is neither a JSON object nor a choice.",
        }
    if number % 10 == 7:
        return {"outcome": "refused", "why": "The model or its service declined."}
    answers = answers_about(item) if number % 4 else {"sensible": True, "specific": False}
    return {"outcome": "answered", "answers": {"specific": False, **answers}}


async def test_the_pages_of_a_judge_fit_every_screen(visit: Visit, run: JudgeRun) -> None:
    study = f"/studies/{run.study_id}"
    addresses = (
        f"{study}/judges/",
        f"{study}/judges/{run.pk}/",
        f"{study}/judges/import/",
        f"{study}/queue/",
        f"{study}/report/",
    )
    visitor = await visit()
    page = visitor.page
    await sign_in(visitor, addresses[0])

    for address in addresses:
        await visitor.go(address)
        assert await visitor.flaws_at(1280, 320) == [], address

    await visitor.go(addresses[0])
    await page.get_by_label("Answers for each item").fill("2")
    await page.get_by_role("button", name="Start judging").click()
    await page.get_by_text("Waiting to start").wait_for()
    assert await sync_to_async(JudgeRun.objects.count)() == 2


def choice_about(number: int, *, is_swapped: bool) -> dict[str, str]:
    """Answer about a pair in the order shown; the side that wins depends on the number alone."""
    side = ("first", "second", "tied", "first")[number % 4]
    return {"better": {"first": "second", "second": "first"}.get(side, side) if is_swapped else side}


@pytest.fixture
def run_of_pairs(rex: User, make_pairs: MakePairs) -> JudgeRun:
    """A complete run over the pairs of three systems in 60 contexts, of which people judged 90."""
    rex.set_password(PASSWORD)
    rex.save()
    study = make_pairs(
        60, ("Alpha", "Beta", "A system with a rather long name, version 2"), raters=1, batch=90
    )
    judge(study, lambda item: choice_about(item.pk, is_swapped=Slot.objects.get(item=item).is_swapped))
    bot = register_bot(
        name="umpire", title="Umpire", adapter="scripted", configuration={"replies": ["Yes"]}, owner=rex
    )
    found = services.start(study.asks.get(number=0), bot, draws=1, by=rex)
    MachineLabel.objects.bulk_create(
        MachineLabel(
            run=found, item=item, is_swapped=is_swapped, at=timezone.now(), outcome="answered",
            answers=choice_about(item.pk + (item.pk % 5 == 0), is_swapped=is_swapped),
        )
        for item in services.items_to_judge(found.ask)
        for is_swapped in (False, True)
    )  # fmt: skip
    JudgeRun.objects.filter(pk=found.pk).update(state=JudgeRun.State.DONE, finished_at=timezone.now())
    return found


async def test_the_card_of_a_judge_of_pairs_fits_every_screen(visit: Visit, run_of_pairs: JudgeRun) -> None:
    visitor = await visit()
    await sign_in(visitor, run_of_pairs.get_absolute_url())

    for question in ("Strength after Bradley and Terry", "Pairs won, ties by half"):
        await visitor.page.get_by_role("heading", name=question).wait_for()
    assert await visitor.flaws_at(1280, 320) == []


@pytest.fixture
def wavering(rex: User, make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun) -> JudgeRun:
    """A complete run with four answers about each of 160 items of two systems, often of two minds."""
    rex.set_password(PASSWORD)
    rex.save()
    queue = make_queue(80, raters=1, batch=200)
    subjects.add_responses(queue, make_run(make_contexts(80), "A system with a rather long name, version 2"))
    bot = register_bot(
        name="umpire", title="Umpire", adapter="scripted", configuration={"replies": ["Yes"]}, owner=rex
    )
    found = services.start(queue.asks.get(number=0), bot, draws=4, by=rex)
    MachineLabel.objects.bulk_create(
        MachineLabel(run=found, item=item, draw=draw, at=timezone.now(), outcome="answered", answers=answers)
        for number, item in enumerate(services.items_to_judge(found.ask).select_related("response__context"))
        for draw in range(1, 5)
        for answers in [{"sensible": draw % 2 == 0} if number % 3 == 0 else answers_about(item)]
    )
    JudgeRun.objects.filter(pk=found.pk).update(state=JudgeRun.State.DONE, finished_at=timezone.now())
    return found


async def test_items_for_people_are_chosen_by_uncertainty(visit: Visit, wavering: JudgeRun) -> None:
    study = f"/studies/{wavering.study_id}"
    visitor = await visit()
    page = visitor.page
    await sign_in(visitor, f"{study}/judges/")

    await page.get_by_role("link", name="Choose items for people").click()
    await page.get_by_label("Items for people").fill("30")
    await page.get_by_role("button", name="Preview").click()
    await page.get_by_text("30 items are too few. Choose at least 40").wait_for()
    await page.get_by_label("Items for people").fill("60")
    await page.get_by_role("button", name="Preview").click()
    await page.get_by_text("What this draw is expected to be worth").wait_for()
    assert await visitor.flaws_at(1280, 320) == []
    await page.get_by_role("button", name="Draw 60 items").click()
    await page.get_by_text("60 items are for people now.").wait_for()
    await page.get_by_role("button", name="Undo draw 1").click()
    await page.get_by_text("The draw is undone.").wait_for()
    await page.get_by_label("Items for people").fill("60")
    await page.get_by_role("button", name="Preview").click()
    await page.get_by_role("button", name="Draw 60 items").click()
    await page.get_by_text("60 items are for people now.").wait_for()
    await sync_to_async(judge)(wavering.study, answers_about)
    await page.get_by_label("Items in addition").fill("20")
    await page.get_by_role("button", name="Draw more").click()
    await page.get_by_text("Undo draw 2").wait_for()
    assert await visitor.flaws_at(1280, 320) == []
    await sync_to_async(computed)(wavering.study)
    await visitor.go(f"{study}/report/")
    await page.get_by_text("were drawn by the uncertainty of umpire for people").wait_for()
    assert await visitor.flaws_at(1280, 320) == []
