"""What a form calls optional may be left empty, whatever the kind of bot."""

import json
from pathlib import Path
from typing import Any

import pytest

from chatbots.bots.hierarchical import SHIPPED
from chatbots.registry import REGISTRY, registered_names
from turnwise.bots.forms import PREFIX, BotForm

ELIZA = {"adapter": "eliza", "configuration": {}}
GENERIC = {"adapter": "generic", "configuration": {}}
NEEDED: dict[str, Any] = {
    "base_url": "https://8.8.8.8/",
    "url": "https://8.8.8.8/",
    "model": "a/b",
    "checkpoint": str(SHIPPED / "vhred"),
    "path": "repeater:Repeater",
    "bot": ELIZA,
    "bots": [ELIZA, GENERIC],
}
"""A value for each setting that some kind of bot cannot do without."""
OPTIONAL = [
    (adapter, name.removeprefix(PREFIX))
    for adapter in registered_names()
    for name, field in BotForm(adapter).fields.items()
    if name.startswith(PREFIX) and not field.required
]


def sent(form: BotForm) -> dict[str, Any]:
    """What the browser sends of a form in which nothing but what is needed was filled in."""
    filled = {name: form[name].value() for name in form.fields if name.startswith(PREFIX)}
    for key, value in NEEDED.items():
        if (name := PREFIX + key) in filled and form.fields[name].required:
            filled[name] = value if isinstance(value, str) else json.dumps(value)
    return {"name": "e", "title": "E"} | {
        name: value for name, value in filled.items() if value not in (None, False)
    }


@pytest.fixture(autouse=True)
def _a_lab_has_code(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "repeater.py").write_text("class Repeater: ...\n")
    monkeypatch.setenv("TURNWISE_BOT_PATH", str(tmp_path))


@pytest.mark.parametrize(("adapter", "setting"), OPTIONAL)
def test_an_optional_setting_may_be_emptied(adapter: str, setting: str, db: None) -> None:
    filled = sent(BotForm(adapter))
    settings = REGISTRY.bot_class(adapter).Configuration.model_fields[setting]

    form = BotForm(adapter, filled | {PREFIX + setting: ""})

    assert form.is_valid(), form.errors
    taken = getattr(REGISTRY.configuration(adapter, form.settings()), setting)
    empty: tuple[Any, ...] = ("", (), [], None, False)
    assert taken in empty or taken == settings.get_default(call_default_factory=True)


@pytest.mark.parametrize("adapter", registered_names())
def test_a_setting_is_required_in_the_form_exactly_where_its_adapter_requires_it(adapter: str) -> None:
    declared = REGISTRY.bot_class(adapter).Configuration.model_fields
    form = BotForm(adapter)

    for key, setting in declared.items():
        assert form.fields[PREFIX + key].required == setting.is_required(), key
