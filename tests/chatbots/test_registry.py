import subprocess
import sys
from pathlib import Path

import pytest
from pydantic import Field, SecretStr

from chatbots.base import Bot, BotConfiguration
from chatbots.errors import ConfigurationError, DuplicateBotError, UnknownBotError
from chatbots.registry import REGISTRY, Registry
from chatbots.replies import Response

ROOT = Path(__file__).parents[2]


class EchoBot(Bot):
    """Repeats the worker.

    Loudly, if wanted.
    """

    class Configuration(BotConfiguration):
        times: int = Field(1, ge=1, description="How often.")
        api_key: SecretStr | None = None
        model: str

    def respond(self, contexts):
        return [Response(context.turns[-1].text) for context in contexts]


@pytest.fixture
def registry():
    registry = Registry()
    registry.register("echo")(EchoBot)
    return registry


def run_python(*arguments, path, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        env={"PYTHONPATH": f"{ROOT}:{path}", **environment},
        cwd=path,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_registered_class_is_created_with_its_configuration(registry):
    bot = registry.create_bot("echo", {"model": "small"})

    assert isinstance(bot, EchoBot)
    assert (bot.name, bot.configuration.model, bot.configuration.times) == ("echo", "small", 1)


def test_names_are_sorted(registry):
    registry.register("alpha")(type("AlphaBot", (EchoBot,), {}))

    assert registry.registered_names() == ["alpha", "echo"]


def test_a_second_class_of_one_name_is_an_error_that_shows_both(registry):
    class OtherBot(EchoBot):
        pass

    with pytest.raises(DuplicateBotError, match=r"'echo': \S*EchoBot and \S*OtherBot\. Rename"):
        registry.register("echo")(OtherBot)


def test_a_reloaded_module_replaces_its_own_class(registry):
    again = type("EchoBot", (EchoBot,), {"__module__": EchoBot.__module__, "__qualname__": "EchoBot"})

    registry.register("echo")(again)

    assert registry.bot_class("echo") is again


@pytest.mark.parametrize("name", ["Echo", "my bot", "", "1st", "-ab", "a/b"])
def test_a_name_of_other_characters_is_refused(registry, name):
    with pytest.raises(ValueError, match="lower-case letters"):
        registry.register(name)


def test_an_unknown_name_suggests_lists_and_says_how_to_add(registry):
    with pytest.raises(UnknownBotError, match=r"'eco'. Did you mean 'echo'\? Registered: echo\. .*@register"):
        registry.create_bot("eco")


def test_an_unknown_name_far_from_all_others_gets_no_suggestion(registry):
    with pytest.raises(UnknownBotError, match=r"'zzz'. Registered: echo\."):
        registry.describe("zzz")


def test_wrong_settings_are_all_named_with_value_and_cure(registry):
    with pytest.raises(ConfigurationError) as caught:
        registry.create_bot("echo", {"times": 0, "modle": "x"})

    problems = {problem.field: problem for problem in caught.value.problems}
    assert problems["times"].value == "0"
    assert problems["times"].cure == "give 1 or more"
    assert problems["modle"].cure.startswith("unknown setting; did you mean 'model'? known: api_key, model")
    assert str(problems["model"]) == "model = (nothing): is required"
    assert str(caught.value).startswith("Configuration of bot 'echo': ")


def test_a_text_of_the_wrong_form_is_answered_by_an_example():
    with pytest.raises(ConfigurationError) as caught:
        REGISTRY.create_bot("http", {"url": "https://8.8.8.8/reply", "api_key_variable": "OPENAI_KEY"})

    (problem,) = caught.value.problems
    assert (problem.field, problem.value) == ("api_key_variable", "'OPENAI_KEY'")
    assert problem.cure == "give a text like TURNWISE_BOT_OPENAI_KEY"


def test_a_wrong_secret_is_not_shown(registry):
    with pytest.raises(ConfigurationError, match=r"api_key = \(hidden\)") as caught:
        registry.create_bot("echo", {"model": "x", "api_key": ["swordfish"]})

    assert "swordfish" not in str(caught.value)


def test_a_long_value_is_shortened_in_the_message(registry):
    with pytest.raises(ConfigurationError) as caught:
        registry.create_bot("echo", {"model": ["x" * 10_000]})

    assert len(str(caught.value)) < 300


def test_a_description_has_the_first_line_the_class_and_the_schema(registry):
    description = registry.describe("echo")

    assert description.summary == "Repeats the worker."
    assert description.origin.endswith(".EchoBot")
    assert description.schema["properties"]["times"]["description"] == "How often."


def test_discovery_runs_once_and_at_the_first_look_up():
    calls = []
    registry = Registry(lambda: calls.append("discovered") or {})
    assert calls == []

    registry.registered_names()
    registry.registered_names()

    assert calls == ["discovered"]


def test_a_failed_import_is_reported_with_an_unknown_name():
    registry = Registry(lambda: {"chatbots.bots.torn": "SyntaxError: invalid syntax"})

    with pytest.raises(UnknownBotError, match=r"chatbots\.bots\.torn could not be imported: SyntaxError"):
        registry.create_bot("torn")


def test_bots_of_installed_packages_are_found_by_entry_point_and_a_broken_one_hides_none(tmp_path):
    (tmp_path / "labbots.py").write_text(
        "from chatbots.base import Bot, Response\n"
        "from chatbots.registry import register\n"
        "@register('labbot')\n"
        "class LabBot(Bot):\n"
        "    '''Works in a lab.'''\n"
        "    def respond(self, contexts):\n"
        "        return [Response('lab') for _ in contexts]\n"
    )
    package = tmp_path / "labbots-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: labbots\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[turnwise.chatbots]\ngood = labbots\ntorn = no_such_module\n")

    done = run_python("-m", "chatbots", "list", path=tmp_path)

    assert "labbot Works in a lab." in " ".join(done.stdout.split())
    assert "generic " in done.stdout
    assert "no_such_module (entry point 'torn') could not be imported: ModuleNotFoundError" in done.stderr


def test_listing_bots_imports_no_heavy_library(tmp_path):
    heavy = {"django", "nltk", "numpy", "scipy", "torch", "transformers"}

    done = run_python(
        "-c",
        f"import sys; from chatbots.registry import registered_names; registered_names(); "
        f"print(sorted({heavy} & set(sys.modules)))",
        path=tmp_path,
    )

    assert done.stdout == "[]\n"


LAB_BOT = """
from chatbots.base import Bot
from chatbots.replies import Response
from chatbots.registry import register
from .shared import ANSWER

@register("labbot")
class LabBot(Bot):
    '''Works in a lab.'''

    def respond(self, contexts):
        return [Response(ANSWER) for _ in contexts]
"""


def test_bots_of_a_labs_own_folder_are_found_and_a_broken_one_hides_none(tmp_path):
    lab = tmp_path / "lab"
    lab.mkdir()
    (lab / "random.py").write_text(LAB_BOT)  # hides no module of Python
    (lab / "shared.py").write_text("ANSWER = 'from the lab'\n")
    (lab / "torn.py").write_text("def (\n")
    path = f"{lab}:{tmp_path / 'absent'}"

    listed = run_python("-m", "chatbots", "list", path=tmp_path, TURNWISE_BOT_PATH=path)
    said = run_python(
        "-m", "chatbots", "reply", "labbot", "--context", "Hi", path=tmp_path, TURNWISE_BOT_PATH=path
    )

    assert "labbot Works in a lab." in " ".join(listed.stdout.split())
    assert "turnwise_lab.torn could not be imported: " in listed.stderr
    assert (
        f"TURNWISE_BOT_PATH={tmp_path / 'absent'} could not be imported: there is no such folder"
        in listed.stderr
    )
    assert said.stdout == "from the lab\n"
