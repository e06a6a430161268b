"""Panel Prolific and the client of its API (https://docs.prolific.com/api-reference)."""

import asyncio
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, ClassVar
from urllib.parse import quote, urlsplit

from django.http import QueryDict
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from typing_extensions import override

from chatbots.errors import ForbiddenAddressError, ServiceError
from chatbots.services.addresses import check_key
from chatbots.services.client import Client, Request
from turnwise.crowd.models import Outcome, StudyPanel
from turnwise.crowd.panels.base import (
    ID,
    Arrival,
    Panel,
    ReturnPath,
    fill_placeholders,
    id_in,
    shortened,
    with_query,
)

COMPLETIONS = "https://app.prolific.com/submissions/complete?cc={code}"
PLACEHOLDERS = "PROLIFIC_PID={{%PROLIFIC_PID%}}&STUDY_ID={{%STUDY_ID%}}&SESSION_ID={{%SESSION_ID%}}"


class Prolific(Panel):
    """Prolific: IDs in the link, and at the end its completion address with a code for each outcome."""

    key = "prolific"
    title = "Prolific"
    brings = gettext_lazy("Paid crowd workers of Prolific.")
    about = gettext_lazy(
        "Give Prolific the link below as the URL of the study, with the option “URL parameters”, and set up "
        "one completion path there for each code."
    )
    order = 2
    parameters = ("PROLIFIC_PID", "STUDY_ID", "SESSION_ID")
    outcomes: ClassVar = tuple(Outcome)
    needed: ClassVar = (Outcome.COMPLETE,)
    asks_for: ClassVar = ("token", "their_study")

    @override
    def link(self, entry: str, setup: StudyPanel) -> str:
        return with_query(entry, PLACEHOLDERS)

    @override
    def arrival(self, query: QueryDict, setup: StudyPanel) -> Arrival:
        return Arrival(
            self.key,
            id_in(query, "PROLIFIC_PID"),
            id_in(query, "SESSION_ID", needed=False),
            {"study": id_in(query, "STUDY_ID", needed=False)},
            setup.pk,
        )

    @override
    def return_path(self, arrival: Arrival, setup: StudyPanel, outcome: Outcome, own_code: str) -> ReturnPath:
        if code := setup.code_of(outcome):
            return ReturnPath(self.title, fill_placeholders(COMPLETIONS, {"code": code}), code=code)
        return ReturnPath(self.title, do=_("Please return your submission on Prolific."))

    @override
    def problems(self, setup: StudyPanel) -> dict[str, str]:
        by_field = super().problems(setup)
        if setup.their_study and not ID.fullmatch(setup.their_study):
            by_field["their_study"] = _(
                "“%(value)s” is not an id. Copy it from the study's address there."
            ) % {"value": shortened(setup.their_study)}
        if setup.token:
            if not setup.their_study:
                by_field["their_study"] = _("The API needs it. Copy it from the study's address at Prolific.")
            if not VARIABLE.fullmatch(setup.token):
                by_field["token"] = _(
                    "Write the name of a variable that begins with %(prefix)s, never the token itself."
                ) % {"prefix": PREFIX}
            else:
                try:
                    api_account(setup.token, setup.study.owner.get_username())
                except NoTokenError as error:
                    by_field["token"] = str(error)
        return by_field


PREFIX = "TURNWISE_PROLIFIC_"
VARIABLE = re.compile(rf"{PREFIX}[A-Z0-9_]{{1,40}}")
TIMEOUT = 20.0
RETRIES = 2
SHORTEST_REASON = 100
"""Minimum length of a rejection's message at Prolific."""
MOST_PAGES = 200

CATEGORIES = (
    "TOO_QUICKLY", "TOO_SLOWLY", "FAILED_INSTRUCTIONS", "INCOMP_LONGITUDINAL", "FAILED_CHECK", "LOW_EFFORT",
    "MALINGERING", "NO_CODE", "BAD_CODE", "NO_DATA", "UNSUPP_DEVICE", "OTHER",
)  # fmt: skip
"""Categories of a rejection, which it needs besides its message:
https://docs.prolific.com/api-reference/submissions/transition-submission; the same twelve in Prolific's own
https://github.com/prolific-oss/cli (`rejectionCategories`)."""


class NoTokenError(Exception):
    """The environment variable has no token for this study; the message never contains the token."""


class RefusedByPanelError(Exception):
    """Prolific refused the request; it is not retried."""


class OutcomeUnknownError(Exception):
    """Prolific may or may not have carried out the request; idempotent requests are retried."""


@dataclass(frozen=True, slots=True)
class ProlificStudy:
    """State of the study at Prolific."""

    name: str
    status: str
    places: int
    taken: int


@dataclass(frozen=True, slots=True)
class Submission:
    """A participant's submission at Prolific."""

    key: str
    participant: str
    status: str


def api_account(variable: str, owner: str) -> tuple[str, str]:
    """Read the API's address and token for this owner's studies from an environment variable.

    Raises:
        NoTokenError: the variable is not set, is malformed, or is not for this owner.
    """
    parts = os.environ.get(variable, "").split() if VARIABLE.fullmatch(variable) else []
    if not parts:
        raise NoTokenError(
            _("%(name)s is not set where Turnwise runs. Ask the people who run it to set it.")
            % {"name": variable}
        )
    address, *names, token = parts if len(parts) > 1 else ["", *parts]
    if urlsplit(address).scheme not in ("https", "http") or not urlsplit(address).hostname or len(names) > 1:
        raise NoTokenError(
            _("%(name)s is not written as: https://api.prolific.com THE-TOKEN") % {"name": variable}
        )
    if names and owner not in names[0].split(","):
        raise NoTokenError(
            _("%(name)s is not for studies of %(owner)s.") % {"name": variable, "owner": owner}
        )
    try:
        check_key(token)
    except ValueError as error:
        raise NoTokenError(f"{variable} {error}.") from None
    return address.rstrip("/"), token


class ProlificApi:
    """Client of Prolific's API for one study."""

    def __init__(self, setup: StudyPanel) -> None:
        """Read the token from the environment.

        Raises:
            NoTokenError: there is no token for this study.
        """
        self._address, self._token = api_account(setup.token, setup.study.owner.get_username())
        self._study = setup.their_study

    # --- the study -----------------------------------------------------------------------------------

    def study(self) -> ProlificStudy:
        fields = self._call("GET", f"studies/{quote(self._study, safe='')}/")
        return ProlificStudy(
            name=str(fields.get("name", ""))[:200],
            status=str(fields.get("status", ""))[:40],
            places=int(fields.get("total_available_places") or 0),
            taken=int(fields.get("places_taken") or 0),
        )

    def transition(self, action: str) -> None:
        """Change the study's state at Prolific: PUBLISH, PAUSE, START or STOP."""
        self._call("POST", f"studies/{quote(self._study, safe='')}/transition/", {"action": action})

    def set_places(self, places: int) -> None:
        changed = {"total_available_places": places}
        self._call("PATCH", f"studies/{quote(self._study, safe='')}/", changed)

    def submissions(self) -> list[Submission]:
        """List all submissions of the study."""
        found: list[Submission] = []
        for page in range(1, MOST_PAGES + 1):
            query = {"study": self._study, "page": str(page), "page_size": "100"}
            answer = self._call("GET", "submissions/", query=query)
            rows: Sequence[dict[str, Any]] = answer.get("results") or []
            found += [
                Submission(str(row.get("id")), str(row.get("participant_id")), str(row.get("status")))
                for row in rows
            ]
            if len(rows) < 100:
                break
        return found

    # --- one person ----------------------------------------------------------------------------------

    def status_of(self, submission: str) -> str:
        """Get a submission's status: APPROVED, REJECTED, AWAITING REVIEW and so on."""
        return str(self._call("GET", f"submissions/{quote(submission, safe='')}/").get("status", ""))

    def approve(self, submission: str) -> None:
        """Approve a submission. Idempotent, as Prolific's reference says."""
        self._decide(submission, {"action": "APPROVE"})

    def reject(self, submission: str, *, reason: str, category: str) -> None:
        """Reject a submission. Idempotent, as Prolific's reference says."""
        self._decide(
            submission, {"action": "REJECT", "message": reason, "rejection_category": category or "OTHER"}
        )

    def _decide(self, submission: str, body: dict[str, str]) -> None:
        self._call("POST", f"submissions/{quote(submission, safe='')}/transition/", body)

    def prepare_bonus(self, submission: str, amount: Decimal) -> str:
        """Set up a bonus without paying it; returns its key."""
        body = {"study_id": self._study, "csv_bonuses": f"{submission},{amount:.2f}"}
        return str(self._call("POST", "submissions/bonus-payments/", body)["id"])

    def pay_bonus(self, key: str) -> None:
        """Pay a bonus that was set up. Each call pays again, so it is never retried."""
        self._call("POST", f"bulk-bonus-payments/{quote(key, safe='')}/pay/", {}, retries=0)

    def message(self, participant: str, text: str) -> None:
        body = {"recipient_id": participant, "body": text, "study_id": self._study}
        self._call("POST", "messages/", body, retries=0)

    def _call(
        self,
        method: str,
        path: str,
        content: Any = None,
        *,
        query: dict[str, str] | None = None,
        retries: int = RETRIES,
    ) -> Any:
        request = Request(
            url=f"{self._address}/api/v1/{path}",
            method=method,
            query=query or {},
            headers={"Authorization": f"Token {self._token}"},
            content=content,
        )
        return asyncio.run(_exchange(request, self._token, retries))


async def _exchange(request: Request, token: str, retries: int) -> Any:
    client = Client(timeout=TIMEOUT, retries=retries, hidden=[token])
    try:
        return await client.exchange(request)
    except ForbiddenAddressError as error:
        raise RefusedByPanelError(str(error)) from None
    except ServiceError as error:
        problem = str(error)
        if " did not answer with JSON: " in problem:  # carried out, with an empty answer
            return {}
        # The status in the client's message; after 408 and 429 the client has retried already.
        refused = re.search(r" answered 4(?!08|29)\d\d", problem)
        raise (RefusedByPanelError if refused else OutcomeUnknownError)(problem) from None
    finally:
        await client.close()
