"""The base of all bots with a language model of Hugging Face."""

import json
import re
from abc import abstractmethod
from collections.abc import Collection, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Self

from pydantic import Field, field_validator, model_validator
from pydantic_core import PydanticCustomError

from chatbots import instruction_prompts
from chatbots.base import Answering, BotConfiguration, Context, Device, seed_of
from chatbots.continuous import ContinuousBot
from chatbots.errors import ConfigurationError, Problem
from chatbots.hosting.response_checks import is_blank
from chatbots.huggingface.files import (
    Kind,
    ModelFilesError,
    Precision,
    bytes_of_weights,
    check_hash,
    check_name,
    content_hash,
    folder_of,
    is_local,
    load,
    local_folder,
)
from chatbots.local_files import hash_of
from chatbots.replies import Candidate, Failure, Response, Usage

CODE = Path(__file__).parent
MESSAGES = Path(instruction_prompts.__file__)
_HASH = re.compile("[0-9a-fA-F]{64}")


class ModelConfiguration(BotConfiguration):
    """The model, its device, and how replies are drawn."""

    model: str = Field(
        min_length=1,
        max_length=500,
        description="Name on the hub, as owner/model, or a folder with weights, configuration and tokenizer.",
        examples=["microsoft/DialoGPT-medium", "/srv/models/mine"],
    )
    revision: str = Field(
        "main",
        pattern=r"^[\w./-]{1,200}$",
        description="Branch, tag or, best, commit of the hub, so that the model stays the same.",
        examples=["main"],
    )
    local_files_only: bool = Field(
        False, title="Offline", description="Use only what has been fetched to this machine before."
    )
    sha256: str | None = Field(
        None,
        title="Expected hash",
        description="Refuse other files than those with this hash, the model_hash in the bot's versions.",
    )
    device: Device = "cpu"
    precision: Precision = Field("float32", description="Type of the weights in memory.")
    most_tokens: int = Field(
        64, ge=1, le=2048, title="Longest reply", description="Tokens of a reply, at most."
    )
    context_tokens: int = Field(
        1024,
        ge=8,
        le=1_000_000,
        title="Longest context",
        description="Tokens of the dialogue that the model sees, at most; the oldest turns are left out.",
    )
    greedy: bool = Field(
        False, description="Always say the likeliest token; the rest is then without effect."
    )
    temperature: float = Field(1.0, gt=0, le=10, description="Divides the scores before sampling.")
    top_k: int | None = Field(
        None, ge=1, title="Top-k", description="Draw from this many likeliest tokens; empty for all."
    )
    top_p: float | None = Field(
        None,
        gt=0,
        le=1,
        title="Top-p",
        description="Draw from the fewest tokens of this probability; empty for all.",
    )
    batch: int = Field(16, ge=1, le=256, description="Dialogues that are answered together, at most.")
    wait: float = Field(
        0.0, ge=0, le=1, title="Wait for a batch", description="Seconds that a request waits for others."
    )

    @field_validator("sha256")
    @classmethod
    def _is_a_hash(cls, value: str | None) -> str | None:
        if value is not None and not _HASH.fullmatch(value):
            raise ValueError("give the 64 digits and letters from a to f that a model_hash has")
        return value

    @property
    def source(self) -> str:
        """The folder, or the name on the hub."""
        return self.model

    @property
    def replies(self) -> int:
        """Number of replies drawn for a turn."""
        return 1

    @model_validator(mode="after")
    def _files_are_usable(self) -> Self:
        """Check before anything is stored what can be checked without fetching or loading."""
        try:
            check_name(self.source)
            if is_local(self.source):
                folder = local_folder(self.source)
                check_hash(folder, self.sha256)
                _check_revision(folder.name, self.revision)
        except ModelFilesError as error:
            problems = (Problem("model", self.source, str(error)),)
            raise PydanticCustomError("model_files", "has no usable model", {"problems": problems}) from None
        return self


def _check_revision(folder: str, revision: str) -> None:
    """Refuse a revision of a folder, which has one only; a snapshot of the hub is named after its commit."""
    if revision not in ("main", folder):
        problem = Problem(
            "revision", revision, "a folder has no revisions. Leave it out, or name the hub's model"
        )
        raise PydanticCustomError("model_files", "has no such revision", {"problems": (problem,)})


class SampledConfiguration(ModelConfiguration):
    """The settings of models whose replies may be ranked."""

    samples: int = Field(
        1,
        ge=1,
        le=100,
        description="Replies drawn per turn; the likeliest per token is said, all are candidates.",
    )

    @property
    def replies(self) -> int:
        """The configured number of samples."""
        return 1 if self.greedy else self.samples


class _Answering(Answering):
    """Adapter between hosting and a `chatbots.huggingface.decoding.DecodingStream`."""

    def __init__(self, bot: "ModelBot", decoder: Any) -> None:
        from chatbots.huggingface.decoding import DecodingStream

        self._bot, settings = bot, bot.configuration
        self._stream = DecodingStream(decoder, room=settings.batch, count=settings.replies)
        self._keys = count()
        self._failed: dict[int, Response | Failure] = {}
        self._shown_tokens: dict[int, int] = {}

    @property
    def room(self) -> int:
        return self._stream.room

    def admit(self, contexts: Sequence[Context]) -> Sequence[int]:
        tokens = self._bot.prompt_room()
        keys, prompts, seeds = [next(self._keys) for _ in contexts], dict[int, list[int]](), list[int]()
        for key, context in zip(keys, contexts, strict=True):
            try:
                prompts[key] = self._bot.prompt(context, tokens)
            except Exception as error:  # a template may refuse a dialogue, which must not end the others
                self._failed[key] = Failure(error)
            else:
                seeds.append(seed_of(context))
        if prompts:
            self._stream.admit(list(prompts), list(prompts.values()), seeds)
        return keys

    def step(self) -> dict[int, Response | Failure]:
        failed, self._failed = self._failed, {}
        return failed | {key: self._bot.response(drawn) for key, drawn in self._stream.step().items()}

    def partial_texts(self) -> Mapping[int, str]:
        tokens = self._stream.tokens_so_far()
        grown = {key: each for key, each in tokens.items() if len(each) > self._shown_tokens.get(key, 0)}
        self._shown_tokens = {key: len(each) for key, each in tokens.items()}
        return {key: self._bot.text_so_far(each) for key, each in grown.items()}

    def cancel(self, keys: Collection[int]) -> None:
        drawn = [key for key in keys if self._failed.pop(key, None) is None]
        self._stream.cancel(drawn)


class ModelBot(ContinuousBot):
    """A bot with a language model decoded in this process. Subclasses convert a context to a prompt.

    Replies may be shown as they grow, unless several are drawn for a turn and ranked.
    """

    Configuration: ClassVar[type[BotConfiguration]] = ModelConfiguration
    configuration: ModelConfiguration
    architecture: ClassVar[Kind] = "causal"
    libraries: ClassVar[tuple[str, ...]] = ("torch", "transformers", "tokenizers")

    def __init__(self, configuration: ModelConfiguration) -> None:
        """Fetch and load the model.

        Raises:
            ConfigurationError: the model cannot be fetched, or its files do not fit together.
            ModuleNotFoundError: PyTorch or transformers is not installed.
        """
        super().__init__(configuration)
        try:
            self.folder = folder_of(
                configuration.source, revision=configuration.revision, offline=configuration.local_files_only
            )
            check_hash(self.folder, configuration.sha256)
            self.model, self.tokenizer = load(
                self.folder, self.architecture, device=configuration.device, precision=configuration.precision
            )
        except ModelFilesError as error:
            problem = Problem("model", configuration.source, str(error))
            raise ConfigurationError(self.name, [problem]) from error
        self._decoder = self._made_decoder()

    @classmethod
    def memory_needed(cls, configuration: BotConfiguration) -> int | None:
        """Bytes of the weights; None for a model of the hub, which may not be here yet."""
        assert isinstance(configuration, ModelConfiguration)
        if not is_local(configuration.source):
            return None
        in_memory = 4 if configuration.precision == "float32" else 2
        folder = Path(configuration.source).expanduser()
        return round(bytes_of_weights(folder) * in_memory / _bytes_per_weight(folder))

    @property
    def max_batch(self) -> int:
        """The configured batch size."""
        return self.configuration.batch

    @property
    def max_wait(self) -> float:
        """The configured waiting time."""
        return self.configuration.wait

    @abstractmethod
    def prompt(self, context: Context, room: int) -> list[int]:
        """Convert a context to the model's input tokens: at least one, at most `room`."""

    def prompt_room(self) -> int:
        """Number of tokens that a prompt may have."""
        limit = self._positions()
        room = limit if self.architecture == "seq2seq" else limit - self.configuration.most_tokens
        return max(2, min(self.configuration.context_tokens, room))

    def answering(self) -> Answering:
        """Draw replies token by token, each from its context's seed."""
        return _Answering(self, self._decoder)

    def response(self, drawn: Sequence[Any]) -> Response:
        """Convert a context's `chatbots.huggingface.decoding.Generated`, at least one, to a response."""
        ranked = sorted(drawn, key=lambda reply: -reply.per_token)
        candidates = tuple(Candidate(self._text(reply), reply.per_token) for reply in ranked)
        return Response(
            candidates[0].text, candidates if len(ranked) > 1 else (), Usage(completion=ranked[0].length)
        )

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every bot, with hashes of the model's files and the decoding code."""
        return {
            **super().fingerprint(),
            "model_code": hash_of([*sorted(CODE.glob("*.py")), MESSAGES]),
            "model_hash": content_hash(self.folder),
            "revision": None if is_local(self.configuration.source) else self.folder.name,
        }

    def text_so_far(self, tokens: Sequence[int]) -> str:
        """Text of a reply's first tokens; a prefix of the text of the finished reply."""
        text = self._decoded(tokens).rstrip("\ufffd")  # stands for the first bytes of a character
        if getattr(self.tokenizer, "clean_up_tokenization_spaces", False):
            # The space before the last word is removed if an apostrophe or a full stop follows.
            return text[: max(text.rfind(" "), 0)]
        return text

    def _text(self, reply: Any) -> str:
        return self._decoded(reply.tokens)

    def _decoded(self, tokens: Sequence[int]) -> str:
        return str(self.tokenizer.decode(tokens, skip_special_tokens=True)).strip()

    def _positions(self) -> int:
        """Number of positions that the model can represent."""
        config = self.model.config.get_text_config()
        return int(getattr(config, "max_position_embeddings", None) or 1_000_000)

    def _made_decoder(self) -> Any:
        from chatbots.huggingface.decoding import Decoder, DecodingSettings

        settings = self.configuration
        return Decoder(
            self.model,
            DecodingSettings(
                most_tokens=min(settings.most_tokens, self._positions()),
                greedy=settings.greedy,
                temperature=settings.temperature,
                top_k=settings.top_k,
                top_p=settings.top_p,
            ),
            ends=self._tokens_that_end(),
            visible_tokens=self._tokens_that_show(),
            padding=self.tokenizer.pad_token_id or 0,
        )

    def _tokens_that_end(self) -> frozenset[int]:
        configured = self.model.generation_config.eos_token_id
        several = configured if isinstance(configured, list) else [configured]
        return frozenset(end for end in [*several, self.tokenizer.eos_token_id] if end is not None)

    def _tokens_that_show(self) -> list[int]:
        """List the tokens with a visible character."""
        vocabulary = sorted(set(self.tokenizer.get_vocab().values()))
        texts = self.tokenizer.batch_decode([[token] for token in vocabulary], skip_special_tokens=True)
        return [token for token, text in zip(vocabulary, texts, strict=True) if not is_blank(text)]


def _bytes_per_weight(folder: Path) -> int:
    """Bytes per weight on disk, from config.json; 4 if it does not say."""
    config = json.loads((folder / "config.json").read_text("utf-8"))
    stored = str(config.get("dtype") or config.get("torch_dtype") or "float32")
    return 2 if stored in ("float16", "bfloat16") else 4
