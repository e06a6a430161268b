from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter

from turnwise.project.asgi_middleware import SameOrigin
from turnwise.project.sockets import websocket_urlpatterns


async def greet(scope: Any, receive: Any, send: Any) -> None:
    await receive()
    await send({"type": "websocket.accept"})


def knock(origin: str | None, host: str = "study.example:8443", *, can_say_why: bool = True) -> Any:
    headers = [(b"host", host.encode())] + ([(b"origin", origin.encode())] if origin is not None else [])
    extensions: dict[str, dict[str, str]] = {"websocket.http.response": {}} if can_say_why else {}
    scope = {"type": "websocket", "headers": headers, "extensions": extensions}
    return ApplicationCommunicator(SameOrigin(greet), scope)


@pytest.mark.parametrize("origin", ["https://study.example:8443", "https://STUDY.example:8443", None])
async def test_our_own_pages_and_clients_that_are_no_page_may_enter(origin: str | None) -> None:
    visitor = knock(origin)
    await visitor.send_input({"type": "websocket.connect"})
    assert (await visitor.receive_output())["type"] == "websocket.accept"


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example",
        "https://study.example",
        "https://study.example:8443.evil.example",
        "https://evil.example/study.example:8443",
        "https://study.example:8443@evil.example",
        "null",
        "",
        "https://[broken",
    ],
)
async def test_pages_of_other_sites_are_refused_with_the_reason(origin: str) -> None:
    visitor = knock(origin)
    await visitor.send_input({"type": "websocket.connect"})
    start = await visitor.receive_output()
    body = await visitor.receive_output()
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 403)
    assert b"its address and the server's differ" in body["body"]


async def test_a_server_that_cannot_say_why_closes() -> None:
    visitor = knock("https://evil.example", can_say_why=False)
    await visitor.send_input({"type": "websocket.connect"})
    assert await visitor.receive_output() == {
        "type": "websocket.close",
        "code": 4403,
        "reason": "foreign origin",
    }


@pytest.mark.parametrize("path", ["/ws/dialogues/no-uuid/", "/ws/", "/"])
async def test_an_address_that_leads_nowhere_is_refused_in_words(path: str) -> None:
    scope = {"type": "websocket", "path": path, "extensions": {"websocket.http.response": {}}}
    visitor = ApplicationCommunicator(URLRouter(websocket_urlpatterns), scope)
    await visitor.send_input({"type": "websocket.connect"})
    start = await visitor.receive_output()
    body = await visitor.receive_output()
    assert (start["type"], start["status"]) == ("websocket.http.response.start", 404)
    assert b"Open the study link again" in body["body"]
