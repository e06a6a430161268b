"""Static files from the web server itself, compared with the library's own way of serving them."""

import asyncio
import gzip
from pathlib import Path

import pytest
from django.http import HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import Client, RequestFactory
from pytest_django.fixtures import Settings
from servestatic.middleware import ServeStaticMiddleware
from servestatic.responders import Redirect, StaticFile

from turnwise.live.locations import RESOURCES
from turnwise.live.static_files.serving import StaticFiles, served

SCRIPT = b"export const answer = 42;\n" * 100
HEADERS = [("Content-Type", "text/javascript"), ("Cache-Control", "max-age=60"), ("ETag", '"x"')]


@pytest.fixture
def script(tmp_path: Path) -> StaticFile:
    plain, packed = tmp_path / "a.js", tmp_path / "a.js.gz"
    plain.write_bytes(SCRIPT)
    packed.write_bytes(gzip.compress(SCRIPT))
    return StaticFile(str(plain), HEADERS, {"gzip": str(packed)})


async def parts_of(response: HttpResponseBase) -> tuple[int, dict[str, str], bytes]:
    if isinstance(response, StreamingHttpResponse):
        content = b"".join([part async for part in response])
    else:
        assert isinstance(response, HttpResponse)
        content = response.content
    return response.status_code, dict(response.items()), content


@pytest.mark.parametrize(
    ("method", "headers", "status", "length"),
    [
        ("GET", {}, 200, len(SCRIPT)),
        ("GET", {"Accept-Encoding": "gzip, br"}, 200, len(gzip.compress(SCRIPT))),
        ("HEAD", {}, 200, 0),
        ("GET", {"If-None-Match": '"x"'}, 304, 0),
        ("GET", {"Range": "bytes=7-11"}, 206, 5),
        ("GET", {"Range": "bytes=999999-"}, 416, 0),
        ("POST", {}, 405, 0),
    ],
)
async def test_a_file_is_served_as_the_library_serves_it(
    script: StaticFile, method: str, headers: dict[str, str], status: int, length: int
) -> None:
    request = RequestFactory().generic(method, "/static/a.js", headers=headers)

    found = await parts_of(served(script, request))

    assert (found[0], len(found[2])) == (status, length)
    assert found == await parts_of(await ServeStaticMiddleware.aserve(script, request))


def test_a_redirect_keeps_its_query() -> None:
    answer = served(Redirect("/static/new/"), RequestFactory().get("/static/old/?page=2"))

    assert (answer.status_code, answer["Location"]) == (302, "/static/new/?page=2")


@pytest.fixture
def folder(tmp_path: Path, settings: Settings) -> Path:
    """Folder of static files with one script."""
    (tmp_path / "static").mkdir()
    (tmp_path / "static" / "a.js").write_bytes(SCRIPT)
    settings.STATIC_ROOT = tmp_path / "static"
    return tmp_path


@pytest.mark.parametrize("is_debugging", [False, True])
def test_other_requests_are_handed_on(folder: Path, settings: Settings, is_debugging: bool) -> None:
    settings.SERVESTATIC_AUTOREFRESH = is_debugging
    serving = StaticFiles(lambda request: HttpResponse(f"page {request.path}"))

    answers = [serving(RequestFactory().get(path)) for path in ("/static/a.js", "/static/b.js", "/")]

    assert [each.content for each in answers if isinstance(each, HttpResponse)] == [
        SCRIPT,
        b"page /static/b.js",
        b"page /",
    ]


def test_no_static_file_of_ours_is_large() -> None:
    """Each is read at once, while other requests wait."""
    sizes = {path: path.stat().st_size for path in (RESOURCES / "static").rglob("*") if path.is_file()}

    assert max(sizes.values()) < 2**20


def test_a_page_of_a_server_without_an_event_loop_needs_none(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse() -> None:
        raise AssertionError("An event loop was made.")

    monkeypatch.setattr(asyncio.events, "new_event_loop", refuse)

    assert client.get("/healthz").status_code == 200
