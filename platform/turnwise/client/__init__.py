"""Python client of the REST API: studies from a draft to the bundle, for scripts and notebooks.

    from turnwise.client import Client, Study

    with Client("https://turnwise.example.org", token) as client:
        study = Study.create(client, "Small talk", preset="meena-interactive", bots={"eliza": 20})
        print(study.rehearse().verdict)
        study.open()

It needs httpx and nothing of the server, so it also runs where no installation is.
"""

from turnwise.client.connection import Client
from turnwise.client.errors import ApiError, FieldError, JobFailedError
from turnwise.client.records import Dialogue, Label, Participant, Records, Turn
from turnwise.client.studies import Finding, Rehearsal, Study

__all__ = [
    "ApiError",
    "Client",
    "Dialogue",
    "FieldError",
    "Finding",
    "JobFailedError",
    "Label",
    "Participant",
    "Records",
    "Rehearsal",
    "Study",
    "Turn",
]
