import pytest

from chatbots.base import Context
from chatbots.bots.scripted import PlannedFailureError
from chatbots.errors import ConfigurationError
from chatbots.registry import create_bot


def say(bot, *texts):
    [response] = bot.respond([Context.from_texts(texts)])
    return response.text


def test_replies_come_in_order_and_start_over():
    bot = create_bot("scripted", {"replies": ["one", "two"]})

    said = [say(bot, "a"), say(bot, "a", "one", "b"), say(bot, "a", "one", "b", "two", "c")]

    assert said == ["one", "two", "one"]


def test_an_opening_of_the_bot_does_not_count():
    bot = create_bot("scripted", {"replies": ["one", "two"]})

    assert say(bot, "Hi!", "Hello") == "one"


def test_fails_on_the_planned_turn_only():
    bot = create_bot("scripted", {"replies": ["one"], "fail_on": [2]})

    assert say(bot, "a") == "one"
    for _ in range(2):
        with pytest.raises(PlannedFailureError, match="Turn 2"):
            say(bot, "a", "one", "b")


def test_succeeds_once_the_failures_are_used_up():
    bot = create_bot("scripted", {"replies": ["one"], "fail_on": [1], "fail_times": 1})

    with pytest.raises(PlannedFailureError):
        say(bot, "a")

    assert say(bot, "a") == "one"


def test_hangs_on_the_planned_turn_only(monkeypatch):
    slept = []
    monkeypatch.setattr("time.sleep", slept.append)
    bot = create_bot("scripted", {"seconds": 0.5, "hang_on": [2], "hang_seconds": 30})

    say(bot, "a")
    say(bot, "a", "x", "b")

    assert slept == [0.5, 30]


@pytest.mark.parametrize(
    ("settings", "field"),
    [
        ({"replies": []}, "replies"),
        ({"seconds": -1}, "seconds"),
        ({"fail_on": [0]}, "fail_on.0"),
        ({"fail_times": 0}, "fail_times"),
    ],
)
def test_settings_out_of_range_are_refused(settings, field):
    with pytest.raises(ConfigurationError) as caught:
        create_bot("scripted", settings)

    assert [problem.field for problem in caught.value.problems] == [field]
