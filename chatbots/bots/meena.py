"""Meena (base), Meena (full) and beam search for comparison: one model, three ways to choose a reply."""

import json
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import Field, field_validator

from chatbots.base import Answering, BotConfiguration, Context, Device, Drawing, seed_of
from chatbots.continuous import ContinuousBot
from chatbots.errors import ConfigurationError, Problem
from chatbots.local_files import hash_of, trained_model
from chatbots.registry import register
from chatbots.replies import Candidate, Failure, ReplyOutcome, Response, Usage

CODE = Path(__file__).parents[1] / "meena"
SHIPPED = CODE / "pretrained"
"""Folder of the model in this repository, if it has one."""

HELD_OUT = "held_out.json"
"""File beside the weights with their perplexity, and the data and tokenizer it was measured with."""

_REMOVED = {"empty": "saying nothing", "unsafe": "being unsafe", "repetition": "repeating an earlier turn"}
_SAID = {
    None: "the likeliest of the others",
    "repetition": "the likeliest that only repeats",
    "fixed": "a fallback",
}


RankBy = Literal["per_token", "total", "length_normalised", "mutual_information"]


def rank_by_field() -> Any:
    """Create the field of the ranking function."""
    return Field(
        "per_token",
        description="Rank by log-likelihood per token, the total, the total with a penalty for length, or "
        "mutual information with the dialogue, which ranks replies lower that fit everywhere.",
    )


class ModelConfiguration(BotConfiguration):
    """The model, and its device."""

    checkpoint: str = Field(
        str(SHIPPED), description="Folder of the model: weights, configuration, tokenizer."
    )
    device: Device = "cpu"
    precision: Literal["fast", "fp32", "bf16"] = Field(
        "fast",
        description="Fast: on a GPU bf16 where it can, on a CPU float32 with its fastest products (in bf16 "
        "where it can). Or plain float32, or bf16.",
    )

    @field_validator("checkpoint")
    @classmethod
    def _is_there(cls, checkpoint: str) -> str:
        return trained_model(checkpoint, guide="docs/meena.md", shipped=SHIPPED)


class MeenaConfiguration(ModelConfiguration):
    """Settings of drawing replies, or of the search for them."""

    first = frozenset({"samples", "temperature"})
    decoding: Literal["sample", "beam"] = Field(
        "sample",
        description="Draw responses and say the likeliest, or search for them with a beam, to compare.",
    )
    samples: int = Field(
        20, ge=1, le=400, description="Responses drawn per reply (N), or the width of the beam."
    )
    temperature: float = Field(0.88, gt=0, description="Divides the scores before sampling (T).")
    top_k: int | None = Field(None, ge=1, description="Draw from this many likeliest tokens; empty for all.")
    rank_by: RankBy = rank_by_field()
    avoid_repetition: bool = Field(False, description="Remove candidates that repeat an earlier turn.")
    safety: Literal["none", "profanity-check"] = Field(
        "none", description="Classifier that removes candidates."
    )
    batch: int = Field(8, ge=1, description="Dialogues that are answered together, at most.")


class BeamConfiguration(ModelConfiguration):
    """Settings of the beam search. Nothing is drawn, so temperature and seed have no effect."""

    first = frozenset({"samples"})
    decoding: ClassVar[str] = "beam"
    temperature: ClassVar[float] = 1.0
    top_k: ClassVar[int | None] = None
    batch: ClassVar[int] = 1

    samples: int = Field(20, ge=1, le=400, description="Replies followed at once: the width of the beam.")
    rank_by: RankBy = rank_by_field()
    avoid_repetition: bool = Field(False, description="Remove candidates that repeat an earlier turn.")
    safety: Literal["none", "profanity-check"] = Field(
        "none", description="Classifier that removes candidates."
    )


class _Answering(Answering):
    """Adapter between hosting and streams of replies: one as configured, others for other N and T.

    Contexts for an N and T whose stream is full wait here for their turn.
    """

    def __init__(self, responder: Any, bot: str) -> None:
        self._responder, self._bot = responder, bot
        self._streams: dict[Drawing | None, Any] = {None: responder.stream()}
        self._keys = count()
        self._waiting: list[tuple[int, Context]] = []
        self._under_way: dict[tuple[Drawing | None, int], int] = {}

    @property
    def room(self) -> int:
        return int(self._responder.room) - len(self._under_way) - len(self._waiting)

    def admit(self, contexts: Sequence[Context]) -> Sequence[int]:
        keys = [next(self._keys) for _ in contexts]
        self._waiting += zip(keys, contexts, strict=True)
        self._let_in()
        return keys

    def _let_in(self) -> None:
        alike: dict[Drawing | None, list[tuple[int, Context]]] = {}
        for key, context in self._waiting:
            drawing = None if self._responder.beam else context.drawing
            alike.setdefault(drawing, []).append((key, context))
        self._waiting = []
        for drawing, group in alike.items():
            stream = self._stream(drawing)
            joining, later = group[: stream.room], group[stream.room :]
            self._waiting += later
            conversations = [[turn.text for turn in context.turns] for _, context in joining]
            theirs = stream.admit(conversations, [seed_of(context) for _, context in joining])
            for its_key, (key, _) in zip(theirs, joining, strict=True):
                self._under_way[drawing, its_key] = key

    def _stream(self, drawing: Drawing | None) -> Any:
        if drawing not in self._streams:
            assert drawing is not None
            drawn_so = self._responder.drawing(drawing.samples, drawing.temperature)
            self._streams[drawing] = drawn_so.stream()
        return self._streams[drawing]

    def step(self) -> dict[int, Response | Failure]:
        if self._waiting:
            self._let_in()
        done: dict[int, Response | Failure] = {}
        for drawing, stream in self._streams.items():
            for its_key, reply in stream.step().items():
                done[self._under_way.pop((drawing, its_key))] = response_of(reply, self._bot)
        self._drop_idle()
        return done

    def partial_texts(self) -> Mapping[int, str]:
        return {
            self._under_way[drawing, its_key]: text
            for drawing, stream in self._streams.items()
            for its_key, text in stream.partial_texts().items()
        }

    def cancel(self, keys: Collection[int]) -> None:
        self._waiting = [each for each in self._waiting if each[0] not in keys]
        leaving = [place for place, key in self._under_way.items() if key in keys]
        for drawing, its_key in leaving:
            self._streams[drawing].cancel([its_key])
            del self._under_way[drawing, its_key]
        self._drop_idle()

    def _drop_idle(self) -> None:
        """Free the memory of streams without contexts."""
        used = {drawing for drawing, _ in self._under_way} | {each.drawing for _, each in self._waiting}
        for drawing in [each for each in self._streams if each is not None and each not in used]:
            del self._streams[drawing]


@register("meena-base")
class MeenaBaseBot(ContinuousBot):
    """Evolved Transformer that draws 20 replies and says the likeliest: Meena (base).

    Replies are held back until they are complete, because the likeliest is chosen at the end. With one sample
    and no rule that removes it, they may be shown as they grow.

    Source: Adiwardana et al. 2020, arXiv:2001.09977, section 3.4.
    """

    Configuration: ClassVar[type[BotConfiguration]] = MeenaConfiguration
    libraries: ClassVar[tuple[str, ...]] = ("torch", "sentencepiece")

    def __init__(self, configuration: BotConfiguration) -> None:
        """Load the model.

        Raises:
            ConfigurationError: the configured folder holds no model.
            CheckpointError: its files do not fit together.
            ModuleNotFoundError: PyTorch or another library for models is not installed.
        """
        super().__init__(configuration)
        assert isinstance(configuration, MeenaConfiguration | BeamConfiguration)
        self._folder, self._batch = Path(configuration.checkpoint), configuration.batch
        if not (self._folder / "config.json").exists():
            cure = "no model is there. Train one (docs/meena.md) and name its folder."
            raise ConfigurationError(self.name, [Problem("checkpoint", configuration.checkpoint, cure)])
        self._held_out = held_out(self._folder, self.name)
        self._responder = load_responder(self._folder, configuration)

    @classmethod
    def memory_needed(cls, configuration: BotConfiguration) -> int | None:
        """Bytes of the weights, and of the largest state of decoding."""
        from chatbots.meena.model import count_parameters, decoding_bytes, read_config

        assert isinstance(configuration, MeenaConfiguration | BeamConfiguration)
        shape, contexts = read_config(Path(configuration.checkpoint)), configuration.batch
        state = decoding_bytes(shape, contexts=contexts, samples=configuration.samples)
        size: int = weight_type(configuration).itemsize
        return size * count_parameters(shape)["total"] + state * size // 4

    @classmethod
    def draws(cls, configuration: BotConfiguration) -> bool:
        """True unless replies are searched for with a beam."""
        assert isinstance(configuration, MeenaConfiguration | BeamConfiguration)
        return configuration.decoding == "sample"

    @property
    def max_batch(self) -> int:
        """The configured batch size."""
        return self._batch

    def answering(self) -> Answering:
        """Draw samples of several contexts token by token; `chatbots.meena.responder` has the fallback."""
        return _Answering(self._responder, self.name)

    def fingerprint(self) -> Mapping[str, object]:
        """Return the fingerprint of every bot, with hashes of the model's files and its known perplexity."""
        files = {
            name: self._folder / name for name in ("config.json", "model.safetensors", "tokenizer.model")
        }
        return {
            **super().fingerprint(),
            "model_code": hash_of([*sorted(CODE.glob("*.py")), CODE.parent / "safety.py"]),
            "model": {name: hash_of([path]) for name, path in files.items()},
            **({"perplexity": self._held_out} if self._held_out else {}),
        }


@register("meena-full")
class MeenaFullBot(MeenaBaseBot):
    """Meena (base) with top-k sampling, a rule against repetition and a safety layer: Meena (full).

    Replies are held back until they are complete.

    Source: Adiwardana et al. 2020, arXiv:2001.09977, section 5.
    """

    class Configuration(MeenaConfiguration):
        """The settings of Meena (full)."""

        temperature: float = Field(1.0, gt=0, description="Divides the scores before sampling (T).")
        top_k: int | None = Field(
            40, ge=1, description="Draw from this many likeliest tokens; empty for all."
        )
        avoid_repetition: bool = Field(True, description="Remove candidates that repeat an earlier turn.")
        safety: Literal["none", "profanity-check"] = Field(
            "profanity-check", description="Classifier that removes candidates."
        )

    libraries = ("torch", "sentencepiece", "alt-profanity-check")


@register("meena-beam")
class MeenaBeamBot(MeenaBaseBot):
    """The model of `meena-base` with beam search for the likeliest reply, to compare sampling with.

    Replies are held back until they are complete.

    Source: Adiwardana et al. 2020, arXiv:2001.09977, section 3.4 and table 3.
    """

    Configuration: ClassVar[type[BotConfiguration]] = BeamConfiguration


def held_out(folder: Path, bot: str) -> dict[str, object] | None:
    """Read `held_out.json` of a model's folder: `perplexity`, `data`, `tokenizer`; None without the file.

    Raises:
        ConfigurationError: the file does not hold these three.
    """
    path = folder / HELD_OUT
    if not path.exists():
        return None
    try:
        corpus = json.loads(path.read_text(encoding="utf-8"))
        return {
            "perplexity": float(corpus["perplexity"]),
            "data": str(corpus["data"]),
            "tokenizer": str(corpus["tokenizer"]),
        }
    except (ValueError, KeyError, TypeError) as error:
        cure = f"{HELD_OUT} there needs “perplexity”, “data” and “tokenizer” ({error!r}). Fix or remove it."
        raise ConfigurationError(bot, [Problem("checkpoint", str(folder), cure)]) from error


def weight_type(configuration: ModelConfiguration) -> Any:
    """Choose the type of the weights and of the decoding state in memory: float32 or bf16."""
    import torch

    from chatbots.meena.acceleration import training_precision

    device = torch.device(configuration.device)
    fast_on_gpu = configuration.precision == "fast" and device.type == "cuda" and torch.cuda.is_available()
    in_bf16 = fast_on_gpu and training_precision(device) == "bf16"
    return torch.bfloat16 if configuration.precision == "bf16" or in_bf16 else torch.float32


def load_responder(folder: Path, configuration: MeenaConfiguration | BeamConfiguration) -> Any:
    """Load the model of that folder in a `chatbots.meena.responder.Responder`."""
    from chatbots.meena.acceleration import pack
    from chatbots.meena.model import load_checkpoint
    from chatbots.meena.responder import Responder
    from chatbots.meena.sampling import SamplingSettings
    from chatbots.safety import CLASSIFIERS
    from chatbots.training.running import device_of_bot

    model, tokenizer = load_checkpoint(
        folder, device=device_of_bot(configuration.device), dtype=weight_type(configuration)
    )
    settings = SamplingSettings(
        samples=configuration.samples,
        temperature=configuration.temperature,
        top_k=configuration.top_k,
        rank_by=configuration.rank_by,
    )
    return Responder(
        pack(model) if configuration.precision == "fast" else model,
        tokenizer,
        settings,
        avoid_repetition=configuration.avoid_repetition,
        safety=CLASSIFIERS[configuration.safety](),
        room=configuration.batch,
        beam=configuration.decoding == "beam",
    )


def response_of(reply: Any, bot: str) -> Response:
    """Convert a reply to a response, with the candidates it was chosen from."""
    candidates = tuple(
        Candidate(candidate.text, candidate.per_token)
        for candidate in reply.candidates
        if candidate.removed == (reply.fallback or None)
    )
    remarks = tuple(f"{bot}: {remark}" for remark in _remarks(reply))
    outcome = ReplyOutcome.FALLBACK if reply.fallback == "fixed" else ReplyOutcome.COMPLETE
    return Response(reply.text, candidates, Usage(completion=reply.tokens), remarks, outcome=outcome)


def _remarks(reply: Any) -> Iterator[str]:
    """Say which candidates were removed, if that changed the reply."""
    removed = Counter(candidate.removed for candidate in reply.candidates if candidate.removed)
    if not reply.candidates or not reply.candidates[0].removed:
        return
    counts = ", ".join(f"{times} for {_REMOVED[why]}" for why, times in sorted(removed.items()))
    yield (
        f"{removed.total()} of {len(reply.candidates)} candidates were removed, the likeliest among them "
        f"({counts}); said {_SAID[reply.fallback]}"
    )
