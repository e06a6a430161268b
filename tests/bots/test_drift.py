"""A bot that changes under the same version is noticed; one that does not is left in peace."""

import random
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import ClassVar

import pytest
from django.test import Client
from django.utils import timezone

from chatbots.base import Bot as BotClass
from chatbots.base import Context
from chatbots.hosting.health import DRIFT_CONTEXTS
from chatbots.registry import REGISTRY
from chatbots.replies import Candidate, Response
from tests.conftest import MakeStudy
from turnwise.accounts.models import User
from turnwise.bots import drift_check, tasks
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot, CanaryRun
from turnwise.bots.services import register_bot, set_watched

pytestmark = pytest.mark.django_db(transaction=True)


class Service(BotClass):
    """Stands for a service elsewhere that changes without saying so."""

    say: ClassVar[Callable[[Context], Response]]

    def respond(self, contexts: object) -> list[Response]:
        return [type(self).say(context) for context in contexts]


@pytest.fixture(autouse=True)
def _service_is_a_kind() -> Iterator[None]:
    REGISTRY.registered_names()
    REGISTRY.register("service")(Service)
    yield
    del REGISTRY._classes["service"]
    resident_bots.close()


@pytest.fixture
def service() -> Bot:
    Service.say = lambda context: Response(f"You said {context.turns[-1].text}")
    return register_bot(name="service", title="Service", adapter="service")


def sampled(score: float, words: int = 5) -> Callable[[Context], Response]:
    """Draws at random, without regard to the seed; its likelihoods lie around `score`."""
    draw = random.Random(7)

    def say(context: Context) -> Response:
        text = " ".join(str(draw.random()) for _ in range(words))
        return Response(text, (Candidate(text, score + draw.random()),))

    return say


def test_there_are_twenty_contexts_each_with_a_seed_of_its_own() -> None:
    assert len(DRIFT_CONTEXTS) == 20
    assert len({context.seed for context in DRIFT_CONTEXTS}) == 20
    assert len({context.turns for context in DRIFT_CONTEXTS}) == 20


def test_the_same_answers_raise_no_alarm(service: Bot) -> None:
    first, second = drift_check.replay(service.pk), drift_check.replay(service.pk)

    assert (first.verdict, second.verdict) == ("baseline", "same")
    assert first.repeatable == [True] * 20
    assert not drift_check.alarms(Bot.objects.all()).exists()


def test_another_answer_is_told_with_the_question(service: Bot) -> None:
    drift_check.replay(service.pk)
    same = Service.say
    Service.say = lambda context: Response("Ahoy!") if context.turns[-1].text == "Hi!" else same(context)

    run = drift_check.replay(service.pk)

    assert run.verdict == "changed"
    assert run.said.startswith("1 of 20 answers differ")
    assert "To “Hi!” it said “You said Hi!”, now “Ahoy!”" in run.said
    assert drift_check.alarms(Bot.objects.all()).get() == run


def test_draws_of_the_same_distribution_raise_no_alarm_and_others_do(service: Bot) -> None:
    Service.say = sampled(score=-3.0)
    assert drift_check.replay(service.pk).repeatable == [False] * 20
    assert [drift_check.replay(service.pk).verdict for _ in range(3)] == ["same"] * 3

    Service.say = sampled(score=-6.0)
    run = drift_check.replay(service.pk)

    assert run.verdict == "shifted"
    assert "likelihood of the reply has shifted: median -2." in run.said
    assert "length" not in run.said


def test_longer_answers_are_a_shift_too(service: Bot) -> None:
    Service.say = sampled(score=-3.0)
    drift_check.replay(service.pk)
    Service.say = sampled(score=-3.0, words=9)

    assert "length in characters has shifted" in drift_check.replay(service.pk).said


def test_another_configuration_is_another_version_with_a_measure_of_its_own() -> None:
    bot = register_bot(name="s", title="S", adapter="scripted", configuration={"replies": ["Hello."]})
    drift_check.replay(bot.pk)
    Bot.objects.update(configuration={"replies": ["Good day."]})
    resident_bots.update_hosted_bots()

    assert drift_check.replay(bot.pk).verdict == "baseline"


def test_a_bot_that_hardly_answers_is_no_measure(service: Bot) -> None:
    def fail(context: Context) -> Response:
        raise RuntimeError("no")

    Service.say = fail

    run = drift_check.replay(service.pk)

    assert (run.verdict, run.said) == ("failed", "It answered 0 of 20 contexts.")


def test_the_new_answers_can_be_taken_as_the_measure(service: Bot) -> None:
    drift_check.replay(service.pk)
    Service.say = lambda context: Response("Ahoy!")
    assert drift_check.replay(service.pk).verdict == "changed"

    assert drift_check.replay(service.pk, anew=True).verdict == "baseline"

    assert drift_check.replay(service.pk).verdict == "same"
    assert not drift_check.alarms(Bot.objects.all()).exists()


def test_each_watched_bot_is_due_once_a_day(service: Bot) -> None:
    assert drift_check.bots_due() == [service.pk]
    drift_check.replay(service.pk)
    assert drift_check.bots_due() == []
    CanaryRun.objects.update(at=timezone.now() - timedelta(hours=25))
    assert drift_check.bots_due() == [service.pk]
    set_watched(service.pk, False)
    assert drift_check.bots_due() == []


def test_a_check_that_waits_in_the_queue_twice_is_done_once(service: Bot) -> None:
    tasks.replay_canary(service.pk)
    tasks.replay_canary(service.pk)
    assert CanaryRun.objects.count() == 1
    tasks.replay_canary(service.pk, anew=True)
    assert CanaryRun.objects.count() == 2


def test_the_alarm_stands_on_the_bots_pages_and_in_the_report(
    service: Bot, rex: User, make_study: MakeStudy, sign_in: Callable[[User], Client]
) -> None:
    study = make_study()
    study.study_bots.update(bot=service)
    drift_check.replay(service.pk)
    Service.say = lambda context: Response("<b>Ahoy!</b>")
    drift_check.replay(service.pk)

    client = sign_in(rex)
    for page in ("/bots/", "/bots/service/", f"/studies/{study.pk}/report/"):
        text = client.get(page).content.decode()
        assert "may no longer be the bot it was" in text
        assert "&lt;b&gt;Ahoy!" in text
