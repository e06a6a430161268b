"""A new version of the scripts starts while people are at work: their pages go on, the next page is new."""

import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.files.storage import FileSystemStorage
from django.core.management import call_command
from playwright.async_api import Response, expect

from tests.browser.conftest import Visit
from tests.server import Server
from turnwise.live.static_files.names import HASHED
from turnwise.live.static_files.storage import HashedStaticFiles
from turnwise.studies.models import Study

pytestmark = [pytest.mark.browser, pytest.mark.asyncio(loop_scope="session")]

FOREVER = "public, max-age=31536000, immutable"


@pytest.fixture
def own_server(collected: None, tmp_path: Path) -> Iterator[Server]:
    server = Server(tmp_path / "log")
    server.start()
    yield server
    server.end()
    call_command("collectstatic", interactive=False, verbosity=0)


@pytest.fixture
def site(own_server: Server) -> str:
    return own_server.address


def collect_changed(folder: Path) -> None:
    """Collect the static files of a version with another script and another style sheet."""
    root = Path(settings.STATIC_ROOT)
    originals = [
        path for path in root.rglob("*") if path.is_file() and not HASHED.search(path.stem + path.suffix)
    ]
    names = [str(path.relative_to(root)) for path in originals if path.suffix not in (".gz", ".br", ".json")]
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(root / name, folder / name)
    for name in ("js/kit/connection.js", "css/tokens.css"):
        with (folder / name).open("a") as file:
            file.write("\n/* Another version. */\n")
    source = FileSystemStorage(folder)
    list(HashedStaticFiles(location=root).post_process({name: (source, name) for name in names}))


def original(name: str) -> str:
    """Name without its hash."""
    return re.sub(r"\.[0-9a-f]{12}(?=\.)", "", name)


async def test_a_page_goes_on_while_a_new_version_starts_and_the_next_page_is_new(
    visit: Visit, own_server: Server, make_study: Callable[..., Study], tmp_path: Path
) -> None:
    study = await sync_to_async(make_study)(min_turns=4)
    wanda = await visit()
    loaded: list[Response] = []
    wanda.page.on("response", lambda each: loaded.append(each) if "/static/" in each.url else None)
    await wanda.start(study)
    await wanda.exchange("First", "Yes", "Yes")
    before = {each.url.partition("/static/")[2]: each for each in loaded}
    await wanda.message.fill("Written while")

    own_server.end()
    await expect(wanda.page.locator("#connection")).to_contain_text("The connection is lost")
    await sync_to_async(collect_changed)(tmp_path)
    await wanda.message.press_sequentially(" it was away")
    own_server.start()
    await wanda.ready()
    await wanda.message.press("Enter")
    await wanda.answer("Yes", "No")
    loaded.clear()
    await wanda.page.reload()
    await expect(wanda.bubbles).to_have_text(
        ["Hi!", "First", "Go on.", "Written while it was away", "Go on."]
    )
    after = {each.url.partition("/static/")[2]: each for each in loaded}

    assert {each.status for each in before.values()} == {each.status for each in after.values()} == {200}
    assert {each.headers["cache-control"] for each in before.values()} == {FOREVER}
    assert all(HASHED.search(name) for name in before)
    assert len(before) > 30
    changed = {original(name) for name in after.keys() - before.keys()}
    # The changed files and those that import them, and no others.
    assert changed == {"js/chat/main.js", "js/kit/connection.js", "css/tokens.css"}
    for name in before.keys() - after.keys():
        assert (await wanda.page.request.get(f"{own_server.address}/static/{name}")).status == 200
