"""Variables of system prompts: what is filled in, what survives, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chatbots.base import Context, Passage, Setting, Speaker, Turn
from chatbots.errors import ConfigurationError
from chatbots.instruction_prompts import TEMPLATE, system_of
from chatbots.prompt_variables import VARIABLES, check_variables, filled, variables_in
from chatbots.registry import REGISTRY

VALUES = {"language": "German", "scenario": "A shop.", "persona": "Ada {sells} tea", "material": "{language}"}
HELLO = (Turn(Speaker.HUMAN, "Hello"),)
READING = (Passage("Tea is a drink.", "Tea"),)


@pytest.mark.parametrize(
    ("template", "sent"),
    [
        ("Speak {language}.", "Speak German."),
        ("{persona}; {scenario}", "Ada {sells} tea; A shop."),
        ("{material}", "{language}"),
        ('Answer as {"text": "…", "tags": [{"name": "x"}], "empty": {}}.',) * 2,
        ("{ language } stays, {1} and {} too",) * 2,
        (r"\\frac{a}{b}, \\text{word}, ${name}, f(x){y}",) * 2,
        ("Write {{language}} or {{anything}}.", "Write {language} or {anything}."),
        ("{{{language}}}", "{{language}}"),
        ("", ""),
    ],
)
def test_variables_are_filled_and_other_braces_survive(template: str, sent: str) -> None:
    assert filled(check_variables(template), VALUES) == sent


@given(st.text(alphabet='{}abc "$\\:,\n', max_size=30))
def test_a_template_without_variables_loses_nothing_but_doubled_braces(template: str) -> None:
    sent = filled(template, VALUES)

    assert sent.replace("{", "").replace("}", "") == template.replace("{", "").replace("}", "")
    if "{{" not in template:
        assert sent == template


def test_a_value_is_never_read_as_a_template() -> None:
    assert filled("{scenario}", {"scenario": "{persona} {{x}}", "persona": "no"}) == "{persona} {{x}}"


def test_an_unknown_variable_is_named_with_those_that_exist_and_the_way_out() -> None:
    with pytest.raises(ValueError, match=r"unknown variable \{langauge\}") as caught:
        check_variables("Speak {langauge}.")

    assert all(f"{{{name}}}" in str(caught.value) for name in VARIABLES)
    assert "{{langauge}}" in str(caught.value)


@pytest.mark.parametrize("adapter", ["openai-chat", "anthropic-messages", "gemini", "ollama"])
def test_every_chat_service_refuses_an_unknown_variable(adapter: str) -> None:
    with pytest.raises(ConfigurationError, match="unknown variable"):
        REGISTRY.configuration(adapter, {"model": "m", "base_url": "http://127.0.0.1:1/v1", "system": "{x}"})


def test_the_material_stands_where_the_prompt_wants_it_and_else_at_its_end() -> None:
    context = Context(HELLO, material=READING, setting=Setting("German"))

    assert system_of("Know: {material}!", context, TEMPLATE, None) == "Know: Tea\nTea is a drink.!"
    assert system_of("Know: {material}!", Context(HELLO), TEMPLATE, None) == "Know: !"
    assert system_of("Speak {language}.", context, "Read {material}", None) == (
        "Speak German.\n\nRead Tea\nTea is a drink."
    )
    assert system_of("Speak {language}.", context, "", None) == "Speak German."


def test_variables_are_listed_in_their_order() -> None:
    assert variables_in("{persona} {{scenario}} {language}") == ["language", "persona"]
