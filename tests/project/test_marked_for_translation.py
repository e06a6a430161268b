"""Everything that a person reads is marked for translation: in templates, forms, messages and scripts."""

import ast
import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest
from django import forms
from django.utils.functional import Promise
from django.utils.translation import gettext_lazy

from turnwise.studies.models import Study

ROOT = Path(__file__).parents[2]
TEMPLATES = ROOT / "templates"
# A tag of Django, a variable, a comment, or a tag of HTML, in whose attributes the first two may stand.
_TOKEN = re.compile(
    r"(\{%.*?%\}|\{\{.*?\}\}|\{#.*?#\}|<!--.*?-->|<(?:\{%.*?%\}|\{\{.*?\}\}|[^<>])*>)", re.DOTALL
)
_READ_OUT = re.compile(
    r"\s(?:aria-label|aria-description|title|placeholder|alt)=([\"'])((?:\{%.*?%\}|\{\{.*?\}\}|(?!\1).)*)\1",
    re.DOTALL,
)
_BRACED = re.compile(r"\{%.*?%\}|\{\{.*?\}\}|&#?\w+;", re.DOTALL)
_MARKED = re.compile(r"\{%\s*blocktrans.*?\{%\s*endblocktrans\w*\s*%\}", re.DOTALL)
# What is nobody's language: a comment, a class, a sample of a file, a script.
_SILENT = re.compile(
    r"\{%\s*comment.*?endcomment\s*%\}|\{%\s*block body_class\s*%\}.*?\{%\s*endblock\s*%\}"
    r"|<(pre|script|style)\b.*?</\1>",
    re.DOTALL,
)
_GIVEN = re.compile(r"\b(?:text|here|title|label|back|on)=\"([^\"]*)\"")
# Names of things, which are the same in every language.
_NAMES = frozenset(
    ("Turnwise", "CSV", "JSON", "Lines", "SVG", "PDF", "UTC", "Tab", "Esc", "Enter", "LaTeX", "BibTeX",
     "Markdown", "ELIZA", "openapi.json", "AsPredicted", "SHA", "R²", "kappa", "ms", "IP", "id", "min")
)  # fmt: skip
# It has attributes and no words.
_WITHOUT_WORDS = "questions/told.html"


def unmarked(template: str) -> Iterator[str]:
    """The words of a template that would stay English."""
    text = _MARKED.sub("", _SILENT.sub("", template))
    for token in _TOKEN.split(text):
        if token.startswith("{%"):
            found = _GIVEN.findall(token) if token.startswith("{% include") else []
        elif token.startswith(("{{", "{#", "<!")):
            found = []
        elif token.startswith("<"):
            found = [said for _, said in _READ_OUT.findall(token)]
        else:
            found = [token]
        yield from filter(_has_words, (_BRACED.sub(" ", each).strip() for each in found))


def _has_words(text: str) -> bool:
    return any(word not in _NAMES for word in re.findall(r"[^\W\d_][\w.²]*[^\W\d_².]|R²", text))


@pytest.mark.parametrize(
    ("template", "found"),
    [
        ("<p>Hello {{ name }}</p>", ["Hello"]),
        ("<p>{% translate 'Hello' %} {{ name }}</p>", []),
        ("{% blocktranslate %}Hello <b>{{ name }}</b>{% endblocktranslate %}", []),
        ('<a aria-label="Report of {{ study }}" href="x">CSV</a>', ["Report of"]),
        ('<a aria-label="{% translate "Report" %}" href="x">3 &middot; {{ n }}</a>', []),
        ('{% include "x.html" with here="Report" %}', ["Report"]),
        ('{% include "x.html" with here=_("Report") %}', []),
        ("{% comment %}Why{% endcomment %}<script>let told = 1;</script>{# Why #}", []),
        ("{% if open %}<p>{% else %}Closed{% endif %}", ["Closed"]),
    ],
)
def test_words_are_found(template: str, found: list[str]) -> None:
    assert list(unmarked(template)) == found


def test_no_tag_goes_over_a_line() -> None:
    """Django would show it to the reader."""
    broken = [
        str(path.relative_to(TEMPLATES))
        for path in TEMPLATES.rglob("*.html")
        if re.search(r"\{%[^%]*\n[^%]*%\}", path.read_text())
    ]

    assert broken == []


def test_every_text_of_a_template_is_marked() -> None:
    found = {
        name: words
        for path in TEMPLATES.rglob("*.html")
        if (name := str(path.relative_to(TEMPLATES))) != _WITHOUT_WORDS
        and (words := list(unmarked(path.read_text())))
    }

    assert found == {}


# --- code -----------------------------------------------------------------------------------------


def unmarked_in_code(source: str) -> Iterator[str]:
    """What messages, refusals, models, and the labels and helps of fields say without being marked."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call):
            yield from (ast.unparse(text) for said in _said_by(node) for text in _plain(said))
        elif isinstance(node, ast.ClassDef):
            yield from (ast.unparse(text) for said in _named_in(node) for text in _plain(said))


def _said_by(call: ast.Call) -> list[ast.expr]:
    called = ast.unparse(call.func)
    if re.fullmatch(r"messages\.(success|info|warning|error)", called):
        return call.args[1:2]
    if re.search(r"(Validation|ImportRefused|RelayRefused|FileRefused)Error$", called):
        return call.args[:1]
    if re.fullmatch(r"forms\.\w+Field|\w*SetField", called):
        return [each.value for each in call.keywords if each.arg in ("label", "help_text", "empty_label")]
    if re.fullmatch(r"models\.\w+Constraint", called):
        return [each.value for each in call.keywords if each.arg == "violation_error_message"]
    if re.fullmatch(r"models\.\w+|ArrayField", called):
        names_a_model = re.search(r"To\w+Field$", called)
        named_first = call.args[:1] if called.endswith("Field") and not names_a_model else []
        return [*named_first, *(each.value for each in call.keywords if each.arg in _NAMED_BY)]
    return []


_NAMED_BY = ("verbose_name", "verbose_name_plural", "help_text")


def _named_in(found: ast.ClassDef) -> list[ast.expr]:
    """The names of choices, and of a model as a whole."""
    assigned = [each for each in found.body if isinstance(each, ast.Assign)]
    if any("Choices" in ast.unparse(base) for base in found.bases):
        return [each.value.elts[-1] for each in assigned if isinstance(each.value, ast.Tuple)]
    return [each.value for each in assigned if ast.unparse(each.targets[0]) in _NAMED_BY]


def _plain(said: ast.expr) -> Iterator[ast.expr]:
    """The parts that are written out here, but for what a function such as gettext is given."""
    if isinstance(said, ast.JoinedStr) or (isinstance(said, ast.Constant) and isinstance(said.value, str)):
        if _has_words(ast.unparse(said).strip("f'\"")):
            yield said
    elif isinstance(said, ast.IfExp):
        yield from (*_plain(said.body), *_plain(said.orelse))
    elif isinstance(said, ast.BinOp):
        yield from (*_plain(said.left), *(_plain(said.right) if isinstance(said.op, ast.Add) else ()))


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("messages.success(request, 'It is saved.')", ["'It is saved.'"]),
        ("messages.success(request, _('It is saved.'))", []),
        ("messages.error(request, f'{name} is gone.' if name else _('Gone.'))", ["f'{name} is gone.'"]),
        ("messages.error(request, 'Now ' + ('on.' if on else 'off.'))", ["'Now '", "'on.'", "'off.'"]),
        ("raise ValidationError(_('%(n)d are too many.') % {'n': n})", []),
        ("raise ValidationError(str(error))", []),
        ("forms.CharField(label='Name', help_text=_('Of the bot.'))", ["'Name'"]),
        ("models.CharField('name', help_text='Of the bot.', choices=Kind)", ["'name'", "'Of the bot.'"]),
        ("models.OneToOneField('self', help_text=_('Of the bot.'))", []),
        ("models.ForeignKey('bots.Bot', verbose_name=_('bot'))", []),
        ("models.CheckConstraint(name='so_it_is', violation_error_message='Not so.')", ["'Not so.'"]),
        ("class State(models.TextChoices):\n    OPEN = 'open', 'Open'", ["'Open'"]),
        ("class Meta:\n    verbose_name_plural = 'batteries'", ["'batteries'"]),
    ],
)
def test_words_of_code_are_found(source: str, found: list[str]) -> None:
    assert list(unmarked_in_code(source)) == found


def test_messages_refusals_models_and_fields_are_marked() -> None:
    found = {
        str(path.relative_to(ROOT)): words
        for path in (ROOT / "platform").rglob("*.py")
        if "migrations" not in path.parts and (words := list(unmarked_in_code(path.read_text())))
    }

    assert found == {}


# --- forms ----------------------------------------------------------------------------------------

# Named when the form is made: after a bot, after a panel, or by the field that takes their place.
_NAMED_LATER = {
    "PanelForm.taken", "TargetForm.chosen", "TargetForm.target",
    "AskForm.question_set", "ReadersAskForm.question_set", "PairsAskForm.question_set",
}  # fmt: skip
# Pages that have controls of their own, or send what stands in another form.
_NEVER_SHOWN = {
    "LookForm.configuration", "LookForm.seed", "OutlookForm.currency", "OutlookForm.minutes",
    "OutlookForm.pay", "OutlookForm.question_set", "OutlookForm.re_entry", "OutlookForm.re_entry_most",
    "OutlookForm.wanted",
}  # fmt: skip


def derived_labels(form: type[forms.BaseForm]) -> Iterator[str]:
    """Fields whose label is nothing but their name, or the name of the model's field, put into words."""
    for name, field in form.base_fields.items():  # type: ignore[attr-defined]  # set by the metaclass
        if not field.widget.is_hidden and not isinstance(field.label, Promise):
            yield f"{form.__name__}.{name}"


class OfFields(forms.Form):
    plain = forms.CharField()
    english = forms.CharField(label="English")
    marked = forms.CharField(label=gettext_lazy("Name"))
    hidden = forms.CharField(widget=forms.HiddenInput)


class OfModel(forms.ModelForm[Study]):
    class Meta:
        model = Study
        fields = ("title", "state")


@pytest.mark.parametrize(
    ("form", "found"),
    [(OfFields, ["OfFields.plain", "OfFields.english"]), (OfModel, ["OfModel.state"])],
)
def test_derived_labels_are_found(form: type[forms.BaseForm], found: list[str]) -> None:
    assert list(derived_labels(form)) == found


def test_no_form_derives_a_label() -> None:
    """Django would make it of a name in the code, in English on every page."""
    root = ROOT / "platform"
    modules = [
        import_module(".".join(path.relative_to(root).with_suffix("").parts))
        for path in root.rglob("*.py")
        if re.search(r"^class \w+\(.*Form\b", path.read_text(), re.MULTILINE)
    ]

    found = {
        label
        for module in modules
        for form in vars(module).values()
        if isinstance(form, type) and issubclass(form, forms.BaseForm) and form.__module__ == module.__name__
        for label in derived_labels(form)
    }

    assert found == _NAMED_LATER | _NEVER_SHOWN


# --- scripts --------------------------------------------------------------------------------------

# What is no text for the page is consumed first: comments, imports, errors that only a developer sees.
_PIECE = re.compile(
    r"""/\*.*?\*/|(?<![:"])//[^\n]*|^import[^;]*;|new\ Error\((?:[^()]|\([^()]*\))*\)
    |\bn?gettext\(\s*"(?:[^"\\]|\\.)*"(?:,\s*"(?:[^"\\]|\\.)*")?
    |"(?P<quoted>(?:[^"\\\n]|\\.)*)"|`(?P<template>(?:\$\{[^}]*\}|[^`])*)`""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
_READ = re.compile(r"^[A-Z][a-z]+(?![\w-])|[a-z]{2,} [a-z]{2,} [a-z]{2,}(?![\w-])|[a-z]{2,} ?[.…?!]$")
_KEYS_AND_HEADERS = re.compile(r"(Control\+Enter|Enter|Escape|Tab|Home|End|Accept|Arrow\w+|Content-Type)$")


def unmarked_in_script(source: str) -> Iterator[str]:
    """Texts of a script that look as if somebody were to read them, and are not handed to gettext."""
    for piece in _PIECE.finditer(source):
        written = piece["quoted"] or piece["template"] or ""
        text = re.sub(r"\$\{[^}]*\}", " ", written).strip()
        if _READ.search(text) and not _KEYS_AND_HEADERS.match(text):
            yield text


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ('setText(line, "Not sent yet");', ["Not sent yet"]),
        ('setText(line, gettext("Not sent yet"));', []),
        ('ngettext(\n  "%(n)s more reply.", "%(n)s more replies.", n)', []),
        ("setText(line, `${n} of ${all} done.`);", ["of   done."]),
        ('make("div", { class: "turn turn--human mark" }, "x"); /* A "Word". */ // "Another"', []),
        (
            'import { make } from "./dom.js";\nif (event.key === "Enter") throw new Error(`No ${x} here.`);',
            [],
        ),
    ],
)
def test_words_of_scripts_are_found(source: str, found: list[str]) -> None:
    assert list(unmarked_in_script(source)) == found


def test_every_text_of_a_script_is_marked() -> None:
    found = {
        str(path.relative_to(ROOT)): words
        for path in (ROOT / "static" / "js").rglob("*.js")
        if (words := list(unmarked_in_script(path.read_text())))
    }

    assert found == {}
