"""The form of a bot, generated from the configuration that its adapter declares."""

import json
from collections.abc import Collection, Mapping
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.utils.datastructures import MultiValueDict
from django.utils.functional import cached_property
from django.utils.translation import gettext, gettext_lazy

from chatbots.errors import HIDDEN, NOTHING, ConfigurationError, Problem
from chatbots.registry import REGISTRY
from turnwise.accounts.colleagues import UnknownPersonError, people_named
from turnwise.accounts.models import User
from turnwise.bots import composition
from turnwise.bots.choices import PickedBot, PickedBots, choices_for, named_by, value_of
from turnwise.bots.models import OPERATED, Bot
from turnwise.bots.queries import masked_settings
from turnwise.bots.services import newest_revision

PREFIX = "setting-"
# Longer texts get several lines.
LONG_TEXT_CHARS = 80
# Fewer settings than this are not folded.
LEAST_FOLDED = 3

Schema = Mapping[str, Any]


class JSONSetting(forms.JSONField):
    """A structured setting as JSON; the adapter validates it."""

    widget = forms.Textarea(attrs={"rows": 4, "spellcheck": "false", "class": "mono"})
    default_error_messages = {
        "invalid": gettext_lazy("This is not JSON. Check quotation marks, commas and brackets.")
    }


class ListSetting(forms.CharField):
    """A list of texts or numbers, one per line; the adapter validates each."""

    widget = forms.Textarea(attrs={"rows": 3})

    def prepare_value(self, value: Any) -> Any:
        return "\n".join(map(str, value)) if isinstance(value, list | tuple) else value


class BotForm(forms.Form):
    """Name, title, and a field for each setting of the adapter."""

    name = forms.SlugField(
        label=gettext_lazy("Name"),
        max_length=60,
        error_messages={"invalid": gettext_lazy("Use letters, digits, - and _ only.")},
        help_text=gettext_lazy(
            "Letters, digits, - and _. The name of the bot in files and programs; it cannot change."
        ),
    )
    title = forms.CharField(
        label=gettext_lazy("Title"),
        max_length=120,
        help_text=gettext_lazy("Shown to researchers, and to workers if a study is open."),
    )

    open_to_all = forms.BooleanField(
        required=False,
        label=gettext_lazy("Everybody who signs in can see its settings and figures, and use it"),
    )
    shared_with = forms.CharField(
        required=False,
        label=gettext_lazy("These people can, too"),
        help_text=gettext_lazy(
            "The names by which they sign in, separated by commas. Otherwise only you and admins see it; "
            "anyone who can read a study that uses it sees its title."
        ),
    )

    operators = forms.CharField(
        required=False,
        label=gettext_lazy("These people can answer in its place"),
        help_text=gettext_lazy(
            "The names by which they sign in, separated by commas; you and admins can, too. They read the "
            "conversations that people have with it, in any study."
        ),
    )

    def __init__(
        self,
        adapter: str,
        *args: Any,
        bot: Bot | None = None,
        user: User | None = None,
        as_json: bool = False,
        **kwargs: Any,
    ) -> None:
        """`as_json`: bots inside are written as JSON rather than chosen from those that the user may see."""
        super().__init__(*args, **kwargs)
        self.adapter, self.bot, self.user = adapter, bot, user
        self._left_out: set[str] = set()
        self.inside = REGISTRY.bot_class(adapter).inner_setting
        self.picks = bool(self.inside and user and not as_json and self._names_all())
        described = REGISTRY.describe(adapter)
        schema, self._first = described.schema, described.first
        self._schemas = {key: resolved(each, schema) for key, each in schema.get("properties", {}).items()}
        required = set(schema.get("required", ()))
        for key, each in self._schemas.items():
            self.fields[PREFIX + key] = field_of(each, key in required)
            self.initial.setdefault(PREFIX + key, self._initial_value(key))
        if self.picks:
            self._add_bot_field()
        if adapter != OPERATED:
            del self.fields["operators"]
        elif bot:
            self.initial["operators"] = _names(bot.operators.all())
        if bot:
            del self.fields["name"]
            self.initial["title"] = bot.title
            self.initial["open_to_all"] = bot.open_to_all
            self.initial["shared_with"] = _names(bot.shared_with.all())
            self.fields["revision"] = forms.IntegerField(widget=forms.HiddenInput(), required=False)
            self.initial["revision"] = newest_revision(bot)

    def _inside(self) -> list[Any]:
        """Stored settings of the bots inside."""
        stored = self.bot.configuration.get(self.inside) if self.bot else None
        return stored if isinstance(stored, list) else [stored] if stored else []

    def _names_all(self) -> bool:
        return all(map(composition.is_named, self._inside()))

    def _add_bot_field(self) -> None:
        assert self.user
        schema, inner, name = self._schemas[self.inside], self._inside(), PREFIX + self.inside
        sent = self.data.getlist(name) if isinstance(self.data, MultiValueDict) else []
        choices, unlisted = choices_for(self.user, inner, sent, besides=self.bot)
        common: dict[str, Any] = {"label": label_of(schema), "required": True}
        several = schema.get("type") == "array"
        if several:
            field: forms.Field = PickedBots(
                **common,
                choices=choices,
                help_text=gettext_lazy("Tick two to eight. Each keeps the settings that it has now."),
            )
        else:
            field = PickedBot(
                **common,
                choices=[("", gettext_lazy("Choose a bot")), *choices],
                help_text=gettext_lazy("It keeps the settings that it has now."),
            )
        field.widget.unlisted, field.widget.takes = unlisted, "name"
        self.fields[name] = field
        values = [value_of(each) for each in inner]
        self.initial[name] = values if several else (values or [""])[0]

    def _initial_value(self, key: str) -> Any:
        """Initial value of the field; always empty for a secret."""
        schema = self._schemas[key]
        if is_secret(schema):
            return ""
        stored = masked_settings(self.bot) if self.bot else {}  # secrets inside a wrapped bot are masked
        return stored.get(key, schema.get("default"))

    def settings(self) -> dict[str, Any]:
        """Configuration from the form; settings left empty take their default."""
        values: dict[str, Any] = {}
        for key in [key for key in self._schemas if key not in self._left_out]:
            schema = self._schemas[key]
            value = self.cleaned_data.get(PREFIX + key)
            kind = type_of(schema)
            if self.picks and key == self.inside:
                if value:
                    values[key] = [*map(named_by, value)] if isinstance(value, list) else named_by(value)
            elif is_secret(schema) and not value:
                if self.bot and key in self.bot.configuration:
                    values[key] = self.bot.configuration[key]  # a secret left empty stays as it is
            elif kind == "list":
                values[key] = [line.strip() for line in (value or "").splitlines() if line.strip()]
            elif value in (None, "") and kind != "boolean":
                if schema.get("nullable"):
                    values[key] = None
                elif kind == "string" and schema.get("default") is not None:
                    values[key] = ""
            else:
                # Browsers end the lines of a text area with CR LF; a model must get what other clients send.
                values[key] = value.replace("\r\n", "\n") if isinstance(value, str) else value
        return values

    def clean_shared_with(self) -> list[User]:
        return _people(self.cleaned_data["shared_with"])

    def clean_operators(self) -> list[User]:
        return _people(self.cleaned_data["operators"])

    def sharing(self) -> dict[str, Any]:
        """Sharing from the form, as arguments of `services.share`."""
        named, to_all = self.cleaned_data["shared_with"], self.cleaned_data["open_to_all"]
        return {"named": named, "open_to_all": to_all, "operators": self.cleaned_data.get("operators")}

    def clean(self) -> dict[str, Any]:
        """Validate with the adapter, and show its errors at their settings."""
        cleaned = super().clean() or self.cleaned_data
        marked = frozenset(self.errors)
        try:
            self._ask_the_adapter()
        except ConfigurationError as error:
            for problem in error.problems:
                if PREFIX + problem.field not in marked:
                    name = PREFIX + problem.field.partition(".")[0]
                    self.add_error(name if name in self.fields else None, self._problem_sentence(problem))
        return cleaned

    def _ask_the_adapter(self) -> None:
        """Validate the settings; if an empty text or list is refused, take its default instead."""
        settings = self.settings()
        try:
            self._check(settings)
        except ConfigurationError as error:
            wrong = {problem.field for problem in error.problems}
            self._left_out = {key for key in wrong if settings.get(key) in ("", [])}
            if not self._left_out:
                raise
            self._check(self.settings())

    def _check(self, settings: dict[str, Any]) -> None:
        pinned = composition.pinned(self.adapter, settings, by=self.user, of=self.bot)
        composition.configuration_of(self.adapter, pinned)

    def _problem_sentence(self, problem: Problem) -> str:
        """Sentence that names an invalid setting, and what to enter instead."""
        key, *below = problem.field.split(".")
        schema = self._schemas.get(key)
        parts = [gettext("“%(label)s”") % {"label": label_of(schema) if schema else key}]
        for part in below:
            parts.append(gettext("entry %(n)d") % {"n": int(part) + 1} if part.isdecimal() else part)
        cure = problem.cure.rstrip(".")
        values = {"setting": ", ".join(parts), "value": problem.value}
        values["cure"] = (
            f"it {cure}" if cure.startswith(("is ", "has ")) and problem.value != NOTHING else cure
        )
        if problem.value == NOTHING:
            return gettext("%(setting)s %(cure)s.") % values
        if problem.value == HIDDEN:
            return gettext("%(setting)s cannot be used: %(cure)s.") % values
        if problem.value.endswith((" entry", " entries")):
            return (
                gettext("%(setting)s: %(cure)s.") % values
            )  # the number of entries does not explain the error
        return gettext("%(setting)s cannot be %(value)s: %(cure)s.") % values

    @property
    def inside_name(self) -> str:
        """Name of the field with the bots inside; empty if it has none."""
        return PREFIX + self.inside if self.inside else ""

    @property
    def may_pick(self) -> bool:
        return bool(self.inside) and self._names_all()

    def setting_fields(self) -> list[forms.BoundField]:
        """Visible settings: required ones first, then important or changed ones."""
        visible = [self[PREFIX + key] for key in self._schemas if key not in self._folded]
        return sorted(visible, key=lambda each: not each.field.required)

    def folded_fields(self) -> list[forms.BoundField]:
        """Settings that most people leave at their default."""
        return [self[PREFIX + key] for key in self._schemas if key in self._folded]

    def has_folded_errors(self) -> bool:
        return any(each.errors for each in self.folded_fields())

    @cached_property
    def _folded(self) -> Collection[str]:
        configuration = self.bot.configuration if self.bot else {}
        folded = [
            key
            for key, schema in self._schemas.items()
            if key not in self._first
            and (key not in configuration or configuration[key] == schema.get("default"))
            and not (self.picks and key == self.inside)
        ]
        return folded if len(folded) >= LEAST_FOLDED else ()

    def require_secrets(self) -> None:
        """Add an error to each typed secret: it must be entered again, because no page shows secrets."""
        for key, schema in self._schemas.items():
            if is_secret(schema) and self.data.get(PREFIX + key) and not self.has_error(PREFIX + key):
                self.add_error(PREFIX + key, gettext("Enter it again: what you entered was not kept."))


def _names(people: "QuerySet[User]") -> str:
    return ", ".join(people.order_by("username").values_list("username", flat=True))


def _people(names: str) -> list[User]:
    try:
        return people_named(names.split(","))
    except UnknownPersonError as error:
        raise ValidationError(str(error)) from None


def resolved(schema: Schema, whole: Schema) -> dict[str, Any]:
    """A property's schema without references; `nullable` notes the alternative of nothing."""
    result = dict(schema)
    if "$ref" in result:
        definition = whole.get("$defs", {}).get(result.pop("$ref").rpartition("/")[2], {})
        result = {**definition, **result}
    if "anyOf" in result:
        kinds = [each for each in result.pop("anyOf") if each.get("type") != "null"]
        only = resolved(kinds[0], whole) if len(kinds) == 1 else {}
        result = {**only, **result, "nullable": True}
    return result


def is_secret(schema: Schema) -> bool:
    return schema.get("format") == "password"


def type_of(schema: Schema) -> str:
    """boolean, integer, number, choice, string, list (of texts or numbers), or json for all else."""
    if "enum" in schema:
        return "choice"
    kind = schema.get("type")
    if kind == "array" and schema.get("items", {}).get("type") in ("string", "integer", "number"):
        return "list"
    return kind if kind in ("boolean", "integer", "number", "string") else "json"


def field_of(schema: Schema, required: bool) -> forms.Field:
    """Form field of a setting; the adapter validates its value."""
    common: dict[str, Any] = {"label": label_of(schema), "help_text": help_of(schema), "required": False}
    match type_of(schema):
        case "boolean":
            return forms.BooleanField(**common)
        case "choice":
            choices = [(value, value) for value in schema["enum"]]
            return forms.ChoiceField(**common | {"required": required}, choices=choices)
        case "integer":
            return forms.IntegerField(**common | {"required": required})
        case "number":
            return forms.FloatField(**common | {"required": required})
        case "list":
            return ListSetting(**common | {"required": required})
        case "json":
            return JSONSetting(**common | {"required": required})
    if is_secret(schema):
        widget: forms.Widget = forms.PasswordInput(attrs={"autocomplete": "new-password"})
    elif _is_long(schema):
        widget = forms.Textarea(attrs={"rows": 4})
    else:
        widget = forms.TextInput()
    return forms.CharField(**common | {"required": required}, widget=widget, strip=False)


def label_of(schema: Schema) -> str:
    """Title in sentence case: "Fail on", but "API key"."""
    first, *others = str(schema.get("title", "")).split(" ")
    lowered = [word if word.isupper() else word.lower() for word in others]
    return " ".join([first[:1].upper() + first[1:], *lowered])


def _is_long(schema: Schema) -> bool:
    texts = [schema.get("default"), *schema.get("examples", ())]
    return schema.get("format") == "multiline" or any(len(str(text)) > LONG_TEXT_CHARS for text in texts)


def help_of(schema: Schema) -> str:
    parts = [str(schema.get("description", ""))]
    if type_of(schema) == "list":
        parts.append("One per line.")
    if type_of(schema) == "json":
        parts.append("As JSON.")
    if is_secret(schema):
        parts.append("Never shown again; leave it empty to keep the stored one.")
    if examples := schema.get("examples"):
        example = examples[0] if isinstance(examples[0], str) else json.dumps(examples[0])
        parts.append(f"For example: {example}")
    return " ".join(part for part in parts if part)
