"""Replies to conversations: sample (or search with a beam), judge, rank, choose.

A candidate is removed if it is empty, if the safety classifier rejects it, or if it repeats an earlier turn.
The best of the rest is the reply. If none is left, the fallback is the best candidate that is only repetitive
(a repetition is a blemish, not a harm), else a fixed sentence. The reply records which fallback was used.

Beam search is for comparison with sample-and-rank: the paper's table 3.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from chatbots.meena.model import Meena
from chatbots.meena.ranking import with_priors
from chatbots.meena.samples import Sample, rank
from chatbots.meena.sampling import SampleStream, SamplingSettings, sample_all
from chatbots.meena.tokenizer import NEVER_WRITTEN, Tokenizer
from chatbots.safety import AllowEverything, SafetyClassifier
from evaluation.texts.repetition import repeats


@torch.inference_mode()
def beam_search(model: Meena, context: Sequence[int], *, width: int = 20) -> list[Sample]:
    """Find the likeliest responses by a beam of that width.

    A finished response leaves the beam, which shrinks with it; responses still open at the last position
    count as they are.

    Args:
        model: in evaluation mode.
        context: tokens, 1 to the model's `context_length`.
        width: of the beam, at least 1.

    Returns:
        `width` different responses (fewer if the vocabulary is smaller), by log P / tokens, best first.
    """
    state = model.new_state(contexts=1, samples=width)
    model.admit(state, [context])
    device = model.embedding.weight.device
    beam = [Sample((), 0.0)]
    ended: list[Sample] = []
    for position in range(model.config.response_length):
        last = [sample.tokens[-1] if sample.tokens else Tokenizer.start for sample in beam]
        padded = last + [Tokenizer.end] * (len(state.positions) - len(last))
        scores = model.step(torch.tensor(padded, device=device), state)[: len(beam)]
        grown, sources = extend(beam, scores, width - len(ended))
        ended += [sample for sample in grown if sample.finished]
        open_ones = [
            (sample, source) for sample, source in zip(grown, sources, strict=True) if not sample.finished
        ]
        beam = [sample for sample, _ in open_ones]
        if not beam or position + 1 == model.config.response_length:
            break
        rows = [source for _, source in open_ones]
        state.reorder_rows(np.array(rows + [0] * (len(state.positions) - len(rows))))
    return rank(ended + beam, "per_token")


def extend(beam: Sequence[Sample], scores: Tensor, width: int) -> tuple[list[Sample], list[int]]:
    """Find the likeliest continuations by one token.

    Args:
        beam: b open responses.
        scores: of their next tokens, before softmax, (b, v).
        width: number to keep.

    Returns:
        The continuations, likeliest first, and the index in the beam that each continues.
    """
    log_probabilities = scores.float().log_softmax(dim=-1)
    log_probabilities[:, NEVER_WRITTEN] = -torch.inf
    so_far = torch.tensor([sample.log_likelihood for sample in beam], device=scores.device)
    total = (so_far.unsqueeze(1) + log_probabilities).flatten()
    best, places = total.topk(min(width, int(total.isfinite().sum())))
    sources, tokens = (places // scores.size(1)).tolist(), (places % scores.size(1)).tolist()
    grown = [
        Sample((*beam[source].tokens, token), value)
        for source, token, value in zip(sources, tokens, best.tolist(), strict=True)
    ]
    return grown, sources


NOTHING_LEFT = "Let's talk about something else. What do you like to do?"

Removal = Literal["empty", "unsafe", "repetition"]


class Candidate(NamedTuple):
    """One sampled response, and whether it was removed.

    Attributes:
        text: decoded.
        log_likelihood: log P under the model, in nats.
        per_token: log P / tokens.
        tokens: their number, the end token included.
        removed: the reason for removal; None if it is allowed.
    """

    text: str
    log_likelihood: float
    per_token: float
    tokens: int
    removed: Removal | None


class Reply(NamedTuple):
    """A reply, and the candidates it was chosen from.

    Attributes:
        text: the reply; never empty.
        tokens: tokens generated for it; 0 for the fixed sentence.
        candidates: all samples, best first, those removed included.
        fallback: None if a candidate was chosen; "repetition" or "fixed" if all were removed.
        dropped_turns: oldest turns of the conversation that did not fit into the context.
    """

    text: str
    tokens: int
    candidates: tuple[Candidate, ...]
    fallback: Literal["repetition", "fixed"] | None
    dropped_turns: int


class Responder:
    """Replies with one model and one way of decoding; stores no conversation.

    Args:
        model: in evaluation mode.
        tokenizer: of its training.
        settings: of drawing and ranking.
        avoid_repetition: True to remove candidates that repeat an earlier turn.
        safety: judges candidates.
        room: most conversations that are decoded at once.
        beam: True to search for candidates with a beam of width `settings.samples` instead of drawing them;
            seeds, temperature and top_k then have no effect, and conversations are answered one by one.
    """

    def __init__(
        self,
        model: Meena,
        tokenizer: Tokenizer,
        settings: SamplingSettings,
        *,
        avoid_repetition: bool = False,
        safety: SafetyClassifier | None = None,
        room: int = 8,
        beam: bool = False,
    ) -> None:
        self.model, self.tokenizer, self.settings = model, tokenizer, settings
        self.avoid_repetition = avoid_repetition
        self.safety = safety or AllowEverything()
        self.room, self.beam = (1 if beam else room), beam

    @property
    def keeps_every_sample(self) -> bool:
        """True if the only sample becomes the reply, whatever it says."""
        is_free = not self.avoid_repetition and isinstance(self.safety, AllowEverything)
        return self.settings.samples == 1 and not self.beam and is_free

    def reply(self, conversations: Sequence[Sequence[str]], seeds: Sequence[int]) -> list[Reply]:
        """Reply to each conversation.

        Args:
            conversations: turns of each, the oldest first; may be empty.
            seeds: one per conversation; the same seed and turns give the same reply.

        Returns:
            One reply per conversation, in the same order.
        """
        length = self.model.config.context_length
        dropped = [self.tokenizer.context(turns, length=length).dropped for turns in conversations]
        return [
            self.judged(drawn, turns, left_out)
            for drawn, turns, left_out in zip(
                self.samples(conversations, seeds), conversations, dropped, strict=True
            )
        ]

    def samples(self, conversations: Sequence[Sequence[str]], seeds: Sequence[int]) -> list[list[Sample]]:
        """Draw or search for the candidates of each conversation; arguments as for `reply`."""
        length = self.model.config.context_length
        contexts = [self.tokenizer.context(turns, length=length).tokens for turns in conversations]
        if self.beam:
            return [self.searched(context) for context in contexts]
        return sample_all(self.model, contexts, seeds, self.settings, room=self.room)

    def drawing(self, samples: int, temperature: float) -> Responder:
        """Create a responder with the same model and another N, from 1, and T, above 0.

        It decodes at most as many samples at once as this one, but at least those of one conversation.
        """
        settings = replace(self.settings, samples=samples, temperature=temperature)
        room = min(self.room, max(1, self.room * self.settings.samples // samples))
        return Responder(
            self.model, self.tokenizer, settings, avoid_repetition=self.avoid_repetition, safety=self.safety,
            room=room,
        )  # fmt: skip

    def searched(self, context: Sequence[int]) -> list[Sample]:
        """Search for candidates with a beam, for the tokens of one context."""
        return beam_search(self.model, context, width=self.settings.samples)

    def stream(self) -> ReplyStream | BeamStream:
        """Create a stream of replies that conversations can join at any time."""
        return BeamStream(self) if self.beam else ReplyStream(self)

    def judged(self, samples: Sequence[Sample], turns: Sequence[str], dropped: int) -> Reply:
        """Choose the reply from a conversation's samples; `dropped` turns did not fit."""
        return choose(self._judge(samples, turns), dropped_turns=dropped)

    def _judge(self, samples: Sequence[Sample], turns: Sequence[str]) -> list[Candidate]:
        if self.settings.rank_by == "mutual_information":
            samples = with_priors(self.model, self.tokenizer, samples)
        ranked = rank(samples, self.settings.rank_by)
        texts = [self.tokenizer.decode(sample.tokens) for sample in ranked]
        unsafe = self.safety.unsafe(texts)
        return [
            Candidate(
                text,
                sample.log_likelihood,
                sample.per_token,
                len(sample.tokens),
                self._reason_to_remove(text, is_unsafe, turns),
            )
            for sample, text, is_unsafe in zip(ranked, texts, unsafe, strict=True)
        ]

    def _reason_to_remove(self, text: str, is_unsafe: bool, turns: Sequence[str]) -> Removal | None:
        if not text:
            return "empty"
        if is_unsafe:
            return "unsafe"
        return "repetition" if self.avoid_repetition and repeats(text, turns) else None


class ReplyStream:
    """Conversations whose replies are being sampled.

    Args:
        responder: with the model, the decoding and `room`.
    """

    def __init__(self, responder: Responder) -> None:
        self._responder = responder
        self._samples = SampleStream(responder.model, responder.settings, room=responder.room)
        self._open: dict[int, tuple[Sequence[str], int]] = {}

    @property
    def room(self) -> int:
        """Number of conversations that can join now."""
        return self._samples.room

    def admit(self, conversations: Sequence[Sequence[str]], seeds: Sequence[int]) -> list[int]:
        """Let conversations join, at most `room`; arguments as for `Responder.reply`.

        Returns:
            A key for each, under which `step` returns its reply.
        """
        tokenizer, length = self._responder.tokenizer, self._responder.model.config.context_length
        fits = [tokenizer.context(turns, length=length) for turns in conversations]
        keys = self._samples.admit([fit.tokens for fit in fits], seeds)
        for key, turns, fit in zip(keys, conversations, fits, strict=True):
            self._open[key] = turns, fit.dropped
        return keys

    def step(self) -> dict[int, Reply]:
        """Draw one more token of every sample; return finished replies by key."""
        done = self._samples.step()
        return {key: self._responder.judged(drawn, *self._open.pop(key)) for key, drawn in done.items()}

    def partial_texts(self) -> dict[int, str]:
        """Texts so far by key; none if a sample may still be left out, as with N > 1."""
        if not self._responder.keeps_every_sample:
            return {}
        decode = self._responder.tokenizer.decode
        return {key: decode(tokens) for key, tokens in self._samples.tokens_so_far().items()}

    def cancel(self, keys: Collection[int]) -> None:
        """Stop replying to conversations that are in progress."""
        self._samples.cancel(keys)
        for key in keys:
            del self._open[key]


class BeamStream:
    """A stream that searches with a beam, one conversation after the other.

    Args:
        responder: with the model, the decoding and `room`.
    """

    def __init__(self, responder: Responder) -> None:
        self._responder = responder
        self._waiting: dict[int, Sequence[str]] = {}
        self._keys = 0

    @property
    def room(self) -> int:
        """Number of conversations that can join now."""
        return self._responder.room - len(self._waiting)

    def admit(self, conversations: Sequence[Sequence[str]], seeds: Sequence[int]) -> list[int]:
        """See `ReplyStream.admit`."""
        del seeds
        keys = [self._keys + place for place in range(len(conversations))]
        self._keys += len(conversations)
        self._waiting |= dict(zip(keys, conversations, strict=True))
        return keys

    def step(self) -> dict[int, Reply]:
        """Search for one reply; return it by its key."""
        if not self._waiting:
            return {}
        key = next(iter(self._waiting))
        (reply,) = self._responder.reply([self._waiting.pop(key)], [0])
        return {key: reply}

    def partial_texts(self) -> dict[int, str]:
        """Return no texts: a beam search has no reply before its end."""
        return {}

    def cancel(self, keys: Collection[int]) -> None:
        """Drop these conversations."""
        for key in keys:
            del self._waiting[key]


def choose(candidates: Sequence[Candidate], *, dropped_turns: int = 0) -> Reply:
    """Choose the reply from ranked candidates, or the fallback if all are removed.

    Args:
        candidates: best first.
        dropped_turns: passed on.
    """
    everything = tuple(candidates)
    for allowed, fallback in ((None, None), ("repetition", "repetition")):
        best = next((candidate for candidate in everything if candidate.removed == allowed), None)
        if best:
            return Reply(best.text, best.tokens, everything, fallback, dropped_turns)  # type: ignore[arg-type]
    return Reply(NOTHING_LEFT, 0, everything, "fixed", dropped_turns)
