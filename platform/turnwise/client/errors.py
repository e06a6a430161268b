"""Errors of the client: refusals of the server as its problem documents describe them, and failed jobs."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import httpx


@dataclass(frozen=True, slots=True)
class FieldError:
    """A wrong field of a request.

    Attributes:
        field: its path in the request, such as `configuration.replies`.
        detail: what is wrong, and what to do.
    """

    field: str
    detail: str


class ApiError(Exception):
    """The server refused a request; nothing was changed.

    Attributes:
        status: HTTP status.
        kind: kind of problem, such as `no-scope`: a section of the manual's page about the API.
        detail: what is wrong, and what to do.
        errors: the wrong fields, if there are any.
        scope: the scope that the token lacks; empty: none.
    """

    def __init__(self, status: int, document: Mapping[str, Any]) -> None:
        self.status = status
        self.kind = str(document.get("type", "")).rpartition("#")[2]
        self.detail = str(document.get("detail", ""))
        self.errors = [FieldError(each["field"], each["detail"]) for each in document.get("errors") or ()]
        self.scope = str(document.get("scope") or "")
        fields = "".join(f"\n  {each.field}: {each.detail}" for each in self.errors)
        super().__init__(f"{status}: {self.detail}{fields}")

    @classmethod
    def of(cls, response: httpx.Response) -> "ApiError":
        """Build the error of a response, also of one from a proxy, which is no problem document."""
        try:
            document = response.json()
        except ValueError:
            document = None
        if not isinstance(document, dict):
            document = {"detail": f"{response.request.url} answered: {response.text[:200]}"}
        return cls(response.status_code, document)


class JobFailedError(Exception):
    """A job, such as a rehearsal or a report, was begun and failed; the message says why."""

    @classmethod
    def of(cls, what: str, state: Mapping[str, Any]) -> "JobFailedError":
        """Build the error of a job from its state."""
        return cls(f"{what} failed. {state.get('reason') or state.get('notice') or ''}".strip())
