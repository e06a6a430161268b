"""A service that reports log probabilities: what is stored, shown, exported and recomputed."""

import json
import math
from collections.abc import Callable
from typing import Any

import pytest

from tests.chatbots.local_service import Sent
from tests.desks import judge
from tests.judges.conftest import MakeStudyOfTwo
from tests.judges.test_pages import answers_of_rater, page
from tests.judges.test_runs import finished
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.judges.judge_card import card_of
from turnwise.judges.judged_labels import judged_items

pytestmark = pytest.mark.django_db(transaction=True)


def surely(sensible: bool, probability: float) -> Sent:
    """An answer whose first value has this probability among true and false, and some of neither."""
    value, other = ("true", "false") if sensible else ("false", "true")
    rest = ', "specific": false}' if sensible else "}"
    likely = {f" {value}": 0.8 * probability, f" {other}": 0.8 * (1 - probability), " perhaps": 0.2}
    tokens: list[dict[str, Any]] = [
        {"token": '{"sensible":', "logprob": 0.0},
        {
            "token": f" {value}",
            "logprob": math.log(likely[f" {value}"]),
            "top_logprobs": [{"token": name, "logprob": math.log(p)} for name, p in likely.items()],
        },
        {"token": rest, "logprob": 0.0},
    ]
    text = "".join(token["token"] for token in tokens)
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": text},
        "logprobs": {"content": tokens},
    }
    return Sent({"model": "judge-1", "choices": [choice]})


def test_log_probabilities_become_probabilities_with_a_calibration_on_the_card(
    make_items: MakeStudyOfTwo, make_judge: Callable[..., Bot], rex: User, sign_in: SignIn
) -> None:
    study, client = make_items(20), sign_in(rex)
    judge(study, answers_of_rater(0))
    # The judge errs about items 1, 4, 7, … of Beta, with less certainty.
    bot = make_judge(lambda text: surely("c1" not in text, 0.9 if "Alpha" in text else 0.6))

    run = finished(study, bot)

    order = [choice.value for choice in judged_items(run).questions.questions[0].choices]
    for label in run.labels.select_related("item__response__run"):
        assert label.answers
        assert label.probabilities
        assert label.item.response
        expected = 0.9 if label.item.response.run.system == "Alpha" else 0.6
        place = order.index(label.answers["sensible"])
        assert label.probabilities["sensible"][place] == pytest.approx(expected)
    (table,) = [each for each in card_of(run).calibration if each.question == "Does it make sense?"]
    assert [(items, shown) for items, shown, _ in table.bins] == [(20, "60"), (20, "90")]
    assert not table.from_draws
    assert table.svg.startswith("<svg")
    assert table.narrow_svg.startswith("<svg")
    shown = page(client, run.get_absolute_url())
    assert "expected calibration error" in shown
    assert "The probabilities are the machine" in shown
    lines = client.get(f"{run.get_absolute_url()}labels.jsonl").content.decode().splitlines()
    assert "sensible" in json.loads(lines[0])["probabilities"]


def test_several_answers_give_probabilities_as_well(
    make_items: MakeStudyOfTwo, make_judge: Callable[..., Bot], rex: User, sign_in: SignIn
) -> None:
    study = make_items(10)
    judge(study, answers_of_rater(0))
    calls = iter(range(10_000))

    run = finished(study, make_judge(lambda _text: surely(next(calls) % 3 > 0, 1.0)), draws=3)

    run.labels.update(probabilities=None)
    assert all(each.from_draws for each in card_of(run).calibration)
