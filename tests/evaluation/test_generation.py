"""Perplexity, F1 and distinct n-grams, by hand and by brute force, and the command as typed."""

import gzip
import json
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from evaluation.__main__ import main
from evaluation.commands.generation import Generated, figures
from evaluation.conversation.ngrams import grams, over_corpus, per_response, words_of
from evaluation.texts.similarity import f1, normalised

SHARED = Path(__file__).parents[3] / "shared" / "data" / "topical-chat" / "topical_chat_valid.jsonl.gz"


def generated(text="a", conversation="c", references=(), nats=None, tokens=None, unknown=None):
    likelihood = None if nats is None else -nats
    return Generated(conversation, text, tuple(references), likelihood, tokens, unknown)


def test_words_of_f1_are_parlai_s():
    # Lower case, ASCII punctuation to blanks, whole articles away; "theatre" and typographic marks stay.
    assert normalised("The cat can't, a-b AN  theatre!") == ["cat", "can", "t", "b", "theatre"]
    assert normalised("It\u2019s the \u201cend\u201d") == ["it\u2019s", "\u201cend\u201d"]


def test_f1_by_hand():
    # cat sat on mat | cat on mat: 3 common, precision 3/4, recall 3/3, F1 = 2·(3/4)/(7/4) = 6/7
    assert f1("The cat sat, on a mat!", ["A cat on the mat."]) == pytest.approx(6 / 7)
    # Of ho ho ho only two are in ho ho hum: precision 2/3, recall 2/3
    assert f1("ho ho ho", ["ho ho hum"]) == pytest.approx(2 / 3)
    assert f1("yes", ["no", "yes indeed", "maybe"]) == pytest.approx(2 / 3)  # the best of three
    assert f1("The.", ["a"]) == f1("", ["x"]) == 0


def test_distinct_by_hand():
    # a b a B: words a, b; pairs ab ba ab. One word has no pair.
    assert per_response(["a b a B", "hi"], 1).tolist() == [0.5, 1]
    pairs = per_response(["a b a B", "hi"], 2)
    assert pairs[0] == pytest.approx(2 / 3)
    assert math.isnan(pairs[1])
    # a b a b hi: 3 of 5 words
    assert over_corpus(["a b a B", "hi"], ["x", "y"], 1, 0.95)[0] == pytest.approx(3 / 5)


def test_the_jackknife_leaves_out_each_conversation():
    random = np.random.default_rng(1)
    words = [f"w{number}" for number in range(40)]
    texts = [" ".join(random.choice(words, 6)) for _ in range(60)]
    clusters = [f"c{number // 4}" for number in range(60)]

    def share(kept):
        counts = Counter(gram for text, one in kept for gram in grams(words_of(text), 2))
        return len(counts) / counts.total()

    found, interval = over_corpus(texts, clusters, 2, 0.9)

    rows = list(zip(texts, clusters, strict=True))
    without = np.array([share([row for row in rows if row[1] != left]) for left in sorted(set(clusters))])
    assert found == pytest.approx(share(rows))
    error = math.sqrt(14 / 15 * ((without - without.mean()) ** 2).sum())
    half = stats.t.ppf(0.95, 14) * error / (found * (1 - found))
    ends = [1 / (1 + math.exp(-(math.log(found / (1 - found)) + side * half))) for side in (-1, 1)]
    assert [interval.low, interval.high] == pytest.approx(ends)


UNEVEN = (("a", (), 2, 1), ("a", (), 4, 4), ("b", (), 12, 5), ("c", (), 9, 5))
"""Conversation, references, nats and tokens of responses."""


def test_perplexity_weighs_responses_by_their_tokens():
    # 2 + 4 + 12 + 9 nats over 1 + 4 + 5 + 5 tokens: exp(1.8)
    uneven = [
        generated("", *row) for row in (("a", (), 2, 1), ("a", (), 4, 4), ("b", (), 12, 5), ("c", (), 9, 5))
    ]
    assert figures({"TF": uneven})["systems"]["TF"]["perplexity"]["value"] == pytest.approx(math.exp(1.8))

    even = [
        generated(conversation=name, nats=nats, tokens=5, unknown=1)
        for name, nats in zip("abc", (6, 12, 9), strict=False)
    ]
    found = figures({"TF": even})["systems"]["TF"]["perplexity"]

    assert (found["tokens"], found["unknown"]) == (15, 3)
    # Conversations of as many tokens have means 1.2, 2.4, 1.8: Student's interval of three numbers
    half = stats.t.ppf(0.975, 2) * 0.6 / math.sqrt(3)
    assert found["interval"] == pytest.approx([math.exp(1.8 - half), math.exp(1.8 + half)])


def test_missing_figures_have_a_reason():
    found = figures({"TF": [generated("hi", "a"), generated("", "b")]})["systems"]["TF"]

    assert found["empty_responses"] == 1
    assert "log_likelihood" in found["perplexity"]["value"]["cannot_be_told"]
    assert "reference" in found["f1"]["value"]["cannot_be_told"]
    assert "2 words" in found["distinct_2"]["per_response"]["value"]["cannot_be_told"]
    assert "2 words" in found["distinct_2"]["over_corpus"]["value"]["cannot_be_told"]


def test_systems_are_compared_on_the_same_conversations():
    truth = [("jazz is old", f"c{number}") for number in range(12)]
    better = [generated("jazz is old", one, [text]) for text, one in truth]
    better[0] = generated("jazz", "c0", ["jazz is old"])
    worse = [generated("jazz was new", one, [text]) for text, one in truth]

    (found,) = figures({"TF": worse, "TF w/ k.": better})["f1_differences"]

    # worse: 1 of 3 both ways, 1/3; better: 11 of 12 are 1, one is 2·1/(1+3) = 1/2
    assert found["difference"] == pytest.approx(1 / 3 - 11.5 / 12)
    assert found["interval"][1] < 0
    assert found["p"] < 0.001


def run(tmp_path, capsys, content, name="file.jsonl"):
    path = tmp_path / name
    path.write_text(content)
    code = main(["generation", str(path)])
    out = capsys.readouterr()
    return json.loads(out.out) if code == 0 else out.err


def test_the_command_reads_json_lines_and_csv_alike(tmp_path, capsys):
    rows = [
        {"system": "TF", "conversation": "c1", "response": "I like it", "reference": "I like jazz",
         "log_likelihood": -4.5, "tokens": 4},
        {"system": "TF", "conversation": "c2", "response": "yes", "reference": "no",
         "log_likelihood": -2, "tokens": 2},
    ]  # fmt: skip
    lines = "\n".join(map(json.dumps, rows)) + "\n\n"
    cells = [",".join(rows[0]), *(",".join(map(str, row.values())) for row in rows)]

    found = run(tmp_path, capsys, lines)

    assert found == run(tmp_path, capsys, "\n".join(cells), "file.csv")
    assert found["systems"]["TF"]["f1"]["value"] == pytest.approx(1 / 3)
    assert found["systems"]["TF"]["perplexity"]["value"] == pytest.approx(math.exp(6.5 / 6))


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "line 2: "),
        ("[1]", "line 2: not a JSON object"),
        ('{"response": 3}', "line 2: response = 3 is not text"),
        ("{}", "line 2: neither response nor log_likelihood"),
        ('{"response": "a", "tokens": 3}', "line 2: log_likelihood and tokens go together"),
        ('{"log_likelihood": 0.5, "tokens": 3}', "line 2: log_likelihood = 0.5 is above 0"),
        (
            '{"log_likelihood": -1e999, "tokens": 3}',
            "line 2: log_likelihood = -Infinity is not a finite number",
        ),
        ('{"log_likelihood": -1, "tokens": 2.5}', "line 2: tokens = 2.5 is not a whole number from 1 up"),
        ('{"log_likelihood": -1, "tokens": 2, "unknown": 3}', "line 2: unknown = 3, but there are 2 tokens"),
        ('{"response": "a", "references": "b"}', 'line 2: references = "b" is not a list'),
        ('{"response": "a", "references": [1]}', "line 2: references has 1, which is not text"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, capsys, line, said):
    assert said in run(tmp_path, capsys, '{"response": "fine"}\n' + line)


def test_a_file_without_rows_and_a_wrong_level_are_refused(tmp_path, capsys):
    assert "no responses. A line is such as" in run(tmp_path, capsys, "")
    assert main(["generation", str(tmp_path / "file.jsonl"), "--level", "2"]) == 2
    assert "--level 2" in capsys.readouterr().err


@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.exists(), reason=f"{SHARED} is absent")
def test_people_of_topical_chat_have_the_diversity_that_fits_its_table_3():
    # Table 3 has .85 for words and .86 for pairs, which only the mean over responses comes near.
    with gzip.open(SHARED, "rt") as file:
        talks = [json.loads(line) for line in file]
    turns = [
        (turn["text"], talk["id"])
        for talk in talks
        if talk["split"] == "valid_freq"
        for turn in talk["turns"]
    ]
    texts, clusters = [text for text, _ in turns], [one for _, one in turns]

    assert [round(float(np.nanmean(per_response(texts, n))), 3) for n in (1, 2)] == [0.938, 0.996]
    shares = [over_corpus(texts, clusters, n, 0.95) for n in (1, 2)]
    assert [share for share, _ in shares] == pytest.approx([0.056, 0.342], abs=5e-4)
    assert all(interval.low < share < interval.high for share, interval in shares)
