"""A simulated browser for the real pages: keeps cookies, reads forms and tables, submits forms."""

import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser
from http.client import HTTPException
from http.cookiejar import CookieJar
from types import MappingProxyType
from typing import Any
from urllib.parse import urlencode, urljoin
from uuid import uuid4

from django.conf import settings
from typing_extensions import override

TIMEOUT = 60.0
LIMITED = 429
# Answers of a reverse proxy while the server behind it is down.
UNAVAILABLE = (502, 503, 504)
# Redirect that repeats a POST request at another address; urllib does not follow it by itself.
REPEATED = 307


class PageError(Exception):
    """A page lacks what the visitor needs, or refuses the request.

    Attributes:
        status: HTTP status of the refusal; 0 if there is none.
    """

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


@dataclass
class Form:
    """A form of a page with its current values."""

    action: str
    fields: dict[str, str] = field(default_factory=dict)


class Page(HTMLParser):
    """Contents of a page: forms, buttons and table rows; labels, values and scripts by their ids."""

    def __init__(self, address: str, text: str) -> None:
        super().__init__()
        self.address = address
        self.text = text
        self.forms: list[Form] = []
        self.rows: list[list[str]] = []
        self.labels: dict[str, str] = {}
        self.values: dict[str, str] = {}
        self.scripts: dict[str, str] = {}
        self.buttons: set[str] = set()
        self._form = Form("")
        self._select = ""
        self._in_cell = False
        self._into: tuple[dict[str, str], str] | None = None
        self.feed(text)

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag in ("form", "input", "textarea", "select", "option"):
            self._start_control(tag, values)
        elif tag == "label":
            self._collect(self.labels, values.get("for", ""))
        elif tag == "script" and "id" in values:
            self._collect(self.scripts, values["id"])
        elif tag == "button":
            self.buttons.add(values.get("name", ""))
        elif tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th") and self.rows:
            self.rows[-1].append("")
            self._in_cell = True

    def _start_control(self, tag: str, given: dict[str, str]) -> None:
        name, value = given.get("name", ""), given.get("value", "")
        if tag == "form":
            self._form = Form(given.get("action") or self.address)
            self.forms.append(self._form)
        elif tag == "textarea":
            self._collect(self._form.fields, name)
        elif tag == "select":
            self._select = name
        elif tag == "option" and "selected" in given:
            self._form.fields[self._select] = value
        elif tag == "input":
            self.values[given.get("id", "")] = value
            if given.get("type") not in ("checkbox", "radio") or "checked" in given:
                self._form.fields[name] = value or ("on" if "checked" in given else "")

    def _collect(self, into: dict[str, str], name: str) -> None:
        into[name] = ""
        self._into = (into, name)

    @override
    def handle_endtag(self, tag: str) -> None:
        if tag in ("textarea", "label", "script"):
            self._into = None
        elif tag in ("td", "th"):
            self._in_cell = False

    @override
    def handle_data(self, data: str) -> None:
        if self._into:
            into, name = self._into
            into[name] += data
        elif self._in_cell:
            self.rows[-1][-1] += data

    def form(self, action: str) -> Form:
        """The form whose action ends like this."""
        for each in self.forms:
            if each.action.endswith(action):
                return each
        raise PageError(f"The page {self.address} has no form for …{action}. It says: {self.text[:2000]}")

    def settings(self) -> dict[str, Any]:
        """Settings of the page's script."""
        for name, text in self.scripts.items():
            if name.endswith("-settings"):
                found: dict[str, Any] = json.loads(text)
                return found
        raise PageError(
            f"The page {self.address} has no settings for its script. It says: {self.text[:2000]}"
        )


class Visitor:
    """One browser with its own cookies."""

    def __init__(self, server: str, *, waits: float = 0.0) -> None:
        """Open the browser. If the server does not answer, requests are repeated for `waits` seconds."""
        self.server = server
        self._waits = waits
        self.cookies = CookieJar()
        self.page = Page(server, "")
        """The most recent page."""
        self._opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor(self.cookies))

    def get(self, path: str) -> Page:
        return self._open(urljoin(self.server, path), None)

    def submit(self, page: Page, form: Form, **filled: Any) -> Page:
        fields = {
            name: value for name, value in {**form.fields, **filled}.items() if name and value is not None
        }
        return self._open(urljoin(page.address, form.action), urlencode(fields).encode())

    def download(self, path: str) -> list[dict[str, Any]]:
        """Download a file of JSON Lines."""
        return [json.loads(line) for line in self.get(path).text.splitlines()]

    def upload(self, path: str, field: str, content: bytes, *, name: str) -> dict[str, Any]:
        """Send a file as the scripts of pages do, and return the JSON of the answer.

        Raises:
            PageError: the server refuses the file.
        """
        boundary = uuid4().hex
        head = f'--{boundary}\r\nContent-Disposition: form-data; name="{field}"; filename="{name}"\r\n\r\n'
        token = next(cookie.value for cookie in self.cookies if cookie.name == settings.CSRF_COOKIE_NAME)
        headers = {
            "Content-Type": f"multipart/form-data; boundary={boundary}",
            "X-CSRFToken": token or "",
        }
        body = head.encode() + content + f"\r\n--{boundary}--\r\n".encode()
        answer: dict[str, Any] = json.loads(self._open(urljoin(self.server, path), body, headers).text)
        return answer

    def _open(
        self, address: str, body: bytes | None, headers: Mapping[str, str] = MappingProxyType({})
    ) -> Page:
        origin = {"Origin": self.server.rstrip("/")}
        request = urllib.request.Request(address, body, origin | dict(headers))
        began = time.monotonic()
        while True:
            waited = time.monotonic() - began
            try:
                with self._opener.open(request, timeout=TIMEOUT) as response:
                    self.page = Page(response.url, response.read().decode())
                    return self.page
            except urllib.error.HTTPError as error:
                if error.code == REPEATED:
                    return self._open(urljoin(address, error.headers["Location"]), body, headers)
                if waited > self._retry_seconds(error.code):
                    text = _gist(error.read().decode(errors="replace"))
                    raise PageError(f"{address} answers {error.code}: {text}", error.code) from None
            except (OSError, HTTPException) as error:
                if waited >= self._waits:
                    reason = getattr(error, "reason", repr(error))
                    raise PageError(f"{address} does not answer ({reason}). Is the server up?") from None
            time.sleep(2)

    def _retry_seconds(self, status: int) -> float:
        """Seconds for which a request that failed with this status is repeated."""
        if status == LIMITED:  # all simulated workers share one address, which has a rate limit
            return 2 * TIMEOUT
        return self._waits if status in UNAVAILABLE else -1.0

    def cookie_header(self) -> str:
        return "; ".join(f"{cookie.name}={cookie.value}" for cookie in self.cookies)


def _gist(html: str) -> str:
    """The text of a page without its tags."""
    start = max(0, html.find("<main"))
    return " ".join(re.sub(r"<[^>]*>", " ", html[start : start + 1500]).split())
