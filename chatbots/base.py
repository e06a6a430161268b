"""The contract of a bot: a batch of dialogues in, one response each out, nothing remembered in between."""

import hashlib
import inspect
import math
import re
import secrets
from abc import ABC, abstractmethod
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, ClassVar, Self

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


class Speaker(StrEnum):
    """Who said a turn, seen from the bot that is to answer."""

    HUMAN = "human"
    """The partner: a person, or another bot in self-play."""
    BOT = "bot"
    """The bot itself, including a scripted opening such as "Hi!"."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One utterance.

    Attributes:
        speaker: who said it.
        text: what was said. May be empty or contain only emoji; bots must bear both.
    """

    speaker: Speaker
    text: str


@dataclass(frozen=True, slots=True)
class Passage:
    """Something that a bot is to have read before it talks.

    Attributes:
        text: what was read.
        title: what it is called; may be empty.
    """

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True)
class Drawing:
    """How a bot that samples and ranks is to draw one reply, whatever its configuration says.

    Attributes:
        samples: responses drawn, N, at least 1.
        temperature: divides the scores before sampling, T, above 0.
    """

    samples: int
    temperature: float

    def __post_init__(self) -> None:
        """Refuse what cannot be drawn.

        Raises:
            ValueError: a number out of its range.
        """
        if self.samples < 1 or not 0 < self.temperature < math.inf:
            raise ValueError(
                f"samples={self.samples} must be at least 1, and temperature={self.temperature} above 0."
            )


@dataclass(frozen=True, slots=True)
class Context:
    """What a bot answers: the dialogue so far.

    Attributes:
        turns: oldest first, at least one; the last is the turn to answer. Two turns in a row may have the
            same speaker. Unbounded in number: a bot drops the oldest turns that it has no room for.
        seed: fixes the randomness of a reply. The same bot given the same context and seed gives the same
            response, if it can. None leaves the bot free. One seed may serve a whole dialogue: bots mix in
            the number of turns where it matters.
        dialogue: names the dialogue that the turns are of, so that an adapter can find the session that a
            service keeps for it; opaque, the same for all turns of one dialogue. None if the context stands
            alone. It must not change what is answered: a bot that does not know it starts from the turns.
        material: what the bot's seat has to read beside the conversation, in its order; usually nothing. A
            bot that can use no knowledge ignores it.
        drawing: how the reply is to be drawn; None as the bot is configured. Asked of a `Bot` that `draws`;
            any other ignores it.
    """

    turns: tuple[Turn, ...]
    seed: int | None = None
    dialogue: str | None = None
    material: tuple[Passage, ...] = ()
    drawing: Drawing | None = None

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
            texts: what was said, oldest first, at least one.
            seed: as in the class.

        Raises:
            ValueError: there are no texts.
        """
        newest_first = list(texts)[::-1]
        speakers = (Speaker.HUMAN, Speaker.BOT)
        turns = [Turn(speakers[age % 2], text) for age, text in enumerate(newest_first)]
        return cls(tuple(turns[::-1]), seed)


@dataclass(frozen=True, slots=True)
class Candidate:
    """One of the responses that a bot weighed.

    Attributes:
        text: the response it would have been. May be empty.
        score: what the bot ranks by, higher is better; the unit is the adapter's own, finite.
    """

    text: str
    score: float

    def __post_init__(self) -> None:
        """Refuse a score that cannot be stored or compared.

        Raises:
            ValueError: the score is infinite or not a number.
        """
        if not math.isfinite(self.score):
            raise ValueError(f"A candidate has the score {self.score}. Leave such candidates out.")


@dataclass(frozen=True, slots=True)
class Response:
    """What a bot says.

    Attributes:
        text: the turn. Hosting refuses one that is empty once control characters and outer spaces are gone,
            and cuts it after `chatbots.hosting.response_checks.MAX_RESPONSE_CHARS`.
        candidates: what it was chosen from, best first, at most `MAX_CANDIDATES`; empty if the bot has none.
        tokens: how many tokens were generated for `text`; None if the bot does not count.
        remarks: what a reader of the transcript should know of how it came about, as in "repetition-filter:
            the first candidate repeats an earlier turn"; usually empty. At most `MAX_REMARKS` are kept, each
            up to `MAX_REMARK_CHARS`.
        fallback: whether `text` is a prepared sentence, said because nothing that the bot said of its own
            could be; reports count these.
        ruled_out: texts among the candidates to which a filter objected: no filter around it says them.
        least_seconds: hosting hands the response over no sooner than this after the request, or after nine
            tenths of its deadline if those are shorter; the caller waits, the bot does not. At least 0.
    """

    text: str
    candidates: tuple[Candidate, ...] = ()
    tokens: int | None = None
    remarks: tuple[str, ...] = ()
    least_seconds: float = 0.0
    fallback: bool = False
    ruled_out: frozenset[str] = frozenset()

    def __post_init__(self) -> None:
        """Refuse what is not text or no time, where the mistake was made.

        Raises:
            TypeError: `text` is not a string.
            ValueError: `least_seconds` is negative or not finite.
        """
        if not isinstance(self.text, str):
            raise TypeError(f"The text of a response is {self.text!r}, not a string. Convert it in the bot.")
        if not 0 <= self.least_seconds < math.inf:
            raise ValueError(f"least_seconds = {self.least_seconds}: give seconds from 0 up.")


@dataclass(frozen=True, slots=True)
class Failure:
    """What stands in the place of a response if one context of a batch failed and the others did not.

    Attributes:
        error: what went wrong; the caller sees its last line.
    """

    error: Exception


class BotConfiguration(BaseModel):
    """Settings of a bot. Frozen; an unknown setting is an error. Declare secrets as `pydantic.SecretStr`.

    Attributes:
        first: the settings that most who register such a bot look at, by name, beside those that it cannot do
            without. Forms fold the others.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    first: ClassVar[frozenset[str]] = frozenset()


def _known_device(name: str) -> str:
    """Refuse what is no device of PyTorch. Whether the machine has it turns out where the bot is loaded."""
    if not re.fullmatch(r"cpu|(cuda|mps|xpu|hpu)(:(0|[1-9]\d?))?", name):
        raise ValueError("give cpu, cuda, one of several GPUs such as cuda:1, or mps, xpu or hpu")
    return name


Device = Annotated[
    str,
    AfterValidator(_known_device),
    Field(description="Where the model computes: cpu, cuda, or one GPU such as cuda:1."),
]
"""The setting of every bot whose model may run on a GPU."""


class Answering(ABC):
    """Contexts that a bot is answering, each as far as it has come. Used by one thread."""

    @property
    @abstractmethod
    def room(self) -> int:
        """How many contexts can join now."""

    @abstractmethod
    def admit(self, contexts: Sequence[Context]) -> Sequence[int]:
        """Let contexts join.

        Args:
            contexts: at least one, at most `room`.

        Returns:
            A key for each, by which `step` tells its end.
        """

    @abstractmethod
    def step(self) -> dict[int, Response | Failure]:
        """Go one step on with every context.

        Returns:
            What is done now, by key; a key comes once. Takes a moment, not a whole reply.
        """

    def cancel(self, keys: Collection[int]) -> None:  # noqa: B027 - a bot that cannot stop goes on
        """Stop answering contexts that are under way and whose callers have left.

        Unless overridden, they are answered to the end, and hosting drops what `step` returns for them.
        """


class Kind(StrEnum):
    """What a bot is, for lists."""

    SERVICE = "service"
    MODEL = "model"
    CLASSIC = "classic"
    WRAPPER = "wrapper"
    PERSON = "person"
    """Somebody answers in its place: it is never loaded, and `respond` refuses."""


class Bot(ABC):
    """A chatbot, loaded and ready. Subclasses go into `chatbots/bots/`, one file each, under `@register`.

    One thread at a time uses an instance, which serves many dialogues: all that a response depends on is in
    its `Context`. Load weights in `__init__`, which hosting calls on the bot's own thread, and import heavy
    libraries there too. The first line of the class docstring is what people see in lists.
    """

    name: ClassVar[str] = "unregistered"
    """Set by `@register`."""

    Configuration: ClassVar[type[BotConfiguration]] = BotConfiguration
    """Nest a subclass of `BotConfiguration` of this name in the bot to give it settings."""

    listed_as: ClassVar[Kind] = Kind.MODEL
    """Under what lists show it."""

    inner_setting: ClassVar[str] = ""
    """Setting with the bot inside this one, or the list of them: `chatbots.wrapping.InnerBot`."""

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
        """Memory in bytes that the bot will take once loaded with this configuration.

        Hosting refuses to load a bot that does not fit, by this or by what it measured the last time: by
        whichever is more. Override where it is known, as from the size of the weights.
        """
        return None

    @classmethod
    def draws(cls, configuration: BotConfiguration) -> bool:
        """Whether the bot samples and ranks with this configuration, and follows `Context.drawing`."""
        return False

    @property
    def max_batch(self) -> int:
        """Most contexts that `respond` takes at once, at least 1. Override with a number or a property."""
        return 1

    @property
    def max_wait(self) -> float:
        """Longest time in seconds that a request waits for others to fill its batch; 0 waits for none."""
        return 0.0

    @abstractmethod
    def respond(self, contexts: Sequence[Context]) -> Sequence[Response | Failure]:
        """Answer each context.

        Args:
            contexts: between 1 and `max_batch`, of different dialogues, in no particular order.

        Returns:
            One response per context, in the same order, or a `Failure` for one that failed alone. A context
            gets what it would have got alone.

        Raises:
            Exception: any. A batch that raises is asked again one context at a time, so that only the guilty
                context fails; its caller sees the last line of the error.
        """

    def answering(self) -> Answering | None:
        """Begin to answer contexts that join one another while it goes on, with nothing to answer yet.

        Returns:
            None, unless overridden, as of a bot that takes whole batches: hosting then calls `respond`.
        """
        return None

    def fingerprint(self) -> Mapping[str, object]:
        """Everything that decides what this bot says, to tell one version from another.

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

    def close(self) -> None:  # noqa: B027 - most bots hold nothing to release
        """Release memory, files and connections. Called once, on the thread that used the bot."""


def seed_of(context: Context) -> int:
    """The context's seed with the number of turns mixed in, so that one may serve a whole dialogue.

    Returns:
        A number in [0, 2**64); a random one if the context has no seed.
    """
    if context.seed is None:
        return secrets.randbits(64)
    mixed = hashlib.blake2b(f"{context.seed} {len(context.turns)}".encode(), digest_size=8)
    return int.from_bytes(mixed.digest(), "big")


def source_hash(bot: type[Bot]) -> str:
    """SHA-256, in hexadecimal, of the source files of a bot's class and of its bases below `Bot`.

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
