"""The whole way of a study, from *New study* to its bundle and the archive, as one researcher walks it."""

import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone
from playwright.async_api import FrameLocator, Locator, Page, expect

from evaluation.report.bundles.recomputation import recompute
from tests.browser.conftest import Visit, Visitor
from turnwise.accounts.models import User
from turnwise.bots.services import register_bot
from turnwise.exports.tasks import start_bundle_process as bundle_started
from turnwise.rehearsals.models import Attempt
from turnwise.rehearsals.tasks import start_process as rehearsal_started
from turnwise.reports.services import build_report, queue_report, stale_studies
from turnwise.studies.models import Bundle, Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

PASSWORD = "correct horse"
TITLE = "Tea or coffee"
# So many that every part of the mix of simulated workers is there.
SIMULATED = 20
PHONE = {
    "viewport": {"width": 390, "height": 844},
    "has_touch": True,
    "is_mobile": True,
    "color_scheme": "dark",
}
# Where something in a frame is on the page that has it, once it stands still: Playwright's own taps miss in
# a frame that is scaled to its page.
PLACE = """async (what) => {
  what.scrollIntoView({ block: "center", behavior: "instant" });
  const middle = () => {
    const [frame, box] = [window.frameElement.getBoundingClientRect(), what.getBoundingClientRect()];
    const scale = frame.width / window.frameElement.offsetWidth;
    return { x: frame.x + scale * (box.x + box.width / 2), y: frame.y + scale * (box.y + box.height / 2) };
  };
  for (let before = null; ; ) {
    const now = middle();
    if (before && before.x === now.x && before.y === now.y) return now;
    before = now;
    await new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)));
  }
}"""
# Whether something, or what it is a part of, has the focus; and what is wrong with the place of the focus for
# who sees the page: it has no outline, or something covers it.
FOCUS = """(what) => {
  let focused = top.document.activeElement;
  while (focused?.tagName === "IFRAME") focused = focused.contentDocument.activeElement;
  const stop = what.closest("a, button, input, select, textarea, summary, [tabindex]");
  const page = focused?.ownerDocument;
  if (!focused || focused === page.body) return [false, ""]; // at the end of the page
  const style = (it) => page.defaultView.getComputedStyle(it);
  const outlined = (it) => it && style(it).outlineStyle !== "none" && parseFloat(style(it).outlineWidth) >= 2;
  const marked = (it) => it && parseFloat(style(it).strokeWidth) >= 4; // a mark of a chart
  const says = `${focused.tagName} ${focused.id} “${focused.textContent.trim().slice(0, 40)}”`;
  const is_shown = outlined(focused) || outlined(focused.closest(".dock__card"));
  if (!is_shown && !marked(focused.querySelector(".mark__shape"))) return [false, `${says} has no outline`];
  const middle = (from, to, end) => (Math.max(from, 0) + Math.min(to, end)) / 2;
  const [box, view] = [focused.getBoundingClientRect(), page.documentElement];
  const x = middle(box.left, box.right, view.clientWidth), y = middle(box.top, box.bottom, view.clientHeight);
  const there = page.elementFromPoint(x, y);
  const is_seen = there && (focused.contains(there) || there.contains(focused) || there.control === focused);
  return [stop === focused, is_seen ? "" : `${says} is out of sight, behind ${there?.className}`];
}"""
IS_TICKED = "what => what.type === 'checkbox'"
MOST_STOPS = 400  # of the Tab key on a page, before it counts as a trap
PICTURES = os.environ.get("TURNWISE_PICTURES")  # a folder, for who wants to look


class Walk:
    """Somebody on their way: by mouse, by finger, or by keyboard alone."""

    def __init__(self, visitor: Visitor, how: str) -> None:
        self.visitor, self.page = visitor, visitor.page
        self.by_touch, self.by_key = how == "touch", how == "keyboard"
        self.seen = 0

    async def reach(self, what: Locator) -> None:
        """Go on by Tab until it has the focus, which is in sight wherever it is."""
        await expect(what).to_be_visible()
        has_focus, _ = await what.evaluate(FOCUS)
        for _ in range(MOST_STOPS):
            if has_focus:
                return
            await self.page.keyboard.press("Tab")
            has_focus, flaw = await what.evaluate(FOCUS)
            assert flaw == "", self.page.url
        raise AssertionError(f"{what} cannot be reached by the Tab key on {self.page.url}.")

    async def fill(self, field: Locator, text: str) -> None:
        if not self.by_key:
            return await field.fill(text)
        await self.reach(field)
        await self.page.keyboard.press("Control+A")
        await self.page.keyboard.type(text)

    async def press(self, what: Locator) -> None:
        if self.by_key:
            await expect(what).to_be_enabled()
            await self.reach(what)
            return await self.page.keyboard.press("Space" if await what.evaluate(IS_TICKED) else "Enter")
        if self.by_touch and await what.evaluate("what => what.ownerDocument.defaultView !== top"):
            await expect(what).to_be_enabled()  # a button that just appeared does not count yet
            place = await what.evaluate(PLACE)
            return await self.page.touchscreen.tap(place["x"], place["y"])
        await (what.tap() if self.by_touch else what.click())

    async def follow(self, name: str) -> None:
        """A link of the page itself or of its bar, by its whole name."""
        await self.press(self.page.get_by_role("link", name=name, exact=True).first)

    async def push(self, name: str) -> None:
        await self.press(self.page.get_by_role("button", name=name, exact=True).first)

    async def arrive(self, heading: str, *, next_step: str | None = None) -> None:
        """The page is the one expected, has no flaw, fits the window, and names the next step.

        Flaws are searched for by touch, at the narrow width: both walks lead over the same pages, and
        test_every_page searches those for staff at the wide width.
        """
        await expect(self.page.get_by_role("heading", level=1)).to_contain_text(heading)
        await self.page.wait_for_load_state()
        if next_step is not None:
            named = self.page.locator(".next-step a, [aria-current=step] a")
            await expect(named).to_have_text(re.compile(rf"^(Next: )?{next_step}$"))
        assert not self.by_touch or await self.visitor.flaws() == [], heading
        assert await self.visitor.fits(), heading
        await self.picture(heading)

    async def picture(self, name: str) -> None:
        if not PICTURES:
            return
        self.seen += 1
        size = self.page.viewport_size
        assert size
        stem = f"{self.seen:02}-{re.sub('[^a-z]+', '-', name.lower())}"
        await self.page.screenshot(path=Path(PICTURES) / f"{stem}-{size['width']}.png", full_page=True)
        if self.by_touch:
            await self.page.emulate_media(color_scheme="light")
            await self.page.set_viewport_size({"width": 320, "height": 640})
            await self.page.screenshot(path=Path(PICTURES) / f"{stem}-320.png", full_page=True)
            assert await self.visitor.fits(), f"{name} at 320 px"
            await self.page.set_viewport_size(size)
            await self.page.emulate_media(color_scheme="dark")


async def done(process: "subprocess.Popen[bytes]") -> int:
    """Here no worker takes jobs: what a queued one starts is started by hand."""
    return await sync_to_async(process.wait)(240)


async def reported(study: Study) -> None:
    """What the timer asks for every five seconds."""
    assert await sync_to_async(stale_studies)(timezone.now()) == [study]
    await sync_to_async(lambda: build_report(queue_report(study).pk))()


@pytest.mark.usefixtures("_same_database")
@pytest.mark.timeout(600)
@pytest.mark.parametrize(
    ("how", "window"),
    [("touch", PHONE), ("keyboard", {})],
    ids=["by touch at 390 px", "by keyboard, one worker by mouse"],
)
async def test_from_a_new_study_to_its_bundle(
    visit: Visit, rex: User, how: str, window: dict[str, Any], tmp_path: Path
) -> None:
    for name, title in (("generic", "GenericBot"), ("eliza", "ELIZA")):
        await sync_to_async(register_bot)(name=name, title=title, adapter=name, owner=rex)
    rex.set_password(PASSWORD)
    await rex.asave()

    async def somebody() -> Walk:
        return Walk(await visit(**window), how)

    walk = await somebody()
    study = await designed(walk)
    await previewed(walk)
    await rehearsed(walk, study)
    link = await opened(walk)
    await worked(Walk(await visit(**window), "touch" if walk.by_touch else "mouse"), link)
    code = await worked(await somebody(), link)
    await monitored(walk, code)
    await read(walk, study)
    await closed(walk)
    await bundled(walk, study, tmp_path)
    await compared(walk)
    await undone(walk, study)
    await archived(walk)


async def designed(walk: Walk) -> Study:
    page = walk.page
    await walk.visitor.go("/")
    await walk.fill(page.get_by_label("Username"), "rex")
    await walk.fill(page.get_by_label("Password"), PASSWORD)
    await walk.picture("sign in")
    await walk.push("Sign in")
    await walk.arrive("Home")
    if walk.by_key:
        await skipped(walk)
    await walk.follow("New study")
    await walk.arrive("New study")
    aim = "Which of two or more bots is better"
    await walk.follow(aim)
    await expect(page.get_by_role("link", name=aim)).to_have_attribute("aria-current", "true")
    await walk.press(page.get_by_role("link", name="Meena, interactive"))
    await expect(page.get_by_label("Compare the report with")).to_have_value("meena-interactive")
    await walk.fill(page.get_by_label("Title"), TITLE)
    for title in ("GenericBot", "ELIZA"):
        await walk.press(page.get_by_role("checkbox", name=title))
        await walk.fill(page.get_by_label(f"Conversations with {title}"), "1")
    await walk.fill(page.get_by_label("Fewest turns"), "2")
    await walk.fill(page.get_by_label("Most turns"), "6")
    await walk.press(page.get_by_text("Instructions, practice, debriefing, contact"))
    await walk.press(page.get_by_role("checkbox", name="Practice before the work"))
    await walk.arrive("New study")
    await walk.push("Save")
    await walk.arrive(TITLE, next_step="Design")  # the consent text has gaps that only they can fill in
    await walk.follow("Design")
    await walk.arrive("Edit the study", next_step="Design")
    await walk.fill(
        page.locator("#id_consent_text"), "You talk to a chatbot and say what you think of its replies."
    )
    await walk.push("Save")
    await walk.arrive(TITLE, next_step="Preview")
    return await Study.objects.aget(title=TITLE)


async def skipped(walk: Walk) -> None:
    """The first stop leads past the bar."""
    skip = walk.page.get_by_role("link", name="Skip to content")
    await walk.page.keyboard.press("Tab")
    await expect(skip).to_be_focused()
    await expect(skip).to_be_in_viewport(ratio=1)
    await walk.page.keyboard.press("Enter")
    await walk.page.keyboard.press("Tab")
    await expect(walk.page.get_by_role("main").locator(":focus")).to_have_count(1)


async def previewed(walk: Walk) -> None:
    frame = walk.page.frame_locator("iframe")
    await walk.follow("Preview")
    await walk.arrive("Preview", next_step="Rehearse")
    await walk.press(frame.get_by_label("I agree to take part"))
    await walk.press(frame.get_by_role("button", name="Continue to the instructions"))
    await converse(walk, frame)
    await expect(frame.locator("#completion-code")).to_have_value("EXAMPLE-CODE")
    await walk.picture("preview seen through")


async def rehearsed(walk: Walk, study: Study) -> None:
    page = walk.page
    await walk.follow("Next: Rehearse")
    await walk.arrive("Rehearse", next_step="Rehearse")
    await walk.fill(page.get_by_label("Simulated workers"), str(SIMULATED))
    await walk.push("Rehearse")
    await expect(page.get_by_text("The rehearsal is about to start.")).to_be_visible()
    await expect(page.get_by_text(f"0 of {SIMULATED} simulated workers are through.")).to_be_visible()
    attempt = await Attempt.objects.aget(study=study)
    assert await done(rehearsal_started(study.pk, attempt.workers)) == 0
    await expect(page.get_by_text("The report recovers the injected effects")).to_be_visible()
    await walk.follow("See its report")
    await walk.arrive("Report")
    await expect(page.get_by_text("The report recovers the injected effects")).to_be_visible()
    await walk.follow(TITLE)
    await walk.arrive(TITLE, next_step="Recruit")


async def opened(walk: Walk) -> str:
    page = walk.page
    await walk.follow("Check before opening")
    await walk.arrive("Check before opening", next_step="Recruit")
    await walk.push("Greet the bots")
    await expect(page.get_by_text("Answered in")).to_have_count(2)
    await walk.arrive("Check before opening", next_step="Recruit")
    await walk.push("Open the study")
    await walk.arrive(TITLE, next_step="Recruit")
    return await page.get_by_label("Link for workers").input_value()


async def worked(walk: Walk, link: str) -> str:
    """A worker, from the link to the code."""
    page = walk.page
    await page.goto(link)
    await walk.arrive("")
    await walk.press(page.get_by_label("I agree to take part"))
    await walk.press(page.get_by_role("button", name="Continue"))
    await walk.arrive("")
    await converse(walk, page)
    await walk.arrive("Thank you")
    return await page.get_by_label("Completion code").input_value()


async def converse(walk: Walk, page: Page | FrameLocator) -> None:
    await walk.press(page.get_by_role("button", name="Start the conversation"))
    await expect(page.locator(".turn__text")).to_have_count(1)
    await expect(page.locator("#send")).to_have_attribute("aria-disabled", "false")
    await walk.fill(page.get_by_role("textbox", name="Your message"), "I drink tea. And you?")
    await walk.press(page.locator("#send"))
    await expect(page.locator(".turn__text")).to_have_count(3)
    for question in ("sense", "specific"):
        asked = page.locator("#ask:not([inert])").get_by_role("group", name=question)
        await walk.press(asked.get_by_role("button", name="Yes"))
    await expect(page.locator("#finish")).to_have_attribute("aria-disabled", "false")
    await walk.picture("talk")
    await walk.press(page.get_by_role("button", name="Finish"))
    await walk.press(page.get_by_role("button", name="Yes, finish"))
    await expect(page.get_by_role("heading", name="Thank you")).to_be_visible()


async def monitored(walk: Walk, code: str) -> None:
    page = walk.page
    await walk.follow("Monitor")
    await walk.arrive("Monitor", next_step="Results")
    await expect(page.locator(".funnel__n")).to_have_text(["2"] * 5)
    await walk.follow("Participants")
    await walk.arrive("Participants", next_step="Results")
    await expect(page.get_by_text(code)).to_be_visible()


async def read(walk: Walk, study: Study) -> None:
    page = walk.page
    await walk.follow("Results")
    await walk.arrive("Report", next_step="Results")
    await reported(study)
    await page.reload()
    await walk.arrive("Report", next_step="Results")
    answer = page.locator(".answer")
    await expect(answer).to_contain_text("ELIZA")
    await expect(answer).to_contain_text("GenericBot")
    await walk.follow("Conversations")
    await walk.arrive("Conversations", next_step="Results")
    await walk.press(page.get_by_role("row", name="GenericBot").get_by_role("link").first)
    await walk.arrive("", next_step="Results")
    await expect(page.get_by_text("I drink tea. And you?").first).to_be_visible()


async def closed(walk: Walk) -> None:
    await walk.follow("Study")
    await walk.arrive(TITLE, next_step="Results")
    await walk.push("Close the study")
    await walk.arrive(TITLE, next_step="Export")


async def bundled(walk: Walk, study: Study, folder: Path) -> None:
    page = walk.page
    await walk.follow("Export")
    await walk.arrive("Bundle", next_step="Export")
    await walk.push("Make the bundle")
    await expect(page.get_by_text("The bundle is about to be made.")).to_be_visible()
    bundle = await Bundle.objects.aget(study=study)
    assert await done(bundle_started(bundle.pk)) == 0
    await expect(page.get_by_role("link", name="Download", exact=True)).to_be_visible()
    await page.reload()
    await walk.arrive("Bundle")
    async with page.expect_download() as download:
        await walk.follow("Download")
    path = folder / "bundle.zip"
    await (await download.value).save_as(path)
    assert (await sync_to_async(recompute)(path)).differences == []


async def compared(walk: Walk) -> None:
    page = walk.page
    if walk.by_touch:
        await walk.press(page.get_by_text("Menu", exact=True))
    await walk.follow("Compare")
    await walk.arrive("Studies side by side")
    await walk.press(page.get_by_role("checkbox", name=TITLE))
    await walk.push("Show side by side")
    await expect(page.get_by_role("region", name="Results 1")).to_contain_text("ELIZA")
    await walk.arrive("Studies side by side")


async def undone(walk: Walk, study: Study) -> None:
    """The rehearsal is deleted, and had back."""
    page = walk.page
    await walk.visitor.go(f"/studies/{study.pk}/rehearsal/")
    await walk.press(page.get_by_text("Delete the rehearsal"))
    await walk.push("Delete")
    await expect(page.get_by_text("The rehearsal is deleted")).to_be_visible()
    await walk.arrive(TITLE)
    await walk.visitor.go("/deleted/")
    await expect(page.get_by_role("row")).to_have_count(2)
    await walk.arrive("Recently deleted")
    await walk.press(page.get_by_role("button", name="Put back"))
    await expect(page.get_by_role("heading", level=1)).not_to_have_text("Recently deleted")
    assert await Study.objects.filter(rehearsal_of=study).aexists()


async def archived(walk: Walk) -> None:
    await walk.follow("Study")
    await walk.arrive(TITLE)
    await walk.push("Archive")
    await expect(walk.page.get_by_text("it no longer appears in lists")).to_be_visible()
    await walk.arrive(TITLE)
    await walk.visitor.go("/")
    await walk.arrive("Home")
