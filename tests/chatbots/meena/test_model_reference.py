"""The model against a second implementation: NumPy loops written from the specification alone."""

import numpy as np
import pytest
import torch

from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import Meena

D, HEADS, VOCABULARY = 32, 2, 40


class Reference:
    """One context and one response, position by position, in float64."""

    def __init__(self, model):
        self.config = model.config
        self.weights = {name: weight.double().numpy() for name, weight in model.state_dict().items()}

    def logits(self, context, inputs):
        encoded = [self.embed(token, i) for i, token in enumerate(context)]
        for b in range(self.config.encoder_blocks):
            encoded = self.encoder_block(f"encoder.{b}.", encoded)
        encoded = [self.norm("encoder_norm", x) for x in encoded]
        states = [self.embed(token, i) for i, token in enumerate(inputs)]
        for b in range(self.config.decoder_blocks):
            states = self.decoder_block(f"decoder.{b}.", states, encoded)
        states = [self.norm("decoder_norm", x) for x in states]
        return np.array([[row @ x for row in self.weights["embedding.weight"]] for x in states])

    def embed(self, token, position):
        d = self.config.hidden_size
        signal = np.empty(d)
        for i in range(d // 2):
            rate = 10_000.0 ** (-i / (d // 2 - 1))
            signal[i], signal[d // 2 + i] = np.sin(position * rate), np.cos(position * rate)
        return self.weights["embedding.weight"][token] * np.sqrt(d) + signal

    def norm(self, name, x):
        centred = x - x.mean()
        scaled = centred / np.sqrt((centred**2).mean() + 1e-5)
        return scaled * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def dense(self, name, x):
        y = self.weights[name + ".weight"] @ x
        return y + self.weights[name + ".bias"] if name + ".bias" in self.weights else y

    def attention(self, queries, keys, values, heads, causal):
        e = self.config.hidden_size // heads
        mixed = []
        for i, query in enumerate(queries):
            parts = []
            for h in range(heads):
                part = slice(h * e, (h + 1) * e)
                seen = range(i + 1) if causal else range(len(keys))
                score = np.array([query[part] @ keys[j][part] / np.sqrt(e) for j in seen])
                share = np.exp(score - score.max())
                share /= share.sum()
                parts.append(sum(share[j] * values[j][part] for j in seen))
            mixed.append(np.concatenate(parts))
        return mixed

    def self_attention(self, name, xs, heads, causal):
        d = self.config.hidden_size
        projected = [self.dense(name + ".query_key_value", x) for x in xs]
        queries, keys, values = ([p[k * d : (k + 1) * d] for p in projected] for k in range(3))
        mixed = self.attention(queries, keys, values, heads, causal)
        return [self.dense(name + ".output", x) for x in mixed]

    def encoder_attention(self, name, xs, encoded):
        d = self.config.hidden_size
        queries = [self.dense(name + ".query", x) for x in xs]
        both = [self.dense(name + ".key_value", x) for x in encoded]
        keys, values = [x[:d] for x in both], [x[d:] for x in both]
        mixed = self.attention(queries, keys, values, self.config.heads, False)
        return [self.dense(name + ".output", x) for x in mixed]

    def separable(self, name, xs, left):
        """Depthwise with `left` zeros before the sequence and enough after to keep its length; pointwise."""
        weight = self.weights[name + ".depthwise"]
        out = []
        for i in range(len(xs)):
            y = np.zeros(len(xs[0]))
            for k in range(len(weight)):
                j = i + k - left
                if 0 <= j < len(xs):
                    y += weight[k] * xs[j]
            out.append(self.dense(name + ".pointwise", y))
        return out

    def wider(self, x, channels):
        return np.concatenate([x, np.zeros(channels - len(x))])

    def residual(self, name, xs, layer):
        return [x + y for x, y in zip(xs, layer([self.norm(name, x) for x in xs]), strict=True)]

    def encoder_block(self, at, xs):
        d = self.config.hidden_size
        if self.config.architecture == "evolved":

            def gate(normed):
                return [
                    self.dense(at + "gate.value", x) / (1 + np.exp(-self.dense(at + "gate.gate", x)))
                    for x in normed
                ]

            def branches(normed):
                left = [np.maximum(self.dense(at + "branches.left", x), 0) for x in normed]
                weight, bias = (
                    self.weights[at + "branches.right.weight"],
                    self.weights[at + "branches.right.bias"],
                )
                both = []
                for i in range(len(normed)):
                    right = bias.copy()
                    for k in range(3):
                        if 0 <= i + k - 1 < len(normed):
                            right += weight[:, :, k] @ normed[i + k - 1]
                    both.append(
                        self.norm(at + "branches.norm", left[i] + self.wider(np.maximum(right, 0), 4 * d))
                    )
                return [self.wider(x, d) for x in self.separable(at + "branches.last", both, left=4)]

            xs = self.residual(at + "gate_norm", xs, gate)
            xs = self.residual(at + "branches_norm", xs, branches)
        xs = self.residual(
            at + "attention_norm",
            xs,
            lambda normed: self.self_attention(at + "attention", normed, self.config.heads, False),
        )
        return self.residual(at + "feed_forward_norm", xs, lambda normed: self.relu_layers(at, normed))

    def relu_layers(self, at, normed):
        wide = [np.maximum(self.dense(at + "feed_forward.widen", x), 0) for x in normed]
        return [self.dense(at + "feed_forward.narrow", x) for x in wide]

    def decoder_block(self, at, xs, encoded):
        if self.config.architecture == "vanilla":
            xs = self.residual(
                at + "attention_norm",
                xs,
                lambda normed: self.self_attention(at + "attention", normed, self.config.heads, True),
            )
            xs = self.residual(
                at + "encoder_attention_norm",
                xs,
                lambda normed: self.encoder_attention(at + "encoder_attention", normed, encoded),
            )
            return self.residual(at + "feed_forward_norm", xs, lambda normed: self.relu_layers(at, normed))
        return self.evolved_decoder_block(at, xs, encoded)

    def evolved_decoder_block(self, at, xs, encoded):
        d = self.config.hidden_size

        def two_attentions(normed):
            own = self.self_attention(at + "wide_attention", normed, max(16, self.config.heads), True)
            other = self.encoder_attention(at + "first_encoder_attention", normed, encoded)
            return [a + b for a, b in zip(own, other, strict=True)]

        def branches(normed):
            left = [np.maximum(x, 0) for x in self.separable(at + "branches.left", normed, left=10)]
            right = self.separable(at + "branches.right", normed, left=6)
            both = [
                self.norm(at + "branches.norm", a + self.wider(b, 2 * d))
                for a, b in zip(left, right, strict=True)
            ]
            return self.separable(at + "branches.last", both, left=6)

        def swish_layers(normed):
            wide = [self.dense(at + "feed_forward.widen", x) for x in normed]
            wide = [self.norm(at + "feed_forward.norm", x / (1 + np.exp(-x))) for x in wide]
            return [self.dense(at + "feed_forward.narrow", x) for x in wide]

        xs = self.residual(at + "first_norm", xs, two_attentions)
        xs = self.residual(at + "branches_norm", xs, branches)
        xs = self.residual(
            at + "deep_norm",
            xs,
            lambda normed: self.self_attention(at + "deep_attention", normed, self.config.heads, True),
        )
        xs = self.residual(
            at + "second_norm",
            xs,
            lambda normed: self.encoder_attention(at + "second_encoder_attention", normed, encoded),
        )
        return self.residual(at + "feed_forward_norm", xs, swish_layers)


@pytest.mark.parametrize("architecture", ["evolved", "vanilla"])
def test_model_equals_plain_loops(architecture):
    torch.manual_seed(7)
    config = MeenaConfig(
        architecture=architecture,
        hidden_size=D,
        heads=HEADS,
        encoder_blocks=2,
        decoder_blocks=2,
        vocabulary_size=VOCABULARY,
    )
    model = Meena(config).eval()
    with torch.no_grad():  # norms and biases that are not 1 and 0
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    context = torch.randint(1, VOCABULARY, (13,))
    inputs = torch.randint(1, VOCABULARY, (14,))

    ours = model(context.unsqueeze(0), inputs.unsqueeze(0))[0].detach().numpy()

    expected = Reference(model).logits(context.tolist(), inputs.tolist())
    assert np.abs(expected).max() > 0.5  # the comparison means something
    np.testing.assert_allclose(ours, expected, atol=2e-4)
