"""Static files from the web server itself, where no nginx serves them."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from servestatic.middleware import ServeStaticMiddleware
from servestatic.responders import Redirect, StaticFile
from typing_extensions import override

MOST_BYTES_AT_ONCE = 2**20


class StaticFiles(ServeStaticMiddleware):
    """Middleware that answers with a small static file at once.

    The library opens, reads and closes each file on another thread. A chat page needs some forty files, which
    took more processor time than the page.
    """

    @override
    @staticmethod
    async def aserve(  # type: ignore[override]  # the library streams
        static_file: StaticFile | Redirect, request: HttpRequest
    ) -> HttpResponseBase:
        found = static_file.get_response(request.method or "GET", request.META)
        headers = {name: value for name, value in found.headers if value is not None}
        if int(headers.get("Content-Length", 0)) > MOST_BYTES_AT_ONCE:
            if found.file:
                found.file.close()
            return await ServeStaticMiddleware.aserve(static_file, request)
        content = b""
        if found.file:
            with found.file as file:
                content = file.read()
        response = HttpResponse(content, status=int(found.status), headers=headers)
        if "Content-Type" not in headers:
            del response["Content-Type"]  # Django's default
        return response
