"""From lines to token files."""

import gzip
import json
from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from chatbots.meena.corpus.building import BELOW, Corpus, CorpusSettings, Reservoir, over_parts
from chatbots.meena.corpus.filters import FILTERS, Candidate, CountSketch, reason_to_remove, without_quotes
from chatbots.meena.corpus.reading import ReadingReport, read_trees
from chatbots.meena.corpus.shards import Shard, ShardWriter, open_shards
from chatbots.meena.tokenizer import Tokenizer, fit_context
from chatbots.training.files import CorpusError

SETTINGS = CorpusSettings(vocabulary_size=60, heldout=0.0, safety="none")


def write_lines(path, *records):
    path.write_text("".join((r if isinstance(r, str) else json.dumps(r)) + "\n" for r in records))
    return path


def message(identity, parent, text="some words here", author="ann"):
    return {"id": identity, "parent": parent, "author": author, "text": text}


def read(path):
    report = ReadingReport()
    return list(read_trees(path, report)), report


def test_trees_are_put_together_from_messages_in_any_order(tmp_path):
    path = write_lines(
        tmp_path / "m.jsonl",
        message("c", "b", "third"),
        message("a", None, "first"),
        message("d", "a", "other answer"),
        message("b", "a", "second"),
    )
    ((key, messages),), _ = read(path)
    assert key == "a"
    assert [(m.text, m.parent) for m in messages] == [
        ("first", -1),
        ("other answer", 0),
        ("second", 0),
        ("third", 2),
    ]


def test_a_conversation_is_a_tree_without_branches(tmp_path):
    path = tmp_path / "c.jsonl.gz"
    with gzip.open(path, "wt") as file:
        file.write(json.dumps({"id": "x", "turns": ["Hi!", {"agent": "agent_2", "text": " Hello you\n"}]}))
    ((key, messages),), _ = read(path)
    assert key == "x"
    assert [(m.text, m.parent) for m in messages] == [("Hi!", -1), ("Hello you", 0)]


def test_malformed_lines_are_counted_with_their_numbers(tmp_path):
    path = write_lines(
        tmp_path / "m.jsonl",
        message("a", None),
        "{not json",
        "",
        "[1, 2]",
        {"id": "b", "parent": "a", "text": 5},
        {"turns": 3},
        {"parent": "a"},
    )
    trees, report = read(path)
    assert len(trees) == 1
    assert (report.lines, report.malformed) == (6, 5)
    found = [line.split(":")[0] for line in report.malformed_lines]
    assert found == [f"m.jsonl, line {n}" for n in (2, 4, 5, 6, 7)]


BAD_LINES = {
    "half a surrogate pair in a text": '{"id": "x", "parent": "a", "text": "so \\ud800 it goes"}',
    "half a surrogate pair in an author": '{"id": "x", "author": "\\ud800", "text": "so it goes"}',
    "half a surrogate pair in a turn": '{"turns": ["so it goes", "\\udfff"]}',
    "half a surrogate pair in the id of a conversation": '{"id": "\\udfff", "turns": ["so it goes"]}',
    "brackets without end": "[" * 100_000,
    "objects without end": '{"a":' * 100_000,
    "a number of many digits": '{"id": ' + "9" * 5000 + ', "text": "so it goes"}',
    "a text as turns": '{"turns": "hello"}',
    "an object as turns": '{"turns": {"text": "hello"}}',
    "a turn in a turn": '{"turns": [["hello"]]}',
    "no JSON": "so it goes",
    "NaN alone": "NaN",
}


def test_the_corpus_of_bad_lines_is_counted_and_the_rest_built(tmp_path, build):
    part = write_lines(tmp_path / "m.jsonl", *TREE, *BAD_LINES.values())
    settings = CorpusSettings(vocabulary_size=60, heldout=0.0, safety="none", most_malformed=1)
    report = build(tmp_path / "corpus", part, settings=settings)
    assert (report["train"]["pairs"], report["reading"]["malformed"]) == (2, len(BAD_LINES))
    lines = [line.split(":")[0] for line in report["reading"]["malformed_lines"]]
    assert lines == [f"m.jsonl, line {len(TREE) + 1 + n}" for n in range(len(BAD_LINES))]


@pytest.mark.parametrize("damage", ["cut off", "no gzip", "garbled"])
def test_a_damaged_file_is_a_malformed_line_where_it_breaks_off(tmp_path, damage):
    path, random = tmp_path / "m.jsonl.gz", np.random.default_rng(0)
    texts = [" ".join(map(str, random.integers(0, 10**9, 20))) for _ in range(300)]
    whole = gzip.compress("".join(json.dumps({"turns": [text]}) + "\n" for text in texts).encode())
    half = len(whole) // 2
    garbled = whole[:-200] + b"\0" * 50 + whole[-150:]  # near the end: only the first bad lines are listed
    path.write_bytes({"cut off": whole[:half], "no gzip": b"so it goes\n", "garbled": garbled}[damage])
    trees, report = read(path)
    assert len(trees) == report.lines - report.malformed < 300
    broken = f"m.jsonl.gz, line {report.lines}: the file cannot be unpacked from here on"
    assert report.malformed_lines[-1].startswith(broken)


@pytest.mark.parametrize("ending", ["jsonl", "jsonl.gz"])
def test_a_byte_order_mark_belongs_to_no_line(tmp_path, ending):
    path = tmp_path / f"m.{ending}"
    text = "\ufeff" + json.dumps({"turns": ["Hi!", "Hello"]})
    path.write_bytes(gzip.compress(text.encode()) if ending.endswith("gz") else text.encode())
    ((_, messages),), report = read(path)
    assert ([m.text for m in messages], report.malformed) == (["Hi!", "Hello"], 0)


def test_orphans_become_roots_and_cycles_are_dropped(tmp_path):
    path = write_lines(
        tmp_path / "m.jsonl",
        message("a", "gone", "orphan"),
        message("b", "a", "its answer"),
        message("x", "y"),
        message("y", "x"),
        message("z", "y"),
        message("s", "s"),
        message("b", "a", "the same id again"),
    )
    trees, report = read(path)
    assert [[m.text for m in tree.messages] for tree in trees] == [["orphan", "its answer"]]
    assert report.problems == {"orphan": 1, "in a cycle": 4, "repeated id": 1}


FINE = Candidate(
    "I have a red bicycle.", "ann", "What do you have at home?", subwords=6, occurrences=1, unsafe=False
)


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({}, None),
        ({"subwords": 1}, "length"),
        ({"subwords": 2}, None),
        ({"subwords": 128}, None),
        ({"subwords": 129}, "length"),
        ({"text": "abcdefg 123"}, None),  # 7 of 10
        ({"text": "abcdef 1234"}, "alphabetic"),  # 6 of 10
        ({"text": "look at https://example.org/page now"}, "url"),
        ({"text": "look at www.example.org now"}, "url"),
        ({"text": "look at example.com now"}, "url"),
        ({"text": "I read it on spiegel.de today"}, "url"),
        ({"text": "have a look at youtu.be/abc"}, "url"),
        ({"text": "it is all on bbc.co.uk of course"}, "url"),
        ({"text": "I was ill yesterday.no surprise"}, None),
        ({"text": "Come in.It is warm.So am I.me too"}, None),
        ({"text": "either and/or both, e.g. on 3.5 occasions"}, None),
        ({"text": "I met Mr. Communal yesterday.No surprise"}, None),
        ({"author": "AutoBOT7"}, "bot"),
        ({"occurrences": 100}, None),
        ({"occurrences": 101}, "repeated"),
        # trigrams: have-a-red, a-red-bicycle of 3 are the parent's
        ({"parent": "So you have a red bicycle?"}, "overlap"),
        ({"parent": "You have a red car?"}, None),
        ({"text": "Yes indeed", "parent": "Yes indeed"}, None),
        ({"unsafe": True}, "unsafe"),
        ({"unsafe": True, "subwords": 1}, "length"),  # the first in the paper's order
    ],
)
def test_each_filter_strikes_where_it_should(change, reason):
    assert reason_to_remove(FINE._replace(**change)) == reason


@pytest.mark.parametrize(
    ("text", "parent", "rest"),
    [
        ("> I love cheese\nWhich one?", "Well, I love cheese a lot", "Which one?"),
        ("I love old cheese a lot. Me too!", "I love old cheese a lot.", "Me too!"),
        ("> something else\nWhat?", "I love cheese", "> something else What?"),
        ("No, no way", "No", "No, no way"),
    ],
)
def test_copies_of_the_parent_are_cut_out(text, parent, rest):
    assert without_quotes(text, parent) == rest


def test_the_sketch_counts_like_a_counter_and_never_too_little():
    sketch, exact = CountSketch(columns=1 << 12), Counter()
    random = np.random.default_rng(0)
    for number in random.zipf(1.5, 5000):
        sketch.add(f"text {number}")
        exact[f"text {number}"] += 1
    counts = [(sketch.count(text), true) for text, true in exact.items()]
    assert all(found >= true for found, true in counts)
    assert sum(found == true for found, true in counts) > 0.98 * len(counts)


def test_sketches_of_parts_add_up(tmp_path):
    parts = [CountSketch(columns=64), CountSketch(columns=64)]
    for text in ("Hello", "hello", "bye"):
        parts[0].add(text)
    parts[1].add("HELLO")
    parts[0].save(tmp_path / "part")
    parts[1].merge(CountSketch.load(tmp_path / "part"))
    assert parts[1].count("hello") == 3
    with pytest.raises(ValueError, match="do not add up"):
        parts[1].merge(CountSketch(columns=128))


def test_the_reservoir_keeps_each_text_equally_often():
    kept = Counter()
    for seed in range(600):
        reservoir = Reservoir(5, seed=str(seed))
        for text in "abcdefghij":
            reservoir.add(text)
        kept.update(reservoir.kept)
    # each in half of 600 draws; the standard deviation is 12
    assert all(abs(count - 300) < 60 for count in kept.values())
    assert sum(kept.values()) == 3000


def test_a_context_drops_its_oldest_turns_whole():
    assert fit_context([[10] * 5, [11] * 3, [12] * 4], length=9) == ([11] * 3 + [4] + [12] * 4 + [4], 1)
    assert fit_context([[10] * 5, [11] * 3, [12] * 4], length=8) == ([12] * 4 + [4], 2)


def test_a_turn_longer_than_the_context_loses_its_beginning():
    assert fit_context([[9], [10, 11, 12, 13]], length=3) == ([12, 13, 4], 1)


def test_an_empty_context_is_one_turn_token():
    assert fit_context([], length=3) == ([4], 0)


@pytest.fixture(scope="module")
def tokenizer():
    texts = [
        "some words here",
        "other answers there",
        "so it goes",
        "the quick brown fox jumps over a lazy dog",
    ]
    return Tokenizer.train(texts * 9, vocabulary_size=60)


def test_unknown_characters_become_the_unknown_token(tokenizer):
    (tokens,) = tokenizer.encode(["words \N{SNOWMAN}"])
    assert tokens[-1] == Tokenizer.unknown
    assert tokenizer.decode(tokens) == "words"


def test_text_cannot_forge_the_end_of_a_turn(tokenizer):
    (tokens,) = tokenizer.encode(["some<turn>words"])
    assert Tokenizer.turn not in tokens


def test_half_a_surrogate_pair_is_accepted(tokenizer):
    (tokens,) = tokenizer.encode(["words \ud83d here"])
    assert tokenizer.decode(tokens).split()[0] == "words"


def test_a_text_survives_encoding(tokenizer):
    for text in ("some words here", "so other words"):
        assert tokenizer.decode(tokenizer.encode([text])[0]) == text


def test_too_large_a_vocabulary_says_what_to_do():
    with pytest.raises(ValueError, match="smaller --vocabulary"):
        Tokenizer.train(["a b c"], vocabulary_size=5000)


def test_bytes_that_are_no_tokenizer_are_refused():
    with pytest.raises(ValueError, match="not a sentencepiece model"):
        Tokenizer(b"nonsense")


@pytest.fixture
def build(tmp_path, tokenizer):
    """A function that runs all stages with the same small tokenizer."""
    given = tmp_path / "given.model"
    given.write_bytes(tokenizer.model)

    def run(folder, *parts, settings=SETTINGS, workers=1):
        corpus = Corpus(folder, parts, settings)
        over_parts(corpus.scan, corpus.parts, workers)
        corpus.learn_tokenizer(given)
        over_parts(corpus.encode, corpus.parts, workers)
        return corpus.merge()

    return run


def decoded_pairs(folder):
    tokenizer = Tokenizer.load(folder.parent / "tokenizer.model")
    pairs = set()
    for shard in open_shards(folder):
        for turn in shard.pairs():
            context, response = shard.pair(int(turn), context_length=128)
            turns = " | ".join(tokenizer.decode(part) for part in split(context))
            pairs.add((turns, tokenizer.decode(response)))
    return pairs


def split(context):
    turns, turn = [], []
    for token in context:
        if token == Tokenizer.turn:
            turns.append(turn)
            turn = []
        else:
            turn.append(token)
    return turns


TREE = (
    message("a", None, "some words here"),
    message("b", "a", "other words there"),
    message("c", "b", "so it goes"),
    message("d", "b", "12345 678 90"),
    message("e", "d", "answers to numbers"),
    message("f", "a", "so some answers", author="helpbot"),
)


def test_pairs_are_paths_of_the_tree_without_what_filters_cut(tmp_path, build):
    part = write_lines(tmp_path / "m.jsonl", *TREE)
    report = build(tmp_path / "corpus", part)
    assert decoded_pairs(tmp_path / "corpus" / "train") == {
        ("some words here", "other words there"),
        ("some words here | other words there", "so it goes"),
    }
    assert report["messages"] == 6
    assert report["removed"] == dict.fromkeys(FILTERS, 0) | {"alphabetic": 1, "bot": 1, BELOW: 1}
    assert report["train"]["pairs"] == 2


def test_a_context_has_seven_turns_at_most(tmp_path, build):
    turns = [f"{word} words here" for word in ("a", "b", "c", "d", "e", "f", "g", "h", "i")]
    part = write_lines(tmp_path / "c.jsonl", {"turns": turns})
    build(tmp_path / "corpus", part)
    pairs = decoded_pairs(tmp_path / "corpus" / "train")
    assert (" | ".join(turns[1:8]), turns[8]) in pairs
    assert len(pairs) == 8


def test_context_only_messages_are_answered_and_not_learnt(tmp_path, build):
    turns = [{"text": text, "context": text[0] == "q"} for text in ("q one", "a one", "q two", "a two")]
    tree = [message("r", None, "question"), message("s", "r", "q again") | {"context": True}]
    tree += [message("t", "s", "an answer")]
    build(tmp_path / "corpus", write_lines(tmp_path / "m.jsonl", {"turns": turns}, *tree))
    assert decoded_pairs(tmp_path / "corpus" / "train") == {
        ("q one", "a one"),
        ("q one | a one | q two", "a two"),
        ("question | q again", "an answer"),
    }


@pytest.mark.parametrize(
    "change",
    [{"subwords": 1}, {"text": "42 42"}, {"occurrences": 10**6}, {"unsafe": True}, {"text": "see a.com"}],
    ids=["short", "no letters", "repeated", "unsafe", "url"],
)
def test_context_only_messages_stay_in_the_context(change):
    assert reason_to_remove(FINE._replace(**change)) is not None
    assert reason_to_remove(FINE._replace(**change, context_only=True)) is None


@pytest.mark.parametrize("change", [{"text": "", "subwords": 0}, {"subwords": 129}], ids=["empty", "long"])
def test_a_context_that_is_empty_or_too_long_goes(change):
    assert reason_to_remove(FINE._replace(**change, context_only=True)) == "length"


def test_a_context_that_is_neither_true_nor_false_is_malformed(tmp_path):
    path = write_lines(tmp_path / "m.jsonl", {"turns": [{"text": "so it goes", "context": "no"}]})
    trees, report = read(path)
    assert trees == []
    assert "context is 'no', neither true nor false" in report.malformed_lines[0]


def test_repetitions_are_kept_up_to_the_configured_number(tmp_path, build):
    talks = [{"id": str(i), "turns": ["How is it?", f"It is number {i}"]} for i in range(5)]
    part = write_lines(tmp_path / "m.jsonl", *talks)
    for most, pairs in ((4, 0), (5, 5)):
        settings = replace(SETTINGS, most_repeats=most, vocabulary_size=40)
        corpus = Corpus(tmp_path / str(most), [part], settings)
        corpus.scan(part)
        corpus.learn_tokenizer()
        corpus.encode(part)
        assert sum(len(shard.pairs()) for shard in open_shards(tmp_path / str(most) / "train")) == pairs


def test_lengths_equal_those_of_the_built_pairs(tmp_path):
    random = np.random.default_rng(2)
    with ShardWriter(tmp_path / "shard") as writer:
        for size in (12, 1, 5):
            turns = [[9] * int(n) for n in random.integers(2, 40, size)]
            parents = [-1, *(int(random.integers(0, i)) for i in range(1, size))]
            writer.add(turns, parents, [i % 3 == 2 for i in range(size)])
    shard = Shard(tmp_path / "shard")
    assert len(shard.pairs()) == 11 - 4 + 0 + 4 - 1
    for limit in (5, 20, 60, 128):
        found = shard.lengths(shard.pairs(), context_length=limit)
        pairs = [shard.pair(int(turn), context_length=limit) for turn in shard.pairs()]
        assert found[0].tolist() == [len(pair.context) for pair in pairs]
        assert found[1].tolist() == [len(pair.response) for pair in pairs]


def test_a_tokenizer_is_learnt_from_the_parts(tmp_path):
    part = write_lines(tmp_path / "m.jsonl", *TREE)
    corpus = Corpus(tmp_path / "corpus", [part], SETTINGS)
    corpus.scan(part)
    corpus.learn_tokenizer()
    learnt = Tokenizer.load(tmp_path / "corpus" / "tokenizer.model")
    assert len(learnt) == 60
    assert len(learnt.encode(["some words"])[0]) < len("somewords")


def test_several_processes_build_the_same_corpus(tmp_path, build):
    parts = [
        write_lines(tmp_path / f"{name}.jsonl", *TREE, {"turns": [f"{name} words", "so it goes"]})
        for name in ("one", "two", "three")
    ]
    assert build(tmp_path / "alone", *parts)["train"] == build(tmp_path / "many", *parts, workers=2)["train"]
    assert decoded_pairs(tmp_path / "alone" / "train") == decoded_pairs(tmp_path / "many" / "train")


def test_repetitions_are_counted_over_all_parts(tmp_path, build):
    spam = [{"turns": ["some words here", "so it goes", "other words there"]}] * 51
    parts = [write_lines(tmp_path / f"{name}.jsonl", *spam) for name in ("one", "two")]
    with pytest.raises(CorpusError, match=r"No pair is left.*'repeated': 102"):
        build(tmp_path / "corpus", *parts)


def test_a_second_run_repeats_nothing(tmp_path, build):
    part = write_lines(tmp_path / "m.jsonl", *TREE)
    report = build(tmp_path / "corpus", part)
    shard = tmp_path / "corpus" / "train" / "m" / "tokens.u16"
    before = shard.stat().st_mtime_ns
    assert build(tmp_path / "corpus", part) == report
    assert shard.stat().st_mtime_ns == before


def test_an_interrupted_part_is_encoded_again(tmp_path, build):
    part = write_lines(tmp_path / "m.jsonl", *TREE)
    build(tmp_path / "corpus", part)
    pairs = decoded_pairs(tmp_path / "corpus" / "train")
    (tmp_path / "corpus" / "encode" / "m.json").unlink()
    (tmp_path / "corpus" / "train" / "m.part").mkdir()  # what an interruption leaves
    assert build(tmp_path / "corpus", part)["train"]["pairs"] == 2
    assert decoded_pairs(tmp_path / "corpus" / "train") == pairs


def letters(number):
    return "".join(chr(ord("a") + int(digit)) for digit in str(number))


def test_trees_are_held_out_whole(tmp_path, build):
    turns = ["some words", "here it goes", "other answers", "so there"]
    conversations = [{"id": f"c{i}", "turns": [f"{turn} {letters(i)}" for turn in turns]} for i in range(200)]
    part = write_lines(tmp_path / "c.jsonl", *conversations)
    settings = CorpusSettings(vocabulary_size=60, heldout=0.25, safety="none")
    report = build(tmp_path / "corpus", part, settings=settings)
    # 200 trees, a quarter of them: the standard deviation is 6 trees of 4 turns
    assert abs(report["heldout"]["turns"] / 4 - 50) < 25
    assert report["heldout"]["turns"] % 4 == report["train"]["turns"] % 4 == 0
    assert report["heldout"]["turns"] + report["train"]["turns"] == 800


def test_too_many_malformed_lines_are_refused(tmp_path, build):
    part = write_lines(tmp_path / "m.jsonl", *TREE, "broken")
    with pytest.raises(CorpusError, match=r"1 of 7 lines are malformed.*line 7: no JSON"):
        build(tmp_path / "corpus", part)


def test_an_empty_file_says_that_nothing_is_left(tmp_path):
    corpus = Corpus(tmp_path / "corpus", [write_lines(tmp_path / "m.jsonl")], SETTINGS)
    corpus.scan(corpus.parts[0])
    with pytest.raises(CorpusError, match="Give it more text"):
        corpus.learn_tokenizer()


def test_a_corpus_cannot_change_its_settings_half_way(tmp_path):
    part = write_lines(tmp_path / "m.jsonl", *TREE)
    Corpus(tmp_path / "corpus", [part], SETTINGS)
    with pytest.raises(CorpusError, match="Use another --output"):
        Corpus(tmp_path / "corpus", [part], CorpusSettings(vocabulary_size=61))


def test_stages_in_the_wrong_order_say_which_is_missing(tmp_path):
    corpus = Corpus(tmp_path / "corpus", [write_lines(tmp_path / "m.jsonl", *TREE)], SETTINGS)
    with pytest.raises(CorpusError, match="Run the stage 'scan'"):
        corpus.learn_tokenizer()
    with pytest.raises(CorpusError, match="Run the stage 'tokenizer'"):
        corpus.encode(corpus.parts[0])
    with pytest.raises(CorpusError, match="Run the stage 'encode'"):
        corpus.merge()


def test_a_damaged_shard_is_refused(tmp_path, build):
    build(tmp_path / "corpus", write_lines(tmp_path / "m.jsonl", *TREE))
    folder = tmp_path / "corpus" / "train" / "m"
    (folder / "tokens.u16").write_bytes(b"\0\0")
    with pytest.raises(ValueError, match=r"they do not fit\. Encode it again"):
        Shard(folder)


def test_a_folder_without_shards_is_refused(tmp_path):
    with pytest.raises(ValueError, match="holds no shards"):
        open_shards(tmp_path)
