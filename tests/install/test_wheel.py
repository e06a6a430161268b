"""The wheel alone, in an empty environment without the checkout: serve, talk, label, read the report.

The environment's own packages are those that run this test, added to its path by a `.pth` file: downloading
them would take minutes. Python does not read `.pth` files of a folder that another one names, so an editable
install of the checkout there is out of reach; a test checks that. PyTorch is hidden, as without the extra
`models`: on a busy machine its bots may take longer for a reply than a study allows.
"""

import asyncio
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from playwright.async_api import Page, async_playwright, expect

from tests.browser.conftest import FLAGS, PATIENCE_MS, Visitor

ROOT = Path(__file__).parents[2]
START_SECONDS = 480.0
LARGEST_WEIGHTS_BYTES = 25_000_000
WITHOUT_TORCH = (
    "import importlib.machinery as m; m.PathFinder.find_spec = staticmethod("
    "lambda n, p=None, t=None, f=m.PathFinder.find_spec: None if n == 'torch' else f(n, p, t))"
)
"""Line of a .pth file: PyTorch is not found, as where it is not installed."""
OURS = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS", "PYTHONPATH", "DJANGO_SETTINGS_MODULE"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = ["wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT)]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True)
    return next(folder.glob("*.whl"))


@pytest.fixture(scope="module")
def home() -> Iterator[Path]:
    """A short folder that PostgreSQL's own user may pass."""
    made = Path(tempfile.mkdtemp(prefix="tw-"))
    made.chmod(0o711)
    yield made
    shutil.rmtree(made, ignore_errors=True)


class Installed:
    """An environment with nothing but the wheel, and what it depends on."""

    def __init__(self, wheel: Path, home: Path) -> None:
        self.home = home
        self.bin = home / "environment" / "bin"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", self.bin.parent], check=True)
        python = str(self.bin / "python")
        install = ["--python", python, "install", "--quiet", "--no-deps", "--no-compile", str(wheel)]
        subprocess.run([sys.executable, "-m", "pip", *install], check=True)
        self.packages = next((self.bin.parent / "lib").glob("python*/site-packages"))
        (self.packages / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n{WITHOUT_TORCH}\n")

    def environment(self) -> dict[str, str]:
        inherited = {
            name: value
            for name, value in os.environ.items()
            if name not in OURS and not name.startswith(("TURNWISE_", "XDG_", "PYTEST_"))
        }
        return inherited | {"HOME": str(self.home)}

    def command(self, *arguments: str) -> list[str]:
        return [str(self.bin / "turnwise"), *arguments]

    def run(self, *command: str) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end in a folder that is not the checkout."""
        return subprocess.run(
            command, cwd=self.home, env=self.environment(), capture_output=True, text=True, timeout=240
        )


@pytest.fixture(scope="module")
def installed(wheel: Path, home: Path) -> Installed:
    return Installed(wheel, home)


@pytest.fixture(scope="module")
def output(installed: Installed) -> Iterator[Path]:
    """What `turnwise serve` prints in an empty folder; it runs until all tests are done."""
    folder = installed.home / "empty"
    folder.mkdir()
    log = installed.home / "output.txt"
    with log.open("w") as file:
        process = subprocess.Popen(
            installed.command("serve", "--port", "0"),
            cwd=folder, env=installed.environment(), stdout=file, stderr=file, start_new_session=True,
        )  # fmt: skip
    wait_until_printed(log, "Turnwise is ready", process)
    assert list(folder.iterdir()) == []
    yield log
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0, log.read_text()


def wait_until_printed(log: Path, text: str, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + START_SECONDS
    while text not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)


def test_it_holds_three_packages_with_their_files_and_small_weights(wheel: Path) -> None:
    files = zipfile.ZipFile(wheel).infolist()
    names = {each.filename for each in files}
    tops = {name.partition("/")[0] for name in names if ".dist-info/" not in name}
    weights = sum(each.file_size for each in files if "/pretrained/" in each.filename)

    assert tops == {"turnwise", "chatbots", "evaluation"}
    resources = "turnwise/resources/"
    for name in (
        "templates/staff.html", "static/js/live.js", "docs/running.md", "CHANGELOG.md",
        *(f"locale/{code}/LC_MESSAGES/django.mo" for code in ("ar", "de", "es", "fr", "hi", "ja", "zh_Hans")),
    ):  # fmt: skip
        assert resources + name in names
    sql = {path.name for path in (ROOT / "platform/turnwise").glob("*/sql/*.sql")}
    assert sql <= {name.rpartition("/")[2] for name in names}
    assert not [name for name in names if "__pycache__" in name or "node_modules" in name]
    assert weights < LARGEST_WEIGHTS_BYTES


def test_every_template_static_file_and_page_of_the_manual_of_the_checkout_is_in_it(wheel: Path) -> None:
    names = set(zipfile.ZipFile(wheel).namelist())
    listed = subprocess.run(
        ["git", "ls-files", "templates", "static", "locale", "docs"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    )  # fmt: skip

    assert {f"turnwise/resources/{file}" for file in listed.stdout.splitlines()} <= names


def test_nothing_of_the_checkout_is_on_its_path(installed: Installed) -> None:
    program = (
        "import json, turnwise, chatbots, evaluation, importlib.util as u;"
        "print(json.dumps([[m.__file__ for m in (turnwise, chatbots, evaluation)],"
        "[n for n in ('benchmarks', 'manage') if u.find_spec(n)]]))"
    )
    found = installed.run(str(installed.bin / "python"), "-c", program)

    packages, others = json.loads(found.stdout)
    assert all(file.startswith(str(installed.packages)) for file in packages)
    assert others == []


def test_the_command_says_its_version_and_its_commands(installed: Installed, wheel: Path) -> None:
    version = installed.run(*installed.command("--version")).stdout
    described = installed.run(*installed.command("--help")).stdout

    assert version == f"turnwise {wheel.name.split('-')[1]}\n"
    assert str(installed.home / ".local" / "share" / "turnwise") in described
    commands = set(re.findall(r"^  (\w+) ", described, re.MULTILINE))
    assert {"serve", "worker", "hostbots", "backup", "restore", "bundle", "import", "rehearse"} <= commands


def test_a_command_without_an_installation_says_what_to_do(installed: Installed) -> None:
    ended = installed.run(*installed.command("bundle", "1", "--data", str(installed.home / "elsewhere")))

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith(f"There is no installation in {installed.home / 'elsewhere'}. Start one")
    assert not (installed.home / "elsewhere").exists()


def test_a_wrong_command_names_the_right_one(installed: Installed) -> None:
    ended = installed.run(*installed.command("rehears"))

    assert (ended.returncode, ended.stdout) == (2, "")
    assert "Did you mean rehearse?" in ended.stderr


@pytest.mark.browser
@pytest.mark.timeout(1200)
def test_a_conversation_its_labels_and_the_report(installed: Installed, output: Path) -> None:
    said = output.read_text()
    data = installed.home / ".local" / "share" / "turnwise"
    assert f"Data               {data}\n" in said

    asyncio.run(_talk_label_and_read_the_report(said, (data / "first_admin").read_text()))


async def _talk_label_and_read_the_report(said: str, admin: str) -> None:
    worker_link = _printed(said, r"Chat as a worker +(\S+)")
    async with page_in_browser() as page:
        await _take_part(page, worker_link)
    async with page_in_browser() as page:
        await _sign_in(page, _printed(said, r"Sign in +(\S+)"), admin.partition(" / ")[2].strip())
        await page.get_by_role("link", name="Demo: talk with a chatbot").first.click()
        await page.wait_for_url(re.compile(r"/studies/\d+/"))
        await _read_report(page, _printed(page.url, r"(.+/studies/\d+/)") + "report/")


def _printed(said: str, pattern: str) -> str:
    found = re.search(pattern, said)
    assert found, said
    return found[1]


@asynccontextmanager
async def page_in_browser() -> AsyncIterator[Page]:
    """A page of a new browser; at the end no request may have failed for want of a file."""
    missing: list[str] = []
    flags = [*FLAGS, "--no-sandbox"] if os.geteuid() == 0 else FLAGS
    async with async_playwright() as playwright:
        executable = os.environ.get("TURNWISE_CHROMIUM") or shutil.which("chromium")
        browser = await playwright.chromium.launch(executable_path=executable, args=list(flags))
        page = await browser.new_page()
        page.set_default_timeout(PATIENCE_MS)
        page.on("response", lambda each: missing.append(each.url) if each.status in (404, 500) else None)
        yield page
        await browser.close()
    assert missing == []


async def _read_report(page: Page, link: str) -> None:
    """Wait for the report with the conversation, which the job worker computes within seconds."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        await page.goto(link)
        await expect(page.get_by_role("heading", level=1)).to_have_text("Report")
        if await page.locator("#results").count():
            break
        assert time.monotonic() < deadline, await page.get_by_role("main").text_content()
        await page.wait_for_timeout(1000)
    await expect(page.locator("#results")).to_contain_text("SSA")


async def _take_part(page: Page, link: str) -> None:
    """From consent to the completion code: as many exchanges as the study asks for."""
    await page.goto(link)
    await page.get_by_label("I agree to take part").check()
    await page.get_by_role("button", name="Continue").click()
    await page.get_by_role("button", name="Start the conversation").click()
    worker = Visitor(page, link)
    may_finish = page.locator("#finish[aria-disabled=false]")
    while not await may_finish.count():
        reply = await page.locator(".chip").count() + 1
        await worker.exchange("I like to walk in the hills. Do you like the sea?", "Yes", "Yes")
        await expect(worker.chip(reply)).to_contain_text("Change")
    await worker.finish()


async def _sign_in(page: Page, link: str, password: str) -> None:
    await page.goto(link)
    await page.get_by_label("Username").fill("admin")
    await page.get_by_label("Password").fill(password)
    await page.get_by_role("button", name="Sign in", exact=True).click()
    await expect(page.get_by_role("heading", name="Sign in")).not_to_be_visible()


def test_a_backup_a_bundle_and_the_doctor_of_a_running_installation(
    installed: Installed, output: Path
) -> None:
    backup, bundle = installed.home / "all.dump", installed.home / "study.zip"
    study = _printed(output.read_text(), r"Chat as a worker +\S+/s/(\w+)/")

    ran = [
        installed.run(*installed.command(*each)).stderr
        for each in (["backup", str(backup)], ["bundle", study, "--output", str(bundle)])
    ]

    examined = installed.run(*installed.command("doctor", "--json"))

    assert ran == ["", ""]
    found = {each["check"]: each["state"] for each in json.loads(examined.stdout)["findings"]}
    assert {found[name] for name in ("PostgreSQL", "Redis", "migrations", "port")} == {"ok"}, examined.stdout
    assert backup.stat().st_size > 10_000
    new = installed.home / "new"
    mistyped = installed.run(*installed.command("restore", "al.dump", "--data", str(new)))
    assert (mistyped.returncode, mistyped.stderr) == (2, "There is no file al.dump.\n")
    assert not new.exists()
    restored = installed.run(*installed.command("restore", str(backup), "--data", str(new)))
    assert restored.returncode == 0, restored.stderr
    assert restored.stdout.startswith(
        f"{new} is new and has a secret key of its own. Put the file secret_key"
    )
    assert restored.stdout.endswith(f"{backup} is restored.\n")
    again = installed.run(*installed.command("restore", str(backup), "--data", str(new)))
    assert (again.returncode, "would be gone" in again.stderr) == (1, True)
    assert "README.md" in {name.rpartition("/")[2] for name in zipfile.ZipFile(bundle).namelist()}
