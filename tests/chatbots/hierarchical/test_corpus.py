"""Words, conversations, and what the teachers say of them."""

import json

import numpy as np
import pytest

from chatbots.hierarchical.corpus import CorpusSettings, Part, build, chains, key_of, part_of_text, pieces
from chatbots.hierarchical.distillation import TargetFile
from chatbots.meena.corpus.reading import Message, Tree
from chatbots.training.files import CorpusError
from chatbots.training.vocabulary import END, UNKNOWN, Vocabulary, VocabularyError, text_of, words_of
from evaluation.conversation import targets
from evaluation.conversation.encoders import EncoderError, Encoders
from evaluation.conversation.encoders.vader import Vader


@pytest.mark.parametrize(
    ("text", "words", "back"),
    [
        ("Don't you?", ["don't", "you", "?"], "Don't you?"),
        ("I\u2019m 21, (really)!", ["i'm", "21", ",", "(", "really", ")", "!"], "I'm 21, (really)!"),
        ("so i said. yes", ["so", "i", "said", ".", "yes"], "So I said. Yes"),
        ("👍\u200b", ["👍"], "👍"),
        ("  ", [], ""),
    ],
)
def test_words_and_back(text, words, back):
    assert words_of(text) == words
    assert text_of(words) == back


def test_a_vocabulary_is_the_most_frequent_words():
    vocabulary = Vocabulary.of(["b b b a a a c c", "d a"], most=7, least_occurrences=2)

    assert vocabulary.words[4:] == ("a", "b", "c")
    assert len(Vocabulary.of(["b b b a a a c c"], most=6, least_occurrences=2)) == 6
    assert vocabulary.encode("A d, c", length=9) == [4, UNKNOWN, UNKNOWN, 6, END]
    assert vocabulary.encode("a b c", length=3) == [4, 5, 6]
    assert vocabulary.encode("", length=3) == [END]
    assert vocabulary.decode([4, UNKNOWN, 6, END]) == "A c"
    assert Vocabulary.from_json(vocabulary.to_json()).words == vocabulary.words
    with pytest.raises(VocabularyError, match="No word occurs 5 times or more"):
        Vocabulary.of(["a b c"])
    for content, message in (
        (b"[1]", "not a JSON list of words"),
        (b"{", "not JSON"),
        (b'["a", "a"]', "each once"),
    ):
        with pytest.raises(VocabularyError, match=message):
            Vocabulary.from_json(content)


def test_a_tree_gives_a_conversation_for_each_way_down_cut_where_a_message_goes():
    #   0 - 1 - 2
    #        \ 3 - 4
    messages = [Message(text, "", parent) for text, parent in zip("abcde", (-1, 0, 1, 1, 3), strict=True)]

    assert list(chains(Tree("k", messages), [True] * 5)) == [["a", "b", "c"], ["a", "b", "d", "e"]]
    cut = list(chains(Tree("k", messages), [True, True, True, False, True]))
    assert cut == [["a", "b", "c"], ["e"], ["a", "b"]]


def test_pieces_make_every_message_but_the_first_an_answer_once():
    for length in range(12):
        found = list(pieces([str(i) for i in range(length)], 4))
        assert all(2 <= len(piece) <= 4 for piece in found)
        answers = [turn for piece in found for turn in piece[1:]]
        assert answers == [str(i) for i in range(1, length)]


@pytest.fixture(scope="module")
def talk(tmp_path_factory):
    path = tmp_path_factory.mktemp("talk") / "talk.jsonl"
    said = [
        {"id": str(i), "turns": ["Hi there!", f"I love my cat, do you {word}?", "No, it is awful."]}
        for i, word in enumerate(("run", "swim", "read", "sing") * 10)
    ]
    said += [{"turns": ["Hi there!", "See www.example.com", "Oh", "Yes it is"]}, {"turns": [{"text": 3}]}]  # type: ignore[list-item]
    path.write_text("\n".join(map(json.dumps, said)) + "\nnonsense\n")
    return path


def test_a_corpus_holds_the_conversations(tmp_path, talk):
    settings = CorpusSettings(vocabulary_size=30, validation=0.2, test=0.2, safety="none")
    report = build([talk], tmp_path, settings)

    vocabulary = Vocabulary.from_json((tmp_path / "vocabulary.json").read_bytes())
    parts = {name: Part.load(tmp_path / f"{name}.npz") for name in ("train", "validation", "test")}
    assert sum(map(len, parts.values())) == 41
    assert all(len(part) > 2 for part in parts.values())
    assert (report["malformed"], report["removed"]) == (2, {"a web address": 1})
    part = parts["train"]
    first = [vocabulary.decode(words) for words in part.conversation(0)]
    assert first[0] == "Hi there!"
    assert first[1].startswith("I love my cat, do you")
    assert part.keys[0] == key_of("Hi there!") == targets.key_of(" Hi there!")
    assert report["train"]["words"] == len(part.words)


def test_input_that_cannot_become_a_corpus_is_refused(tmp_path):
    (tmp_path / "one.jsonl").write_text('{"turns": ["Hi"]}\nno\n')
    with pytest.raises(
        CorpusError, match=r"No conversation is left to learn from: 1 of 2 lines are malformed"
    ):
        build([tmp_path / "one.jsonl"], tmp_path / "out", CorpusSettings(safety="none"))
    with pytest.raises(CorpusError, match="holds no conversation of two turns: 1 of 2 lines are malformed"):
        part_of_text(tmp_path / "one.jsonl", Vocabulary(["a"]), length=5, utterances=5)
    with pytest.raises(
        CorpusError, match=r"cannot be read .*Build it with 'python -m chatbots hierarchical corpus'"
    ):
        Part.load(tmp_path / "one.jsonl")
    with pytest.raises(ValueError, match=r"validation=0\.7 must be at least 0 and at most 0\.49"):
        CorpusSettings(validation=0.7)


class OneHot:
    """Vectors of four words, to compute by hand."""

    name = "one-hot"

    def of(self, words):
        known = [word for word in ("cat", "dog", "red", "big") if word in words]
        return {word: [row] for row, word in enumerate(known)}, np.eye(4, dtype=np.float32)[: len(known)]


def test_targets_are_found_by_text(tmp_path):
    texts = ["cat", "dog", "red cat", "big", "", "cat"]
    taught = targets.compute_targets(
        texts, Encoders(emotions=Vader(), vectors=OneHot()), by_words=True, kept=1.0
    )
    (tmp_path / "targets.npz").write_bytes(taught.to_npz())
    found = TargetFile(tmp_path / "targets.npz")

    assert (found.emotions, found.semantics) == (3, len(taught.semantics[0]))
    assert found.about["semantics"] == "one-hot: mean of the words"
    vectors = targets.mean_vectors(["cat", "red cat", "", "what"], OneHot())
    assert vectors[:, :2].tolist() == [[1, 0], [0.5, 0.5], [0, 0], [0, 0]]
    # principal components keep distances, here in units of the total variance
    plain = targets.mean_vectors(list(dict.fromkeys(texts)), OneHot())
    scale = plain.var(axis=0).sum()
    for a, b in ((0, 1), (1, 2), (3, 4)):
        distance = ((taught.semantics[a] - taught.semantics[b]) ** 2).sum()
        assert distance == pytest.approx(((plain[a] - plain[b]) ** 2).sum() / scale, rel=1e-3)
    assert taught.semantics.var(axis=0).sum() == pytest.approx(1, rel=1e-3)


def test_reducing_keeps_the_share_of_the_variance_asked_for():
    random = np.random.default_rng(0)
    vectors = (random.normal(size=(500, 6)) * [5, 4, 1, 0.5, 0.1, 0.1]).astype(np.float32)
    directions = np.linalg.svd(vectors - vectors.mean(axis=0))[1] ** 2
    shares = np.cumsum(directions) / directions.sum()

    for kept in (0.5, 0.95, 0.999):
        found = targets.reduced(vectors, kept)
        assert found.shape[1] == int((shares < kept).sum()) + 1
        assert found.var(axis=0).sum() == pytest.approx(shares[found.shape[1] - 1], rel=1e-4)


def test_shares_of_sentiment_sum_to_one():
    shares = Vader().shares(["I love it", "It is awful", "table", ""])

    assert shares.sum(axis=1) == pytest.approx(1)
    assert shares.argmax(axis=1).tolist()[2:] == [1, 1]
    assert shares[0, 2] > shares[0, 0]
    assert shares[1, 0] > shares[1, 2]


@pytest.mark.parametrize(
    ("texts", "encoders", "message"),
    [
        (["a"], Encoders(), "fewer than two different texts"),
        (["a", "b"], Encoders(), "There is no encoder of emotions"),
        (["a", "b"], Encoders(emotions=Vader()), "There are no word vectors"),
        (["a", "b"], Encoders(emotions=Vader(), vectors=OneHot()), "All texts have the same vector"),
    ],
)
def test_unusable_input_of_targets_is_refused(texts, encoders, message):
    with pytest.raises(EncoderError, match=message):
        targets.compute_targets(texts, encoders, by_words=True)
