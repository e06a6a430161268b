r"""Variables of system prompts: `{language}`, `{scenario}`, `{persona}`, `{material}` and `{scenario.NAME}`.

`{scenario.NAME}` is the column NAME of the study's table of scenarios, in the row of this conversation.
A word in one pair of braces is a variable. Any other braces are ordinary text, such as those of JSON or code.
A word in two or more pairs is text, too, and loses one pair: `{{language}}` is sent as `{language}`.
A word that is no variable is refused, since it is probably misspelt, unless it looks like code: braces right
after a letter, digit, `$`, `\`, `}`, `]` or `)` stay as they are, as in `\frac{a}{b}` or `${name}`.
"""

import re
from collections.abc import Callable, Mapping

VARIABLES = ("language", "scenario", "persona", "material")
"""Names of the variables, in the order of messages."""

OF_SCENARIO = "scenario."
"""Beginning of the variables with the columns of a table of scenarios."""

_WORD = re.compile(r"(?P<open>\{+)(?P<word>scenario\.\w+|[A-Za-z_]\w*)(?P<close>\}+)")
_CODE_BEFORE = re.compile(r"[\w$\\}\])]")


def variables_in(template: str) -> list[str]:
    """List the variables that a template uses, in the order of `VARIABLES`."""
    used = {match["word"] for match in _WORD.finditer(template) if _pairs(match) == 1}
    return [name for name in VARIABLES if name in used]


def scenario_columns_in(template: str) -> list[str]:
    """List the columns of a table of scenarios that a template uses, each once, in their order there."""
    words = (match["word"] for match in _WORD.finditer(template) if _pairs(match) == 1)
    named = (word.removeprefix(OF_SCENARIO) for word in words if word.startswith(OF_SCENARIO))
    return list(dict.fromkeys(named))


def check_variables(template: str) -> str:
    """Return the template.

    Raises:
        ValueError: a word in braces is no variable.
    """
    for match in _WORD.finditer(template):
        word, start = match["word"], match.start()
        is_known = word in VARIABLES or word.startswith(OF_SCENARIO)
        is_code = start > 0 and _CODE_BEFORE.match(template, start - 1)
        if _pairs(match) == 1 and not is_known and not is_code:
            known = ", ".join(f"{{{name}}}" for name in VARIABLES)
            raise ValueError(
                f"has the unknown variable {{{word}}}. There are {known}; to send the word in braces, write "
                f"{{{{{word}}}}}"
            )
    return template


def filled(template: str, values: Mapping[str, str]) -> str:
    """Replace the variables of a template by their values, in which braces have no meaning.

    Args:
        template: a checked template.
        values: by name; a variable without a value becomes empty.
    """
    return _WORD.sub(_value_from(values), template)


def _value_from(values: Mapping[str, str]) -> Callable[[re.Match[str]], str]:
    def value(match: re.Match[str]) -> str:
        if _pairs(match) > 1:
            return match[0][1:-1]
        if match["word"] not in VARIABLES and not match["word"].startswith(OF_SCENARIO):
            return match[0]
        return match["open"][1:] + values.get(match["word"], "") + match["close"][1:]

    return value


def _pairs(match: re.Match[str]) -> int:
    """Number of pairs of braces around the word."""
    return min(len(match["open"]), len(match["close"]))
