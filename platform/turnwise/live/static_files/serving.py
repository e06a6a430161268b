"""Static files from the web server itself, where no nginx serves them."""

from collections.abc import Callable
from typing import cast

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from servestatic.middleware import ServeStaticMiddleware
from servestatic.responders import Redirect, StaticFile


class StaticFiles:
    """Middleware that answers with a static file at once, and hands on requests for pages.

    The library's middleware opens, reads and closes each file on other threads. A chat page needs some forty
    files, which took more processor time than the page. It also makes an event loop for each page.
    """

    sync_capable, async_capable = True, False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        """Find all static files."""
        self._get_response = get_response
        self._library = ServeStaticMiddleware(_no_page)

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if self._library.autorefresh:
            static_file = self._library.find_file(request.path_info)
        else:
            static_file = self._library.files.get(request.path_info)
        return served(static_file, request) if static_file else self._get_response(request)


async def _no_page(request: HttpRequest) -> HttpResponseBase:
    raise NotImplementedError


def served(static_file: StaticFile | Redirect, request: HttpRequest) -> HttpResponseBase:
    """Build the response with a static file, which is small: a test knows the largest."""
    found = static_file.get_response(request.method or "GET", cast(dict[str, str], request.META))
    content = b""
    if found.file is not None:
        with found.file as file:
            content = file.read()
    headers = {name: value for name, value in found.headers if value is not None}
    response = HttpResponse(content, status=int(found.status), headers=headers)
    if "Content-Type" not in headers:
        del response["Content-Type"]  # Django's default
    return response
