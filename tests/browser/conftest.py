"""A real browser on the real server: a process of its own, on the test database and the test Redis."""

import asyncio
import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import axe_playwright_python
import pytest
import pytest_asyncio
from django.conf import settings
from django.core.management import call_command
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

from tests.conftest import HASH_ITERATIONS
from turnwise.project.supervision.processes import spawn
from turnwise.studies.models import Study

PATIENCE_MS = 60_000  # for the slowest machine; nothing waits longer than its condition takes
SERVER_START_SECONDS = 60.0
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

# The server checks passwords with as few iterations as the tests that set them.
SERVE = f"""
from django.contrib.auth.hashers import PBKDF2PasswordHasher
PBKDF2PasswordHasher.iterations = {HASH_ITERATIONS}
from uvicorn import main
main()
"""


class Server:
    """The real server as a process of its own, on the test database."""

    def __init__(self, log: Path) -> None:
        self.log = log
        self.port = _free_port()  # the same one after a restart
        self.process: subprocess.Popen[bytes] | None = None
        self.address = f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        # Bots are loaded when they are first asked: a host that looks after all of them every two seconds
        # would get in the way of emptying the tables between tests.
        options = ["--port", str(self.port), "--lifespan", "off", "--ws", "websockets-sansio"]
        command = [sys.executable, "-c", SERVE, "turnwise.project.asgi:application", *options]
        database = urlsplit(os.environ["DATABASE_URL"])
        name = settings.DATABASES["default"]["NAME"]  # the test database, by now
        environment = os.environ | {"DATABASE_URL": urlunsplit(database._replace(path=f"/{name}"))}
        with self.log.open("wb") as output:
            # It ends with the tests, also when they are interrupted.
            self.process = spawn(command, environment=environment, output=output, errors=output)
        self._wait_until_it_listens()

    def _wait_until_it_listens(self) -> None:
        assert self.process
        deadline = time.monotonic() + SERVER_START_SECONDS
        while self.process.poll() is None and time.monotonic() < deadline:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", self.port)) == 0:
                    return
            time.sleep(0.05)
        raise RuntimeError(f"The server did not start. It said:\n{self.log.read_text()}")

    def end(self, *, kill: bool = False) -> None:
        assert self.process
        if kill:
            self.process.kill()
        else:
            self.process.terminate()
        self.process.wait(timeout=20)


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


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

    async def start(self, study: Study) -> None:
        """From the study link to the chat."""
        await self.go(study.get_entry_url())
        await self.page.get_by_label("I agree to take part").check()
        await self.page.get_by_role("button", name="Continue").click()
        await self.page.get_by_role("button", name="Start the conversation").click()
        await expect(self.bubbles).to_have_count(1)

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

    async def flaws(self) -> list[str]:
        """What would hinder people who use a screen reader, or the Content-Security-Policy.

        Our own rules, and all of axe-core's; the contrast of colours in the light and the dark scheme.
        """
        await self.page.wait_for_load_state()  # a page that has just been asked for may be empty yet
        found = list(await self.page.evaluate(FLAWS))
        if not await self.page.evaluate("'axe' in window"):
            await self.page.evaluate(AXE)
        found += await self._findings()
        dark = await self.page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        await self.page.emulate_media(color_scheme="light" if dark else "dark")
        found += await self._findings(is_contrast_alone=True)
        await self.page.emulate_media(color_scheme="dark" if dark else "light")
        return found

    async def _findings(self, *, is_contrast_alone: bool = False) -> list[str]:
        options = {"known": READABLE.all(), "isContrastAlone": is_contrast_alone}
        answer = await self.page.evaluate(FINDINGS, options)
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
        for width in widths:
            await self.page.set_viewport_size({"width": width, "height": 800})
            found += [f"{width} px: {flaw}" for flaw in await self.flaws()]
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
