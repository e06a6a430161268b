"""Static files from the web server itself, compared with the library's own way of serving them."""

import gzip
from pathlib import Path

import pytest
from django.http import StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.test import RequestFactory
from servestatic.middleware import ServeStaticMiddleware
from servestatic.responders import Redirect, StaticFile

from turnwise.live.static_files import serving
from turnwise.live.static_files.serving import StaticFiles

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
        content = response.content  # type: ignore[attr-defined]
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

    ours = await StaticFiles.aserve(script, request)

    assert not ours.streaming
    found = await parts_of(ours)
    assert (found[0], len(found[2])) == (status, length)
    assert found == await parts_of(await ServeStaticMiddleware.aserve(script, request))


async def test_a_redirect_keeps_its_query() -> None:
    request = RequestFactory().get("/static/old/?page=2")

    answer = await StaticFiles.aserve(Redirect("/static/new/"), request)

    assert (answer.status_code, answer["Location"]) == (302, "/static/new/?page=2")


async def test_a_large_file_is_streamed(script: StaticFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serving, "MOST_BYTES_AT_ONCE", 100)

    answer = await StaticFiles.aserve(script, RequestFactory().get("/static/a.js"))

    assert answer.streaming
    assert (await parts_of(answer))[2] == SCRIPT
