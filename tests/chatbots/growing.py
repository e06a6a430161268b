"""A bot whose replies grow by one character at each step, or as badly as a faulty bot's do."""

import time
from collections.abc import Collection, Mapping, Sequence
from itertools import count

from typing_extensions import override

from chatbots.base import Answering, BotConfiguration, Context
from chatbots.continuous import ContinuousBot
from chatbots.replies import Failure, Response

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
FLAGS = "\U0001f1e9\U0001f1ea\U0001f1eb\U0001f1f7"
EMOJI = f"{FAMILY} \U0001f44d\U0001f3fd {FLAGS} cafe\u0301 \u2764\ufe0f 1\ufe0f\u20e3."
"""A family, a skin tone, two flags, a letter with a combining accent, a heart and a keycap."""
LONG = ("Once upon a time there was a story that went on. \n" * 170)[:8000].strip()


class GrowingBot(ContinuousBot):
    """Shows each of the given texts in turn, one a step, and then the final reply."""

    def __init__(self, texts: Sequence[str], final: str) -> None:
        super().__init__(BotConfiguration())
        self.texts, self.final = texts, final
        self.asked = 0
        self.is_broken = False
        self.seconds_to_tell = 0.0

    @classmethod
    def of(cls, reply: str, step: int = 1) -> "GrowingBot":
        return cls([reply[:end] for end in range(step, len(reply), step)], reply)

    @override
    def answering(self) -> Answering:
        return _Growing(self)


class _Growing(Answering):
    def __init__(self, bot: GrowingBot) -> None:
        self._bot = bot
        self._keys = count()
        self._steps: dict[int, int] = {}

    @property
    def room(self) -> int:
        return 100 - len(self._steps)

    def admit(self, contexts: Sequence[Context]) -> Sequence[int]:
        keys = [next(self._keys) for _ in contexts]
        self._steps |= dict.fromkeys(keys, 0)
        return keys

    def step(self) -> dict[int, Response | Failure]:
        self._steps = {key: steps + 1 for key, steps in self._steps.items()}
        done = [key for key, steps in self._steps.items() if steps > len(self._bot.texts)]
        for key in done:
            del self._steps[key]
        return {key: Response(self._bot.final) for key in done}

    def partial_texts(self) -> Mapping[int, str]:
        self._bot.asked += 1
        time.sleep(self._bot.seconds_to_tell)
        if self._bot.is_broken:
            raise RuntimeError("This bot cannot show what it writes.")
        return {key: self._bot.texts[steps - 1] for key, steps in self._steps.items()}

    def cancel(self, keys: Collection[int]) -> None:
        for key in keys:
            self._steps.pop(key, None)
