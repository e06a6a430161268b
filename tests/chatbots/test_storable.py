"""What cannot be stored is told before anything is."""

import pytest

from chatbots.errors import ConfigurationError
from chatbots.registry import DEEPEST, MOST_CHARS, REGISTRY

SERVICE = {"url": "https://bot.example.org/"}


def nested(layers):
    settings = {"adapter": "eliza", "configuration": {}}
    for _ in range(layers):
        settings = {"adapter": "latency-floor", "configuration": {"bot": settings}}
    return settings["configuration"]


@pytest.mark.parametrize(
    ("adapter", "settings", "field", "message"),
    [
        ("scripted", {"replies": ["a", "b\x00"]}, "replies.1", r"'\x00': is a character that cannot be"),
        ("scripted", {"replies": ["\ud83d"]}, "replies.0", r"'\ud83d': is a character that cannot be"),
        (
            "http",
            SERVICE | {"template": {"a": float("inf")}},
            "template.a",
            "inf: is not a number that can be",
        ),
        ("http", SERVICE | {"template": {"a\x00": 1}}, "template.(name)", "is a character that cannot be"),
        ("scripted", {"replies": ["a" * MOST_CHARS]}, "configuration", "is too long. Shorten the settings"),
        ("latency-floor", nested(300), "bot.configuration.bot…", f"more than {DEEPEST} deep"),
    ],
)
def test_unstorable_settings_are_reported_with_their_path(adapter, settings, field, message):
    with pytest.raises(ConfigurationError) as caught:
        REGISTRY.configuration(adapter, settings)

    problem = caught.value.problems[0]
    assert problem.field == field
    assert message in str(problem)


def test_a_secret_that_cannot_be_stored_is_not_shown():
    inner = {"adapter": "http", "configuration": SERVICE | {"api_key": "sk-7\x00"}}

    with pytest.raises(ConfigurationError) as caught:
        REGISTRY.configuration("latency-floor", {"bot": inner})

    assert "bot.configuration.api_key" in str(caught.value)
    assert "sk-7" not in str(caught.value)


def test_bots_around_bots_may_be_as_deep_as_anyone_needs():
    assert REGISTRY.configuration("latency-floor", nested(10))
