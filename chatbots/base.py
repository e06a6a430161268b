"""The contract of a bot.

A bot gets a batch of dialogues, returns one response for each, and keeps no state between calls.
"""

import hashlib
import inspect
import math
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from chatbots.pictures import Picture
from chatbots.rate_limit_queues import RateLimitQueue
from chatbots.replies import Failure, Response


class Speaker(StrEnum):
    """The author of a turn, from the point of view of the bot that will answer."""

    HUMAN = "human"
    """The partner: a person, or another bot in self-play."""
    BOT = "bot"
    """The bot itself, including a scripted opening such as "Hi!"."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance.

    Attributes:
        speaker: its author.
        text: its text. May be empty or only emoji; bots must accept both.
        picture: a picture that was sent with the text. Bots that see none answer the text alone.
    """

    speaker: Speaker
    text: str
    picture: Picture | None = None


@dataclass(frozen=True, slots=True)
class Passage:
    """A text that a bot should know before it talks.

    Attributes:
        text: its words.
        title: its title; may be empty.
    """

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """Parameters of one reply for a bot that samples and ranks; they override its configuration.

    Attributes:
        samples: responses drawn, N, at least 1.
        temperature: divides the scores before sampling, T, above 0.
    """

    samples: int
    temperature: float

    def __post_init__(self) -> None:
        """Raise `ValueError` if a number is out of range."""
        if self.samples < 1 or not 0 < self.temperature < math.inf:
            raise ValueError(
                f"samples={self.samples} must be at least 1, and temperature={self.temperature} above 0."
            )


@dataclass(frozen=True, slots=True)
class Setting:
    """Facts about a conversation that its study decides, for the variables of a system prompt.

    Attributes:
        language: name of its language in English, as in "German"; empty if the study has several or none.
        scenario: the situation that the partner has been given; may be empty.
        persona: the person that the bot is to be; may be empty. The partner does not see it.
        columns: name and value of each column in the conversation's row of a table of scenarios.
    """

    language: str = ""
    scenario: str = ""
    persona: str = ""
    columns: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Context:
    """The dialogue so far, to which a bot responds.

    Attributes:
        turns: oldest first, at least one; the last is the turn to answer. Two turns in a row may have the
            same speaker. There may be any number: a bot drops the oldest turns that do not fit.
        seed: fixes the randomness of a reply. The same bot given the same context and seed gives the same
            response, if it can. None leaves the bot free. One seed may serve a whole dialogue: bots mix in
            the number of turns where it matters.
        dialogue: opaque identifier of the dialogue, the same for all its turns, by which an adapter finds the
            service's session. None if the context stands alone. It must not change the response: a bot that
            does not know the dialogue starts from the turns.
        material: texts for the bot's seat to read, in order; usually none. A bot without knowledge ignores
            them.
        drawing: how to draw the reply; None: as the bot is configured. Only a `Bot` that `draws` follows it.
        setting: what the study decides about the conversation; empty outside of studies.
    """

    turns: tuple[Turn, ...]
    seed: int | None = None
    dialogue: str | None = None
    material: tuple[Passage, ...] = ()
    drawing: Drawing | None = None
    setting: Setting = field(default_factory=Setting)

    def __post_init__(self) -> None:
        """Refuse a context with nothing to answer.

        Raises:
            ValueError: there are no turns.
        """
        if not self.turns:
            raise ValueError("A context has no turns, so there is nothing to answer. Give at least one turn.")

    @classmethod
    def from_texts(cls, texts: Iterable[str], seed: int | None = None) -> Self:
        """Build a context whose speakers alternate and whose last turn is the human's.

        Args:
            texts: the turns, oldest first, at least one.
            seed: as in the class.

        Raises:
            ValueError: there are no texts.
        """
        newest_first = list(texts)[::-1]
        speakers = (Speaker.HUMAN, Speaker.BOT)
        turns = [Turn(speakers[age % 2], text) for age, text in enumerate(newest_first)]
        return cls(tuple(turns[::-1]), seed)


class BotConfiguration(BaseModel):
    """Settings of a bot. Frozen; an unknown setting is an error. Declare secrets as `pydantic.SecretStr`.

    Attributes:
        first: names of the settings that forms show first, with the required ones; forms fold the others.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    first: ClassVar[frozenset[str]] = frozenset()


def _known_device(name: str) -> str:
    """Refuse a name that is no PyTorch device. Loading the bot shows whether this machine has it."""
    if not re.fullmatch(r"cpu|(cuda|mps|xpu|hpu)(:(0|[1-9]\d?))?", name):
        raise ValueError("give cpu, cuda, one of several GPUs such as cuda:1, or mps, xpu or hpu")
    return name


Device = Annotated[
    str,
    AfterValidator(_known_device),
    Field(description="Where the model computes: cpu, cuda, or one GPU such as cuda:1."),
]
"""Type of the setting of bots whose model may run on a GPU."""


class Answering(ABC):
    """Contexts that a bot is answering step by step. Used by one thread, except for `wake`."""

    @property
    @abstractmethod
    def room(self) -> int:
        """Number of contexts that can join now."""

    @abstractmethod
    def admit(self, contexts: Sequence[Context]) -> Sequence[int]:
        """Add contexts.

        Args:
            contexts: at least one, at most `room`.

        Returns:
            A key for each, under which `step` returns its result.
        """

    @abstractmethod
    def step(self) -> dict[int, Response | Failure]:
        """Advance every context by one step.

        Returns:
            Finished results by key, each once. Takes a moment, not as long as a whole reply.
        """

    def partial_texts(self) -> Mapping[int, str]:
        """Texts so far, by key, of the replies that grew since the last call; streaming shows them.

        A text so far is a prefix of the finished reply. Unless overridden, replies are shown only when they
        are complete; a wrapper that may still replace a reply must hold it back in the same way.
        """
        return {}

    def cancel(self, keys: Collection[int]) -> None:  # noqa: B027 - a bot may be unable to stop
        """Stop answering contexts whose callers have left.

        Unless overridden, the bot answers them to the end, and hosting drops the results.
        """

    def wake(self) -> None:  # noqa: B027 - most bots compute in `step` and never wait
        """End a `step` that waits, or the next one, early: a request was added or cancelled.

        Any thread may call it. Override it if `step` waits, for instance for a service.
        """


class Kind(StrEnum):
    """The kind of a bot, by which lists are grouped."""

    SERVICE = "service"
    MODEL = "model"
    CLASSIC = "classic"
    WRAPPER = "wrapper"
    PERSON = "person"
    """A person answers in the bot's place: it is never loaded, and `respond` refuses."""


class Bot(ABC):
    """A chatbot, loaded and ready. Subclasses go into `chatbots/bots/`, one file each, under `@register`.

    One thread at a time uses an instance, which serves many dialogues: a response depends on its `Context`
    alone. Load weights in `__init__`, which hosting calls on the bot's own thread, and import heavy libraries
    there too. Lists show the first line of the class docstring.
    """

    name: ClassVar[str] = "unregistered"
    """Set by `@register`."""

    Configuration: ClassVar[type[BotConfiguration]] = BotConfiguration
    """Nest a subclass of `BotConfiguration` of this name in the bot to give it settings."""

    listed_as: ClassVar[Kind] = Kind.MODEL
    """The group in which lists show the bot."""

    inner_setting: ClassVar[str] = ""
    """Name of the setting that holds the inner bot (`chatbots.wrapping.InnerBot`) or a list of them."""

    libraries: ClassVar[tuple[str, ...]] = ()
    """Distributions (as named on PyPI) whose version can change what this bot says."""

    def __init__(self, configuration: BotConfiguration) -> None:
        """Load the bot.

        Args:
            configuration: an instance of this class's `Configuration`.
        """
        self.configuration = configuration

    @classmethod
    def memory_needed(cls, configuration: BotConfiguration) -> int | None:
        """Estimate the bytes of memory that the bot takes once loaded with this configuration.

        Hosting refuses to load a bot that does not fit, by the larger of this and its last measurement.
        Override it if the size is known, for instance from the weights.
        """
        return None

    @classmethod
    def draws(cls, configuration: BotConfiguration) -> bool:
        """True if the bot samples and ranks with this configuration, and follows `Context.drawing`."""
        return False

    @classmethod
    def sees_pictures(cls, configuration: BotConfiguration) -> bool:
        """True if the bot takes in pictures of turns with this configuration. Others get the texts alone."""
        return False

    @classmethod
    def reply_seconds(cls, configuration: BotConfiguration) -> float:
        """Seconds that a reply may take by the bot's own settings; 0: it has no limit of its own.

        The host waits at least that long.
        """
        return 0.0

    @property
    def max_batch(self) -> int:
        """Largest number of contexts that `respond` takes at once, at least 1. Override it."""
        return 1

    @property
    def max_wait(self) -> float:
        """Longest time in seconds that a request waits for others to fill its batch; 0: no wait."""
        return 0.0

    @abstractmethod
    def respond(self, contexts: Sequence[Context]) -> Sequence[Response | Failure]:
        """Answer each context.

        Args:
            contexts: between 1 and `max_batch`, of different dialogues, in no particular order.

        Returns:
            One response per context, in the same order, or a `Failure` for a context that failed alone. A
            context gets the same response as it would without the others.

        Raises:
            Exception: any. Hosting repeats a batch that raises one context at a time, so that only the faulty
                context fails; its caller sees the last line of the error.
        """

    def answering(self) -> Answering | None:
        """Start answering contexts that can join while others are being answered; empty at first.

        Returns:
            None unless overridden: the bot takes whole batches, and hosting calls `respond`.
        """
        return None

    def fingerprint(self) -> Mapping[str, object]:
        """Collect everything that decides the bot's replies, to tell one version from another.

        Returns:
            JSON-able and the same in every process: `adapter` (the registered name), `code` (SHA-256 of the
            source files of the bot's classes), `configuration` (secrets masked) and `libraries` (their
            versions). Bots with weights add their hash, services the model's reported id.

        Raises:
            importlib.metadata.PackageNotFoundError: one of `libraries` is not installed.
        """
        return {
            "adapter": self.name,
            "code": source_hash(type(self)),
            "configuration": self.configuration.model_dump(mode="json"),
            "libraries": {library: version(library) for library in sorted(self.libraries)},
        }

    def loading_responses(self) -> Sequence[Response]:
        """List the responses that the bot got from a service while it was loaded; they cost as any other.

        Returns:
            Empty unless overridden.
        """
        return ()

    def rate_limit_queues(self) -> Sequence[RateLimitQueue]:
        """List the rate limits that the bot's requests wait for. Unlike other methods, any thread calls it.

        Returns:
            One for each key at a service; empty unless overridden.
        """
        return ()

    def close(self) -> None:  # noqa: B027 - most bots hold nothing to release
        """Release memory, files and connections. Called once, on the bot's thread."""


def seed_of(context: Context) -> int:
    """Mix the number of turns into the context's seed, so that one seed may serve a whole dialogue.

    Returns:
        A number in [0, 2**64); a random one if the context has no seed.
    """
    if context.seed is None:
        return secrets.randbits(64)
    mixed = hashlib.blake2b(f"{context.seed} {len(context.turns)}".encode(), digest_size=8)
    return int.from_bytes(mixed.digest(), "big")


def source_hash(bot: type[Bot]) -> str:
    """Hash (SHA-256, hexadecimal) the source files of a bot's class and of its bases below `Bot`.

    Returns:
        The hash, or "unknown" for a class that was not read from a file.
    """
    classes = [cls for cls in bot.__mro__ if issubclass(cls, Bot) and cls is not Bot]
    digest = hashlib.sha256()
    try:
        for path in dict.fromkeys(inspect.getfile(cls) for cls in classes):
            digest.update(Path(path).read_bytes())
    except (OSError, TypeError):
        return "unknown"
    return digest.hexdigest()
