"""The catalogs of what workers read: whole, current, and with the same values and tags as the English."""

import ast
import gettext
import inspect
import re
from pathlib import Path

import pytest
from django.conf import settings

from turnwise.crowd.panels import panels
from turnwise.languages import worker_catalogs

LANGUAGES = [code for code, _ in settings.LANGUAGES if code != settings.LANGUAGE_CODE]
_VALUES = re.compile(r"%\(\w+\)[sd]|\{\w+\}|<[a-z][^>]*>")
_LETTERS = {
    "ar": re.compile("[\u0600-\u06ff]"),
    "zh-hans": re.compile("[\u4e00-\u9fff]"),
    "ja": re.compile("[\u3040-\u30ff\u4e00-\u9fff]"),
    "hi": re.compile("[\u0900-\u097f]"),
}
"""Letters of the languages that are not written in Latin script."""
_LATIN = re.compile("[a-z]")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalog_is_current_and_whole(language: str) -> None:
    """`make catalogs` brings it up to date; what it lists then wants a translation."""
    kept = worker_catalogs.catalog_file(language).read_bytes()

    written, _ = worker_catalogs.written(worker_catalogs.renewed(worker_catalogs.catalog_of(language)))

    assert worker_catalogs.missing(worker_catalogs.catalog_of(language)) == []
    assert written == kept


def test_the_texts_of_every_panel_are_for_workers() -> None:
    """A panel's file has any name: what it says to workers must not stay English because of it."""
    folder = worker_catalogs.SOURCES / "crowd/panels"
    files = {Path(inspect.getfile(type(each))) for each in panels()}
    found = {path for pattern in worker_catalogs.MODULES for path in worker_catalogs.SOURCES.glob(pattern)}

    assert len(files) > 2
    assert files <= found - {worker_catalogs.SOURCES / name for name in worker_catalogs.STAFF_MODULES}
    assert any((folder / "clickworker.py").match(f"*/{pattern}") for pattern in worker_catalogs.MODULES)


@pytest.mark.parametrize("language", LANGUAGES)
def test_what_is_loaded_is_what_people_wrote(language: str) -> None:
    path = worker_catalogs.catalog_file(language).with_suffix(".mo")
    with path.open("rb") as file:
        loaded = gettext.GNUTranslations(file)

    for ids, said in map(worker_catalogs.forms, worker_catalogs.catalog_of(language)):
        if len(ids) > 1:
            assert set(said) >= {loaded.ngettext(ids[0], ids[1], n) for n in range(120)}
        elif ids != [""]:
            assert [loaded.gettext(ids[0])] == said


@pytest.mark.parametrize("language", LANGUAGES)
def test_translations_have_the_values_and_tags_of_the_text(language: str) -> None:
    letters = _LETTERS.get(language, _LATIN)
    for (*_, many), said in map(worker_catalogs.forms, worker_catalogs.catalog_of(language)):
        if not many or "<kbd>" in many:
            continue
        for one in said:
            assert set(_VALUES.findall(one)) <= set(_VALUES.findall(many)), one
            assert letters.search(re.sub(r"HTML|Ctrl\+C", "", one)) or "Ctrl" in one, one
        # The form for other numbers names the number; of few, a word may.
        assert set(_VALUES.findall(said[-1])) == set(_VALUES.findall(many)), many


def test_texts_are_found_wherever_they_are_written() -> None:
    found = {one for one, _, _ in worker_catalogs.texts()}

    assert {
        "Skip to content",  # a base of all pages
        "Your consent",  # a template
        "Working by keyboard",  # a block of one that extends another
        "Speaker A",  # handed to an included template
        "Connecting …",  # a script
        "Keep it as it was",  # one that scripts import
        "All places are taken",  # a view
        "Your message is empty. Write something, then send it.",  # a table of refusals
    } <= found
    assert not found & {"Save the study", "Register a bot"}  # of researchers


def test_code_is_read_as_gettext_reads_it() -> None:
    code = """
class Panel:
    title = gettext_lazy("Open link")
    about = _("For researchers.")

def problems():
    return _("For them, too.")

def said(n):
    return ngettext("%(n)d try", "%(n)d tries", n), pgettext("verb", "Open"), _(n), other("No text")
"""

    assert [*worker_catalogs._in_code(ast.parse(code))] == [
        ("Open link", "", ""),
        ("%(n)d try", "%(n)d tries", ""),
        ("Open", "", "verb"),
    ]


def test_every_template_of_a_worker_is_among_them() -> None:
    folder = Path(settings.ROOT) / "templates"
    of_workers = {
        str(path.relative_to(folder))
        for path in folder.rglob("*.html")
        if "worker.html" in path.read_text() or "crowd/instructions.html" in path.read_text()
    }

    assert of_workers <= set(worker_catalogs.worker_templates())
