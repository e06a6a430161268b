"""What a planned study takes and can tell, beside its form."""

from decimal import Decimal
from typing import Any

import pytest
import scipy
from django.test import Client

from tests.conftest import MakeQueue, MakeVersion
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.judging.models import JudgingPlan
from turnwise.judging.queue.queued_task import planned_of_queue
from turnwise.studies.models import Study
from turnwise.studies.outlook import Conclusion, PlannedStudy, Unit, outlook, planned_conversations

pytestmark = pytest.mark.django_db

ADDRESS = "/studies/outlook/"
PLAN = {
    "task": "conversation", "wanted": "100,100,100", "minutes": "15", "pay": "2.50", "currency": "eur",
    "question_set": "ssa",
}  # fmt: skip


def test_time_and_pay_cover_all_people(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)

    alone = client.get(ADDRESS, PLAN).content.decode()
    meeting = PLAN | {"task": "two_people", "wanted": "", "two_people-conversations": "100"}
    together = client.get(ADDRESS, meeting).content.decode()

    for said in ("300 conversations", "about 75&nbsp;h of work", "750.00 EUR"):
        assert said in alone
    for said in ("100 conversations", "about 50&nbsp;h of work", "500.00 EUR"):
        assert said in together


def test_the_outlook_compares_only_bots(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)

    one_bot = client.get(ADDRESS, PLAN | {"wanted": "100"}).content.decode()
    meeting = PLAN | {"task": "two_people", "wanted": "", "two_people-conversations": "100"}
    people = client.get(ADDRESS, meeting).content.decode()

    assert "once there are two" in one_bot
    assert "Bots" not in people


def test_the_detectable_difference_is_that_of_the_smallest_pair() -> None:
    def told(*wanted: int, question_set: str = "ssa") -> Any:
        planned = planned_conversations(wanted, together=1)
        found = outlook(planned, minutes=15, pay=Decimal(0), currency="USD", question_set=question_set)
        assert found.cost is None
        return found.deviations, found.points

    # Cohen 1988, table 2.4.1: 64 for d = 0.5. The paper's conversations spread by 10 points.
    assert told(64, 64) == (pytest.approx(0.5, rel=0.01), pytest.approx(5, rel=0.01))
    assert told(400, 64) == told(64, 64)
    assert told(64, 64, question_set="likert") == (told(64, 64)[0], None)
    # Three pairs, so 0.05 / 3: (2.394 + 0.842) sqrt(2 / 64) by the normal distribution, a little more by t.
    assert told(64, 64, 64)[0] == pytest.approx(0.579, abs=0.01)
    assert told(64) == told(2, 1) == told() == (None, None)


def test_several_conversations_of_each_worker_change_the_detectable_difference(
    rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    found = {
        name: client.get(ADDRESS, PLAN | change).context["outlook"]
        for name, change in {
            "once": {"re_entry": "once", "re_entry_most": "10"},
            "up to 10": {"re_entry": "up_to", "re_entry_most": "10"},
            "per bot": {"re_entry": "per_bot", "re_entry_most": "2"},
        }.items()
    }

    assert {name: each.per_worker for name, each in found.items()} == {
        "once": 1,
        "up to 10": 10,
        "per bot": 3,
    }
    # By chance: 2 (0.7 + 0.2 + 0.1 (3 - 1 + 10) / 3) / n for 2 / n, and t with 30 workers less 2.
    shifts = [sum(scipy.stats.t(freedom).ppf([1 - 0.05 / 6, 0.8])) for freedom in (28, 198)]
    by_chance = 1.3**0.5 * shifts[0] / shifts[1]
    assert found["up to 10"].deviations == pytest.approx(found["once"].deviations * by_chance, rel=0.02)
    # Each bot once: the workers' 0.2 cancels.
    assert found["per bot"].deviations == pytest.approx(found["once"].deviations * 0.8**0.5, rel=0.02)
    shown = client.get(ADDRESS, PLAN | {"re_entry": "up_to", "re_entry_most": "10"}).content.decode()
    assert "Assumes 10 conversations of each worker" in shown
    assert "Assumes" not in client.get(ADDRESS, PLAN).content.decode()


@pytest.mark.parametrize(
    "wrong",
    [
        {"wanted": "many"},
        {"wanted": "1," * 2000},
        {"pay": "NaN"},
        {"minutes": "0"},
        {"currency": "<b>"},
        {"re_entry": "often"},
        {"re_entry_most": "1"},
    ],
)
def test_unusable_values_give_no_outlook(wrong: dict[str, str], rex: User, sign_in: SignIn) -> None:
    answer = sign_in(rex).get(ADDRESS, PLAN | wrong)

    assert (answer.status_code, answer.content) == (422, b"")


def test_the_outlook_is_for_signed_in_users() -> None:
    assert Client().get(ADDRESS, PLAN).headers["Location"].startswith("/sign-in/")


def test_the_outlook_of_judging_follows_the_queue(make_queue: MakeQueue, rex: User, sign_in: SignIn) -> None:
    study = make_queue(10, raters=3)
    JudgingPlan.objects.filter(study=study).update(batch_size=7)
    plan = PLAN | {"task": "judging", "wanted": "", "study": str(study.pk), "minutes": "12"}

    shown = sign_in(rex).get(ADDRESS, plan).text

    # 30 judgments in batches of 7 are of 5 people: 1 h in all, at 2.50 each.
    for said in ("30 judgments", "of 5 people", "about 1&nbsp;h of work", "12.50 EUR"):
        assert said in shown
    planned = planned_of_queue(study)
    assert planned
    assert (planned.tells, list(planned.samples)) == (Conclusion.SYSTEMS, [10])


def test_the_outlook_of_writing_and_self_play_follows_their_forms(
    make_version: MakeVersion, rex: User, sign_in: SignIn
) -> None:
    client, version = sign_in(rex), make_version(9)
    writing = PLAN | {"task": "writing", "wanted": "", "writing-context_version": str(version.pk)}
    writing |= {"writing-responses_per_context": "2", "writing-batch_size": "4"}
    alone = {"task": "self_play", "self_play-conversations": "60", "self_play-utterances": "20"}

    written = client.get(ADDRESS, writing).text
    played = client.get(ADDRESS, alone).text

    for said in ("18 responses", "of 5 people", "12.50 EUR"):  # 18 / 4, rounded up
        assert said in written
    assert "60 conversations" in played
    assert "1,200 turns of chatbots, and no people to pay" in played


def test_a_detectable_preference_has_its_power_by_the_binomial_distribution() -> None:
    """Against the exact test of a share, by brute force over all outcomes."""
    for pairs in (50, 100, 400):
        planned = PlannedStudy(Unit.COMPARISON, pairs, 1, Conclusion.PREFERENCE, [pairs])
        found = outlook(planned, minutes=1, pay=Decimal(0), currency="USD", question_set="preference")
        assert found.upper_share
        share, half = found.upper_share / 100, scipy.stats.binom(pairs, 0.5)
        rejects = [n for n in range(pairs + 1) if 2 * min(half.cdf(n), half.sf(n - 1)) <= 0.05]
        power = sum(scipy.stats.binom(pairs, share).pmf(rejects))
        # The exact test is a little more careful than the t test, most so with few pairs.
        assert 0.74 < power < 0.84


def test_unknown_parts_of_the_outlook_are_named(make_queue: MakeQueue, rex: User, sign_in: SignIn) -> None:
    for task in ("conversation", "judging", "pairs", "writing", "two_people", "self_play"):
        shown = sign_in(rex).get(ADDRESS, PLAN | {"task": task, "wanted": ""}).text
        assert "shown here once" in shown


def test_queues_of_other_users_are_not_found(make_queue: MakeQueue, mallory: User, sign_in: SignIn) -> None:
    study: Study = make_queue(2)

    assert sign_in(mallory).get(ADDRESS, PLAN | {"study": str(study.pk)}).status_code == 404
