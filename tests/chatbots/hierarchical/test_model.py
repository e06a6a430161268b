"""The models against their equations, written out one step at a time."""

import csv
import io
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import torch
from numpy.testing import assert_allclose
from torch.nn.functional import log_softmax

from chatbots.hierarchical.batching import collate
from chatbots.hierarchical.config import PRESETS, preset
from chatbots.hierarchical.distillation import Heads, Targets
from chatbots.hierarchical.layers import Normal, divergence, gru, pack, run
from chatbots.hierarchical.model import count_parameters
from chatbots.hierarchical.responder import DecodingSettings, Responder
from chatbots.training.vocabulary import START, UNKNOWN
from tests.chatbots.hierarchical.tiny import CONVERSATIONS, config, model_of

torch.set_num_threads(1)  # threads only wait for each other in products this small


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


class Step:
    """A GRU of one direction by its equations (Cho et al. 2014, in PyTorch's arrangement)."""

    def __init__(self, layer, suffix=""):
        self.w, self.u, self.b, self.c = (
            getattr(layer, f"{name}_l0{suffix}").detach().numpy()
            for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )

    def __call__(self, x, h):
        ours, theirs = self.w @ x + self.b, self.u @ h + self.c
        n = len(h)
        reset = sigmoid(ours[:n] + theirs[:n])
        update = sigmoid(ours[n : 2 * n] + theirs[n : 2 * n])
        new = np.tanh(ours[2 * n :] + reset * theirs[2 * n :])
        return (1 - update) * new + update * h

    def over(self, xs):
        h = np.zeros(self.u.shape[1])
        for x in xs:
            h = self(x, h)
        return h


def layer(linear, x):
    return linear.weight.detach().numpy() @ x + linear.bias.detach().numpy()


def reference(model, conversations, teacher_values=None):
    """Log-likelihood of each answer by HRED, word by word; each utterance has its `teacher_values`."""
    teacher_values = iter(np.zeros((9, 0)) if teacher_values is None else teacher_values)
    table = model.embedding.weight.detach().numpy()
    forth, back = Step(model.encoder), Step(model.encoder, "_reverse")
    context, decoder = Step(model.context), Step(model.decoder)
    for conversation in conversations:
        state = np.zeros(model.config.context_size)
        for said, answer in pairwise(conversation):
            words = table[said]
            state = context(
                np.concatenate([forth.over(words), back.over(words[::-1]), next(teacher_values)]), state
            )
            h, last, total = np.tanh(layer(model.to_decoder, state)), START, 0.0
            for word in answer:
                h = decoder(table[last], h)
                if model.output.weight is None:
                    scores = table @ (model.output.narrow.weight.detach().numpy() @ h)
                else:
                    scores = model.output.weight.detach().numpy() @ h
                scores = scores + model.output.bias.detach().numpy()
                total += scores[word] - np.log(np.exp(scores).sum())
                last = word
            yield total


@pytest.mark.parametrize("tied", [False, True])
def test_hred_is_its_equations_step_by_step(tied):
    model = model_of("hred", tied_output=tied)
    batch = collate(CONVERSATIONS)

    found = model.log_likelihoods(batch, model.draw(batch, model.encode(batch)))

    assert_allclose(found.detach(), list(reference(model, CONVERSATIONS)), rtol=1e-10)
    assert float(model(batch).words.detach()) == pytest.approx(-sum(reference(model, CONVERSATIONS)))


@pytest.mark.parametrize("bidirectional", [False, True])
def test_our_gru_has_the_values_and_gradients_of_pytorchs(bidirectional):
    torch.manual_seed(0)
    theirs = gru(5, 4, bidirectional=bidirectional).double()
    x = torch.randn(6, 7, 5, dtype=torch.double, requires_grad=True)
    first = None if bidirectional else torch.randn(6, 4, dtype=torch.double, requires_grad=True)
    wanted = [x, *theirs.parameters(), *([] if first is None else [first])]
    packed = pack(x, torch.tensor([3, 7, 1, 5, 7, 2]))

    ours, last = run(theirs, packed, first)
    outputs, state = theirs(packed, None if first is None else first.unsqueeze(0))

    results = []
    for each, end in ((ours, last), (outputs, state.transpose(0, 1).flatten(1))):
        loss = (each.data * torch.arange(each.data.numel()).view_as(each.data).sin()).sum() + end.sin().sum()
        results.append([each.data, end, *torch.autograd.grad(loss, wanted, retain_graph=True)])
    for a, b in zip(*results, strict=True):
        assert_allclose(a.detach(), b.detach(), atol=1e-12)


@pytest.mark.parametrize("architecture", ["hred", "vhred", "vhcr"])
def test_answers_are_as_likely_in_a_batch_as_alone(architecture):
    model = model_of(architecture)
    together = collate(CONVERSATIONS)
    drawn = model.draw(together, model.encode(together))
    found = model.log_likelihoods(together, drawn)

    m = n = 0
    for number, conversation in enumerate(CONVERSATIONS):
        batch = collate([conversation])
        alone = model.draw(batch, model.encode(batch))
        here = slice(m, m := m + len(conversation) - 1)
        if architecture == "vhcr":
            assert_allclose(
                alone.conversation_posterior.mean[0].detach(),
                drawn.conversation_posterior.mean[number].detach(),
                rtol=1e-9,
            )
            # of the same latent variable of the conversation, everything after it is the same
            latent = drawn.conversation_latent[number : number + 1]
            states = model.contexts(model.encode(batch)[batch.read], batch.turns - 1, latent)
            assert_allclose(states.detach(), drawn.states[here].detach(), rtol=1e-9)
        elif architecture == "vhred":
            assert_allclose(alone.prior.mean.detach(), drawn.prior.mean[here].detach(), rtol=1e-9)
            assert_allclose(
                alone.posterior.variance.detach(), drawn.posterior.variance[here].detach(), rtol=1e-9
            )
        same = replace(alone, states=drawn.states[here], decoder_inputs=drawn.decoder_inputs[here])
        assert_allclose(model.log_likelihoods(batch, same).detach(), found[here].detach(), rtol=1e-9)
        n += 1
    assert (m, n) == (len(found), 3)


def test_latent_variables_reach_the_parts_that_the_papers_name():
    model = model_of("vhcr")
    inputs = {
        "context": model.context.input_size,
        "prior": model.prior.hidden[0].in_features,
        "posterior": model.posterior.hidden[0].in_features,
        "decoder": model.to_decoder.in_features,
    }

    # encoding 10, context 7, latent 3
    assert inputs == {"context": 10 + 3, "prior": 7 + 3, "posterior": 7 + 10 + 3, "decoder": 7 + 3 + 3}
    assert len(model.prior.hidden) == 2  # one layer and its Tanh
    assert len(model_of("vhred").prior.hidden) == 4


def test_divergence_is_what_monte_carlo_says():
    torch.manual_seed(0)
    one = Normal(torch.tensor([[0.3, -1.0]]).double(), torch.tensor([[0.5, 2.0]]).double())
    two = Normal(torch.tensor([[0.0, 0.4]]).double(), torch.tensor([[1.5, 1.0]]).double())
    draws = Normal(one.mean.expand(200_000, 2), one.variance.expand(200_000, 2)).at(
        torch.randn(200_000, 2).double()
    )

    differences = one.log_density(draws) - two.log_density(draws)

    error = float(differences.std()) / 200_000**0.5
    assert float(divergence(one, two)) == pytest.approx(float(differences.mean()), abs=5 * error)
    # by hand: (ratio + shift - 1 - ln ratio) / 2, of both numbers
    by_hand = 0.5 * (1 / 3 + 0.09 / 1.5 - 1 - np.log(1 / 3)) + 0.5 * (2 + 1.96 - 1 - np.log(2))
    assert float(divergence(one, two)) == pytest.approx(by_hand)
    expected = torch.distributions.Normal(one.mean, one.variance.sqrt()).log_prob(draws[:3]).sum(dim=1)
    assert_allclose(one.log_density(draws[:3]), expected, rtol=1e-10)


def test_losses_of_heads_equal_a_calculation_by_hand():
    heads = Heads(config("hred", emotions=2, semantics=2, emotion_hidden=3, semantic_hidden=3)).double()
    for parameter in heads.parameters():
        torch.nn.init.zeros_(parameter)
    heads.emotions[2].bias.data = torch.tensor([np.log(3.0), 0.0]).double()  # says 3/4 and 1/4
    heads.semantics[2].bias.data = torch.tensor([1.0, -1.0]).double()
    targets = Targets(
        torch.tensor([[1.0, 0], [0.5, 0.5]]).double(), torch.tensor([[0.0, 0], [1, 1]]).double()
    )

    found = heads(torch.zeros(2, 7).double(), targets)

    by_hand = (-np.log(0.75) - 0.5 * np.log(0.75) - 0.5 * np.log(0.25)) / 2
    assert float(found.emotion) == pytest.approx(by_hand)
    assert float(found.semantic) == pytest.approx((1 + 1 + 0 + 4) / 4)


def test_the_heads_teach_the_context_and_the_encoder_and_not_the_decoder():
    model = model_of("vhred", emotions=3, semantics=2)
    batch = collate(CONVERSATIONS, Targets(torch.full((7, 3), 1 / 3).double(), torch.randn(7, 2).double()))

    distilled = model(batch).distilled
    (distilled.emotion + distilled.semantic).backward()

    taught = {
        name.partition(".")[0] for name, parameter in model.named_parameters() if parameter.grad is not None
    }
    assert taught == {"embedding", "encoder", "context", "heads"}


def test_the_ablation_reads_what_the_teachers_say_and_learns_none_of_it():
    model = model_of("hred", emotions=3, semantics=2, input_only=True)
    targets = Targets(torch.rand(7, 3).double(), torch.randn(7, 2).double())
    batch = collate(CONVERSATIONS, targets)

    losses = model(batch)

    teacher_values = torch.cat(targets, dim=1).numpy()
    assert float(losses.words.detach()) == pytest.approx(
        -sum(reference(model, CONVERSATIONS, teacher_values))
    )
    assert (losses.distilled.emotion, losses.distilled.semantic) == (None, None)
    assert not hasattr(model, "heads")
    for architecture in ("vhred", "vhcr"):
        variational = model_of(architecture, emotions=3, semantics=2, input_only=True)
        assert torch.isfinite(variational(batch).words)
    with pytest.raises(ValueError, match="name their file with --targets"):
        model(collate(CONVERSATIONS))
    with pytest.raises(ValueError, match="have 3 numbers for each utterance, and this model reads 5"):
        model(collate(CONVERSATIONS, Targets(targets.emotions)))
    with pytest.raises(ValueError, match="so it cannot reply"):
        Responder(model, None, DecodingSettings())


def test_words_are_dropped_in_the_whole_batch_at_once_and_only_in_training():
    model = model_of("hred", word_drop=0.5).train()
    inputs = torch.tensor([[START, 5, 6, 7], [START, 8, 0, 0]]).repeat(1, 20)
    torch.manual_seed(0)

    dropped = model._drop_words(inputs)

    is_dropped = dropped != inputs
    assert 0.2 < is_dropped[0].float().mean() < 0.8
    assert (is_dropped[1] == (is_dropped[0] & (inputs[1] != 0))).all()
    assert (dropped[is_dropped] == UNKNOWN).all()
    assert model.eval()._drop_words(inputs) is inputs


def test_sentences_are_dropped_for_a_learned_vector():
    model = model_of("vhcr", sentence_drop=0.5).train()
    torch.manual_seed(0)
    encodings = torch.randn(200, 10).double()

    found = model._drop_sentences(encodings)

    dropped = (found != encodings).any(dim=1)
    assert 60 < dropped.sum() < 140
    assert (found[dropped] == model.dropped_sentence).all()


def test_scores_are_of_the_distribution_that_steps_give():
    model = model_of("vhred")
    batch = collate(CONVERSATIONS[1:2])
    drawn = model.draw(batch, model.encode(batch))
    state, total = model.begin(drawn.states, drawn.decoder_inputs), 0.0
    for last, word in zip([START, *CONVERSATIONS[1][1]], CONVERSATIONS[1][1], strict=False):
        scores, state = model.step(torch.tensor([last]), state)
        total += float(log_softmax(scores, dim=1)[0, word].detach())

    assert float(model.log_likelihoods(batch, drawn).detach()) == pytest.approx(total)


TABLE = """corpus,EI,model,batch,dropout,decoder,encoder,context,embedding,word,sentence,beam,wE,hE,wI,hI
cornell,,hred,80,.2,400,400,1000,300,0,0,5,0,,0,
cornell,,vhred,80,0,1000,1000,1000,400,.25,0,5,0,,0,
cornell,,vhcr,80,.2,1000,1000,1000,500,.25,.25,5,0,,0,
cornell,-ei,hred,64,.2,1000,1000,1000,500,0,0,1,25,128,100000,4000
cornell,-ei,vhred,80,.2,1250,1250,1000,600,0,0,1,25,128,30000,128
cornell,-ei,vhcr,32,.2,1000,1000,1250,600,0,0,1,25,128,25000,4000
reddit,,hred,64,.2,1000,1000,1000,500,0,0,1,0,,0,
reddit,,vhred,32,.2,1250,1250,1000,600,0,0,1,0,,0,
reddit,,vhcr,32,.2,1000,1000,1250,600,0,.25,1,0,,0,
reddit,-ei,hred,64,.2,1000,1000,1000,500,0,0,1,25,128,25000,2000
reddit,-ei,vhred,32,.2,1250,1250,1250,600,0,0,1,25,128,100000,4000
reddit,-ei,vhcr,32,.2,1000,1000,1250,600,0,0,1,25,128,100000,4000
"""


@pytest.mark.parametrize(
    "row", list(csv.DictReader(io.StringIO(TABLE))), ids=lambda row: row["model"] + row["EI"]
)
def test_presets_are_the_rows_of_table_a5(row):
    found = preset(f"{row['corpus']}-{row['model']}{row['EI']}")
    c = found.config

    sizes = [c.dropout, c.decoder_size, c.encoder_size, c.context_size, c.embedding_size]
    columns = ("dropout", "decoder", "encoder", "context", "embedding", "word", "sentence")
    assert [*sizes, c.word_drop, c.sentence_drop] == [float(row[name]) for name in columns]
    assert (found.batch, found.beam) == (int(row["batch"]), int(row["beam"]))
    assert (found.emotion_weight, found.semantic_weight) == (float(row["wE"]), float(row["wI"]))
    assert c.has_heads == bool(row["EI"])
    if row["EI"]:
        assert (c.emotion_hidden, c.semantic_hidden) == (int(row["hE"]), int(row["hI"]))


def test_parameters_are_counted_by_hand():
    # Cornell's HRED: 20,000 words of 300; gates 3 x 400 x (300 + 400) + 2 x 1,200 biases, twice;
    # 3 x 1,000 x (800 + 1,000) + 6,000; 1,000 x 400 + 400; the encoder's once; 20,000 x (400 + 1)
    by_hand = 6_000_000 + 2 * 842_400 + 5_406_000 + 400_400 + 842_400 + 8_020_000
    assert count_parameters(PRESETS["cornell-hred"].config)["total"] == by_hand


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"architecture": "rnn"}, "architecture='rnn' is unknown. Use one of hred, vhred, vhcr"),
        ({"context_size": 0}, "context_size=0 must be at least 1"),
        ({"dropout": 1.0}, "dropout=1.0 must be at least 0 and below 1"),
        ({"sentence_drop": 0.1}, "sentence_drop=0.1 is for vhcr only"),
    ],
)
def test_an_impossible_shape_is_refused(changes, message):
    with pytest.raises(ValueError, match=message.replace(".", r"\.")):
        replace(config("hred"), **changes)


def test_the_page_has_the_parameters_of_every_preset():
    page = (Path(__file__).parents[3] / "docs" / "hierarchical.md").read_text()
    for name, each in PRESETS.items():
        if not name.startswith("tiny"):
            assert f"| `{name}` | {count_parameters(each.config)['total']:,} |" in page
