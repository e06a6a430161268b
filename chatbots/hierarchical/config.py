"""The hyperparameters of a hierarchical model; named sets of them are the rows of the paper's table A.5."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Literal

from chatbots.training.settings import WordModelConfig, named

Architecture = Literal["hred", "vhred", "vhcr"]
ARCHITECTURES = ("hred", "vhred", "vhcr")


@dataclass(frozen=True, kw_only=True)
class HierarchicalConfig(WordModelConfig):
    """The shape of a model, and the shares dropped in training.

    Attributes:
        architecture: "hred", "vhred" (a latent variable for each utterance) or "vhcr" (one more for the
            conversation).
        vocabulary_size: words v, the four special ones included.
        embedding_size: size of a word's embedding; encoder and decoder share the table.
        encoder_size: size of each direction of the GRU that reads an utterance.
        context_size: size of the GRU that reads the utterances' encodings.
        decoder_size: size of the GRU that writes.
        latent_size: size of each latent variable.
        tied_output: True if the scores of words use the table of embeddings, False if a separate one.
        dropout: share of activations dropped in training, of embeddings and before the scores.
        word_drop: share of the decoder's input positions that become the unknown word in training.
        sentence_drop: share of utterances that become one learned vector in training; VHCR only.
        utterance_length: most words of an utterance, its end included.
        utterances: most utterances of a conversation in training.
        emotions: number of emotions that a head learns to predict from the context; 0 for no such head.
        emotion_hidden: hidden units of that head.
        semantics: size of the sentence vector that a head learns to predict from the context; 0 for no such
            head.
        semantic_hidden: hidden units of that head.
        input_only: True if the context reads emotions and sentence vector of each utterance instead of
            learning them by heads: the paper's ablation.

    Raises:
        ValueError: a size below 1, nothing to read, a share outside [0, 1), or sentence drop in a model
            without such a vector.
    """

    architecture: Architecture
    vocabulary_size: int = 20_000
    embedding_size: int
    encoder_size: int
    context_size: int
    decoder_size: int
    latent_size: int = 100
    tied_output: bool = False
    dropout: float = 0.0
    word_drop: float = 0.0
    sentence_drop: float = 0.0
    utterance_length: int = 30
    utterances: int = 10
    emotions: int = 0
    emotion_hidden: int = 128
    semantics: int = 0
    semantic_hidden: int = 128
    input_only: bool = False

    def __post_init__(self) -> None:
        if self.architecture not in ARCHITECTURES:
            raise ValueError(
                f"architecture={self.architecture!r} is unknown. Use one of {', '.join(ARCHITECTURES)}."
            )
        least = {"vocabulary_size": 5, "utterance_length": 2, "utterances": 2, "emotions": 0, "semantics": 0}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.type == "int" and value < least.get(field.name, 1):
                raise ValueError(f"{field.name}={value} must be at least {least.get(field.name, 1)}.")
            if field.type == "float" and not 0 <= value < 1:
                raise ValueError(f"{field.name}={value} must be at least 0 and below 1.")
        if self.sentence_drop and self.architecture != "vhcr":
            raise ValueError(f"sentence_drop={self.sentence_drop} is for vhcr only. Leave it 0.")
        if self.input_only and not self.emotions + self.semantics:
            raise ValueError("input_only=True needs emotions or semantics to read. Say how many.")

    @property
    def is_variational(self) -> bool:
        """True if there are latent variables."""
        return self.architecture != "hred"

    @property
    def has_heads(self) -> bool:
        """True if knowledge is distilled into the context: EI."""
        return bool(self.emotions or self.semantics) and not self.input_only

    @property
    def teacher_inputs(self) -> int:
        """Number of the teachers' values that the context reads of each utterance; 0 but in the ablation."""
        return self.emotions + self.semantics if self.input_only else 0

    @property
    def needs_targets(self) -> bool:
        """True if training needs the teachers' values."""
        return bool(self.emotions or self.semantics)

    @property
    def conversation_latent_size(self) -> int:
        """Size of the conversation's latent variable; 0 without one."""
        return self.latent_size if self.architecture == "vhcr" else 0


@dataclass(frozen=True, kw_only=True)
class Preset:
    """A model with its settings of training and decoding.

    Attributes:
        config: its shape.
        batch: conversations of a batch.
        beam: width of the beam.
        emotion_weight: weight of the emotions' loss.
        semantic_weight: weight of the sentence vectors' loss. It is large because the words' loss is a
            sum over the batch and this one is a mean.
    """

    config: HierarchicalConfig
    batch: int
    beam: int
    emotion_weight: float = 0.0
    semantic_weight: float = 0.0

    def __post_init__(self) -> None:
        for name in ("emotion_weight", "semantic_weight"):
            if not 0 <= getattr(self, name) < math.inf:
                raise ValueError(f"{name}={getattr(self, name)} must be at least 0, and finite.")


# corpus, model, batch, dropout, decoder, encoder, context, embedding, word drop, sentence drop, beam; with EI
# also the weight and the hidden units of the emotions' head and of the sentence vectors' head
TABLE_A5 = """
cornell hred      80 .2  400  400 1000 300   0   0 5
cornell vhred     80 0  1000 1000 1000 400 .25   0 5
cornell vhcr      80 .2 1000 1000 1000 500 .25 .25 5
cornell hred-ei   64 .2 1000 1000 1000 500   0   0 1 25 128 100000 4000
cornell vhred-ei  80 .2 1250 1250 1000 600   0   0 1 25 128  30000  128
cornell vhcr-ei   32 .2 1000 1000 1250 600   0   0 1 25 128  25000 4000
reddit  hred      64 .2 1000 1000 1000 500   0   0 1
reddit  vhred     32 .2 1250 1250 1000 600   0   0 1
reddit  vhcr      32 .2 1000 1000 1250 600   0 .25 1
reddit  hred-ei   64 .2 1000 1000 1000 500   0   0 1 25 128  25000 2000
reddit  vhred-ei  32 .2 1250 1250 1250 600   0   0 1 25 128 100000 4000
reddit  vhcr-ei   32 .2 1000 1000 1250 600   0   0 1 25 128 100000 4000
"""

EMOJI, INFERSENT = 64, 4096
"""What the paper's two teachers give: 64 emoji, and a vector that it reduces to 95 % of its variance. In
training, the file of targets decides."""


def _of_row(row: str) -> tuple[str, Preset]:
    corpus, model, *numbers = row.split()
    batch, dropout, decoder, encoder, context, embedding, word, sentence, beam, *ei = map(float, numbers)
    config = HierarchicalConfig(
        architecture=model.removesuffix("-ei"),  # type: ignore[arg-type]
        embedding_size=int(embedding),
        encoder_size=int(encoder),
        context_size=int(context),
        decoder_size=int(decoder),
        dropout=dropout,
        word_drop=word,
        sentence_drop=sentence,
    )
    if not ei:
        return f"{corpus}-{model}", Preset(config=config, batch=int(batch), beam=int(beam))
    emotion_weight, emotion_hidden, semantic_weight, semantic_hidden = ei
    config = replace(
        config,
        emotions=EMOJI,
        emotion_hidden=int(emotion_hidden),
        semantics=INFERSENT,
        semantic_hidden=int(semantic_hidden),
    )
    return f"{corpus}-{model}", Preset(
        config=config,
        batch=int(batch),
        beam=int(beam),
        emotion_weight=emotion_weight,
        semantic_weight=semantic_weight,
    )


def _ours(size: str, architecture: Architecture, *, ei: bool) -> tuple[str, Preset]:
    """Create a preset for one thread of a CPU ("small") or for tests ("tiny")."""
    width = {"small": 128, "tiny": 16}[size]
    config = HierarchicalConfig(
        architecture=architecture,
        vocabulary_size=4_000 if size == "small" else 100,
        embedding_size=width,
        encoder_size=width,
        context_size=2 * width,
        decoder_size=2 * width,
        latent_size=width // 4,
        tied_output=True,
        emotions=3 if ei else 0,
        emotion_hidden=width // 2,
        semantics=50 if ei else 0,
        semantic_hidden=width,
    )
    preset = Preset(
        config=config,
        batch=32 if size == "small" else 8,
        beam=5,
        emotion_weight=25.0 if ei else 0.0,
        semantic_weight=25_000.0 if ei else 0.0,
    )
    return f"{size}-{architecture}{'-ei' if ei else ''}", preset


PRESETS: dict[str, Preset] = dict(_of_row(row) for row in TABLE_A5.strip().splitlines()) | dict(
    _ours(size, architecture, ei=ei)  # type: ignore[arg-type]
    for size in ("small", "tiny")
    for architecture in ARCHITECTURES
    for ei in (False, True)
)


def preset(name: str) -> Preset:
    """Return the preset of that name.

    Raises:
        ValueError: no such preset; the message lists them.
    """
    return named(PRESETS, name)
