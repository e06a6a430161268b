"""A bot for `streaming.py` that writes the time at which it writes: a folder of TURNWISE_BOT_PATH."""

import time
from collections.abc import Collection, Mapping, Sequence
from itertools import count

from chatbots.base import Answering, Context
from chatbots.continuous import ContinuousBot
from chatbots.registry import register
from chatbots.replies import Failure, Response

TOKENS = 60
TOKEN_SECONDS = 0.02
THINKING_SECONDS = 0.1


@register("clock")
class ClockBot(ContinuousBot):
    """Writes the time of each token, as many seconds since 1970; one token every 20 ms."""

    def answering(self) -> Answering:
        """Start without contexts."""
        return _Writing()


class _Writing(Answering):
    """Replies that are being written."""

    def __init__(self) -> None:
        self._keys = count()
        self._begun: dict[int, float] = {}
        self._texts: dict[int, list[str]] = {}

    @property
    def room(self) -> int:
        return 1000 - len(self._begun)

    def admit(self, contexts: Sequence[Context]) -> Sequence[int]:
        keys = [next(self._keys) for _ in contexts]
        self._begun |= dict.fromkeys(keys, time.time() + THINKING_SECONDS)
        self._texts |= {key: [] for key in keys}
        return keys

    def step(self) -> dict[int, Response | Failure]:
        time.sleep(0.002)
        now = time.time()
        for key, texts in self._texts.items():
            if now >= self._begun[key] + TOKEN_SECONDS * len(texts):
                texts.append(f"{now:.4f}")
        done = [key for key, texts in self._texts.items() if len(texts) >= TOKENS]
        for key in done:
            del self._begun[key]
        return {key: Response(" ".join(self._texts.pop(key))) for key in done}

    def partial_texts(self) -> Mapping[int, str]:
        return {key: " ".join(texts) for key, texts in self._texts.items() if texts}

    def cancel(self, keys: Collection[int]) -> None:
        for key in keys:
            self._begun.pop(key, None)
            self._texts.pop(key, None)
