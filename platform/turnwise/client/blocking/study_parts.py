# Written by scripts/blocking_client.py: change ../asynchronous/study_parts.py, then run make fmt.
"""Parts of a study with calls of their own: queue, quality, adjudication, review, texts, publications."""

from turnwise.client.blocking.acceptance import Review
from turnwise.client.blocking.adjudication import Adjudication
from turnwise.client.blocking.connection import Client
from turnwise.client.blocking.judging import Queue
from turnwise.client.blocking.publishing import Publications, Texts
from turnwise.client.blocking.quality import Quality


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
