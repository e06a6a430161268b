"""Static files from the web server itself, where no nginx serves them."""

from collections.abc import Awaitable, Callable
from typing import cast

from asgiref.sync import iscoroutinefunction, markcoroutinefunction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from servestatic.middleware import ServeStaticMiddleware
from servestatic.responders import Redirect, StaticFile

Answer = HttpResponseBase | Awaitable[HttpResponseBase]


class StaticFiles:
    """Middleware that answers with a static file at once, and hands on requests for pages as they came.

    The library's middleware opens, reads and closes each file on other threads. A chat page needs some forty
    files, which took more processor time than the page. It also needs an event loop of its own for each page
    of a server without one, such as uWSGI.
    """

    sync_capable = async_capable = True

    def __init__(self, get_response: Callable[[HttpRequest], Answer]) -> None:
        """Find all static files."""
        self._get_response = get_response
        self._found = ServeStaticMiddleware(_no_page)
        if iscoroutinefunction(get_response):
            markcoroutinefunction(self)

    def __call__(self, request: HttpRequest) -> Answer:
        if self._found.autorefresh:
            static_file = self._found.find_file(request.path_info)
        else:
            static_file = self._found.files.get(request.path_info)
        if static_file is None:
            return self._get_response(request)
        response = served(static_file, request)
        return _awaited(response) if iscoroutinefunction(self) else response


async def _no_page(request: HttpRequest) -> HttpResponseBase:
    raise NotImplementedError


async def _awaited(response: HttpResponseBase) -> HttpResponseBase:
    return response


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
