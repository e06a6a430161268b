"""What a service remembers of a dialogue, kept from turn to turn: a bounded number, for a bounded time."""

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic

from chatbots.base import Context, Speaker, Turn
from chatbots.cleaning import clean_text


@dataclass(frozen=True, slots=True)
class Session:
    """How far a service has come in a dialogue.

    Attributes:
        state: the session's name or token at the service.
        seen: the turns that it has been told or has said.
        used: when, on the clock of `Sessions`.
    """

    state: str
    seen: tuple[Turn, ...]
    used: float


class Sessions:
    """Sessions by dialogue. Losing one is harmless: the service is then told the turns again.

    Args:
        most: sessions kept; the one unused for longest goes first.
        seconds: after which an unused one is over.
        clock: seconds that only grow.
    """

    def __init__(self, *, most: int, seconds: float, clock: Callable[[], float] = monotonic) -> None:
        self._most, self._seconds, self._clock = most, seconds, clock
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._lost: list[str] = []

    def take(self, context: Context) -> str | None:
        """The state of the session that knows exactly the turns before the last one; None if none does.

        It is taken out: put it back with `keep` when the exchange has succeeded, so that a failed one, of
        which nobody knows how far it came, is not built upon.
        """
        session = self._open.pop(context.dialogue or "", None)
        if session is None:
            return None
        if session.seen == context.turns[:-1] and self._clock() - session.used <= self._seconds:
            return session.state
        self._lost.append(session.state)
        return None

    def keep(self, context: Context, reply: str, state: str) -> None:
        """Remember that the session with this state has heard the context and said the reply."""
        if context.dialogue is not None:
            said = Turn(Speaker.BOT, clean_text(reply))  # as it will stand in the next context
            self._open[context.dialogue] = Session(state, (*context.turns, said), self._clock())

    def lose(self, state: str) -> None:
        """Have this session among those that are over: it failed, or nobody will come back to it."""
        self._lost.append(state)

    def drop_over(self) -> list[str]:
        """Forget sessions that are unused for too long, too many, or overtaken; returns their states."""
        over = [
            dialogue
            for place, (dialogue, session) in enumerate(self._open.items())
            if place < len(self._open) - self._most or self._clock() - session.used > self._seconds
        ]
        lost, self._lost = self._lost, []
        return lost + [self._open.pop(dialogue).state for dialogue in over]

    def drop_all(self) -> list[str]:
        """Forget every session; returns their states."""
        states = self._lost + [session.state for session in self._open.values()]
        self._open.clear()
        self._lost = []
        return states
