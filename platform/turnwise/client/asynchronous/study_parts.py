"""Parts of a study with calls of their own: queue, quality, adjudication, review, texts, publications."""

from turnwise.client.asynchronous.acceptance import AsyncReview
from turnwise.client.asynchronous.adjudication import AsyncAdjudication
from turnwise.client.asynchronous.connection import AsyncClient
from turnwise.client.asynchronous.judging import AsyncQueue
from turnwise.client.asynchronous.publishing import AsyncPublications, AsyncTexts
from turnwise.client.asynchronous.quality import AsyncQuality


class AsyncStudyParts:
    """The parts of a study.

    Attributes:
        code: the study's code in its addresses.
    """

    def __init__(self, client: AsyncClient, code: str) -> None:
        self._client = client
        self.code = code

    def _path(self, rest: str = "") -> str:
        return f"/studies/{self.code}{rest}"

    @property
    def queue(self) -> AsyncQueue:
        """The queue of items that its raters judge."""
        return AsyncQueue(self._client, self._path())

    @property
    def quality(self) -> AsyncQuality:
        """Quality flags, decisions about workers, and the qualification that it requires."""
        return AsyncQuality(self._client, self._path())

    @property
    def adjudication(self) -> AsyncAdjudication:
        """Items on which its raters differ, and decisions about them."""
        return AsyncAdjudication(self._client, self._path())

    @property
    def texts(self) -> AsyncTexts:
        """Personal data in its texts, and their redaction."""
        return AsyncTexts(self._client, self._path())

    @property
    def publications(self) -> AsyncPublications:
        """Public addresses of its report."""
        return AsyncPublications(self._client, self._path())

    @property
    def review(self) -> AsyncReview:
        """Its finished conversations with their measures, and decisions about them."""
        return AsyncReview(self._client, self._path())
