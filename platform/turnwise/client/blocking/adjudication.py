# Written by scripts/blocking_client.py: change ../asynchronous/adjudication.py, then run make fmt.
"""Items on which the raters of a study differ, and decisions about them."""

from collections.abc import Mapping
from typing import Any, cast

from turnwise.client.blocking.connection import Client
from turnwise.client.blocking.records import Records
from turnwise.client.rows import Dispute


class Adjudication:
    """Adjudication of one study."""

    def __init__(self, client: Client, study: str) -> None:
        """Take the path of the study."""
        self._client = client
        self._path = f"{study}/adjudication"

    def state(self) -> dict[str, Any]:
        """Its declaration (`steps`), and the numbers of judged, disputed and decided items."""
        return cast("dict[str, Any]", self._client.get(self._path))

    def declare(self, steps: int | None) -> dict[str, Any]:
        """Declare it, before the study opens; None: no adjudication."""
        return cast("dict[str, Any]", self._client.call("PUT", self._path, {"steps": steps}))

    def items(self) -> Records[Dispute]:
        """The items on which raters differ, with whether each is decided."""
        return Records(lambda: self._client.pages(f"{self._path}/items"))

    def item(self, key: str) -> dict[str, Any]:
        """One item with its judgments and the decisions about it."""
        return cast("dict[str, Any]", self._client.get(f"{self._path}/items/{key}"))

    def decide(self, key: str, answers: Mapping[str, Any], reason: str, *, after: int = 0) -> dict[str, Any]:
        """Decide the open questions of an item.

        Args:
            key: key of the item.
            answers: by key of each open question, the value of its answer.
            reason: why.
            after: `decision` of the item as it was read; a newer decision is not overwritten.
        """
        sent = {"answers": dict(answers), "reason": reason, "after": after}
        path = f"{self._path}/items/{key}/decision"
        return cast("dict[str, Any]", self._client.call("POST", path, sent))

    def undo(self, key: str, *, after: int) -> dict[str, Any]:
        """Undo the decision about an item; `after` is its number."""
        path = f"{self._path}/items/{key}/undo"
        return cast("dict[str, Any]", self._client.call("POST", path, {"after": after}))

    def make_gold(self, study: str) -> int:
        """Make the decided items gold items of a draft, by its code; returns how many."""
        found = self._client.call("POST", f"{self._path}/gold", {"study": study})
        return int(found["gold"])
