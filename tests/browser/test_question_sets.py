"""A researcher writes a question set by hand, workers answer it, report and bundle have its numbers."""

import csv
import io
import json
import os
import zipfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.core.management import call_command
from django.test import Client
from playwright.async_api import FrameLocator, Page, expect

from evaluation.questions import QuestionSet
from evaluation.report.bundles.recomputation import recompute
from tests.browser.conftest import Visit, Visitor
from tests.browser.test_staff_pages import PASSWORD, sign_in
from tests.questions.conftest import TONE
from turnwise.accounts.models import User
from turnwise.bots.services import register_bot
from turnwise.labels.models import Label
from turnwise.questions.models import SetVersion
from turnwise.questions.services import create_set
from turnwise.reports.models import Report
from turnwise.reports.services import build_report, queue_report
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

CRAMPED = (Path(__file__).parent / "cramped.js").read_text()
SHOTS = os.environ.get("TURNWISE_SHOTS")


@pytest.fixture
def rex(rex: User) -> User:
    rex.set_password(PASSWORD)
    rex.save()
    return rex


async def shot(page: Page, name: str) -> None:
    """For the eye: a picture of the whole page, where TURNWISE_SHOTS names a folder."""
    if SHOTS:
        for scheme in ("dark", "light"):
            await page.emulate_media(color_scheme=scheme)  # one of its literals
            await page.screenshot(path=f"{SHOTS}/{name}-{scheme}.png", full_page=True, caret="initial")


class Desk:
    """The editor, and what a researcher does there."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.preview: FrameLocator = page.frame_locator("iframe[name=preview]")

    def at(self, path: str) -> Any:
        return self.page.locator(f"#{path.replace('.', '-')}")

    async def write(self, **texts: str) -> None:
        for path, text in texts.items():
            await self.at(path.replace("__", ".")).fill(text)

    async def step(self, step: str) -> None:
        await self.page.locator(f'button[name=do][value="{step}"]').last.click()
        await expect(self.page.locator("html[aria-busy]")).to_have_count(0)

    async def kind(self, question: int, kind: str) -> None:
        await self.at(f"questions.{question}.kind").select_option(kind)
        await expect(self.page.locator("html[aria-busy]")).to_have_count(0)


async def write_every_kind(desk: Desk) -> None:
    """A question of each kind, one of them after some answers to the first, about turns and the whole."""
    await desk.write(title="Every kind", key="by-hand", source="us")
    await desk.at("subjects").get_by_label("whole conversations").check()
    await desk.write(questions__0__wording="Is it kind?", questions__0__key="kind")
    await desk.step("add:questions")
    await desk.write(questions__1__wording="How warm is it?", questions__1__key="warmth")
    await desk.kind(1, "scale")
    await desk.write(
        questions__1__scale__low="1", questions__1__scale__high="5",
        questions__1__scale__low_caption="cold", questions__1__scale__high_caption="warm",
    )  # fmt: skip
    await desk.step("add:questions")
    await desk.write(questions__2__wording="What is in it?", questions__2__key="parts")
    await desk.kind(2, "several")
    await desk.step("add:questions.2.choices")
    for number, label in enumerate(("A fact", "A joke", "A question")):
        await desk.write(**{f"questions__2__choices__{number}__label": label})
    await desk.step("add:questions")
    await desk.write(questions__3__wording="What is unkind?", questions__3__key="why")
    await desk.kind(3, "text")
    await desk.at("questions.3.asked_if.question").select_option(label="after some answers to “Is it kind?”")
    await expect(desk.page.locator("html[aria-busy]")).to_have_count(0)
    await desk.at("questions.3.asked_if.any_of").get_by_label("No").check()
    await desk.step("add:questions")
    await desk.write(questions__4__wording="What is its tone?", questions__4__key="tone")
    await desk.step("add:questions.4.choices")
    for number, label in enumerate(("Warm", "Cold", "Neither")):
        await desk.write(**{f"questions__4__choices__{number}__label": label})


async def use(page: Page, key: str) -> Study:
    """A study that asks the set at every moment that it has, made on its page and opened."""
    await page.get_by_role("link", name="Studies", exact=True).click()
    await page.goto(page.url.partition("/studies")[0] + "/studies/new/?task=conversation")
    await page.get_by_label("Title").fill("With own questions")
    await page.get_by_label("Consent text").fill("You talk to a machine.")
    await page.get_by_text("Instructions, practice, debriefing, contact").click()
    await page.get_by_label("Practice before the work").uncheck()
    await page.get_by_label("Fewest turns").fill("2")
    await page.get_by_label("Scripty", exact=True).check()
    await expect(page.locator(".outlook")).to_contain_text("100 conversations about 25 h of work")
    await ask(page, 0, key, "partner_turn:each_turn")
    await ask(page, 1, key, "own_turn:waiting")
    for row, (questions, when) in enumerate(
        [(key, "dialogue:at_end"), ("human-likeness", "partner_turn:before_finish")], start=2
    ):
        await page.get_by_role("button", name="Save").click()
        await page.goto(page.url + "edit/")
        await ask(page, row, questions, when)
    await page.get_by_role("button", name="Save").click()
    await page.get_by_role("button", name="Open the study").click()
    await expect(page.get_by_text("0 of 100", exact=True)).to_be_visible()
    return await Study.objects.aget(title="With own questions")


async def ask(page: Page, row: int, questions: str, when: str) -> None:
    chosen = page.locator(f"#id_asks-{row}-question_set")
    if await chosen.is_hidden():
        await page.get_by_text("Ask something else, too").first.click()
    await chosen.select_option(questions)
    await page.locator(f"#id_asks-{row}-when").select_option(when)


async def fits(visitor: Visitor) -> None:
    """On a phone, all that stands there is within reach and large enough for a finger."""
    if await visitor.page.evaluate("innerWidth") < 400:
        assert await visitor.page.evaluate(CRAMPED) == []


async def find_kind(visitor: Visitor) -> None:
    await visitor.answer("Yes", "4", "A fact")
    await fits(visitor)
    await visitor.open_question.get_by_role("button", name="Done").click()
    await visitor.answer("Warm")


async def find_rude(visitor: Visitor) -> None:
    await visitor.answer("No", "2", "A joke")
    await visitor.open_question.get_by_role("button", name="Done").click()
    await visitor.open_question.get_by_role("textbox").fill("It <b>shouts</b>.")
    await fits(visitor)
    await visitor.open_question.get_by_role("button", name="Save").click()
    await visitor.answer("Cold")


Finding = Callable[[Visitor], Awaitable[None]]


async def talk(worker: Visitor, *, of_reply: Finding, of_whole: Finding) -> None:
    """One exchange, judged at every moment: own message, reply, reply before the end, the whole."""
    await worker.say("One")
    await expect(worker.open_question).to_have_accessible_name("Is it kind?")
    await fits(worker)
    await find_kind(worker)
    await of_reply(worker)
    await shot(worker.page, "worker-before-the-end")
    await fits(worker)
    await worker.page.get_by_role("button", name="Judge this reply").click()
    await worker.answer("Yes")
    await worker.may_finish()
    await worker.page.get_by_role("button", name="Finish").click()
    await expect(worker.open_question).to_have_accessible_name("Is it kind?")
    await fits(worker)
    await shot(worker.page, f"worker-{await worker.page.evaluate('innerWidth')}")
    await of_whole(worker)
    await worker.page.get_by_role("button", name="Yes, finish").click()
    await expect(worker.page.get_by_role("heading", name="Thank you")).to_be_visible()


async def test_a_set_of_all_kinds_at_every_moment_from_the_editor_to_the_bundle(
    visit: Visit, rex: User, tmp_path: Path
) -> None:
    await sync_to_async(register_bot)(
        name="scripty", title="Scripty", adapter="scripted", configuration={"replies": ["Go on."]}
    )
    rex_at, desktop = await visit(), await visit()
    phone = await visit(viewport={"width": 320, "height": 640}, has_touch=True)
    page, desk = rex_at.page, Desk(rex_at.page)
    await sign_in(rex_at, "/questions/")
    await expect(page.get_by_text("No question sets of your own yet.")).to_be_visible()
    assert await rex_at.flaws() == []
    await shot(page, "sets-empty-1280")
    await page.get_by_role("link", name="Write the first one").click()

    await write_every_kind(desk)
    await expect(desk.preview.get_by_role("group", name="Is it kind?")).to_be_visible()
    await shot(page, "editor-1280")
    assert await rex_at.flaws() == []
    await page.get_by_role("button", name="Save", exact=True).click()

    await expect(page.get_by_text("“Every kind” is saved as by-hand-v1.")).to_be_visible()
    await expect(desk.preview.get_by_role("group", name="Is it kind?")).to_be_visible()
    assert await rex_at.flaws() == []
    await shot(page, "set-1280")
    stored = QuestionSet.from_json((await SetVersion.objects.aget()).declaration)
    assert [str(each.kind) for each in stored.questions] == ["one", "scale", "several", "text", "one"]
    assert stored.questions[0].choices[0].value is True

    study = await use(page, "by-hand-v1")
    for worker, of_reply, of_whole in ((desktop, find_kind, find_rude), (phone, find_rude, find_kind)):
        await worker.start(study)
        await talk(worker, of_reply=of_reply, of_whole=of_whole)
    labels = Label.objects.select_related("turn").order_by("pk")
    given = [(each.turn and each.turn.position, each.answers) async for each in labels]
    kind = {"kind": True, "warmth": 4, "parts": ["A fact"], "tone": "Warm"}
    rude = {"kind": False, "warmth": 2, "parts": ["A joke"], "why": "It <b>shouts</b>.", "tone": "Cold"}
    likely = {"human_like": True}
    assert given == [
        *((1, kind), (2, kind), (2, likely), (None, rude)),
        *((1, kind), (2, rude), (2, likely), (None, kind)),
    ]  # fmt: skip

    await sync_to_async(build_report)((await sync_to_async(queue_report)(study)).pk)
    await page.goto(f"{rex_at.site}/studies/{study.pk}/report/")
    row = page.get_by_role("region", name="Scores of each system").first.get_by_role("row", name="Scripty")
    # Of two replies one is kind; (4 + 2) / 2; a fact in one, a joke in one, a question in none; tones alike.
    scores = ["50.0", "3.0", "50.0", "50.0", "0.0", "50.0", "50.0", "0.0"]
    await expect(row.locator("strong")).to_have_text(scores)
    await shot(page, "report-1280")
    await page.get_by_text("Read the answers").first.click()
    await expect(page.get_by_text("It <b>shouts</b>.").first).to_be_visible()
    await sync_to_async(comes_out_of_files)(study, rex, tmp_path / "bundle.zip")


def comes_out_of_files(study: Study, rex: User, path: Path) -> None:
    """The CSV has the answers; the bundle carries the declaration, and gives every number again."""
    client = Client()
    client.force_login(rex)
    lines = b"".join(client.get(f"/studies/{study.pk}/turns.csv")).decode()
    rows = list(csv.DictReader(io.StringIO(lines)))
    first = next(row for row in rows if row["kind"] == "true")
    assert (first["warmth"], first["parts"], first["why"], first["tone"]) == ("4", '["A fact"]', "", "Warm")
    assert any(row["why"] == "It <b>shouts</b>." for row in rows)
    stored = Report.objects.get(study=study).result
    call_command("bundle", str(study.pk), output=path)
    again = recompute(path)
    assert (again.report, again.differences) == (stored, [])
    with zipfile.ZipFile(path) as archive:
        declared = json.loads(archive.read("questions.json"))[0]
    assert QuestionSet.from_json(declared) == QuestionSet.from_json(SetVersion.objects.get().declaration)


async def test_order_is_changed_by_keyboard_alone(visit: Visit, rex: User) -> None:
    visitor = await visit()
    page, desk = visitor.page, Desk(visitor.page)
    version = await sync_to_async(create_set)(TONE, owner=rex)
    await sign_in(visitor, "/questions/tone/edit/")
    await page.locator("#up-questions-1").focus()
    await page.keyboard.press("Enter")

    await expect(desk.at("questions.0.key")).to_have_value("warmth")
    await expect(page.locator("#down-questions-0")).to_be_focused()  # it cannot go up any further
    await expect(page.locator("#said")).to_have_text("Moved up to position 1.")
    await page.keyboard.press("Enter")
    await expect(page.locator("#down-questions-1")).to_be_focused()
    await page.keyboard.press("Space")
    await expect(desk.at("questions.2.key")).to_have_value("warmth")
    await page.locator("#add-questions").press("Enter")
    await expect(desk.at("questions.3.wording")).to_be_focused()
    await page.locator('button[value="remove:questions.3"]').press("Enter")
    await expect(page.locator("#add-questions")).to_be_focused()
    await page.get_by_role("button", name="Save as a new version").press("Enter")

    await expect(page.get_by_text("is saved as tone-v2")).to_be_visible()
    newest = await SetVersion.objects.aget(number=2)
    assert [each["key"] for each in newest.questions] == ["polite", "why", "warmth"]
    assert (await SetVersion.objects.aget(number=1)).declaration == version.declaration


async def test_the_preview_takes_answers_as_the_worker_does_and_stores_nothing(
    visit: Visit, rex: User
) -> None:
    visitor = await visit()
    await sync_to_async(create_set)(TONE, owner=rex)
    await sign_in(visitor, "/questions/")
    await visitor.go("/questions/keys/tone-v1/worker/?language=zh")
    page = visitor.page
    assert await visitor.flaws() == []
    await expect(visitor.open_question).to_have_accessible_name("它礼貌吗?")
    await visitor.press("n")
    await expect(visitor.open_question).to_have_accessible_name("How warm is it?")
    await shot(page, "preview-1280")
    await visitor.press("5")
    await visitor.open_question.get_by_role("textbox").fill("Loud")
    await visitor.open_question.get_by_role("button", name="Save").click()

    await expect(page.locator("#hint")).to_have_text(
        'That is all. This would be stored: {"polite":false,"warmth":5,"why":"Loud"}'
    )
    await page.get_by_role("button", name="Try again").click()
    await expect(visitor.open_question).to_have_accessible_name("它礼貌吗?")
    assert not await Label.objects.aexists()


async def test_an_error_stands_at_its_field_and_nothing_is_lost(visit: Visit, rex: User) -> None:
    visitor = await visit(viewport={"width": 320, "height": 640})
    page, desk = visitor.page, Desk(visitor.page)
    await sign_in(visitor, "/questions/new/?from=ssa")
    await desk.write(key="mine", questions__1__key="sensible")
    await page.get_by_role("button", name="Save", exact=True).click()

    key = desk.at("questions.1.key")
    await expect(key).to_have_accessible_description(
        "“sensible” is declared twice. Give each question a key of its own. "
        "Name of its column in files, such as polite. Small letters, digits and _."
    )
    await expect(key).to_be_focused()
    assert await visitor.flaws() == []
    assert await page.evaluate(CRAMPED) == []
    await shot(page, "editor-error-320")
    await key.fill("specific")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_text("is saved as mine-v1")).to_be_visible()
    assert await page.evaluate(CRAMPED) == []
    for path in ("/questions/", "/questions/import/", "/questions/keys/likert/"):
        await visitor.go(path)
        assert await visitor.flaws() == []
        assert await page.evaluate(CRAMPED) == []
    await visitor.go("/questions/mine/")
    await shot(page, "set-320")


async def test_the_editor_works_without_scripts(visit: Visit, rex: User) -> None:
    visitor = await visit(java_script_enabled=False)
    page, desk = visitor.page, Desk(visitor.page)
    await sign_in(visitor, "/questions/new/")
    await desk.write(title="Plain", key="plain", source="us")
    await desk.write(questions__0__wording="How warm?", questions__0__key="warmth")
    await desk.at("questions.0.kind").select_option("scale")
    await page.get_by_role("button", name="Show what belongs to it").first.click()
    await desk.write(questions__0__scale__low_caption="cold", questions__0__scale__high_caption="warm")
    await page.get_by_role("button", name="Save", exact=True).click()

    await expect(page.get_by_text("“Plain” is saved as plain-v1.")).to_be_visible()
    stored = await SetVersion.objects.aget()
    assert stored.questions[0]["scale"]["high"] == 7
