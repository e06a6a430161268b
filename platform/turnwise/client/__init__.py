"""Python client of the REST API: studies from a draft to the bundle, for scripts and notebooks.

    from turnwise.client import Client, Study

    with Client("https://turnwise.example.org", token) as client:
        study = Study.create(client, "Small talk", preset="meena-interactive", bots={"eliza": 20})
        print(study.rehearse().verdict)
        study.open()

`AsyncClient` and `AsyncStudy` do the same in programs with an event loop. The client needs httpx and
nothing of the server, so it also runs where no installation is.
"""

from turnwise.client.asynchronous.connection import AsyncClient
from turnwise.client.asynchronous.judging import AsyncJudge, AsyncQueue
from turnwise.client.asynchronous.publishing import AsyncPublications, AsyncTexts
from turnwise.client.asynchronous.quality import AsyncQuality, AsyncSavedMessages
from turnwise.client.asynchronous.records import AsyncRecords
from turnwise.client.asynchronous.sets import AsyncAnchorPack, AsyncContextSet, AsyncRun
from turnwise.client.asynchronous.studies import AsyncRehearsal, AsyncStudy
from turnwise.client.asynchronous.study_parts import AsyncAdjudication, AsyncReview
from turnwise.client.blocking.connection import Client
from turnwise.client.blocking.judging import Judge, Queue
from turnwise.client.blocking.publishing import Publications, Texts
from turnwise.client.blocking.quality import Quality, SavedMessages
from turnwise.client.blocking.records import Records
from turnwise.client.blocking.sets import AnchorPack, ContextSet, Run
from turnwise.client.blocking.studies import Rehearsal, Study
from turnwise.client.blocking.study_parts import Adjudication, Review
from turnwise.client.errors import ApiError, FieldError, JobFailedError
from turnwise.client.rows import (
    Context,
    Decision,
    Dialogue,
    Dispute,
    Finding,
    Flag,
    Item,
    Label,
    Participant,
    Redaction,
    Response,
    Reviewed,
    SentPicture,
    Turn,
)

__all__ = [
    "Adjudication",
    "AnchorPack",
    "ApiError",
    "AsyncAdjudication",
    "AsyncAnchorPack",
    "AsyncClient",
    "AsyncContextSet",
    "AsyncJudge",
    "AsyncPublications",
    "AsyncQuality",
    "AsyncQueue",
    "AsyncRecords",
    "AsyncRehearsal",
    "AsyncReview",
    "AsyncRun",
    "AsyncSavedMessages",
    "AsyncStudy",
    "AsyncTexts",
    "Client",
    "Context",
    "ContextSet",
    "Decision",
    "Dialogue",
    "Dispute",
    "FieldError",
    "Finding",
    "Flag",
    "Item",
    "JobFailedError",
    "Judge",
    "Label",
    "Participant",
    "Publications",
    "Quality",
    "Queue",
    "Records",
    "Redaction",
    "Rehearsal",
    "Response",
    "Review",
    "Reviewed",
    "Run",
    "SavedMessages",
    "SentPicture",
    "Study",
    "Texts",
    "Turn",
]
