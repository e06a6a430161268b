"""Bots made of several others, which are loaded with them and asked side by side, each on its own thread.

A member that fails, is late or rests is left out of the turn, and the remark says so; the turn fails only if
nobody has a reply. The first remark of a turn names the member that spoke.
"""

import asyncio
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar

from pydantic import Field

from chatbots.base import Answering, Bot, BotConfiguration, Candidate, Context, Failure, Kind, Response
from chatbots.continuous import ContinuousBot
from chatbots.errors import ChatbotError, HostingError, NobodyAnsweredError, last_line
from chatbots.hosting.health import State
from chatbots.hosting.resident import ENDING_SECONDS, Resident
from chatbots.hosting.response_checks import MAX_REMARKS
from chatbots.registry import REGISTRY
from chatbots.wrapping import InnerBot

MOST_MEMBERS = 8
AT_ONCE = 64
"""Dialogues that are answered at the same time."""
STEP_SECONDS = 0.02
"""Newcomers join no later than this."""


class EnsembleConfiguration(BotConfiguration):
    """Which bots, and how long they are waited for."""

    bots: tuple[InnerBot, ...] = Field(
        min_length=2,
        max_length=MOST_MEMBERS,
        description=f"The bots that take part, from two to {MOST_MEMBERS}, with their settings.",
        examples=[[{"adapter": "eliza"}, {"adapter": "generic"}]],
    )
    seconds: float = Field(
        8.0,
        gt=0,
        le=60,
        title="Longest wait",
        description="Seconds for which a bot is waited for; one that is later is left out of this turn.",
    )


@dataclass(frozen=True, slots=True)
class Said:
    """What a member replied."""

    label: str
    response: Response


@dataclass(frozen=True, slots=True)
class Silent:
    """A member that gave no reply, and why."""

    label: str
    why: str


class EnsembleBot(ContinuousBot):
    """Several bots that answer as one. Subclasses write `answered`."""

    listed_as = Kind.WRAPPER
    inner_setting = "bots"
    Configuration: ClassVar[type[BotConfiguration]] = EnsembleConfiguration
    configuration: EnsembleConfiguration

    def __init__(self, configuration: EnsembleConfiguration) -> None:
        """Load the members, one after the other.

        Raises:
            ChatbotError: one cannot be loaded; says which and why.
        """
        super().__init__(configuration)
        self.labels = labels_of(configuration.bots)
        self._members: dict[str, Resident] = {}
        self._fingerprints: dict[str, Mapping[str, object]] = {}
        self.runner = asyncio.Runner()
        try:
            for label, inner in zip(self.labels, configuration.bots, strict=True):
                self._load(label, inner)
        except BaseException:
            self.close()
            raise

    def _load(self, label: str, inner: InnerBot) -> None:
        failed: list[BaseException] = []

        def load() -> Bot:
            try:
                bot = REGISTRY.bot_class(inner.adapter)(inner.configuration)
                self._fingerprints[label] = bot.fingerprint()
            except BaseException as error:
                failed.append(error)
                raise
            return bot

        seconds = self.configuration.seconds
        self._members[label] = resident = Resident(label, load, queue_size=AT_ONCE, deadline=seconds)
        if resident.wait_loaded() is not State.READY:
            why = last_line(failed[0]) if failed else "it was closed meanwhile"
            raise ChatbotError(f"'{label}', a bot inside, could not be loaded: {why}")

    @classmethod
    def memory_needed(cls, configuration: BotConfiguration) -> int | None:
        """Of all members together, as far as they tell."""
        assert isinstance(configuration, EnsembleConfiguration)
        told = [
            REGISTRY.bot_class(each.adapter).memory_needed(each.configuration) for each in configuration.bots
        ]
        return sum(filter(None, told)) or None

    @property
    def max_batch(self) -> int:
        """As many as are answered at the same time."""
        return AT_ONCE

    @abstractmethod
    async def answered(self, context: Context) -> Response:
        """The reply to one context.

        Raises:
            ChatbotError: there is none.
        """

    async def asked(self, labels: Iterable[str], context: Context) -> tuple[list[Said], list[Silent]]:
        """What these members reply, asked at the same time, in the order of the labels."""
        outcomes = await asyncio.gather(*[self._ask(label, context) for label in labels])
        said = [each for each in outcomes if isinstance(each, Said)]
        return said, [each for each in outcomes if isinstance(each, Silent)]

    async def _ask(self, label: str, context: Context) -> Said | Silent:
        try:
            return Said(label, await self._members[label].respond(context))
        except HostingError as error:
            return Silent(label, str(error))

    def told(self, spoke: Said, why: str, silent: Sequence[Silent]) -> Response:
        """The member's response, with who spoke and why, and who did not, before its own remarks."""
        own = [f"{self.name}: {spoke.label} spoke ({why})"]
        own += [f"{self.name}: {each.label} gave no reply: {each.why}" for each in silent]
        inner = [f"{spoke.label}: {remark}" for remark in spoke.response.remarks]
        return replace(spoke.response, remarks=tuple((own + inner)[:MAX_REMARKS]))

    def nobody(self, silent: Sequence[Silent]) -> NobodyAnsweredError:
        """The error of a turn to which no member has a reply."""
        why = "; ".join(each.why for each in silent)
        return NobodyAnsweredError(f"None of the bots of '{self.name}' gave a reply. {why}")

    def answering(self) -> Answering:
        """Every dialogue by itself: a slow one holds up no other."""
        return _Asking(self)

    def fingerprint(self) -> Mapping[str, object]:
        """As of every bot, and those of the members."""
        return {**super().fingerprint(), "bots": [self._fingerprints[label] for label in self.labels]}

    def close(self) -> None:
        """Close the members."""
        for resident in self._members.values():
            resident.close()
        for resident in self._members.values():
            resident.close(wait=ENDING_SECONDS)
        self.runner.close()


class _Asking(Answering):
    """Dialogues whose members are being asked."""

    def __init__(self, ensemble: EnsembleBot) -> None:
        self._ensemble = ensemble
        self._keys = count()
        self._asked: dict[asyncio.Task[Response], int] = {}

    @property
    def room(self) -> int:
        return AT_ONCE - len(self._asked)

    def admit(self, contexts: Sequence[Context]) -> Sequence[int]:
        loop, keys = self._ensemble.runner.get_loop(), [next(self._keys) for _ in contexts]
        for key, context in zip(keys, contexts, strict=True):
            self._asked[loop.create_task(self._ensemble.answered(context))] = key
        return keys

    def step(self) -> dict[int, Response | Failure]:
        if not self._asked:
            return {}
        done = self._ensemble.runner.run(self._next())
        return {self._asked.pop(task): _outcome(task) for task in done}

    def cancel(self, keys: Collection[int]) -> None:
        tasks = [task for task, key in self._asked.items() if key in keys]
        for task in tasks:
            task.cancel()
            del self._asked[task]
        if tasks:  # the members learn of it only while the loop runs
            self._ensemble.runner.run(_ended(tasks))

    async def _next(self) -> set[asyncio.Task[Response]]:
        first = asyncio.FIRST_COMPLETED
        done, _ = await asyncio.wait(self._asked, timeout=STEP_SECONDS, return_when=first)
        return done


async def _ended(tasks: "Sequence[asyncio.Task[Response]]") -> None:
    """Give cancelled tasks a moment to end."""
    await asyncio.wait(tasks, timeout=STEP_SECONDS)


def _outcome(task: "asyncio.Task[Response]") -> Response | Failure:
    error = task.exception()
    if error is None:
        return task.result()
    return Failure(error if isinstance(error, Exception) else RuntimeError(last_line(error)))


def ranked(response: Response, candidates: Sequence[Candidate], said: Sequence[Said]) -> Response:
    """A member's response with the replies of all as its candidates, and what their filters ruled out."""
    ruled_out = frozenset[str]().union(*[each.response.ruled_out for each in said])
    return replace(response, candidates=tuple(candidates), ruled_out=ruled_out)


def labels_of(bots: Sequence[InnerBot]) -> list[str]:
    """What remarks and rules call each bot: its name, and a number from the second of that name on."""
    met: Counter[str] = Counter()
    labels = []
    for bot in bots:
        met[bot.label] += 1
        labels.append(bot.label if met[bot.label] == 1 else f"{bot.label} {met[bot.label]}")
    return labels


def labels_among(data: Mapping[str, Any]) -> list[str]:
    """The labels of the bots of a configuration that is being checked; none if those are wrong."""
    return labels_of(data.get("bots") or ())
