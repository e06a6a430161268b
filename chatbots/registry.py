"""Bots by name: `@register` adds a class, `create_bot` loads one.

Modules are found without being listed: every module of `chatbots/bots/` and of the folders in
TURNWISE_BOT_PATH, and every entry point of the group `turnwise.chatbots` of installed packages (its value is
the module that registers the bot). They are imported at the first look-up of a name. Settings that cannot be
stored are refused before they are used.
"""

import difflib
import importlib
import inspect
import json
import math
import pkgutil
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib.metadata import entry_points
from threading import RLock
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from chatbots import local_files
from chatbots.base import Bot, BotConfiguration, Kind
from chatbots.errors import (
    HIDDEN,
    NOTHING,
    ConfigurationError,
    DuplicateBotError,
    Problem,
    UnknownBotError,
    last_line,
)

MOST_CHARS = 500_000
"""Longest configuration, in characters of its JSON."""

DEEPEST = 40
"""Deepest nesting of objects and lists in a configuration; bots around bots nest their settings."""

# PostgreSQL holds neither null characters nor halves of surrogate pairs.
_UNFIT = re.compile("[\x00\ud800-\udfff]")


def unstorable(settings: Mapping[str, Any]) -> list[Problem]:
    """List why these settings cannot be stored: characters, numbers, depth, length. Shows no value whole."""
    problems = list(_unfit(settings, ()))
    if not problems and (length := len(json.dumps(settings, default=str))) > MOST_CHARS:
        cure = f"is too long. Shorten the settings to {MOST_CHARS:,} characters"
        problems = [Problem("configuration", f"{length:,} characters", cure)]
    return problems


def _unfit(value: Any, place: tuple[str, ...]) -> Iterator[Problem]:
    field = ".".join(place) or "configuration"
    if len(place) > DEEPEST:
        field = f"{'.'.join(place[:3])}…"
        yield Problem(field, "(nested)", f"is nested more than {DEEPEST} deep. Take some layers away")
    elif isinstance(value, str):
        if match := _UNFIT.search(value):
            yield Problem(field, ascii(match[0]), "is a character that cannot be stored. Remove it")
    elif isinstance(value, float) and not math.isfinite(value):
        yield Problem(field, str(value), "is not a number that can be stored. Give a finite one")
    elif isinstance(value, Mapping):
        for name, part in value.items():
            yield from _unfit(str(name), (*place, "(name)"))
            yield from _unfit(part, (*place, ascii(name)[1:-1] if _UNFIT.search(str(name)) else str(name)))
    elif isinstance(value, Sequence):
        for number, part in enumerate(value):
            yield from _unfit(part, (*place, str(number)))


ENTRY_POINT_GROUP = "turnwise.chatbots"
BotClass = TypeVar("BotClass", bound=type[Bot])


@dataclass(frozen=True, slots=True)
class Description:
    """A bot's description before it is loaded.

    Attributes:
        name: the registered name.
        summary: first line of the class docstring.
        origin: module and class.
        schema: JSON Schema of the configuration, for forms and API documentation.
        kind: the group in which lists show it.
        first: the settings that a form shows before the others.
    """

    name: str
    summary: str
    origin: str
    schema: Mapping[str, Any]
    kind: Kind
    first: frozenset[str]


# Instructions for values that pydantic refuses, by type of error; braces hold the limits.
_WANTED = {
    "greater_than_equal": "give {ge} or more",
    "greater_than": "give more than {gt}",
    "less_than_equal": "give {le} or less",
    "less_than": "give less than {lt}",
    "finite_number": "give a finite number",
    "literal_error": "give {expected}",
    "string_too_short": "give at least {min_length} characters",
    "string_too_long": "give at most {max_length} characters",
    "string_pattern_mismatch": "give a text of the form {pattern}",
    "too_short": "give at least {min_length}",
    "too_long": "give at most {max_length}",
    **dict.fromkeys(("int_type", "int_parsing", "int_from_float"), "give a whole number"),
    **dict.fromkeys(("float_type", "float_parsing"), "give a number"),
    **dict.fromkeys(("bool_type", "bool_parsing"), "give true or false"),
    **dict.fromkeys(("string_type", "string_sub_type"), "give a text"),
    **dict.fromkeys(("list_type", "tuple_type"), "give a list"),
    **dict.fromkeys(("dict_type", "model_type", "model_attributes_type"), "give names with their values"),
}


class Registry:
    """A dictionary of bot classes with helpful errors.

    Args:
        discover: imports the modules that register bots; called once, at the first look-up. Returns failed
            imports: origin → last line of the error.
    """

    def __init__(self, discover: Callable[[], Mapping[str, str]] = dict) -> None:
        """Start empty; nothing is imported yet."""
        self._classes: dict[str, type[Bot]] = {}
        self._discover = discover
        self._broken: Mapping[str, str] | None = None
        self._discovery = RLock()

    def register(self, name: str) -> Callable[[BotClass], BotClass]:
        """Register the decorated class.

        Args:
            name: lower-case letters, digits, hyphens and underscores, a letter first; studies and files refer
                to the bot by it.

        Raises:
            ValueError: the name has other characters.
            DuplicateBotError: another class has the name.
        """
        if not re.fullmatch(r"[a-z][a-z0-9_-]*", name):
            raise ValueError(f"@register({name!r}): use lower-case letters, digits, - and _ only.")

        def add(bot: BotClass) -> BotClass:
            present = self._classes.get(name)
            if present and _origin(present) != _origin(bot):
                raise DuplicateBotError(
                    f"Two bots are called '{name}': {_origin(present)} and {_origin(bot)}. Rename one."
                )
            bot.name = name
            self._classes[name] = bot
            return bot

        return add

    def registered_names(self) -> list[str]:
        """List every registered name, sorted."""
        self._discover_once()
        return sorted(self._classes)

    def broken_modules(self) -> Mapping[str, str]:
        """Map modules of bots that failed to import: origin → last line of the error."""
        return self._discover_once()

    def bot_class(self, name: str) -> type[Bot]:
        """Return the class registered as `name`.

        Raises:
            UnknownBotError: there is none; the message suggests and lists names.
        """
        self._discover_once()
        try:
            return self._classes[name]
        except KeyError:
            raise UnknownBotError(self._unknown(name)) from None

    def describe(self, name: str) -> Description:
        """Describe the bot `name` without loading it.

        Raises:
            UnknownBotError: there is no such bot.
        """
        bot = self.bot_class(name)
        summary = (inspect.getdoc(bot) or "").partition("\n")[0]
        settings = bot.Configuration
        schema = settings.model_json_schema()
        required = frozenset(schema.get("required", ()))
        return Description(name, summary, _origin(bot), schema, bot.listed_as, required | settings.first)

    def configuration(self, name: str, settings: Mapping[str, Any]) -> BotConfiguration:
        """Check settings without loading the bot.

        Args:
            name: name of a registered bot.
            settings: JSON-able; missing ones take their defaults.

        Raises:
            UnknownBotError: there is no such bot.
            ConfigurationError: settings are unknown, missing, wrong or cannot be stored; names each, its
                value and the cure.
        """
        model = self.bot_class(name).Configuration
        if problems := unstorable(settings):
            raise ConfigurationError(name, problems)
        try:
            return model.model_validate(dict(settings))
        except ValidationError as error:
            errors = error.errors(include_url=False)
        raise ConfigurationError(
            name, [problem for details in errors for problem in _problems(model, details)]
        )

    def create_bot(self, name: str, settings: Mapping[str, Any] | None = None) -> Bot:
        """Load a bot; may take minutes and gigabytes.

        Args:
            name: name of a registered bot.
            settings: as in `configuration`.

        Raises:
            UnknownBotError: there is no such bot.
            ConfigurationError: the settings are not valid.
            Exception: any error that the bot raises while it loads.
        """
        return self.bot_class(name)(self.configuration(name, settings or {}))

    def _discover_once(self) -> Mapping[str, str]:
        with self._discovery:
            if self._broken is None:
                self._broken = {}  # a look-up during an import must not restart discovery
                self._broken = self._discover()
            return self._broken

    def _unknown(self, name: str) -> str:
        close = difflib.get_close_matches(name, self._classes, n=1)
        hint = f" Did you mean '{close[0]}'?" if close else ""
        names = ", ".join(sorted(self._classes)) or "none"
        broken = "".join(f" {origin} could not be imported: {why}." for origin, why in self._broken_items())
        return (
            f"No bot is registered as '{name}'.{hint} Registered: {names}.{broken} "
            "To add one, put a class with @register in chatbots/bots/ or in a folder of TURNWISE_BOT_PATH."
        )

    def _broken_items(self) -> list[tuple[str, str]]:
        return sorted((self._broken or {}).items())


def discover_bots() -> dict[str, str]:
    """Import the modules of `chatbots/bots/`, those of the lab and the entry points of `turnwise.chatbots`.

    Returns:
        Failed imports: origin → last line of the error. One broken file does not hide the others.
    """
    package = importlib.import_module("chatbots.bots")
    modules = [f"chatbots.bots.{module.name}" for module in pkgutil.iter_modules(package.__path__)]
    sources: dict[str, Callable[[], object]] = {
        name: partial(importlib.import_module, name) for name in modules
    }
    broken = local_files.missing_folders()
    sources |= {name: partial(importlib.import_module, name) for name in local_files.module_names()}
    for point in entry_points(group=ENTRY_POINT_GROUP):
        sources[f"{point.value} (entry point '{point.name}')"] = point.load
    return broken | {origin: why for origin, load in sources.items() if (why := _error_of(load))}


def _error_of(load: Callable[[], object]) -> str:
    try:
        load()
    except Exception as error:
        return last_line(error)
    return ""


def _origin(bot: type[Bot]) -> str:
    return f"{bot.__module__}.{bot.__qualname__}"


def _problems(model: type[BaseModel], details: ErrorDetails) -> list[Problem]:
    """Convert one error of pydantic to problems; an inner bot may have several."""
    inner: Sequence[Problem] = details.get("ctx", {}).get("problems", ())
    place = [*map(str, details["loc"])]
    if inner:
        return [replace(problem, field=".".join([*place, problem.field])) for problem in inner]
    return [_problem(model, place, details)]


def _problem(model: type[BaseModel], place: list[str], details: ErrorDetails) -> Problem:
    field = ".".join(place) or "configuration"
    if details["type"] == "missing":
        return Problem(field, NOTHING, "is required")
    value = HIDDEN if _is_secret(model, place) else _shortened(details["input"])
    if details["type"] == "extra_forbidden":
        return Problem(field, value, _unknown_setting(_model_of(model, place), place[-1]))
    examples = _field(model, place).examples if details["type"] == "string_pattern_mismatch" else None
    return Problem(field, value, f"give a text like {examples[0]}" if examples else _cure(details))


def _cure(details: ErrorDetails) -> str:
    """Say what to give instead, in pydantic's words if a check of the bot raised the error."""
    instruction = _WANTED.get(details["type"])
    if instruction is None:
        return details["msg"].removeprefix("Value error, ")
    return instruction.format(**{key: _plain(value) for key, value in details.get("ctx", {}).items()})


def _plain(value: object) -> object:
    """Return 3 for 3.0, as people write it."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _model_of(model: type[BaseModel], place: list[str]) -> type[BaseModel]:
    """Find the model that has the field: one inside `model` if the path has several parts."""
    for name in place[:-1]:
        field = model.model_fields.get(name)
        if field and isinstance(field.annotation, type) and issubclass(field.annotation, BaseModel):
            model = field.annotation
    return model


def _is_secret(model: type[BaseModel], place: list[str]) -> bool:
    """True if the value is a secret, or an object that may hold one."""
    if not place:
        return True
    return "Secret" in str(_field(model, place).annotation)


def _field(model: type[BaseModel], place: list[str]) -> FieldInfo:
    """Return the model's declaration of the field; None for an unknown field."""
    info = _model_of(model, place).model_fields.get(place[-1]) or model.model_fields.get(place[0])
    return info or FieldInfo()


def _unknown_setting(model: type[BaseModel], field: str) -> str:
    close = difflib.get_close_matches(field, model.model_fields, n=1)
    hint = f"did you mean '{close[0]}'? " if close else ""
    return f"unknown setting; {hint}known: {', '.join(sorted(model.model_fields)) or 'none'}"


def _shortened(value: object) -> str:
    """Shorten a value for an error message; a collection is shown by its size."""
    if isinstance(value, list | tuple | dict):
        return f"{len(value)} {'entry' if len(value) == 1 else 'entries'}"
    text = repr(_plain(value))
    return text if len(text) <= 80 else f"{text[:77]}..."


REGISTRY = Registry(discover_bots)
register = REGISTRY.register
registered_names = REGISTRY.registered_names
describe = REGISTRY.describe
create_bot = REGISTRY.create_bot
