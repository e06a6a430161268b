"""Signs of carelessness and fraud, against cases worked out by hand."""

import numpy as np
import pytest

from evaluation.report.conduct import Manner, signs
from evaluation.report.label_columns import Judged

Row = tuple[str, str, int, float]  # bot, worker, yes or no, milliseconds until the answer


def judged(*rows: Row) -> Judged:
    bot, rater, answer, time = zip(*rows, strict=True)
    return Judged(
        bot=np.array(bot, dtype=object),
        dialogue=np.arange(len(rows)),
        reply=np.ones(len(rows), dtype=np.int64),
        rater=np.array(rater, dtype=object),
        latency_ms=np.full(len(rows), np.nan),
        answer_ms=np.array(time, dtype=np.float64),
        answers={"good": np.array(answer, dtype=np.float64)},
    )


def gave(worker: str, answers: str, *, bot: str = "Ann", ms: float = 4000.0) -> list[Row]:
    """A worker's answers, as a text of y and n."""
    return [(bot, worker, int(answer == "y"), ms) for answer in answers]


CAREFUL = gave("careful", "yyny" * 6)


def test_a_careful_worker_shows_none() -> None:
    assert signs([judged(*CAREFUL)], {"careful": Manner(24, 2, "Yes", 600.0, 1)}) == {}


def test_half_of_the_answers_within_a_second_are_a_sign() -> None:
    # The median of 0.9, 0.9, 0.9, 5, 5 s is 0.9 s; of 0.9, 0.9, 5, 5, 5 s it is 5 s.
    hasty = [*gave("hasty", "yny", ms=900), *gave("hasty", "yn", ms=5000)]
    slow = [*gave("slow", "yn", ms=900), *gave("slow", "yny", ms=5000)]

    found = signs([judged(*CAREFUL, *hasty, *slow)], {})

    assert found == {"hasty": "Half of 5 answers came within 0.9\u00a0s of what they judge."}


def test_four_fast_answers_are_too_few_to_tell() -> None:
    assert signs([judged(*gave("brief", "ynyn", ms=50))], {}) == {}


def test_answers_without_a_time_are_a_sign() -> None:
    found = signs([judged(*CAREFUL, *gave("program", "ynyny", ms=np.nan))], {})

    assert list(found) == ["program"]
    assert "None of 5 answers says how long it took" in found["program"]


def test_equal_answers_are_a_sign_if_others_differ() -> None:
    # Of the others' 24 answers 6 are no. Eight times no: ((6 + 1) / (24 + 2))^8 = 0.000028 < 0.001.
    # Eight times yes: ((18 + 1) / 26)^8 = 0.081.
    grumpy = signs([judged(*CAREFUL, *gave("grumpy", "n" * 8))], {})
    content = signs([judged(*CAREFUL, *gave("content", "y" * 8))], {})

    assert grumpy == {
        "grumpy": "All 8 answers are the same; of the others' answers about the same bots 25\u00a0% are."
    }
    assert content == {}


def test_equal_answers_are_no_sign_if_others_agree() -> None:
    """Beside it stands a bot of which nobody does: over both together, yes would be rare."""
    others = [*gave("a", "y" * 12, bot="Good"), *gave("b", "y" * 12 + "n", bot="Good")]
    bad = [*gave("c", "n" * 40 + "y", bot="Bad"), *gave("d", "n" * 40 + "y", bot="Bad")]

    found = signs([judged(*others, *bad, *gave("content", "y" * 10, bot="Good"))], {})

    assert "content" not in found


def test_a_single_worker_shows_no_sign() -> None:
    assert signs([judged(*gave("only", "y" * 19), *gave("other", "n" * 19))], {}) == {}


@pytest.mark.parametrize(
    ("manner", "sentence"),
    [
        (Manner(7, 1, "", 20.9), "Talking and answering took 20.9\u00a0s for 7 messages."),
        (Manner(7, 1, "", 21.0), None),
        (Manner(7, 4, "ok", 600.0), "4 of 7 messages are “ok”."),
        (Manner(8, 4, "ok", 600.0), None),
        (Manner(3, 3, "ok", 600.0), None),
        (Manner(4, 4, "x" * 50, 600.0), f"4 of 4 messages are “{'x' * 39}…”."),
        (Manner(at_address=3), "3 participants of this study came from the same network address."),
        (Manner(at_address=2), None),
        (Manner(), None),
    ],
)
def test_behaviour_is_a_sign_from_its_threshold(manner: Manner, sentence: str | None) -> None:
    assert signs([judged(*CAREFUL)], {"w": manner}) == ({"w": sentence} if sentence else {})


def test_the_whole_conversation_of_an_attack_shows_every_sign_at_once() -> None:
    """“ok” seven times and all yes within 0.2 s, from the address of four more."""
    others = gave("others", "yn" * 20)
    attack = gave("fraud", "y" * 14, ms=12)

    found = signs([judged(*others, *attack)], {"fraud": Manner(7, 7, "ok", 0.2, 5)})

    assert found["fraud"].count(".") >= 5
    for part in (
        "within 0.0\u00a0s",
        "All 14 answers",
        "took 0.2\u00a0s",
        "7 of 7 messages",
        "5 participants",
    ):
        assert part in found["fraud"]


def test_no_labels_and_no_workers_are_no_error() -> None:
    empty = judged(*CAREFUL).where(np.zeros(24, dtype=bool))

    assert signs([empty], {}) == {}


def test_haste_is_measured_over_all_asks_and_equal_answers_per_ask() -> None:
    # Three hasty answers by each of two asks are too few for either, and enough together.
    one, other = judged(*CAREFUL, *gave("hasty", "yny", ms=300)), judged(*gave("hasty", "nyn", ms=500))
    same = judged(*CAREFUL, *gave("grumpy", "n" * 8))

    assert signs([one], {}) == {}
    assert signs([one, other], {}) == {
        "hasty": "Half of 6 answers came within 0.4\u00a0s of what they judge."
    }
    assert signs([one, same], {}) == signs([same], {})
    assert list(signs([same], {})) == ["grumpy"]
    assert signs([one, other], None) == {}
