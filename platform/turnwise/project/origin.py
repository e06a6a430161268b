from urllib.parse import urlsplit

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, Scope, WebSocketScope

REASON = (
    "This page may not open a conversation here: its address and the server's differ. "
    "Open the study link itself. Behind a proxy, let the proxy pass the Host header on unchanged.\n"
)


class SameOrigin:
    """Refuses WebSockets from pages of other sites, which browsers would open with our cookies.

    A client that sends no Origin is no browser page, and carries only cookies that it was given.
    """

    def __init__(self, inner: ASGI3Application) -> None:
        self.inner = inner

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert scope["type"] == "websocket"
        headers = dict(scope["headers"])
        origin = headers.get(b"origin")
        if origin is None or _host_of(origin) == headers.get(b"host", b"").decode("latin-1").lower():
            await self.inner(scope, receive, send)
        else:
            await turn_away(scope, receive, send, status=403, reason="foreign origin", say=REASON)


def _host_of(origin: bytes) -> str:
    try:
        return urlsplit(origin.decode("latin-1")).netloc.lower()
    except ValueError:
        return ""


async def turn_away(
    scope: WebSocketScope,
    receive: ASGIReceiveCallable,
    send: ASGISendCallable,
    *,
    status: int,
    reason: str,
    say: str,
) -> None:
    """Refuse a WebSocket in words, or where the server has none for it with a code and the reason's name."""
    await receive()
    if "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 4000 + status, "reason": reason})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": say.encode(), "more_body": False})
