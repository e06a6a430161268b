"""From a conversation to a reply: sample (or search with a beam), judge, rank, choose.

A candidate is removed if it is empty, if the safety classifier objects, or if it repeats an earlier turn. The
best of the rest is the reply. If none is left, the fallback is, in this order: the best candidate that is
only repetitive (repeating is a blemish, harm is not); else a fixed sentence. Which one was used is recorded.

Beam search, to compare sample-and-rank with: the paper's table 3.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple

import numpy as np
import torch
from torch import Tensor

from chatbots.meena.model import Meena
from chatbots.meena.sampling import Sample, SampleStream, SamplingSettings, rank, sample_all
from chatbots.meena.tokenizer import NEVER_WRITTEN, Tokenizer
from chatbots.safety import AllowEverything, SafetyClassifier
from evaluation.texts.repetition import repeats


@torch.inference_mode()
def beam_search(model: Meena, context: Sequence[int], *, width: int = 20) -> list[Sample]:
    """The likeliest responses that a beam of that width finds.

    A response that ends leaves the beam, and the beam shrinks with it; all that are open at the last position
    count as they are.

    Args:
        model: in evaluation mode.
        context: tokens, 1 to the model's `context_length`.
        width: responses followed at once, at least 1.

    Returns:
        `width` different responses (fewer if the vocabulary is smaller), by log P / tokens, best first.
    """
    state = model.new_state(contexts=1, samples=width)
    model.admit(state, [context])
    device = model.embedding.weight.device
    beam = [Sample((), 0.0)]
    found: list[Sample] = []
    for position in range(model.config.response_length):
        last = [sample.tokens[-1] if sample.tokens else Tokenizer.start for sample in beam]
        padded = last + [Tokenizer.end] * (len(state.positions) - len(last))
        scores = model.step(torch.tensor(padded, device=device), state)[: len(beam)]
        grown, sources = extend(beam, scores, width - len(found))
        found += [sample for sample in grown if sample.finished]
        open_ones = [
            (sample, source) for sample, source in zip(grown, sources, strict=True) if not sample.finished
        ]
        beam = [sample for sample, _ in open_ones]
        if not beam or position + 1 == model.config.response_length:
            break
        rows = [source for _, source in open_ones]
        state.reorder_rows(np.array(rows + [0] * (len(state.positions) - len(rows))))
    return rank(found + beam, "per_token")


def extend(beam: Sequence[Sample], scores: Tensor, width: int) -> tuple[list[Sample], list[int]]:
    """The likeliest continuations by one token.

    Args:
        beam: b open responses.
        scores: of their next tokens, before softmax, (b, v).
        width: how many to keep.

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
    """One sampled response and what became of it.

    Attributes:
        text: decoded.
        log_likelihood: log P under the model, in nats.
        per_token: log P / tokens.
        tokens: how many, the end token included.
        removed: why it may not be said; None if it may.
    """

    text: str
    log_likelihood: float
    per_token: float
    tokens: int
    removed: Removal | None


class Reply(NamedTuple):
    """What is said, and what it was chosen from.

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
    """Replies with one model and one way of decoding; remembers no conversation.

    Args:
        model: in evaluation mode.
        tokenizer: the one that it was trained with.
        settings: how to draw and rank.
        avoid_repetition: whether candidates that repeat an earlier turn are removed.
        safety: judges candidates.
        room: most conversations that are decoded at once.
        beam: whether candidates are the `settings.samples` likeliest that a beam of that width finds, instead
            of draws; seeds, temperature and top_k then change nothing, and conversations go one by one.
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

    def reply(self, conversations: Sequence[Sequence[str]], seeds: Sequence[int]) -> list[Reply]:
        """Reply to each conversation.

        Args:
            conversations: turns of each, the oldest first; may be empty.
            seeds: one per conversation; the same seed and turns give the same reply.

        Returns:
            One reply per conversation, in the same order.
        """
        length = self.model.config.context_length
        fits = [self.tokenizer.context(turns, length=length) for turns in conversations]
        contexts = [fit.tokens for fit in fits]
        if self.beam:
            samples = [self.searched(context) for context in contexts]
        else:
            samples = sample_all(self.model, contexts, seeds, self.settings, room=self.room)
        return [
            self.judged(drawn, turns, fit.dropped)
            for drawn, turns, fit in zip(samples, conversations, fits, strict=True)
        ]

    def drawing(self, samples: int, temperature: float) -> Responder:
        """The same model with another N, from 1, and T, above 0.

        It decodes no more samples at once than this one does, or those of one conversation if they are more.
        """
        settings = replace(self.settings, samples=samples, temperature=temperature)
        room = min(self.room, max(1, self.room * self.settings.samples // samples))
        return Responder(
            self.model, self.tokenizer, settings, avoid_repetition=self.avoid_repetition, safety=self.safety,
            room=room,
        )  # fmt: skip

    def searched(self, context: Sequence[int]) -> list[Sample]:
        """What a beam finds for the tokens of one context."""
        return beam_search(self.model, context, width=self.settings.samples)

    def stream(self) -> ReplyStream | BeamStream:
        """Replies to conversations that join while others are being replied to."""
        return BeamStream(self) if self.beam else ReplyStream(self)

    def judged(self, samples: Sequence[Sample], turns: Sequence[str], dropped: int) -> Reply:
        """The reply from what was drawn for a conversation, of which that many turns did not fit."""
        return choose(self._judge(samples, turns), dropped_turns=dropped)

    def _judge(self, samples: Sequence[Sample], turns: Sequence[str]) -> list[Candidate]:
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
    """Conversations that are being replied to, each as far as its samples have come.

    Args:
        responder: whose model, decoding and `room` apply.
    """

    def __init__(self, responder: Responder) -> None:
        self._responder = responder
        self._samples = SampleStream(responder.model, responder.settings, room=responder.room)
        self._open: dict[int, tuple[Sequence[str], int]] = {}

    @property
    def room(self) -> int:
        """Conversations that can join now."""
        return self._samples.room

    def admit(self, conversations: Sequence[Sequence[str]], seeds: Sequence[int]) -> list[int]:
        """Let conversations join, at most `room`; arguments as of `Responder.reply`.

        Returns:
            A key for each, by which `step` returns its reply.
        """
        tokenizer, length = self._responder.tokenizer, self._responder.model.config.context_length
        fits = [tokenizer.context(turns, length=length) for turns in conversations]
        keys = self._samples.admit([fit.tokens for fit in fits], seeds)
        for key, turns, fit in zip(keys, conversations, fits, strict=True):
            self._open[key] = turns, fit.dropped
        return keys

    def step(self) -> dict[int, Reply]:
        """Draw one more token of every sample; the replies that are done now, by key."""
        done = self._samples.step()
        return {key: self._responder.judged(drawn, *self._open.pop(key)) for key, drawn in done.items()}

    def cancel(self, keys: Collection[int]) -> None:
        """Stop replying to conversations that are under way."""
        self._samples.cancel(keys)
        for key in keys:
            del self._open[key]


class BeamStream:
    """The same, one conversation after the other: a beam is searched for whole.

    Args:
        responder: whose model, decoding and `room` apply.
    """

    def __init__(self, responder: Responder) -> None:
        self._responder = responder
        self._waiting: dict[int, Sequence[str]] = {}
        self._keys = 0

    @property
    def room(self) -> int:
        """Conversations that can join now."""
        return self._responder.room - len(self._waiting)

    def admit(self, conversations: Sequence[Sequence[str]], seeds: Sequence[int]) -> list[int]:
        """As `ReplyStream.admit`."""
        del seeds
        keys = [self._keys + place for place in range(len(conversations))]
        self._keys += len(conversations)
        self._waiting |= dict(zip(keys, conversations, strict=True))
        return keys

    def step(self) -> dict[int, Reply]:
        """Search for one reply, by its key."""
        if not self._waiting:
            return {}
        key = next(iter(self._waiting))
        (reply,) = self._responder.reply([self._waiting.pop(key)], [0])
        return {key: reply}

    def cancel(self, keys: Collection[int]) -> None:
        """Search for no reply to these conversations."""
        for key in keys:
            del self._waiting[key]


def choose(candidates: Sequence[Candidate], *, dropped_turns: int = 0) -> Reply:
    """The reply from ranked candidates, or the fallback if all are removed.

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
