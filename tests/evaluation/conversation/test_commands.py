"""The commands as their users meet them: files in, JSON or a located error out."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numpy.random import default_rng

from evaluation.__main__ import main
from evaluation.commands.conversation import NOT_FOR_TRAINING
from evaluation.conversation.encoders import encoders
from evaluation.conversation.exchanges import of_bots
from evaluation.conversation.metrics import measured

Run = Callable[..., tuple[int, Any]]
GOOD = [
    "I love cooking, what do you like?",
    "That is wonderful, tell me more!",
    "Great, I enjoy music a lot.",
]
BAD = ["no", "I hate it", "ok", "what", "this is bad", "bananas fly upwards"]


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def command(name: str, *files: object, options: tuple[str, ...] = ()) -> tuple[int, Any]:
        paths = []
        for place, content in enumerate(files):
            ending = ".csv" if isinstance(content, str) and content.startswith("Chat") else ".jsonl"
            path = tmp_path / f"{place}{ending}"
            text = content if isinstance(content, str) else "".join(json.dumps(row) + "\n" for row in content)
            path.write_text(text, encoding="utf-8")
            paths.append(str(path))
        code = main([name, *paths, *options])
        captured = capsys.readouterr()
        return code, json.loads(captured.out) if code == 0 else captured.err

    return command


def person(bot: str, *texts: str, **more: object) -> dict[str, object]:
    """A person begins to talk with the bot."""
    turns = [{"speaker": bot if place % 2 else "you", "text": text} for place, text in enumerate(texts)]
    return {"bot": bot, "turns": turns, **more}


def alone(bot: str, *texts: str) -> dict[str, object]:
    """A bot with itself, as the self-play study's file has it."""
    turns = [{"speaker": f"{bot} ({place % 2 + 1})", "text": text} for place, text in enumerate(texts)]
    return {"bots": [bot], "turns": turns, "opening_turns": 1}


def study(bots: int = 5, each: int = 12) -> tuple[list[Any], list[Any]]:
    """Bots from bad to good, rated as what they say deserves."""
    rng = default_rng(1)
    rated, played = [], []
    for bot in range(bots):
        for _ in range(each):
            good = rng.random(6) < (bot + 1) / (bots + 1)
            said = [str(rng.choice(GOOD if each_is else BAD)) for each_is in good]
            quality = round(1 + 6 * float(good.mean()) + float(rng.normal(scale=0.3)), 2)
            rated.append(person(f"bot{bot}", *said, ratings={"quality": quality, "empathy": quality - 1}))
            played.append(alone(f"bot{bot}", "Hi!", *said[::-1]))
    return rated, played


# --- conversation --------------------------------------------------------------------------------------


def test_every_metric_of_every_bot_with_its_interval_and_encoder(run: Run) -> None:
    talks = [person("eve", "Hi", "How are you?", "Fine, haha!", "Good."), person("eve", "a b", "c?", "x y z")]

    code, answer = run("conversation", [*talks, alone("eve", "Hi!", "one two", "three")])

    assert code == 0
    assert set(answer["bots"]) == {"eve", "eve (self-play)"}
    eve = answer["bots"]["eve"]
    # The last message of the first talk is answered, and nothing follows: 2 words and 3 words.
    words = eve["metrics"]["words"]
    assert (words["value"], words["conversations"], eve["conversations"], eve["exchanges"]) == (2.5, 2, 2, 4)
    # On the logit of 0 to 30: Student's t for 90 % with 1 degree of freedom is 6.3138; the error is .5.
    place, half = 2.5 / 30, 6.3138 * 0.5 / 30
    ends = [math.log(place / (1 - place)) + sign * half / (place * (1 - place)) for sign in (-1, 1)]
    assert (words["low"], words["high"]) == pytest.approx(
        [30 / (1 + math.exp(-end)) for end in ends], abs=1e-3
    )
    assert answer["bots"]["eve (self-play)"]["metrics"]["words"]["value"] == 1
    assert {each["key"]: each["encoder"] for each in answer["metrics"]}["sentiment"] == "VADER 3.3.2"
    assert answer["missing"] == {}


def test_turns_of_the_corpus_are_found_again(run: Run, tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.jsonl"
    corpus.write_text('{"turns": ["x", "Hello  THERE", "how are you", "z"]}\n')

    _, answer = run(
        "conversation",
        [alone("a", "Hi!", "hello there", "How are you"), alone("a", "Hi!", "z", "x")],
        options=("--corpus", str(corpus)),
    )

    found = answer["bots"]["a (self-play)"]["in_corpus"]
    assert found["2"] == {
        "conversations": 1,
        "of": 2,
        "percent": 50.0,
        "example": ["hello there", "how are you"],
    }
    assert found["3"]["conversations"] == 0


def test_best_and_worst_conversations_are_listed_turn_by_turn(run: Run) -> None:
    talks = [
        person("eve", "a", "b", "w " * words, "b", ratings={"quality": words})
        for words in (1, 2, 3, 8, 9, 10)
    ]

    _, answer = run("conversation", talks)

    turns = answer["bots"]["eve"]["by_turn"]
    assert [point["mean"] for point in turns["worst"]["words"]] == [2]
    assert [point["mean"] for point in turns["best"]["words"]] == [9]
    assert turns["best"]["words"][0]["going_on"] == 3


def test_silent_and_circling_conversations_are_reported(run: Run) -> None:
    looping = alone("a", "Hi!", *["I like to talk about the weather"] * 6)

    _, answer = run("conversation", [looping, alone("a", "Hi!", " ")])

    assert [line.split(":")[0] for line in answer["warnings"]] == ["a", "a"]
    assert "1 of 2 conversations fall silent" in answer["warnings"][0]
    assert "1 of 2 conversations go in circles" in answer["warnings"][1]


RECORDS = """Chat ID,Chatbot ID,Message,Response,Chat Rating Quality
1,hred,hi,hello,4
1,hred,"how, are you",fine,4
2,vhred,hi,haha,2
"""


def test_records_of_neural_chat_are_read(run: Run) -> None:
    code, answer = run("conversation", RECORDS)

    assert code == 0
    assert {bot: of["conversations"] for bot, of in answer["bots"].items()} == {"hred": 1, "vhred": 1}
    commented = "Chat ID,Chatbot ID,Message,Response,Chat Rating Comments\n1,hred,,Hi,fine\n1,hred,Yo,,fine\n"
    assert run("conversation", commented)[1]["bots"]["hred"]["exchanges"] == 1
    assert answer["bots"]["hred"]["metrics"]["words"]["value"] == 3


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "no conversations. A line is such as"),
        ("{]\n", "line 1: no JSON"),
        ('{"bot": "a"}\n', "line 1: there is no list “turns”"),
        ('\n{"turns": []}\n', "line 2: it says in neither “bot” nor “bots” who is a bot"),
        ('{"bot": "a", "turns": ["hi"]}\n', 'a turn is "hi" and has no speaker'),
        ('{"bot": "a", "turns": [{"speaker": "a"}]}\n', "has no text"),
        (
            '{"bot": "a", "turns": [{"speaker": "b", "text": "x"}]}\n',
            "none of its turns is by a; they are by b",
        ),
        (
            '{"bot": "a", "turns": [], "ratings": {"quality": "good"}}\n',
            "“quality” is 'good', which is not a number",
        ),
        ('{"bot": "a", "turns": [], "opening_turns": -1}\n', "opening_turns is -1"),
        ("Chat ID,Chatbot ID,Chat Length\n1,2,3\n", "download of ratings, which has no turns"),
        ("Chat ID,Message\n1,2\n", "there is no column Chatbot ID"),
        ("Chat ID,Chatbot ID,Message,Response\n1,2\n", "line 2: the row has fewer cells"),
        (
            "Chat ID,Chatbot ID,Message,Response,Chat Rating Quality\n1,2,3,4,much\n",
            "line 2, column Chat Rating Quality: 'much' is not a number",
        ),
    ],
)
def test_an_invalid_file_is_refused_with_its_path(run: Run, content: str, why: str) -> None:
    code, error = run("conversation", content)

    assert code == 2
    assert why in error


def test_a_folder_without_its_files_is_an_error_of_the_command(run: Run, tmp_path: Path) -> None:
    code, error = run("conversation", [person("a", "x", "y")], options=("--vectors", str(tmp_path / "none")))

    assert (code, "there is no such folder" in error) == (2, True)


# --- hybrid --------------------------------------------------------------------------------------------


def test_the_hybrid_metric_states_its_basis_and_its_limits(run: Run) -> None:
    code, answer = run("hybrid", *study())

    assert code == 0
    assert answer["note"] == NOT_FOR_TRAINING
    assert "Not to be optimised against" in answer["note"]
    assert list(answer["by_bot"]) == [f"bot{bot}" for bot in range(5)]
    assert answer["conversations"] == {"people": 60, "self_play": 60}
    by_bot = list(answer["by_bot"].values())
    assert by_bot[0]["foretold"] < by_bot[2]["foretold"] < by_bot[4]["foretold"]
    for of in by_bot:
        assert of["interval"]["low"] < of["foretold"] < of["interval"]["high"]
    assert set(answer["correlations"]) == {"quality", "empathy"}
    for found in answer["correlations"]["quality"].values():
        assert found["n"] == 5
        assert found["interval"]["level"] == 0.9
    assert answer["single_metrics"]["sentiment"]["kendall"]["n"] == 60
    sentiment = answer["coefficients"]["sentiment"]
    assert sentiment["encoder"] == "VADER 3.3.2"
    assert len(sentiment["folds"]) == 5
    assert answer["condition_number"] > 1
    assert 0 < answer["p_permutation"] < 0.2


def test_the_metrics_that_it_fits_are_those_of_the_other_command(run: Run) -> None:
    _, played = study(bots=3)
    texts = [[("bot", turn["text"]) for turn in each["turns"][1:]] for each in played]

    _, answer = run("conversation", played[:12])

    wanted = measured(of_bots(texts[:12]), encoders()).by_conversation["words"].mean()
    assert answer["bots"]["bot0 (self-play)"]["metrics"]["words"]["value"] == pytest.approx(wanted)


def test_missing_predictions_have_a_reason(run: Run) -> None:
    rated, played = study(bots=3)

    for files, why in (
        ((rated[:12], played), "There is 1 bot with ratings"),
        ((rated, played[:12]), "no conversation of bot1, bot2 with itself"),
        ((played, played), "line 1: only bots speak in it"),
        ((rated, rated), "line 1: not only bots speak in it, so it is not self-play"),
        ((rated, [*played[:24], alone("bot2", "Hi!", "")]), "no conversation of bot2 has a value for every"),
    ):
        code, error = run("hybrid", *files)
        assert (code, why in error) == (2, True), error
    code, error = run("hybrid", rated, played, options=("--scale", "fluency"))
    assert (code, "they have empathy, quality; name one with --scale" in error) == (2, True)
