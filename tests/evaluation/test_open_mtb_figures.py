import json
import subprocess
import sys
from pathlib import Path

import pytest

from evaluation.open_mtb import PATH, ConsistencyKey, StaticContext, read_keys, read_open_mtb
from evaluation.open_mtb_figures import automatic_figures, plain_answer
from evaluation.statistics.interval import Undefined

ROOT = Path(__file__).parents[2]


def context(one: str, *turns: str) -> StaticContext:
    return StaticContext(one, turns, "hobbies", "en", False, False, None)


def key(one: str, answer: str | None) -> ConsistencyKey:
    return ConsistencyKey(one, (1,), "a fact", "the opposite", answer)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("Yes, of course.", "yes"),
        ("yeah!!", "yes"),
        ("Oh, sure", "yes"),
        ("Well I do.", "yes"),
        ("Ok", "yes"),
        ("No.", "no"),
        ("Nope, but I'd like to", "no"),
        ("Sorry, I can\u2019t", "no"),
        ("Haha never", "no"),
        ("I'm afraid not", "no"),
        ("I sure hope so", "yes"),
        ("I did, too!", "yes"),
        ("Well, I don't think so.", "no"),
        ("I'm not, but I'll check it out.", "no"),
        ("I don't know", ""),
        ("I am not sure.", ""),
        ("I'm not sure.", ""),
        ("Well, I have no idea.", ""),
        ("I didn't know that!", ""),
        ("I can see what you're saying.", ""),
        ("I would say that it would be an awesome film.", ""),
        ("Not sure", ""),
        ("Nobody told me", ""),
        ("Yesterday", ""),
        ("Tomatoes.", ""),
        ("", ""),
    ],
)
def test_the_first_words_of_a_response_decide_whether_it_says_yes_or_no(response: str, answer: str) -> None:
    assert plain_answer(response) == answer


def test_the_figures_of_four_responses_by_hand() -> None:
    contexts = [
        context("a", "I never eat any kind of meat", "Do you want a steak?"),
        context("b", "I love a good steak", "Do you want one?"),
        context("c", "I like dogs", "Cats?"),
        context("d", "My sister plays the trombone in a brass band", "Nice."),
    ]
    keys = {"a": key("a", "no"), "b": key("b", "yes"), "c": key("c", None)}
    responses = {
        "a": "Yes, please!",  # against the key
        "b": "YES please",  # with it, and the same words again
        "c": "I don't know.",
        "d": "She plays the trombone in a brass band.",  # repeats 6 of 8 words of the first turn
    }

    found = automatic_figures(contexts, keys, responses)

    assert not isinstance(found, Undefined)
    assert (found.contexts, found.distinct, found.commonest) == (4, 3 / 4, 2 / 4)
    assert (found.dont_know, found.repeats) == (1 / 4, 1 / 4)
    asked = found.yes_no
    assert (asked.asked, asked.agree, asked.contradict, asked.neither) == (2, 1, 1, 0)
    assert asked.balanced == 0.5  # 1 of 1 where yes is right, 0 of 1 where no is


def test_contexts_without_a_response_do_not_count() -> None:
    found = automatic_figures([context("a", "Hi"), context("b", "Hi")], {}, {"a": "Hello"})

    assert not isinstance(found, Undefined)
    assert found.contexts == 1
    assert isinstance(found.yes_no.balanced, Undefined)


def test_no_response_has_no_figures() -> None:
    assert isinstance(automatic_figures([context("a", "Hi")], {}, {}), Undefined)


def test_a_response_to_an_unknown_context_is_refused() -> None:
    with pytest.raises(ValueError, match="'z' is not a context of the benchmark"):
        automatic_figures([context("a", "Hi")], {}, {"z": "Hello"})


@pytest.mark.parametrize("always", ["Yes.", "No."])
def test_a_bot_that_always_says_the_same_is_right_for_half_of_the_shipped_probes(always: str) -> None:
    contexts, keys = read_open_mtb(), read_keys()

    found = automatic_figures(contexts, keys, {one.id: always for one in contexts})

    assert not isinstance(found, Undefined)
    assert (found.yes_no.agree, found.yes_no.contradict, found.yes_no.balanced) == (77, 77, 0.5)


def test_a_lab_gets_the_figures_of_its_own_file(tmp_path: Path) -> None:
    one, other = [json.loads(line)["id"] for line in PATH.read_text(encoding="utf-8").splitlines()[:2]]
    path = tmp_path / "ours.jsonl"
    lines = [{"context": one, "response": "Fine!", "seconds": 0.5}, {"context": other, "response": "Great!"}]
    path.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "benchmarks/open_mtb.py", "figures", str(path), "--markdown"],
        cwd=ROOT, env={"PYTHONPATH": "."}, capture_output=True, text=True, check=True,
    )  # fmt: skip

    assert done.stdout.splitlines()[-1].startswith(
        "| ours | 2 | 100.0 % | 50.0 % | 0.0 % | 0.0 % | 0, 0, 0 |"
    )
    assert done.stdout.rstrip().endswith("| 500 (500) |")


@pytest.mark.parametrize(
    ("lines", "told"),
    [
        (["not json"], "ours.jsonl, line 1: "),
        (['{"context": "hobbies-01"}'], "KeyError('response'); give a JSON object with context and response"),
        (['{"context": "z", "response": "Hi"}'], "'z' is not a context of the benchmark"),
        (['{"context": "hobbies-01", "response": "Hi"}'] * 2, "has hobbies-01 more than once"),
        ([], "there is no response"),
    ],
)
def test_an_unusable_file_is_reported(tmp_path: Path, lines: list[str], told: str) -> None:
    path = tmp_path / "ours.jsonl"
    path.write_text("\n".join(lines), encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "benchmarks/open_mtb.py", "figures", str(path)],
        cwd=ROOT, env={"PYTHONPATH": "."}, capture_output=True, text=True, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert told in done.stderr
