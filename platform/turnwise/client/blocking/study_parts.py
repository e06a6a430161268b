# Written by scripts/blocking_client.py: change ../asynchronous/study_parts.py, then run make fmt.
"""Parts of a study with calls of their own: queue, quality, adjudication, review, texts, publications.

Review and adjudication are defined here, the others in modules of their own.
"""

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any, cast

from turnwise.client.blocking.connection import Client
from turnwise.client.blocking.judging import Queue
from turnwise.client.blocking.publishing import Publications, Texts
from turnwise.client.blocking.quality import Quality
from turnwise.client.blocking.records import Records
from turnwise.client.rows import Dispute, Reviewed


class Review:
    """Review of one study."""

    def __init__(self, client: Client, study: str) -> None:
        """Take the path of the study."""
        self._client = client
        self._path = f"{study}/review"

    def dialogues(self, state: str = "") -> Records[Reviewed]:
        """Finished conversations with their measures; `state` is `pending`, `accepted` or `rejected`."""
        return Records(lambda: self._client.pages(self._path, state=state))

    def limits(self) -> dict[str, float | None]:
        """The limits beyond which a conversation is marked, by measure."""
        return dict(self._client.get(f"{self._path}/limits"))

    def change_limits(self, **limits: float | None) -> dict[str, float | None]:
        """Change some of them; None is not checked."""
        return dict(self._client.call("PATCH", f"{self._path}/limits", limits))

    def accept_fitting(self, dialogues: Sequence[str]) -> int:
        """Accept those of up to 100 conversations that wait and keep all limits; returns how many."""
        path = f"{self._path}/accept"
        found = self._client.call("POST", path, {"dialogues": [str(each) for each in dialogues]})
        return int(found["accepted"])

    def decide(self, dialogue: str, state: str, reason: str = "") -> dict[str, Any]:
        """Decide on a conversation.

        Args:
            dialogue: its id.
            state: `accepted`, `rejected`, or `pending`, which takes a decision back.
            reason: why it is rejected.
        """
        sent = {"state": state, "reason": reason}
        return cast("dict[str, Any]", self._client.call("PUT", f"{self._path}/{dialogue}", sent))

    def reward(self, dialogue: str, amount: Decimal) -> int:
        """Give both speakers of an accepted conversation a bonus; returns how many people get it."""
        path = f"{self._path}/{dialogue}/bonus"
        found = self._client.call("POST", path, {"amount": str(amount)})
        return int(found["people"])


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


class StudyParts:
    """The parts of a study.

    Attributes:
        code: the study's code in its addresses.
    """

    def __init__(self, client: Client, code: str) -> None:
        self._client = client
        self.code = code

    def _path(self, rest: str = "") -> str:
        return f"/studies/{self.code}{rest}"

    @property
    def queue(self) -> Queue:
        """The queue of items that its raters judge."""
        return Queue(self._client, self._path())

    @property
    def quality(self) -> Quality:
        """Quality flags, decisions about workers, and the qualification that it requires."""
        return Quality(self._client, self._path())

    @property
    def adjudication(self) -> Adjudication:
        """Items on which its raters differ, and decisions about them."""
        return Adjudication(self._client, self._path())

    @property
    def texts(self) -> Texts:
        """Personal data in its texts, and their redaction."""
        return Texts(self._client, self._path())

    @property
    def publications(self) -> Publications:
        """Public addresses of its report."""
        return Publications(self._client, self._path())

    @property
    def review(self) -> Review:
        """Its finished conversations with their measures, and decisions about them."""
        return Review(self._client, self._path())
