"""A real browser on the real server: a process of its own, on the test database and the test Redis."""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import axe_playwright_python
import pytest
import pytest_asyncio
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from playwright.async_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Error,
    Locator,
    Page,
    async_playwright,
    expect,
)

from tests.server import Server
from turnwise.accounts.models import User
from turnwise.crowd.entry.sessions import COOKIE
from turnwise.studies.models import Study

PATIENCE_MS = 60_000  # for the slowest machine; nothing waits longer than its condition takes
CLOSING_SECONDS = 30.0
# A browser started by a test must look up nothing on the internet.
FLAGS = (
    "--disable-gpu", "--no-first-run", "--disable-background-networking",
    "--disable-component-update", "--disable-sync", "--disable-quic",
)  # fmt: skip

FLAWS = (Path(__file__).parent / "flaws.js").read_text()
AXE = (Path(axe_playwright_python.__file__).parent / "axe.min.js").read_text()
FINDINGS = (Path(__file__).parent / "findings.js").read_text()


class ReadableColours:
    """Colours of texts, with their grounds and sizes, in which axe-core found enough contrast.

    They are shared by the processes that run tests, and kept for later runs with the same axe-core.
    """

    def __init__(self) -> None:
        self.file: Path | None = None

    def keep_in(self, folder: Path) -> None:
        self.file = folder / sha256((AXE + FINDINGS).encode()).hexdigest()

    def all(self) -> list[str]:
        return self.file.read_text().split() if self.file and self.file.exists() else []

    def add(self, colours: list[str]) -> None:
        if self.file and colours:
            with self.file.open("a") as file:
                file.write("".join(f"{each}\n" for each in colours))


READABLE = ReadableColours()

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="session")
def collected(django_db_setup: None) -> None:
    call_command("collectstatic", interactive=False, verbosity=0)


@pytest.fixture(scope="session")
def site(collected: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Address of the running server."""
    server = Server(tmp_path_factory.mktemp("server") / "log")
    server.start()
    yield server.address
    server.end()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def browser(pytestconfig: pytest.Config) -> AsyncIterator[Browser]:
    assert pytestconfig.cache
    READABLE.keep_in(pytestconfig.cache.mkdir("readable"))
    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else FLAGS
    async with async_playwright() as playwright:
        installed = shutil.which("chromium-headless-shell") or shutil.which("chromium")
        chromium = await playwright.chromium.launch(
            executable_path=os.environ.get("TURNWISE_CHROMIUM") or installed, args=list(flags)
        )
        yield chromium
        await chromium.close()


# Resolves as soon as a single key answers, to whether it does: Playwright's own checks come a second apart.
KEYS_COUNT = """patience => new Promise(resolve => {
    const count = () => document.querySelector("#dock")?.dataset.keys === "count";
    const seen = new MutationObserver(() => count() && end());
    const timer = setTimeout(end, patience);
    function end() {
        seen.disconnect();
        clearTimeout(timer);
        resolve(count());
    }
    seen.observe(document, { subtree: true, childList: true, attributeFilter: ["data-keys"] });
    if (count()) end();
})"""
# True if the window is at the end of the page, and still is two frames later.
RESTS_AT_END = """async () => {
    const isAtEnd = () => scrollY + innerHeight >= document.documentElement.scrollHeight - 2;
    const frame = () => new Promise(requestAnimationFrame);
    await frame();
    const before = isAtEnd();
    await frame();
    await frame();
    return before && isAtEnd();
}"""


class Visitor:
    """Somebody at a page, and what they do there."""

    def __init__(self, page: Page, site: str) -> None:
        self.page = page
        self.site = site
        self.message = page.get_by_role("textbox", name="Your message")
        self.bubbles = page.locator(".turn__text")
        self.open_question = page.locator("#ask:not([inert]) fieldset")

    async def go(self, path: str) -> None:
        await self.page.goto(self.site + path)

    async def fits(self) -> bool:
        """Whether the page is no wider than its window."""
        wide = "document.documentElement.scrollWidth <= document.documentElement.clientWidth"
        return bool(await self.page.evaluate(wide))

    async def walk_in(self, study: Study, button: str = "Start the conversation") -> None:
        """Walk from the study link to the work, through every page before it."""
        await self.go(study.get_entry_url())
        await self.page.get_by_label("I agree to take part").check()
        await self.page.get_by_role("button", name="Continue").click()
        await self.page.get_by_role("button", name=button).click()

    async def start(self, study: Study) -> None:
        """Open the chat as a new participant."""
        await self.work(study)
        await expect(self.bubbles).to_have_count(1)

    async def work(self, study: Study) -> None:
        """Open the page of work as a new participant.

        The pages before it are requested without the browser: to draw them takes longer than most tests.
        """
        path, session = await sync_to_async(_begin_work)(study)
        await self.remember(COOKIE, session)
        await self.go(path)

    async def sign_in(self, user: User) -> None:
        """Sign in without the form."""
        client = Client()
        await sync_to_async(client.force_login)(user)
        assert client.session.session_key
        await self.remember(settings.SESSION_COOKIE_NAME, client.session.session_key)

    async def remember(self, name: str, value: str) -> None:
        """Set a cookie."""
        await self.page.context.add_cookies([{"name": name, "value": value, "url": self.site}])

    async def say(self, text: str) -> None:
        await self.ready()
        await self.message.fill(text)
        await self.message.press("Enter")

    async def ready(self) -> None:
        """Wait until a message may be sent."""
        await expect(self.page.locator("#send")).to_have_attribute("aria-disabled", "false")

    async def keys_count(self) -> None:
        """Wait until a single key may answer the open question."""
        with suppress(Error):  # of a page that is being left; the next one is waited for below
            await self.page.evaluate(KEYS_COUNT, PATIENCE_MS)
        await expect(self.page.locator("#dock")).to_have_attribute("data-keys", "count")

    async def press(self, key: str) -> None:
        """Answer the open question by a single key, as soon as it counts."""
        await self.keys_count()
        await self.page.keyboard.press(key)

    async def to_the_end(self) -> None:
        """Scroll down until the end is on the screen, as a reader does.

        A page that is still being drawn may ignore a turn of the wheel, or go back to where an item begins.
        """
        await self.page.mouse.move(100, 100)
        for _ in range(20):
            await self.page.mouse.wheel(0, 20_000)
            if await self.page.evaluate(RESTS_AT_END):
                return

    async def answer(self, *choices: str) -> None:
        """Answer the open questions in order, by mouse."""
        for choice in choices:
            await self.open_question.get_by_role("button", name=choice).click()

    async def exchange(self, text: str, *choices: str) -> None:
        await self.say(text)
        await self.answer(*(choices or ("Yes", "Yes")))

    async def may_finish(self, *, so: bool = True) -> None:
        await expect(self.page.locator("#finish")).to_have_attribute("aria-disabled", str(not so).lower())

    async def finish(self) -> None:
        await self.may_finish()
        await self.page.get_by_role("button", name="Finish").click()
        await self.page.get_by_role("button", name="Yes, finish").click()
        await expect(self.page.get_by_role("heading", name="Thank you")).to_be_visible()

    def chip(self, reply: int) -> Locator:
        """What was answered about a reply, counted from 1."""
        return self.page.locator(".chip").nth(reply - 1)

    async def saved(self, reply: int, answers: str) -> None:
        """Wait until the server has these answers about a reply."""
        await expect(self.chip(reply)).to_have_text(f"{answers} Change")

    async def flaws(self, searched: set[str] | None = None) -> list[str]:
        """What would hinder people who use a screen reader, or the Content-Security-Policy.

        Our own rules, and all of axe-core's; the contrast of colours in the light and the dark scheme.

        Args:
            searched: which elements were visible when this page was searched, by a hash. If they are the same
                ones again, only rules that depend on the layout run. What is visible now is added.
        """
        await self.page.wait_for_load_state()  # a page that has just been asked for may be empty yet
        found = list(await self.page.evaluate(FLAWS))
        if not await self.page.evaluate("'axe' in window"):
            await self.page.evaluate(AXE)
        found += await self._findings(searched=searched)
        dark = await self.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        await self.page.emulate_media(color_scheme="light" if dark else "dark")
        found += await self._findings(is_contrast_alone=True)
        await self.page.emulate_media(color_scheme="dark" if dark else "light")
        return found

    async def _findings(
        self, *, is_contrast_alone: bool = False, searched: set[str] | None = None
    ) -> list[str]:
        options = {
            "known": READABLE.all(),
            "isContrastAlone": is_contrast_alone,
            "searched": sorted(searched or ()),
        }
        answer = await self.page.evaluate(FINDINGS, options)
        if searched is not None:
            searched.add(answer["visible"])
        if not any(flaw.startswith("axe color-contrast") for flaw in answer["flaws"]):
            READABLE.add(answer["colours"])
        return list(answer["flaws"])

    async def flaws_at(self, *widths: int) -> list[str]:
        """List the flaws of the open page in windows of these widths, among them that it does not fit.

        Cheaper than a walk for each width. Afterwards the window is as wide as before.
        """
        before = self.page.viewport_size
        assert before
        found: list[str] = []
        searched: set[str] = set()
        for width in widths:
            await self.page.set_viewport_size({"width": width, "height": 800})
            found += [f"{width} px: {flaw}" for flaw in await self.flaws(searched)]
            if not await self.fits():
                found.append(f"{width} px: wider than its window")
        await self.page.set_viewport_size(before)
        return found

    async def texts(self) -> list[str]:
        return await self.bubbles.all_text_contents()

    async def another_tab(self) -> "Visitor":
        """The same page once more, behind this one."""
        page = await self.page.context.new_page()
        await page.goto(self.page.url)
        await self.page.bring_to_front()  # the browser slows a tab in the background down
        return Visitor(page, self.site)


def _begin_work(study: Study) -> tuple[str, str]:
    """Agree and start by requests; return the path of the page of work and the worker's session."""
    client = Client(headers={"Accept-Language": "en"})
    version = study.consent_versions.last()
    assert version
    agreed = {"agree": "yes", "consent": str(version.number)}
    instructions = client.post(f"{study.get_entry_url()}consent/", agreed, follow=True)
    started = client.post(instructions.context["begin"])
    return started.headers["Location"], client.cookies[COOKIE].value


Visit = Callable[..., Awaitable[Visitor]]


@pytest_asyncio.fixture(loop_scope="session")
async def visit(browser: Browser, site: str, transactional_db: None) -> AsyncIterator[Visit]:
    """Open a browser of one's own; options are those of Playwright's new_context.

    At the end, no page may have raised an error, broken the Content-Security-Policy, or asked
    anything of another server than `elsewhere`.
    """
    complaints: list[str] = []
    contexts: list[BrowserContext] = []

    async def open_browser(*, elsewhere: str = "none", **options: Any) -> Visitor:
        context = await browser.new_context(**{"viewport": {"width": 1280, "height": 800}} | options)
        context.set_default_timeout(PATIENCE_MS)
        context.on("console", lambda message: complaints.extend(_complaint(message)))
        context.on("weberror", lambda error: complaints.append(str(error.error)))
        context.on(
            "request",
            lambda request: (
                None if request.url.startswith((site, "data:", elsewhere)) else complaints.append(request.url)
            ),
        )
        contexts.append(context)
        return Visitor(await context.new_page(), site)

    yield open_browser
    for context in contexts:
        # Once in some thousand times Chromium never says that it has; the rest of the tests need not wait.
        with suppress(TimeoutError):
            await asyncio.wait_for(context.close(), CLOSING_SECONDS)
    assert complaints == []


def _complaint(message: ConsoleMessage) -> list[str]:
    # The browser reports refusals that tests provoke (4xx pages, closed sockets) as errors too.
    expected = ("Failed to load resource", "WebSocket connection to")
    if message.type != "error" or message.text.startswith(expected):
        return []
    return [message.text]


@pytest_asyncio.fixture(loop_scope="session")
async def wanda(visit: Visit) -> Visitor:
    return await visit()
