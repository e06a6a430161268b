"""Pages of machine judges on wide and narrow screens, light and dark."""

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from tests.browser.conftest import Visit
from tests.browser.test_staff_pages import PASSWORD, sign_in
from tests.conftest import MakeContexts, MakeQueue, MakeRun
from tests.desks import judge
from tests.planted import computed
from turnwise.accounts.models import User
from turnwise.bots.services import register_bot
from turnwise.judges import services
from turnwise.judges.models import JudgeRun, MachineLabel
from turnwise.judging.items import subjects
from turnwise.judging.models import Item

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
    JudgeRun.objects.filter(pk=found.pk).update(state=JudgeRun.State.DONE, finished_at=timezone.now())
    computed(queue)
    return found


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
    addresses = (f"{study}/judges/", f"{study}/judges/{run.pk}/", f"{study}/queue/", f"{study}/report/")
    visitor = await visit()
    page = visitor.page
    await sign_in(visitor, addresses[0])

    for address in addresses:
        await visitor.go(address)
        assert await visitor.flaws_at(1280, 390, 320) == [], address

    await visitor.go(addresses[0])
    await page.get_by_label("Answers for each item").fill("2")
    await page.get_by_role("button", name="Start judging").click()
    await page.get_by_text("Waiting to start").wait_for()
    assert await sync_to_async(JudgeRun.objects.count)() == 2
