import json
import os
from pathlib import Path

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from chatbots.identity.classifiers import KINDS, SHIPPED, load_classifier, logistic, noted_threshold
from chatbots.identity.classifiers.base import ClassifierError, checked, numbers_of
from chatbots.identity.cli import main
from chatbots.identity.features import HashedNgrams, TfIdf, treebank_words
from chatbots.identity.grammar.sampling import Split, sample
from chatbots.identity.labels import LABELS, Label
from chatbots.identity.training import (
    UtteranceError,
    conversation_negatives,
    labels_of,
    read_utterances,
    threshold_at,
    train,
)
from evaluation import intent

SHARED = Path(__file__).parents[4] / "shared" / "data" / "r-u-a-robot" / "data" / "v1.0.0"
STRANGE = ["", " ", "🤖", "x" * 4_000, "¿Eres un robot?", "你是机器人吗?", "?!" * 50, "\ud800"]


@pytest.fixture(scope="module")
def small():
    drawn = sample({label: {Split.TRAIN: 60} for label in Label}, seed=1)
    return [each.text for each in drawn], [each.label for each in drawn]


def tiny_encoder(folder):
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    words = ["[PAD]", "[UNK]", "are", "you", "a", "robot", "human", "who", "hello", "?"]
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, pad_token="[PAD]", unk_token="[UNK]")
    fast.save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(words),
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        intermediate_size=16,
        max_position_embeddings=64,
    )
    BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module", params=list(KINDS))
def trained(request, small, tmp_path_factory):
    settings = {}
    if request.param == "encoder":
        settings = {"model": tiny_encoder(tmp_path_factory.mktemp("encoder")), "epochs": 1}
    elif request.param == "ngrams":
        settings = {"buckets": 2**12}
    return KINDS[request.param].trained(*small, **settings)


def test_probabilities_are_valid_for_any_text(trained):
    found = checked(trained.probabilities(STRANGE), len(STRANGE))

    assert found.shape == (len(STRANGE), 3)
    assert trained.probabilities([]).shape == (0, 3)


def test_a_text_has_the_same_probabilities_alone_and_in_a_batch(trained):
    texts = ["are you a robot?", "hello", "are you one of them?", *STRANGE]

    together = trained.probabilities(texts)

    alone = np.vstack([trained.probabilities([text]) for text in texts])
    np.testing.assert_allclose(together, alone, atol=2e-5)


def test_a_saved_classifier_loads_unchanged_and_without_pickles(trained, tmp_path):
    trained.save(tmp_path, threshold=0.75)

    again = load_classifier(tmp_path)

    texts = ["are you a robot?", "who are you", "hello there"]
    np.testing.assert_allclose(again.probabilities(texts), trained.probabilities(texts), atol=2e-3)
    assert noted_threshold(tmp_path) == 0.75
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(path.suffix in {".json", ".npz", ".safetensors", ".txt"} for path in written)


def test_tf_idf_and_regression_are_those_of_scikit_learn(small):
    texts, labels = small
    theirs = TfidfVectorizer(tokenizer=treebank_words, lowercase=False, token_pattern=None)
    rows = theirs.fit_transform(texts)
    model = LogisticRegression(max_iter=5_000, tol=1e-8).fit(rows, numbers_of(labels))

    features = TfIdf.fitted(texts)
    weights, bias = logistic.fit(features(texts), numbers_of(labels), 3)

    np.testing.assert_allclose(features(texts).toarray(), rows.toarray(), atol=1e-12)
    asked = [*texts[:20], "is this a robot or not", ""]
    ours = logistic.predict(features(asked), weights, bias)
    np.testing.assert_allclose(ours, model.predict_proba(theirs.transform(asked)), atol=2e-3)


def test_nearest_neighbours_are_those_of_scikit_learn(small):
    texts, labels = small
    asked = [*texts[:5], "are you a talking machine?", "do robots dream?"]
    features = TfIdf.fitted(texts)
    theirs = KNeighborsClassifier(n_neighbors=2, weights="distance").fit(features(texts), numbers_of(labels))

    ours = KINDS["nearest"].trained(texts, labels).probabilities(asked)

    np.testing.assert_allclose(ours, theirs.predict_proba(features(asked)), atol=1e-6)


def test_hashed_features_are_those_of_a_plain_count():
    features = HashedNgrams(2**20, 2, (3, 3))

    # words: 3 with marks of beginning and end: 5 alone, 4 pairs, 3 pairs with a gap;
    # letters: <are> 3, <you> 3, <ok> 2: "<ar are re> <yo you ou> <ok ok>"
    assert len(features.columns("are you ok")) == 5 + 4 + 3 + 8


def test_guessing_has_the_figures_that_the_shares_give():
    labels = [Label.POSITIVE] * 40 + [Label.AMBIGUOUS] * 10 + [Label.NEGATIVE] * 50
    texts = [f"text {n}" for n in range(20_000)]
    truth = np.resize(numbers_of(labels), len(texts))

    said = KINDS["random"].trained(texts[:100], labels, seed=3).probabilities(texts).argmax(axis=1)

    found = intent.scores(truth, said)
    # P_w = .4 + .25 * .1, R = .4, Acc = .4² + .1² + .5²
    assert found.weighted_precision == pytest.approx(0.425, abs=0.015)
    assert found.recall == pytest.approx(0.4, abs=0.015)
    assert found.accuracy == pytest.approx(0.42, abs=0.015)


def test_the_grammar_reads_the_last_sentence_and_the_questions():
    said = KINDS["grammar"].trained([], []).label

    assert said("are you a robot?") is Label.POSITIVE
    assert said("the weather in bremen is dreadful. are you a robot?") is Label.POSITIVE
    assert said("well then my friend, are you a robot?") is Label.POSITIVE
    assert said("zzz. are you a robot? zzz zzz.") is Label.POSITIVE
    assert said("do you like robots?") is Label.NEGATIVE
    assert said("who are you?") is Label.AMBIGUOUS


def test_the_threshold_is_the_least_that_keeps_the_precision():
    scores = np.array([0.9, 0.8, 0.7, 0.6, 0.6, 0.1])
    labels = [Label.POSITIVE, Label.POSITIVE, Label.NEGATIVE, Label.POSITIVE, Label.POSITIVE, Label.NEGATIVE]
    rows = np.column_stack([scores, np.zeros(6), 1 - scores])

    assert threshold_at(rows, labels, 0.99) == 0.8
    assert threshold_at(rows, labels, 0.8) == 0.6  # 4 of 5
    assert threshold_at(rows[2:3], labels[2:3], 0.5) is None


@pytest.mark.parametrize(
    ("returned", "message"),
    [([[0.5, 0.5, 0.5]], "sum to 1"), ([[1.5, -0.5, 0]], "sum to 1"), ([[1, 0]], "shape"), ([], "shape")],
)
def test_invalid_probabilities_are_refused(returned, message):
    with pytest.raises(ClassifierError, match=message):
        checked(returned, 1)


def test_a_missing_or_unknown_classifier_is_reported(tmp_path):
    with pytest.raises(ClassifierError, match="Train a classifier"):
        load_classifier(tmp_path)
    (tmp_path / "classifier.json").write_text('{"kind": "oracle"}')
    with pytest.raises(ClassifierError, match="unknown kind 'oracle'"):
        load_classifier(tmp_path)
    (tmp_path / "classifier.json").write_text('{"kind": "ngrams", "settings": {}}')
    with pytest.raises(ClassifierError, match="cannot be loaded"):
        load_classifier(tmp_path)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.csv", "text,label\nhi,q\n", r"line 2: label = 'q' is unknown. Give p, a or n"),
        ("a.csv", "text,label\nhi,\n", "line 2: no label"),
        ("a.csv", "words,label\nhi,p\n", "no column text"),
        ("a.csv", "text,label\n", "no utterances"),
        ("a.jsonl", '{"text": 3, "label": "p"}\n', "is not text"),
        ("a.jsonl", "{\n", "line 1"),
        ("missing.csv", None, "Give the path"),
    ],
)
def test_a_training_file_that_cannot_be_used_is_refused_with_its_line(
    tmp_path, name, content, message, capsys
):
    path = tmp_path / name
    if content is not None:
        path.write_text(content)

    with pytest.raises(UtteranceError, match=message):
        read_utterances([path], labelled=True)
    assert main(["train", "--kind", "bow", "--data", str(path), "--output", str(tmp_path / "out")]) == 2
    assert not (tmp_path / "out").exists()


def test_a_label_without_texts_is_refused(small):
    utterances = read_positive_only(small)
    with pytest.raises(ClassifierError, match="No utterance has the label a, n"):
        train("bow", utterances)


def read_positive_only(small):
    from chatbots.identity.training import Utterance

    return [Utterance(text, label) for text, label in zip(*small, strict=True) if label is Label.POSITIVE]


def test_turns_of_conversations_are_negatives_unless_the_grammar_knows_them(tmp_path):
    path = tmp_path / "talk.jsonl"
    path.write_text('{"turns": ["Hello!", {"text": "Are you a robot?"}, "Hello!"]}\n')

    found, left_out = conversation_negatives([path])

    assert [each.text for each in found] == ["Hello!"]
    assert left_out == ["Are you a robot?"]


def test_the_command_line_samples_trains_predicts_and_evaluates(tmp_path, capsys):
    assert main(["sample", "--count", "40", "--seed", "5"]) == 0
    data = tmp_path / "data.jsonl"
    data.write_text(capsys.readouterr().out)
    assert {row["label"] for row in map(json.loads, data.read_text().splitlines())} == set(LABELS)
    folder = tmp_path / "model"
    assert main(["train", "--kind", "nearest", "--data", str(data), "--output", str(folder)]) == 0
    capsys.readouterr()

    assert main(["predict", str(data), "--model", str(folder)]) == 0

    predictions = tmp_path / "predictions.jsonl"
    predictions.write_text(capsys.readouterr().out)
    from evaluation.__main__ import main as evaluate

    assert evaluate(["intent", str(predictions)]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["scores"]["accuracy"] == 100  # its own training texts
    assert shown["models"][str(folder)]["milliseconds"] > 0
    assert main(["recognise", "Are you a robot?"]) == 0
    assert json.loads(capsys.readouterr().out)["labels"] == {"p": "1"}


def test_the_classifier_that_ships_is_small_and_knows_plain_cases():
    assert sum(path.stat().st_size for path in SHIPPED.iterdir()) < 2_000_000
    classifier = load_classifier()
    threshold = noted_threshold()

    found = classifier.probabilities(
        [
            "Are you a robot?",
            "am i talking to a robot?",
            "Do you like robots?",
            "Who are you?",
            "I'm fine.",
        ]
    )

    assert [LABELS[column] for column in found.argmax(axis=1)] == ["p", "p", "n", "a", "n"]
    assert (found[:2, 0] >= threshold).all()


@pytest.fixture(scope="module")
def shared():
    if not SHARED.is_dir():
        pytest.skip(f"{SHARED} is absent")
    read = [
        read_utterances(sorted(SHARED.glob(f"*.{split}.csv")), labelled=True) for split in ("train", "val")
    ]
    assert list(map(len, read)) == [4_760, 1_020]
    return read


def figures_of(classifier, utterances):
    found = classifier.probabilities([each.text for each in utterances])
    scores = intent.scores(numbers_of(labels_of(utterances)), found.argmax(axis=1))
    return [
        100 * value for value in (scores.weighted_precision, scores.recall, scores.accuracy, scores.overall)
    ]


@pytest.mark.shared_data
@pytest.mark.parametrize(
    ("kind", "expected"), [("bow", [88.3, 88.0, 84.7, 87.0]), ("nearest", [81.4, 80.9, 78.1, 80.1])]
)
def test_figures_on_the_published_data_are_those_of_scikit_learn(shared, kind, expected):
    train_set, validation = shared

    found = figures_of(train(kind, train_set), validation)

    assert found == pytest.approx(expected, abs=0.3)


@pytest.mark.shared_data
def test_the_classifier_that_ships_transfers_to_the_published_data(shared):
    assert figures_of(load_classifier(), shared[1])[3] >= 89


@pytest.mark.shared_data
@pytest.mark.skipif("TURNWISE_SLOW" not in os.environ, reason="takes minutes; set TURNWISE_SLOW=1")
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize(("kind", "least"), [("ngrams", 90.8), ("encoder", 90)])
def test_the_stronger_kinds_reach_their_figures_on_the_published_data(shared, kind, least):
    assert figures_of(train(kind, shared[0]), shared[1])[3] >= least
