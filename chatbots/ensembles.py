"""Bots made of several others.

The members are loaded together and asked in parallel, each on its own thread. A member that fails, is late or
is in backoff is left out of the turn, and the remark says so; the turn fails only if no member replies. The
first remark of a turn names the member whose reply was used. Replies are held back until they are complete,
because another member's reply may still be chosen.
"""

import asyncio
from abc import abstractmethod
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import Any, ClassVar

from pydantic import Field

from chatbots.base import Answering, Bot, BotConfiguration, Context, Kind
from chatbots.continuous import ContinuousBot
from chatbots.errors import ChatbotError, HostingError, NobodyAnsweredError, last_line
from chatbots.hosting.health import State
from chatbots.hosting.resident import ENDING_SECONDS, Resident
from chatbots.hosting.response_checks import MAX_REMARKS
from chatbots.rate_limit_queues import RateLimitQueue
from chatbots.registry import REGISTRY
from chatbots.replies import Candidate, Failure, Response
from chatbots.wrapping import InnerBot

MOST_MEMBERS = 8
AT_ONCE = 64
"""Dialogues that are answered at the same time."""
STEP_SECONDS = 0.02
"""Longest time until new contexts join."""


class EnsembleConfiguration(BotConfiguration):
    """The members, and how long to wait for their replies."""

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
class MemberReply:
    """The reply of a member."""

    label: str
    response: Response


@dataclass(frozen=True, slots=True)
class MemberFailure:
    """A member that gave no reply, and why."""

    label: str
    why: str


class EnsembleBot(ContinuousBot):
    """Several bots that answer as one. Subclasses write `answered`.

    Replies are held back until they are complete: the reply of another member may still be used.
    """

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
        self._bots: dict[str, Bot] = {}
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
                self._bots[label] = bot
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
        """Add up the members' memory, as far as they can estimate it."""
        assert isinstance(configuration, EnsembleConfiguration)
        estimates = [
            REGISTRY.bot_class(each.adapter).memory_needed(each.configuration) for each in configuration.bots
        ]
        return sum(filter(None, estimates)) or None

    @classmethod
    def sees_pictures(cls, configuration: BotConfiguration) -> bool:
        """True if a member takes in pictures."""
        assert isinstance(configuration, EnsembleConfiguration)
        return any(
            REGISTRY.bot_class(each.adapter).sees_pictures(each.configuration) for each in configuration.bots
        )

    @classmethod
    def reply_seconds(cls, configuration: BotConfiguration) -> float:
        """The longest limit of a member."""
        assert isinstance(configuration, EnsembleConfiguration)
        return max(
            REGISTRY.bot_class(each.adapter).reply_seconds(each.configuration) for each in configuration.bots
        )

    @property
    def max_batch(self) -> int:
        """Number of dialogues that are answered at the same time."""
        return AT_ONCE

    @abstractmethod
    async def answered(self, context: Context) -> Response:
        """Reply to one context.

        Raises:
            ChatbotError: there is none.
        """

    async def ask_members(
        self, labels: Iterable[str], context: Context
    ) -> tuple[list[MemberReply], list[MemberFailure]]:
        """Ask these members at the same time; returns replies and failures in the order of the labels."""
        outcomes = await asyncio.gather(*[self._ask(label, context) for label in labels])
        replies = [each for each in outcomes if isinstance(each, MemberReply)]
        return replies, [each for each in outcomes if isinstance(each, MemberFailure)]

    async def _ask(self, label: str, context: Context) -> MemberReply | MemberFailure:
        try:
            return MemberReply(label, await self._members[label].respond(context))
        except HostingError as error:
            return MemberFailure(label, str(error))

    def announced(self, reply: MemberReply, why: str, failures: Sequence[MemberFailure]) -> Response:
        """Add remarks to a member's response: its name and why, failed members, its own remarks."""
        remarks = [f"{self.name}: {reply.label} spoke ({why})"]
        remarks += [f"{self.name}: {each.label} gave no reply: {each.why}" for each in failures]
        inner = [f"{reply.label}: {remark}" for remark in reply.response.remarks]
        return replace(reply.response, remarks=tuple((remarks + inner)[:MAX_REMARKS]))

    def no_answer_error(self, failures: Sequence[MemberFailure]) -> NobodyAnsweredError:
        """Create the error for a turn to which no member replied."""
        why = "; ".join(each.why for each in failures)
        return NobodyAnsweredError(f"None of the bots of '{self.name}' gave a reply. {why}")

    def answering(self) -> Answering:
        """Answer every dialogue by itself: a slow one delays no other."""
        return _Asking(self)

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every bot, with those of the members."""
        return {**super().fingerprint(), "bots": [self._fingerprints[label] for label in self.labels]}

    def loading_responses(self) -> Sequence[Response]:
        """List those of all members."""
        return [response for bot in self._bots.values() for response in bot.loading_responses()]

    def rate_limit_queues(self) -> Sequence[RateLimitQueue]:
        """List those of all members."""
        return [queue for bot in list(self._bots.values()) for queue in bot.rate_limit_queues()]

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
        if tasks:  # cancellation reaches the members only while the loop runs
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


def ranked(response: Response, candidates: Sequence[Candidate], replies: Sequence[MemberReply]) -> Response:
    """Return a member's response with all replies as candidates and all texts their filters rejected."""
    ruled_out = frozenset[str]().union(*[each.response.ruled_out for each in replies])
    return replace(response, candidates=tuple(candidates), ruled_out=ruled_out)


def labels_of(bots: Sequence[InnerBot]) -> list[str]:
    """Label each bot for remarks and rules: its name, with a number from the second of that name on."""
    met: Counter[str] = Counter()
    labels = []
    for bot in bots:
        met[bot.label] += 1
        labels.append(bot.label if met[bot.label] == 1 else f"{bot.label} {met[bot.label]}")
    return labels


def labels_among(data: Mapping[str, Any]) -> list[str]:
    """Labels of the bots in a configuration under validation; empty if the bots are invalid."""
    return labels_of(data.get("bots") or ())
