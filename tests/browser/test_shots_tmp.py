import pytest
from asgiref.sync import sync_to_async
from labels.models import Item, Label
from contexts.models import Context
from responses.models import Response
from tests.browser.test_judging import sit_down
pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]
@pytest.fixture
def queue(make_queue, make_contexts, make_run, rex):
    from uuid import uuid4
    from contexts.models import ContextSet, ContextSetVersion
    from labels import subjects
    s = make_queue(0, batch=4, pay_amount="2.50", title="Judge responses of chatbots")
    of = ContextSet.objects.create(name=uuid4().hex[:12], title="Small set", licence="CC0", owner=rex)
    version = ContextSetVersion.objects.create(context_set=of, number=1, content_hash=uuid4().hex, size=6)
    full = ["Do you like movies?", "Yeah. I like sci-fi mostly, especially when it is about robots that do not know they are robots.", "Really? Which is your favorite?"]
    Context.objects.bulk_create(Context(version=version, position=n, key=f"c{n}", language="en", turns=full if n % 2 else full[2:]) for n in range(1, 7))
    run = make_run(version, "Alpha")
    Response.objects.update(text="I love Back to the Future. It is the funniest film that I have ever seen, and I have seen it nine times.")
    subjects.add_responses(s, run)
    return s
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 320])
async def test_shots(visit, queue, scheme, width):
    v = await visit(viewport={"width": width, "height": 800 if width > 400 else 568}, color_scheme=scheme)
    page = v.page
    name = f"/tmp/shots-queue/{{}}-{width}-{scheme}.png"
    await v.go(queue.get_entry_url())
    if scheme == "light": await page.screenshot(path=name.format("welcome"), full_page=True)
    await page.get_by_label("I agree to take part").check()
    await page.get_by_role("button", name="Continue").click()
    await page.wait_for_url("**/instructions/")
    if scheme == "light": await page.screenshot(path=name.format("instructions"), full_page=True)
    page = await sit_down(v, queue) if False else page
    await page.get_by_role("button", name="Start judging").click()
    await page.wait_for_selector("#judged")
    await page.wait_for_timeout(400)
    await page.screenshot(path=name.format("1-start"))
    await page.keyboard.press("y"); await page.wait_for_timeout(200)
    await page.screenshot(path=name.format("2-second"))
    await page.keyboard.press("n"); await page.wait_for_timeout(300)
    await page.keyboard.press("ArrowLeft"); await page.wait_for_timeout(300)
    await page.screenshot(path=name.format("3-back"))
    await page.keyboard.press("ArrowRight"); await page.wait_for_timeout(200)
    for _ in range(3):
        await page.keyboard.press("n"); await page.wait_for_timeout(300)
    await page.screenshot(path=name.format("4-over"))
