"""The Transformer against its equations in NumPy, its batches, and how replies are found."""

import math

import numpy as np
import pytest
import torch

from chatbots.knowledge.batching import Batches, collate
from chatbots.knowledge.config import TopicalChatConfig, preset
from chatbots.knowledge.corpus import Part, Sentences
from chatbots.knowledge.evaluation import nats, perplexity, summed
from chatbots.knowledge.model import TopicalChatModel, count_parameters, positions
from chatbots.knowledge.responder import DecodingSettings, Responder, replies
from chatbots.training.vocabulary import END, Vocabulary

torch.set_num_threads(1)
HISTORIES = [[5, 6, 3], [7, 3, 8, 9, 3]]
SENTENCES = [[4, 5, 6, 7, 3], []]
TARGETS = [[6, 5, 3], [9, 3]]


def model_of(knowledge=True, **changes):
    torch.manual_seed(1)
    shape = {"vocabulary_size": 10, "hidden_size": 8, "feed_forward": 6, "response_length": 5, "dropout": 0.0}
    return TopicalChatModel(TopicalChatConfig(knowledge=knowledge, **shape | changes)).eval()


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


class InNumPy:
    """The equations of the model, one context at a time, without padding."""

    def __init__(self, model):
        self.w = {name: value.numpy() for name, value in model.state_dict().items()}
        self.c = model.config

    def embedded(self, words):
        d = self.c.hidden_size
        angles = np.arange(len(words))[:, None] / 10_000 ** (np.arange(0, d, 2) / d)
        place = np.empty((len(words), d))
        place[:, 0::2], place[:, 1::2] = np.sin(angles), np.cos(angles)
        return self.w["embedding.weight"][words] * math.sqrt(d) + place

    def attention(self, name, x, y, causal=False):
        projections = zip(
            np.split(self.w[f"{name}.in_proj_weight"], 3),
            np.split(self.w[f"{name}.in_proj_bias"], 3),
            strict=True,
        )
        q, k, v = (of @ w.T + b for of, (w, b) in zip((x, y, y), projections, strict=True))
        found = []
        for h in np.split(np.arange(x.shape[1]), self.c.heads):
            scores = q[:, h] @ k[:, h].T / math.sqrt(len(h))
            if causal:
                scores = np.where(np.tri(len(x), dtype=bool), scores, -np.inf)
            found.append(softmax(scores) @ v[:, h])
        return self.linear(f"{name}.out_proj", np.hstack(found))

    def linear(self, name, x):
        return x @ self.w[f"{name}.weight"].T + self.w[f"{name}.bias"]

    def norm(self, name, x):
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + 1e-5)
        return scaled * self.w[f"{name}.weight"] + self.w[f"{name}.bias"]

    def forward(self, name, x):
        return self.linear(f"{name}.linear2", np.maximum(0, self.linear(f"{name}.linear1", x)))

    def encoded(self, words):
        x = self.embedded(words)
        for block in (f"encoder.layers.{i}" for i in range(self.c.blocks)):
            x = self.norm(f"{block}.norm1", x + self.attention(f"{block}.self_attn", x, x))
            x = self.norm(f"{block}.norm2", x + self.forward(block, x))
        return x

    def scores(self, history, sentence, target):
        memory = self.encoded(history)
        if sentence and self.c.knowledge:
            memory = np.vstack([memory, self.encoded(sentence)])
        x = self.embedded([2, *target[:-1]])
        for block in (f"decoder.layers.{i}" for i in range(self.c.blocks)):
            x = self.norm(f"{block}.norm1", x + self.attention(f"{block}.self_attn", x, x, causal=True))
            x = self.norm(f"{block}.norm2", x + self.attention(f"{block}.multihead_attn", x, memory))
            x = self.norm(f"{block}.norm3", x + self.forward(block, x))
        return x @ self.w["embedding.weight"].T


def in_numpy(model, history, sentence, target):
    """Scores at each position of a target."""
    return InNumPy(model).scores(history, sentence, target)


@pytest.mark.parametrize("knowledge", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_scores_are_those_of_the_equations_whatever_the_padding(knowledge, training):
    model = model_of(knowledge).train(training)  # PyTorch has another way through its blocks in evaluation
    with torch.no_grad():
        scores = model(collate(HISTORIES, SENTENCES, TARGETS)).numpy()

    for row, (history, sentence, target) in enumerate(zip(HISTORIES, SENTENCES, TARGETS, strict=True)):
        wanted = in_numpy(model, history, sentence, target)
        assert scores[row, : len(target)] == pytest.approx(wanted, abs=2e-5)


def test_nats_and_perplexity_by_hand():
    model = model_of()
    wanted = [
        -sum(np.log(softmax(in_numpy(model, h, s, t))[place, word]) for place, word in enumerate(t))
        for h, s, t in zip(HISTORIES, SENTENCES, TARGETS, strict=True)
    ]
    batch = collate(HISTORIES, SENTENCES, TARGETS)
    with torch.no_grad():
        assert nats(model, batch).tolist() == pytest.approx(wanted, abs=1e-4)
    found = perplexity(model, [batch])
    assert found.value == pytest.approx(math.exp(sum(wanted) / 5), rel=1e-4)  # 3 words and 2
    assert found.words == batch.words == 5
    with pytest.raises(ValueError, match="no turn to measure"):
        summed([])
    with pytest.raises(ValueError, match="these weights have no perplexity"):
        summed([(-math.inf, 2)])


def test_the_blocks_of_a_stack_begin_with_weights_of_their_own():
    one, two = (block.linear1.weight for block in model_of().encoder.layers)
    assert not torch.equal(one, two)


def test_parameters_of_the_paper_s_shape_by_hand():
    found = count_parameters(preset("tf-knowledge"))
    attention = 4 * (300 * 300 + 300)
    forward, norm = 300 * 300 * 2 + 600, 600
    assert found["embedding"] == 49_957 * 300
    assert found["encoder"] == 2 * (attention + forward + 2 * norm)
    assert found["decoder"] == 2 * (2 * attention + forward + 3 * norm)
    assert found == count_parameters(preset("tf"))  # knowledge needs no weights of its own


def test_positions_have_pairs_of_sine_and_cosine():
    found = positions(3, 4)
    assert found[2].tolist() == pytest.approx([math.sin(2), math.cos(2), math.sin(0.02), math.cos(0.02)])


def part():
    # Two conversations, of turns 4 5 . | 6 . | 7 8 9 .  and  5 . | 4 4 4 .
    words = np.array([4, 5, 3, 6, 3, 7, 8, 9, 3, 5, 3, 4, 4, 4, 3], np.uint16)
    turns = np.array([0, 3, 5, 9, 11, 15])
    return Part(words, turns, np.array([0, 3, 5]), np.array([-1, 0, 1, -1, -1]))


def test_turns_have_the_newest_words_before_them_and_their_sentence():
    sentences = Sentences(np.array([8, 8, 8, 3, 9, 3], np.uint16), np.array([0, 4, 6]))
    config = TopicalChatConfig(history=4, knowledge_length=2, response_length=3)
    batches = Batches(part(), sentences, config, size=2, seed=5)

    assert batches.answers.tolist() == [1, 2, 4]
    found = [
        [batches.history(t).tolist(), batches.sentence(t).tolist(), batches.target(t).tolist()]
        for t in (1, 2, 4)
    ]
    assert found == [
        [[4, 5, 3], [8, 8], [6, 3]],
        [[5, 3, 6, 3], [9, 3], [7, 8, 9]],  # the newest four words; the turn is cut with its end
        [[5, 3], [], [4, 4, 4]],  # nothing of the conversation before
    ]
    batch = batches.of(np.array([1, 4]))
    assert batch.knowledge.tolist() == [[8, 8], [0, 0]]
    assert batch.inputs.tolist() == [[2, 6, 3], [2, 4, 4]]
    epochs = [[b.targets.tolist() for b in batches.epoch(n)] for n in (0, 0)]
    assert epochs[0] == epochs[1]
    assert [b.targets.tolist() for b in batches.epoch(0, skip=1)] == epochs[0][1:]
    assert len(batches) == 2


def test_replies_have_the_likelihood_of_the_equations_alone_and_in_a_batch():
    model = model_of()
    batch, settings = collate(HISTORIES, SENTENCES), DecodingSettings(beam=4)

    together = replies(model, batch, [0, 0], settings)

    for row in range(2):
        alone = replies(model, collate(HISTORIES[row : row + 1], SENTENCES[row : row + 1]), [0], settings)[0]
        assert [each.words for each in alone] == [each.words for each in together[row]]
        for each in alone:
            assert not {0, 1, 2} & set(each.words)  # padding, unknown and start are never written
            likely = np.log(softmax(in_numpy(model, HISTORIES[row], SENTENCES[row], list(each.words))))
            wanted = sum(likely[place, word] for place, word in enumerate(each.words))
            assert each.log_likelihood == pytest.approx(wanted, abs=1e-4)


def test_sampling_depends_on_the_seed_alone():
    model = model_of()
    settings = DecodingSettings(choose="sampled", temperature=1.5, top_p=0.9)
    both = replies(model, collate(HISTORIES, SENTENCES), [3, 4], settings)
    one = replies(model, collate(HISTORIES[1:], SENTENCES[1:]), [4], settings)
    assert both[1][0].words == one[0][0].words
    assert both[0][0].words[0] != END


def test_a_bot_reads_the_sentence_nearest_to_what_was_said_last():
    words = ["cat", "barn", "dog", "roof", "the", "is"]
    responder = Responder(model_of(), Vocabulary(words), DecodingSettings())
    texts = ["The cat is in the barn. Owls hoot.", "A dog sits on the roof."]

    found = responder.reply([["hi", "Tell me of a dog"], ["cat!"], ["So?"]], [texts, texts, []], [1, 2, 3])

    assert [each.sentence for each in found] == ["A dog sits on the roof.", "The cat is in the barn.", ""]
    assert all(each.text and each.candidates[0][0] == each.text for each in found)
    # Without knowledge nothing is looked for, and the same weights say the same whatever was read.
    blind = Responder(model_of(knowledge=False), Vocabulary(words), DecodingSettings())
    one, two = (blind.reply([["cat!"]], [read], [1])[0] for read in (texts, []))
    assert one == two


@pytest.mark.parametrize(
    ("setting", "said"),
    [
        ({"heads": 7}, "hidden_size=300 must be even, and a multiple of heads=7"),
        ({"history": 0}, "history=0 must be at least 1"),
        ({"dropout": 1.0}, "dropout=1.0"),
        ({"vocabulary_size": 4}, "vocabulary_size=4 must be at least 5"),
    ],
)
def test_a_shape_that_cannot_be_is_said(setting, said):
    with pytest.raises(ValueError, match=said):
        TopicalChatConfig(**setting)


def test_decoding_settings_out_of_range_are_said():
    for setting in ({"beam": 0}, {"temperature": 0.0}, {"top_p": 1.5}, {"top_p": 0.0}):
        with pytest.raises(ValueError, match=f"{next(iter(setting))}="):
            DecodingSettings(**setting)
