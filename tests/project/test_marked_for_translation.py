"""Everything that a person reads in a template is marked for translation."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

TEMPLATES = Path(__file__).parents[2] / "templates"
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
     "Markdown", "ELIZA", "openapi.json", "R²", "kappa", "ms", "IP", "id", "min")
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
