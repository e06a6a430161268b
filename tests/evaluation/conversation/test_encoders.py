"""Encoders of local folders on small real input: files as their authors publish them, with few numbers."""

import json
import struct
from pathlib import Path

import numpy as np
import pytest
import torch

from evaluation.conversation.encoders import EncoderError, encoders
from evaluation.conversation.encoders.deepmoji import EMOJI, WEIGHTS, DeepMoji
from evaluation.conversation.encoders.sentences import InferSent, of_folder
from evaluation.conversation.encoders.word_vectors import Glove, Word2Vec, parts


def vectors_file(path: Path, of: dict[str, list[float]], head: str = "") -> None:
    lines = [f"{word} {' '.join(map(str, vector))}\n" for word, vector in of.items()]
    path.write_text(head + "".join(lines), encoding="utf-8")


def binary_file(path: Path, of: dict[str, list[float]], size: int | None = None) -> None:
    count, size = len(of), len(next(iter(of.values()))) if size is None else size
    rows = [word.encode() + b" " + struct.pack(f"<{len(v)}f", *v) + b"\n" for word, v in of.items()]
    path.write_bytes(f"{count} {size}\n".encode() + b"".join(rows))


WORDS = {"cat": [1.0, 0.0], "don't": [0.5, 0.25], "do": [0.0, 1.0], "n't": [-1.0, 2.0]}

# --- word vectors --------------------------------------------------------------------------------------


def test_vectors_of_both_kinds_of_file_are_read_alike(tmp_path: Path) -> None:
    binary, text = tmp_path / "binary", tmp_path / "text"
    for folder in (binary, text):
        folder.mkdir()
    binary_file(binary / "google.bin", WORDS)
    vectors_file(text / "some.vec", WORDS, head="4 2\n")

    for folder in (binary, text):
        index, vectors = Word2Vec.of_folder(folder).of(["cat", "don't", "isn't", "zebra"])
        # "isn't" is "is", which is not there, and "n't".
        assert {word: vectors[rows].tolist() for word, rows in index.items()} == {
            "cat": [WORDS["cat"]], "don't": [WORDS["don't"]], "isn't": [WORDS["n't"]],
        }  # fmt: skip


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"no numbers here\n", "does not begin with two numbers"),
        (b"2 2\ncat " + struct.pack("<2f", 1, 2), "ends at word 2 of 2"),
        (b"1 300\ncat " + struct.pack("<2f", 1, 2), "do not have 300 numbers"),
        (b"1 1\nzebra " + struct.pack("<f", 1), "for none of the words"),
    ],
)
def test_a_broken_binary_file_is_refused(tmp_path: Path, content: bytes, why: str) -> None:
    (tmp_path / "google.bin").write_bytes(content)

    with pytest.raises(EncoderError, match=why):
        Word2Vec.of_folder(tmp_path).of(["cat"])


def test_vectors_of_another_dimension_are_refused_with_both(tmp_path: Path) -> None:
    vectors_file(tmp_path / "some.txt", {"cat": [1, 2], "dog": [1, 2, 3]})

    with pytest.raises(EncoderError, match="“cat” has 2 numbers, that of “dog” 3"):
        Word2Vec.of_folder(tmp_path).of(["cat", "dog"])


def test_a_line_without_numbers_is_named(tmp_path: Path) -> None:
    (tmp_path / "some.txt").write_text("dog 1 2\ncat is here\n")

    with pytest.raises(EncoderError, match="line 2: what follows “cat” are not numbers"):
        Word2Vec.of_folder(tmp_path).of(["cat"])


def test_glove_splits_contractions() -> None:
    assert parts("don't") == ["do", "n't"]
    assert parts("i'm") == ["i", "'m"]
    index, vectors = Glove.packaged().of(["don't", "the", "qqqqzz"])

    assert set(index) == {"don't", "the"}
    assert (len(index["don't"]), vectors.shape) == (2, (3, 50))
    # The first number of the first line of Stanford's file.
    assert vectors[index["the"][0], 0] == pytest.approx(0.418)


# --- InferSent -----------------------------------------------------------------------------------------


@pytest.fixture
def infersent(tmp_path: Path) -> Path:
    """Its two files, with vectors of 3 numbers and 2 · 2 hidden ones."""
    torch.manual_seed(1)
    lstm = torch.nn.LSTM(3, 2, bidirectional=True)
    torch.save(
        {f"enc_lstm.{key}": value for key, value in lstm.state_dict().items()}, tmp_path / "infersent1.pkl"
    )
    rng = np.random.default_rng(2)
    words = ["<s>", "</s>", "cats", "sleep", "a", "lot"]
    vectors_file(tmp_path / "glove.txt", {word: rng.normal(size=3).round(3).tolist() for word in words})
    return tmp_path


def test_infersent_is_the_maximum_over_a_step_by_step_lstm(infersent: Path) -> None:
    encoder = of_folder(infersent)
    assert isinstance(encoder, InferSent)
    found = encoder.encode(["cats sleep", "zebra", "cats sleep a lot"])

    tensors = {k: v.double().numpy() for k, v in torch.load(infersent / "infersent1.pkl").items()}
    table = {
        line.split()[0]: np.array(line.split()[1:], dtype=float)
        for line in (infersent / "glove.txt").read_text().splitlines()
    }

    def steps(x: list[np.ndarray], way: str) -> list[np.ndarray]:
        w, u, b, c = (
            tensors[f"enc_lstm.{name}_l0{way}"] for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        )
        hidden, cell, states = np.zeros(2), np.zeros(2), []
        for each in x:
            i, f, g, o = np.split(w @ each + b + u @ hidden + c, 4)
            i, f, o = (1 / (1 + np.exp(-gate)) for gate in (i, f, o))
            cell = f * cell + i * np.tanh(g)
            hidden = o * np.tanh(cell)
            states.append(hidden)
        return states

    for row, text in enumerate(["cats sleep", "", "cats sleep a lot"]):  # "zebra" has no vector
        x = [table[word] for word in ["<s>", *text.split(), "</s>"]]
        forward, backward = steps(x, ""), steps(x[::-1], "_reverse")[::-1]
        wanted = np.max([np.concatenate(both) for both in zip(forward, backward, strict=True)], axis=0)
        assert found[row].tolist() == pytest.approx(wanted.tolist(), abs=1e-5)


def test_infersent_with_vectors_of_another_dimension_is_refused(infersent: Path) -> None:
    vectors_file(infersent / "glove.txt", {word: [1, 2] for word in ("<s>", "</s>", "cats")})

    with pytest.raises(EncoderError, match=r"wants vectors of 3 numbers, and those of glove\.txt have 2"):
        of_folder(infersent).encode(["cats"])


def test_infersent_without_vectors_for_the_ends_is_refused(infersent: Path) -> None:
    vectors_file(infersent / "glove.txt", {"cats": [1, 2, 3]})

    with pytest.raises(EncoderError, match="no vectors for the ends of a sentence"):
        of_folder(infersent).encode(["cats"])


# --- DeepMoji ------------------------------------------------------------------------------------------


@pytest.fixture
def deepmoji(tmp_path: Path) -> Path:
    """Its two files, with embeddings of 3 numbers and 2 · 2 hidden ones."""
    torch.manual_seed(3)
    tensors = {"embed.weight": torch.randn(6, 3), "attention_layer.attention_vector": torch.randn(11)}
    for layer, wide in (("lstm_0", 3), ("lstm_1", 4)):
        lstm = torch.nn.LSTM(wide, 2, bidirectional=True)
        tensors |= {f"{layer}.{key}": 3 * value.detach() for key, value in lstm.state_dict().items()}
    tensors |= {"output_layer.0.weight": torch.randn(64, 11), "output_layer.0.bias": torch.randn(64)}
    torch.save(tensors, tmp_path / "pytorch_model.bin")
    names = ["CUSTOM_MASK", "CUSTOM_UNKNOWN", "cats", "sleep", "!", "i"]
    (tmp_path / "vocabulary.json").write_text(json.dumps({name: row for row, name in enumerate(names)}))
    return tmp_path


def test_deepmoji_is_what_a_step_by_step_loop_gives(deepmoji: Path) -> None:
    found = DeepMoji.of_folder(deepmoji).distribution(["Cats sleep!", "zebra", "i", "cats cats"])

    w = {k: v.double().numpy() for k, v in torch.load(deepmoji / "pytorch_model.bin").items()}

    def lstm(x: list[np.ndarray], layer: str, way: str) -> list[np.ndarray]:
        hidden, cell, states = np.zeros(2), np.zeros(2), []
        for each in x:
            gates = w[f"{layer}.weight_ih_l0{way}"] @ each + w[f"{layer}.bias_ih_l0{way}"]
            gates = gates + w[f"{layer}.weight_hh_l0{way}"] @ hidden + w[f"{layer}.bias_hh_l0{way}"]
            i, f, g, o = np.split(gates, 4)
            i, f, o = (np.clip(0.2 * gate + 0.5, 0, 1) for gate in (i, f, o))
            cell = f * cell + i * np.tanh(g)
            hidden = o * np.tanh(cell)
            states.append(hidden)
        return states

    def both(x: list[np.ndarray], layer: str) -> list[np.ndarray]:
        back = lstm(x[::-1], layer, "_reverse")[::-1]
        return [np.concatenate(pair) for pair in zip(lstm(x, layer, ""), back, strict=True)]

    for row, rows in enumerate([[2, 3, 4], [1], [5], [2, 2]]):
        x = [np.tanh(w["embed.weight"][each]) for each in rows]
        first = both(x, "lstm_0")
        second = both(first, "lstm_1")
        states = np.array([np.concatenate(each) for each in zip(second, first, x, strict=True)])
        weight = np.exp(states @ w["attention_layer.attention_vector"])
        scores = w["output_layer.0.weight"] @ (weight / weight.sum() @ states) + w["output_layer.0.bias"]
        wanted = np.exp(scores) / np.exp(scores).sum()
        assert found[row].tolist() == pytest.approx(wanted.tolist(), abs=1e-5)


def test_sentiment_is_the_weighted_sum_of_the_emoji(deepmoji: Path) -> None:
    encoder, texts = DeepMoji.of_folder(deepmoji), ["cats", "sleep"]
    weights = {name: weight for weight, names in WEIGHTS.items() for name in names}

    by_hand = [
        sum(weights.get(name, 0) * p for name, p in zip(EMOJI, row, strict=True))
        for row in encoder.distribution(texts).tolist()
    ]

    assert encoder.sentiment(texts).tolist() == pytest.approx(by_hand)


@pytest.mark.shared_data
def test_the_emoji_and_their_weights_are_the_published_ones() -> None:
    path = Path(__file__).parents[4] / "shared/data/neural-chat/neural_chat_constants.json"
    if not path.exists():
        pytest.skip("no ../shared")
    published = json.loads(path.read_text())

    assert {name: weight for weight, names in WEIGHTS.items() for name in names} == published["emoji_weights"]
    assert list(EMOJI) == published["deepmoji_order"]


# --- folders that are not ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "why"),
    [
        ("emotions", "no pytorch_model.bin or .*, which is the weights of DeepMoji"),
        ("sentences", "no config.json, nor the weights of InferSent"),
        ("vectors", "which is a file of word vectors"),
    ],
)
def test_an_incomplete_folder_names_the_missing_files(tmp_path: Path, kind: str, why: str) -> None:
    with pytest.raises(EncoderError, match=why):
        encoders(**{kind: tmp_path})
    with pytest.raises(EncoderError, match="no "):
        encoders(**{kind: tmp_path / "nowhere"})


def test_a_pickle_is_never_executed(deepmoji: Path) -> None:
    class Harm:
        def __reduce__(self) -> tuple[object, tuple[str, ...]]:
            return (print, ("harm",))

    torch.save({"embed.weight": Harm()}, deepmoji / "pytorch_model.bin")

    with pytest.raises(EncoderError, match="no weights of PyTorch"):
        DeepMoji.of_folder(deepmoji).distribution(["cats"])


def test_weights_of_another_model_are_refused(deepmoji: Path) -> None:
    torch.save({"embed.weight": torch.zeros(1, 1)}, deepmoji / "pytorch_model.bin")

    with pytest.raises(EncoderError, match=r"no attention_layer\.attention_vector"):
        DeepMoji.of_folder(deepmoji).distribution(["cats"])
