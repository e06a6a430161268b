"""The questions of Topical-Chat take every annotation of the published conversations, and no other."""

import json
import zlib
from collections import Counter
from pathlib import Path

import pytest

from evaluation.questions import (
    TOPICAL_CHAT_CONVERSATION,
    TOPICAL_CHAT_OWN,
    TOPICAL_CHAT_PARTNER,
    AnswersError,
    QuestionSet,
)
from evaluation.questions.sets.topical_chat import RATINGS, SENTIMENTS, SOURCES

SHARED = Path(__file__).parents[3] / "shared" / "data" / "topical-chat"


def test_a_message_has_one_feeling_and_its_sources() -> None:
    answers = {"sentiment": "Curious to dive deeper", "source": ["FS2", "AS1", "Personal Knowledge"]}

    assert TOPICAL_CHAT_OWN.check(answers) == answers
    for wrong in ({"sentiment": "Bored"}, {"source": ["FS4"]}, {"source": []}):
        with pytest.raises(AnswersError):
            TOPICAL_CHAT_OWN.check(answers | wrong)


@pytest.mark.parametrize("asked", [TOPICAL_CHAT_PARTNER, TOPICAL_CHAT_CONVERSATION])
def test_ratings_go_from_poor_to_excellent(asked: QuestionSet) -> None:
    question = asked.question("quality")

    assert [(choice.value, choice.label) for choice in question.choices] == [
        (1, "Poor"), (2, "Not Good"), (3, "Passable"), (4, "Good"), (5, "Excellent")
    ]  # fmt: skip
    assert question.has_mean


@pytest.mark.shared_data
@pytest.mark.skipif(not SHARED.exists(), reason=f"{SHARED} is absent")
def test_every_published_annotation_is_accepted() -> None:
    said, used, rated = Counter[str](), Counter[str](), Counter[str]()
    for part in ("valid", "train_part"):
        packed = (SHARED / f"topical_chat_{part}.jsonl.gz").read_bytes()
        for line in zlib.decompress(packed, wbits=31).splitlines():
            for turn in json.loads(line)["turns"]:
                said[turn["sentiment"]] += 1
                used.update(turn["knowledge_source"])
                rated[turn["turn_rating"]] += 1

    assert {name for name in said if name} == set(SENTIMENTS)
    assert set(used) == set(SOURCES)
    assert {name for name in rated if name} == set(RATINGS)
    # As counted in the release TCS-1.1: all of both validation sets, and of 1,524 conversations of training.
    assert [said[name] for name in SENTIMENTS] == [314, 438, 235, 775, 8851, 9675, 24_077, 12_313]
    assert [used[name] for name in SOURCES] == [17_577, 14_948, 13_009, 3293, 1232, 931, 753, 15_223]
    assert [rated[name] for name in RATINGS] == [164, 466, 3154, 25_823, 26_647]
