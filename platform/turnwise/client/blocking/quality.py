# Written by scripts/blocking_client.py: change ../asynchronous/quality.py, then run make fmt.
"""Quality of a study's workers: flags, attention checks, decisions, qualification; saved messages."""

from typing import Any, Literal, cast

from turnwise.client.blocking.connection import Client
from turnwise.client.blocking.records import Records
from turnwise.client.rows import Decision, Flag

Action = Literal["keep", "exclude", "block", "approve", "reject"]


class Quality:
    """Flags of one study and what was decided."""

    def __init__(self, client: Client, study: str) -> None:
        """Take the path of the study."""
        self._client = client
        self._study = study

    def flags(self) -> Records[Flag]:
        """Its quality flags, each with its evidence."""
        return Records(lambda: self._client.pages(f"{self._study}/flags"))

    def limits(self) -> dict[str, float]:
        """Limits beyond which a figure becomes a flag."""
        return cast("dict[str, float]", self._client.get(f"{self._study}/flags/limits"))

    def change_limits(self, **limits: float) -> dict[str, float]:
        """Change some limits, and look for flags anew."""
        path = f"{self._study}/flags/limits"
        return cast("dict[str, float]", self._client.call("PATCH", path, limits))

    def checks(self) -> list[dict[str, Any]]:
        """Its attention checks, each with its `id`."""
        return cast("list[dict[str, Any]]", self._client.get(f"{self._study}/attention-checks"))

    def add_check(self, question_set: str, question: str, right: Any) -> dict[str, Any]:
        """Make a question an attention check, and check all workers again.

        Args:
            question_set: key of a question set of the study.
            question: key of a question that says what to answer.
            right: value of the choice that it asks for.
        """
        sent = {"question_set": question_set, "question": question, "right": right}
        path = f"{self._study}/attention-checks"
        return cast("dict[str, Any]", self._client.call("POST", path, sent))

    def remove_check(self, check: int) -> list[dict[str, Any]]:
        """Make an attention check an ordinary question; returns the checks that are left."""
        path = f"{self._study}/attention-checks/{check}"
        return cast("list[dict[str, Any]]", self._client.call("DELETE", path))

    def decisions(self) -> Records[Decision]:
        """The decisions about its workers, the newest first."""
        return Records(lambda: self._client.pages(f"{self._study}/decisions"))

    def decide(
        self, worker: str, action: Action, reason: str = "", *, number: int = 1, category: str = ""
    ) -> Decision:
        """Keep, exclude, block, approve or reject a worker.

        Args:
            worker: code of the worker.
            action: what is decided.
            reason: needed to exclude, block or reject.
            number: which time they took part.
            category: the panel's category of a rejection.
        """
        sent = {
            "worker": worker,
            "number": number,
            "action": action,
            "reason": reason,
            "category": category,
        }
        return cast("Decision", self._client.call("POST", f"{self._study}/decisions", sent))

    def undo(self, decision: int) -> Decision:
        """Undo a decision by its id, with its effects."""
        path = f"{self._study}/decisions/{decision}/undo"
        return cast("Decision", self._client.call("POST", path))

    def qualification(self) -> int | None:
        """Id of the qualification that it requires; None: it requires none."""
        found = self._client.get(f"{self._study}/qualification")
        return cast("int | None", found["qualification"])

    def require(self, qualification: int | None) -> None:
        """Require a qualification of workers who have not started; None: no longer.

        `client.pages("/qualifications")` lists yours; `client.call("POST", "/qualifications", …)` makes one.
        """
        sent = {"qualification": qualification}
        self._client.call("PUT", f"{self._study}/qualification", sent)


class SavedMessages:
    """Your saved messages to workers."""

    def __init__(self, client: Client) -> None:
        self._client = client

    def all(self) -> list[dict[str, Any]]:
        """All of them, each with its `id`."""
        return cast("list[dict[str, Any]]", self._client.get("/saved-messages"))

    def add(
        self, title: str, text: str, *, kind: Literal["rejection", "bonus", "thanks"] = "rejection"
    ) -> dict[str, Any]:
        """Save a message; {worker}, {study}, {reasons} and {amount} in it are filled in later."""
        sent = {"title": title, "text": text, "kind": kind}
        return cast("dict[str, Any]", self._client.call("POST", "/saved-messages", sent))

    def remove(self, message: int) -> dict[str, Any]:
        """Remove a message by its id; returns the deletion, which can be undone for a day."""
        return cast("dict[str, Any]", self._client.call("DELETE", f"/saved-messages/{message}"))
