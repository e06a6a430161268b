"""HRED, VHRED and VHCR, and their files on disk (those of `chatbots.training.checkpoint`).

An encoder reads each utterance; a context GRU reads the encodings; from its state a decoder writes the next
utterance. VHRED also gives the decoder a latent variable z of the utterance; VHCR adds one of the
conversation, which begins the context and is an input of context, prior, posterior and decoder.

Shapes: n conversations, u utterances, m = u - n that answer another one, t positions, p words to predict, v
vocabulary, z latent, d any other width.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy, dropout, linear

from chatbots.hierarchical.batching import Batch
from chatbots.hierarchical.config import HierarchicalConfig
from chatbots.hierarchical.distillation import Distilled, Heads, Targets
from chatbots.hierarchical.layers import (
    Normal,
    NormalOf,
    divergence,
    gru,
    pack,
    repacked,
    run,
    standard_normal,
    states,
)
from chatbots.training.checkpoint import WordModelFiles
from chatbots.training.vocabulary import PADDING, START, UNKNOWN

NEEDS_TARGETS = (
    "This model reads what its teachers say of each utterance (input_only): name their file with --targets. "
    "It has none of a conversation that goes on, so it cannot reply."
)


class Losses(NamedTuple):
    """The losses of a batch.

    Attributes:
        words: negative log-likelihood of all words, in nats.
        divergence: divergence of all priors from their posteriors, in nats; 0 without latent variables.
        distilled: loss of the heads.
    """

    words: Tensor
    divergence: Tensor
    distilled: Distilled


@dataclass(frozen=True)
class Drawn:
    """A draw of all latent variables of a batch, and their distributions.

    Attributes:
        states: states of the context after each utterance that is answered, (m, d).
        decoder_inputs: the latent variables as further inputs of the decoder, (m, d); d may be 0.
        latent: z of each utterance, (m, z); None in HRED, like prior and posterior.
        prior: prior of `latent`.
        posterior: posterior of `latent`.
        conversation_latent: latent of each conversation, (n, z); None except in VHCR, like its posterior.
        conversation_posterior: posterior of `conversation_latent`; its prior is the standard normal.
    """

    states: Tensor
    decoder_inputs: Tensor
    latent: Tensor | None = None
    prior: Normal | None = None
    posterior: Normal | None = None
    conversation_latent: Tensor | None = None
    conversation_posterior: Normal | None = None

    def divergence(self) -> Tensor:
        """Sum the divergences of all priors from their posteriors."""
        total = self.states.new_zeros(())
        if self.prior is not None and self.posterior is not None:
            total = total + divergence(self.posterior, self.prior).sum()
        if self.conversation_posterior is not None:
            unit = standard_normal(self.conversation_posterior.mean)
            total = total + divergence(self.conversation_posterior, unit).sum()
        return total


class Hierarchical(nn.Module):
    """A model of one of the three architectures, with heads if its configuration has them.

    Args:
        config: its shape.
    """

    def __init__(self, config: HierarchicalConfig) -> None:
        super().__init__()
        self.config = config
        c, encoding = config, 2 * config.encoder_size
        of_conversation = config.conversation_latent_size
        latent = of_conversation + (config.latent_size if config.is_variational else 0)
        self.embedding = nn.Embedding(c.vocabulary_size, c.embedding_size, padding_idx=PADDING)
        nn.init.normal_(self.embedding.weight, std=c.embedding_size**-0.5)
        self.encoder = gru(c.embedding_size, c.encoder_size, bidirectional=True)
        self.context = gru(encoding + c.teacher_inputs + of_conversation, c.context_size)
        self.to_decoder = nn.Linear(c.context_size + latent, c.decoder_size)
        self.decoder = gru(c.embedding_size, c.decoder_size)
        self.output = Output(c)
        if c.is_variational:
            self.prior = NormalOf(
                c.context_size + of_conversation,
                c.context_size,
                c.latent_size,
                layers=1 if of_conversation else 2,
            )
            self.posterior = NormalOf(
                c.context_size + encoding + of_conversation, c.context_size, c.latent_size, layers=2
            )
        if of_conversation:
            self.overview = gru(encoding, c.context_size, bidirectional=True)
            self.conversation_posterior = NormalOf(
                2 * c.context_size, c.context_size, of_conversation, layers=2
            )
            self.to_context = nn.Linear(of_conversation, c.context_size)
            self.dropped_sentence = nn.Parameter(torch.randn(encoding) * 0.01)
        if c.has_heads:
            self.heads = Heads(c)

    def forward(self, batch: Batch) -> Losses:
        """Compute the losses of a batch, with one draw of the latent variables."""
        drawn = self.draw(batch, self.encode(batch))
        distilled = Distilled(None, None)
        if self.config.has_heads:
            distilled = self.heads(drawn.states, batch.targets)
        words = -self.log_likelihoods(batch, drawn).sum()
        return Losses(words, drawn.divergence(), distilled)

    def encode(self, batch: Batch) -> Tensor:
        """Encode every utterance, (u, d)."""
        packed = pack(batch.utterances, batch.lengths)
        return run(self.encoder, repacked(self._embed(packed.data), packed))[1]

    def draw(self, batch: Batch, encodings: Tensor, generator: torch.Generator | None = None) -> Drawn:
        """Read a batch, and draw its latent variables from their posteriors.

        Args:
            batch: n conversations.
            encodings: encodings of its utterances, (u, d).
            generator: generator of random numbers; default: PyTorch's.
        """
        device = encodings.device
        read, written = encodings[batch.read.to(device)], encodings[batch.written.to(device)]
        turns, overview, of_conversation = batch.turns - 1, None, None
        if self.config.conversation_latent_size:
            overview = self.posterior_of_conversations(encodings, batch.turns)
            of_conversation = overview.at(noise_like(overview.mean, generator))
        read = self._with_targets(self._drop_sentences(read), batch.targets)
        after = self.contexts(read, turns, of_conversation)
        if not self.config.is_variational:
            return Drawn(after, after[:, :0])
        latent_of_conversation = after[:, :0] if of_conversation is None else spread(of_conversation, turns)
        prior = self.prior(torch.cat([after, latent_of_conversation], dim=1))
        posterior = self.posterior(torch.cat([after, written, latent_of_conversation], dim=1))
        latent = posterior.at(noise_like(posterior.mean, generator))
        decoder_inputs = torch.cat([latent, latent_of_conversation], dim=1)
        return Drawn(after, decoder_inputs, latent, prior, posterior, of_conversation, overview)

    def _with_targets(self, read: Tensor, targets: Targets) -> Tensor:
        """Inputs of the context: encodings, (m, d), in the ablation joined with the teachers' values."""
        if not self.config.input_only:
            return read
        if targets.emotions is None and targets.semantics is None:
            raise ValueError(NEEDS_TARGETS)
        values = targets.joined().to(read)
        if values.size(1) != self.config.teacher_inputs:
            raise ValueError(
                f"The targets have {values.size(1)} numbers for each utterance, and this model reads "
                f"{self.config.teacher_inputs}. Name the file that it was trained with."
            )
        return torch.cat([read, values], dim=1)

    def posterior_of_conversations(self, encodings: Tensor, turns: Tensor) -> Normal:
        """Posterior of the conversations' latent variables, for encodings (u, d); VHCR only."""
        _, summary = run(self.overview, pack(by_conversation(encodings, turns), turns))
        distribution: Normal = self.conversation_posterior(summary)
        return distribution

    def contexts(self, encodings: Tensor, turns: Tensor, of_conversation: Tensor | None) -> Tensor:
        """Compute the state of the context after each utterance, (u, d).

        Args:
            encodings: encodings of utterances, (u, d), with all other inputs of the context.
            turns: number of utterances of each conversation, (n,).
            of_conversation: latent variables of the conversations, (n, z), in VHCR.
        """
        first = None
        if of_conversation is not None:
            first = self.to_context(of_conversation).tanh()
            encodings = torch.cat([encodings, spread(of_conversation, turns)], dim=1)
        padded = states(self.context, pack(by_conversation(encodings, turns), turns), first)
        return padded[is_real(turns).to(padded.device)]

    def begin(self, after: Tensor, decoder_inputs: Tensor) -> Tensor:
        """Compute the decoder's first state, (m, d), from the context's and the latent variables."""
        first: Tensor = self.to_decoder(torch.cat([after, decoder_inputs], dim=1)).tanh()
        return first

    def log_likelihoods(self, batch: Batch, drawn: Drawn) -> Tensor:
        """Log-likelihood of each answer given a draw of the latent variables, in nats, (m,)."""
        written = batch.written
        lengths, targets = batch.lengths[written], batch.utterances[written.to(batch.utterances.device)]
        inputs = torch.cat([torch.full_like(targets[:, :1], START), targets[:, :-1]], dim=1)
        packed = pack(self._drop_words(inputs), lengths)
        target_words = pack(targets, lengths).data
        first = self.begin(drawn.states, drawn.decoder_inputs)
        outputs, _ = run(self.decoder, repacked(self._embed(packed.data), packed), first)
        scores = self.output(self._dropout(outputs.data), self.embedding.weight)
        of_words = -cross_entropy(scores, target_words, reduction="none")
        owner = pack(torch.arange(len(written)).unsqueeze(1).expand_as(targets), lengths).data
        return of_words.new_zeros(len(written)).index_add(0, owner.to(of_words.device), of_words)

    def step(self, words: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Compute scores of the next words, (n, v), and the next state, from words (n,) and state (n, d)."""
        outputs, last = self.decoder(self.embedding(words).unsqueeze(1), state.unsqueeze(0))
        return self.output(outputs.squeeze(1), self.embedding.weight), last.squeeze(0)

    def _embed(self, words: Tensor) -> Tensor:
        return self._dropout(self.embedding(words))

    def _dropout(self, values: Tensor) -> Tensor:
        return dropout(values, self.config.dropout, self.training) if self.config.dropout else values

    def _drop_words(self, inputs: Tensor) -> Tensor:
        """Replace positions by the unknown word in the whole batch at once, as in the authors' code."""
        if not (self.training and self.config.word_drop):
            return inputs
        dropped = torch.rand(inputs.size(1), device=inputs.device) < self.config.word_drop
        return inputs.masked_fill(dropped & (inputs != PADDING), UNKNOWN)

    def _drop_sentences(self, encodings: Tensor) -> Tensor:
        if not (self.training and self.config.sentence_drop):
            return encodings
        dropped = torch.rand(len(encodings), 1, device=encodings.device) < self.config.sentence_drop
        return torch.where(dropped, self.dropped_sentence, encodings)


class Output(nn.Module):
    """Scores words from the decoder's state: by the table of embeddings, or by a separate one."""

    def __init__(self, config: HierarchicalConfig) -> None:
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(config.vocabulary_size))
        if config.tied_output:
            self.narrow: nn.Module = nn.Linear(config.decoder_size, config.embedding_size, bias=False)
            self.weight: nn.Parameter | None = None
        else:
            self.narrow = nn.Identity()
            self.weight = nn.Parameter(torch.empty(config.vocabulary_size, config.decoder_size))
            nn.init.xavier_uniform_(self.weight)

    def forward(self, values: Tensor, embeddings: Tensor) -> Tensor:
        """Scores before softmax, (p, v), of states (p, d)."""
        return linear(self.narrow(values), embeddings if self.weight is None else self.weight, self.bias)


def is_real(turns: Tensor) -> Tensor:
    """Mask of the real utterances among padded ones, for n conversations with these turns, (n, most)."""
    return torch.arange(int(turns.max())) < turns.unsqueeze(1)


def by_conversation(values: Tensor, turns: Tensor) -> Tensor:
    """Arrange values (u, d) in one row per conversation, padded with zeros, (n, most, d)."""
    there = is_real(turns).to(values.device)
    padded = values.new_zeros(*there.shape, values.size(1))
    padded[there] = values
    return padded


def spread(values: Tensor, turns: Tensor) -> Tensor:
    """Repeat values of conversations, (n, d), for each of their utterances, (u, d)."""
    return values.repeat_interleave(turns.to(values.device), dim=0)


def noise_like(values: Tensor, generator: torch.Generator | None) -> Tensor:
    """Draw standard normal numbers in the shape of a tensor."""
    return torch.randn(values.shape, device=values.device, generator=generator)


def count_parameters(config: HierarchicalConfig) -> dict[str, int]:
    """Count parameters of each part and in total, without memory for them."""
    with torch.device("meta"):
        model = Hierarchical(config)
    parts: dict[str, int] = {}
    for name, parameter in model.named_parameters():
        part = name.partition(".")[0]
        parts[part] = parts.get(part, 0) + parameter.numel()
    return parts | {"total": sum(parts.values())}


FILES = WordModelFiles(HierarchicalConfig, Hierarchical, "hierarchical model")
load_checkpoint, read_config = FILES.load, FILES.read_config
