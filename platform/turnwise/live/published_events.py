"""Events of studies and bots, published in the transaction of their cause.

A publisher knows no receiver: `turnwise.webhooks.outbox` subscribes, and stores what it sends in the same
transaction. So an event is lost only together with its cause.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum


class EventType(StrEnum):
    """Kinds of events, as receivers see them."""

    STUDY_FILLED = "study.filled"
    REPORT_READY = "report.ready"
    BUNDLE_READY = "bundle.ready"
    PARTICIPANT_WAITING = "participant.waiting"
    BOT_FAILING = "bot.failing"
    BUDGET_REACHED = "bot.budget_reached"
    JUDGE_DRIFTED = "judge.drifted"


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened to a study or a bot.

    Attributes:
        kind: what happened.
        study_id: the study; None for events of a bot.
        bot_id: the bot; None for events of a study.
        data: ids and numbers, never texts of people.
        links: paths of pages and API calls that show more, by name.
        at_most_every: a receiver gets this event of this subject at most once in this time; None: always.
    """

    kind: EventType
    study_id: int | None = None
    bot_id: int | None = None
    data: Mapping[str, object] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    at_most_every: timedelta | None = None


_subscribers: list[Callable[[Event], None]] = []


def subscribe(receive: Callable[[Event], None]) -> Callable[[Event], None]:
    """Call `receive` with every event, in the publisher's transaction. A decorator."""
    _subscribers.append(receive)
    return receive


def publish(event: Event) -> None:
    """Hand an event to all subscribers; call it inside the transaction that stores its cause."""
    for receive in _subscribers:
        receive(event)
