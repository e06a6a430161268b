"""Budgets of runs: where they stop, how they go on, and that nothing is doubled. Removal, and its undoing."""

from collections.abc import Callable
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.test import Client
from django.utils import timezone

from tests.chatbots.local_service import Sent
from tests.judges.conftest import GOOD, MakeStudyOfTwo
from tests.judges.test_imports import assisted
from tests.judges.test_pages import page
from tests.judges.test_runs import finished, reread, started, work_to_the_end
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.bots.models import Bot, BotPrice
from turnwise.judges import services
from turnwise.judges.budgets import Budget, cost_of_run
from turnwise.judges.models import JudgeRun, MachineLabel
from turnwise.studies.models import Study
from turnwise.trash.models import Deletion

pytestmark = pytest.mark.django_db(transaction=True)

MakeJudge = Callable[..., Bot]


def within(study: Study, bot: Bot, budget: Budget) -> JudgeRun:
    """A run that was worked on until its budget or its end."""
    run = services.start(study.asks.get(number=0), bot, draws=1, by=study.owner, budget=budget)
    work_to_the_end(run)
    return reread(run)


def priced(bot: Bot) -> Bot:
    """Each of its answers, of 200 and 10 tokens, costs 0.003 USD."""
    prices = {"prompt": Decimal(10), "completion": Decimal(100)}
    BotPrice.objects.create(bot=bot, valid_from=timezone.now().date(), currency="USD", **prices)
    return bot


def test_a_number_of_requests_stops_a_run_which_goes_on_once_it_is_raised(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)

    run = within(make_items(4), make_judge(), Budget(most_calls=5))

    assert run.state == JudgeRun.State.PAUSED
    assert run.labels.count() == run.calls == 5
    assert "reached: 5 requests. Raise it to go on." in page(client, run.get_absolute_url())
    client.post(f"{run.get_absolute_url()}continue/")
    assert reread(run).state == JudgeRun.State.PAUSED
    client.post(f"{run.get_absolute_url()}budget/", {"most_calls": 6})
    work_to_the_end(run)
    assert run.labels.count() == 6
    client.post(f"{run.get_absolute_url()}budget/", {"most_calls": "", "most_cost": ""})
    work_to_the_end(run)

    run = reread(run)
    assert run.state == JudgeRun.State.DONE
    assert run.labels.count() == run.calls == run.labels.values("item").distinct().count() == 8


def test_failed_requests_count(make_items: MakeStudyOfTwo, make_judge: MakeJudge) -> None:
    broken = make_judge(lambda text: Sent({"error": "no"}, status=400) if text else GOOD)

    run = within(make_items(4), broken, Budget(most_calls=3))

    assert run.state == JudgeRun.State.PAUSED
    assert run.calls == 3
    assert not run.labels.exclude(outcome=MachineLabel.Outcome.FAILED).exists()


def test_an_amount_stops_a_run_before_a_request_would_exceed_it(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, rex: User, sign_in: SignIn
) -> None:
    run = within(make_items(4), priced(make_judge()), Budget(most_cost=Decimal("0.0100")))

    assert run.state == JudgeRun.State.PAUSED
    assert run.labels.count() == 3  # by hand: three cost 0.009 USD, four would cost 0.012
    cost = cost_of_run(run)
    assert cost
    assert cost.amounts["USD"] == pytest.approx(0.009)
    assert "exceed the budget of this run, 0.01 USD" in page(sign_in(rex), run.get_absolute_url()).replace(
        "\u00a0", " "
    )


def test_an_amount_needs_a_price_and_answers_of_known_length(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge
) -> None:
    study, bot = make_items(2), make_judge()
    with pytest.raises(ValidationError, match="Type in a price that is valid today"):
        within(study, bot, Budget(most_cost=Decimal(1)))

    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": GOOD}}
    silent = priced(make_judge(lambda _text: Sent({"model": "judge-1", "choices": [choice]}), "silent"))
    run = within(study, silent, Budget(most_cost=Decimal(1)))

    assert run.state == JudgeRun.State.PAUSED
    assert run.labels.count() == 1
    assert "Limit the number of requests instead." in run.reason


def test_a_run_is_removed_with_its_labels_and_put_back(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, rex: User, sign_in: SignIn
) -> None:
    study, client = make_items(3), sign_in(rex)
    run = finished(study, make_judge())
    labels = list(run.labels.values())
    assert assisted(study)

    removed = client.post(f"{run.get_absolute_url()}remove/", follow=True)

    assert "Removed: Labels of Umpire." in removed.content.decode()
    assert not JudgeRun.objects.exists()
    assert not MachineLabel.objects.exists()
    assert not assisted(study)
    assert client.get(run.get_absolute_url()).status_code == 404
    client.post(f"/deleted/{Deletion.objects.get().pk}/put-back/")
    assert list(reread(run).labels.values()) == labels
    assert assisted(study)


def test_a_run_under_way_is_not_removed(
    make_items: MakeStudyOfTwo, make_judge: MakeJudge, rex: User, sign_in: SignIn
) -> None:
    client: Client = sign_in(rex)
    run = started(make_items(1), make_judge())

    answer = client.post(f"{run.get_absolute_url()}remove/", follow=True)

    assert "Cancel it first, then remove it." in answer.content.decode()
    assert JudgeRun.objects.exists()
