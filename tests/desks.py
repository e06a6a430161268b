"""People at the labelling queue."""

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from tests.conftest import enter
from turnwise.crowd.models import Participation
from turnwise.judging.models import Batch, Item
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.studies.models import Study

OPEN: dict[str, Any] = {
    "format": 1,
    "key": "open",
    "title": "Open to answers",
    "subjects": ["context"],
    "source": "our own",
    "questions": [
        {
            "key": "open",
            "wording": "Could many different replies follow?",
            "choices": [{"value": True, "label": "Yes"}, {"value": False, "label": "No"}],
        }
    ],
}
"""Questions about contexts, as a researcher declares them."""


def begin(study: Study, participation: Participation | None = None, *, language: str = "en") -> RaterSession:
    """Somebody new, or this participant, sits down to judge."""
    batch = judging.begin(participation or enter(study), language=language)
    return desk_of(batch)


def desk_of(batch: Batch) -> RaterSession:
    return judging.get_rater_session(batch.public_id, batch.worker_id)


def held(desk: RaterSession) -> list[str]:
    """Keys of the items before this worker."""
    return [item["key"] for item in judging.state(desk)["items"]]


def item_of(key: str) -> Item:
    return Item.objects.get(key=key)


def judge(study: Study, answer: Callable[[Item], Mapping[str, object]]) -> None:
    """One more rater answers so about every item."""
    desk = begin(study)
    while shown := judging.state(desk)["items"]:
        key = UUID(shown[0]["key"])
        judging.judge(desk, key=key, answers=answer(Item.objects.get(key=key)))
