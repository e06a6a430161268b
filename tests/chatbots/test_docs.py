import json
import re
import sys
from pathlib import Path

import pytest

from chatbots.base import Context, Kind
from chatbots.hosting.response_checks import is_blank
from chatbots.local_files import PACKAGE
from chatbots.registry import REGISTRY, Registry, describe, registered_names

PAGE = (Path(__file__).parents[2] / "docs" / "bots.md").read_text("utf-8")


def test_the_bots_page_lists_exactly_the_registered_bots():
    assert re.findall(r"^## (\S+)", PAGE, flags=re.M) == registered_names()


@pytest.mark.parametrize("name", registered_names())
def test_every_bot_is_of_one_of_the_kinds_that_its_page_knows(name):
    assert isinstance(describe(name).kind, Kind)


@pytest.mark.parametrize("name", registered_names())
def test_the_bots_page_names_exactly_the_settings_of_a_bot(name):
    section = re.search(rf"^## {name}$(.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S)[1]

    assert re.findall(r"^\| `(\w+)`", section, flags=re.M) == list(describe(name).schema["properties"])


def examples():
    """What the page shows as configuration: bot, JSON."""
    sections = re.findall(r"^## (\S+)$(.*?)(?=^## |\Z)", PAGE, flags=re.M | re.S)
    for name, section in sections:
        yield from ((name, block) for block in re.findall(r"```json\n(.*?)```", section, flags=re.S))
    for name, block in re.findall(
        r"chatbots (?:chat|reply) (\S+).* --configuration '(.*)'$", PAGE, flags=re.M
    ):
        yield name, block


LAB = {
    "our_identity": "class Classifier: ...",
    "our_safety": "class Classifier: ...",
    "hred": "class HREDBot: ...",
}


@pytest.fixture
def _lab(monkeypatch, tmp_path):
    monkeypatch.setenv("TURNWISE_BOT_PATH", str(tmp_path))
    for module, code in LAB.items():
        (tmp_path / f"{module}.py").write_text(code)
    yield
    for module in LAB:
        sys.modules.pop(f"{PACKAGE}.{module}", None)


@pytest.mark.usefixtures("_lab")
@pytest.mark.parametrize(("name", "configuration"), list(examples()))
def test_every_configuration_on_the_bots_page_is_valid(name, configuration, monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")

    REGISTRY.configuration(name, json.loads(configuration))


def test_the_nested_example_on_the_bots_page_is_valid():
    block = re.search(r"^# Bots around bots$.*?```json\n(.*?)```", PAGE, flags=re.M | re.S)[1]

    REGISTRY.configuration("latency-floor", json.loads(block))


def test_the_example_on_the_bots_page_works(monkeypatch):
    registry = Registry()
    monkeypatch.setattr("chatbots.registry.register", registry.register)
    source = re.search(r"```python\n(.*?)```", PAGE, flags=re.S)[1]

    exec(compile(source, "docs/bots.md", "exec"), {"__name__": "docs_example"})

    parrot = registry.create_bot("parrot", {"times": 2})
    assert parrot.respond([Context.from_texts(["Hi"])])[0].text == "You said: Hi Hi"
    [blank] = parrot.respond([Context.from_texts(["\x1b"])])
    assert not is_blank(blank.text)
    assert "parrot" not in REGISTRY.registered_names()
