"""The nearest sentence, against scikit-learn and by hand; sentences; the figures of Topical-Chat."""

import json
import random
import string

import numpy as np
import pytest
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import linear_kernel

from chatbots.knowledge import oracle
from chatbots.knowledge.conversations import (
    ConversationsError,
    by_configuration,
    read_conversations,
    read_reading_sets,
)
from chatbots.knowledge.corpus import Library
from chatbots.knowledge.oracle import NONE, Ranker, sentences_of, words_near
from chatbots.knowledge.splitting import familiarity, frequencies
from tests.chatbots.knowledge.topical_chat import PARTS, SHARED, write_published


def in_a_loop(sentences, texts, candidates):
    vectorizer = TfidfVectorizer().fit(sentences)
    vectors, found = vectorizer.transform(sentences), []
    for text, places in zip(texts, candidates, strict=True):
        cosines = (
            linear_kernel(vectorizer.transform([text]), vectors[places])[0].round(12) if len(places) else [0]
        )
        best = int(np.argmax(cosines))
        found.append((places[best], cosines[best]) if cosines[best] > 0 else (NONE, 0.0))
    return found


def test_weights_and_choice_are_scikit_learn_s(monkeypatch):
    monkeypatch.setattr(oracle, "PAIRS_AT_ONCE", 50)  # several blocks
    chance = random.Random(7)
    words = ["".join(chance.choices(string.ascii_lowercase, k=chance.randint(1, 4))) for _ in range(60)]

    def some(most):
        return [" ".join(chance.choices(words, k=chance.randint(0, most))).title() for _ in range(40)]

    sentences, texts = [*some(12), "Zoë's café", "zoë"], [*some(9), "zoë café", "… !"]
    candidates = [chance.sample(range(len(sentences)), chance.randint(0, 15)) for _ in texts]

    nearest = Ranker(sentences).nearest(texts, candidates)

    wanted = in_a_loop(sentences, texts, candidates)
    assert nearest.sentences.tolist() == [place for place, _ in wanted]
    assert nearest.cosines.tolist() == pytest.approx([cosine for _, cosine in wanted])
    assert NONE in nearest.sentences


def test_of_equal_ones_the_first_and_of_zeros_none():
    ranker = Ranker(["jazz is old", "old jazz is", "cats sleep"])
    found = ranker.nearest(["Old JAZZ!", "old jazz", "a b c", "jazz"], [[1, 0], [2, 0, 1], [0, 1, 2], []])
    assert found.sentences.tolist() == [1, 0, NONE, NONE]
    assert Ranker([]).nearest(["hi"], [[]]).sentences.tolist() == [NONE]


def test_a_bot_asks_with_the_newest_words_and_the_whole_last_turn():
    words = ["a", "b", "c", "d", "e"]
    assert words_near(words, last=2, most=3) == "c d e"
    assert words_near(words, last=4, most=3) == "b c d e"


@pytest.mark.parametrize(
    ("text", "sentences"),
    [
        ("One. Two! Three? four", ["One.", "Two!", "Three? four"]),
        ('He said "stop." Then he left.', ['He said "stop."', "Then he left."]),
        ("Dr. Who met J. R. R. Tolkien. The U.S. Army came.", None),
        ("A line\nanother line\n\n third. ", ["A line", "another line", "third."]),
        ("It cost 3.50 in 1999. 2000 came.", ["It cost 3.50 in 1999.", "2000 came."]),
        ("  \n ", []),
    ],
)
def test_sentences_end_where_they_end(text, sentences):
    wanted = ["Dr. Who met J. R. R. Tolkien.", "The U.S. Army came."] if sentences is None else sentences
    assert sentences_of(text) == wanted


@pytest.fixture(scope="module")
def published(tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    write_published(folder)
    sets = read_reading_sets([folder / "reading_sets.json"])
    return sets, {part: read_conversations(folder / f"{part}.json", sets) for part in PARTS}


@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.exists(), reason=f"{SHARED} is absent")
def test_table_2_of_the_release_and_how_familiar_its_entities_are(published):
    _, parts = published
    table = by_configuration(parts)

    found = {part: (of["all"].conversations, of["all"].utterances) for part, of in table.items()}
    # Of the validation sets the release's README has the same numbers of conversations and utterances.
    assert found == {"train": (1524, 33305), "valid_freq": (539, 11681), "valid_rare": (539, 11692)}
    assert [round(table[part]["all"].length, 2) for part in PARTS] == [19.55, 19.82, 19.61]
    assert (
        sum(of.words for name, of in table["train"].items() if name != "all") == table["train"]["all"].words
    )
    trained = frequencies(parts["train"])
    told = {part: familiarity(of, trained) for part, of in parts.items()}
    assert [told[part].rarest_median for part in PARTS] == [13, 42, 5]
    assert (round(told["valid_rare"].mean), told["valid_freq"].unseen) == (19, 0)
    assert round(told["valid_rare"].unseen, 2) == 0.06


@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.exists(), reason=f"{SHARED} is absent")
def test_the_nearest_sentences_of_real_turns_are_scikit_learn_s(published):
    sets, parts = published
    library = Library(sets.values())
    texts, candidates = library.candidates(parts["valid_rare"][:5])

    nearest = Ranker(library.sentences).nearest(texts, candidates)

    assert nearest.sentences.tolist() == [p for p, _ in in_a_loop(library.sentences, texts, candidates)]
    assert (nearest.sentences != NONE).mean() > 0.9


def test_files_that_are_none_are_said(tmp_path):
    def conversations(document, sets=None):
        path = tmp_path / "c.json"
        path.write_text(document if isinstance(document, str) else json.dumps(document))
        with pytest.raises(ConversationsError) as caught:
            read_conversations(path, sets or {})
        return str(caught.value)

    turn = {"agent": "agent_1", "message": "Hi!"}
    assert "is not JSON" in conversations("{")
    assert "no conversations" in conversations({})
    assert "conversation t_1: there is no 'content'" in conversations({"t_1": {"config": "A"}})
    assert "config = 'E' is none of A, B, C, D" in conversations({"t_1": {"config": "E", "content": [turn]}})
    strange = {"config": "A", "content": [turn, turn | {"agent": "me"}]}
    assert "agent = 'me'" in conversations({"t_1": strange})
    assert "no reading set is of it" in conversations(
        {"t_1": {"config": "A", "content": [turn]}}, {"t_2": None}
    )
    path = tmp_path / "r.json"
    path.write_text(
        json.dumps({"t_1": {"config": "A", "agent_1": {"FS1": {"entity": "x", "fun_facts": [3]}}}})
    )
    with pytest.raises(ValueError, match=r"reading set t_1: 3 is not text\."):
        read_reading_sets([path])
