"""Translation catalogs in locale/ of the texts that workers read; staff pages are English only.

Texts are found where they are written: in the templates that a worker's page is made of, in the scripts of
these pages, and in the modules below. Needs Babel, which `make setup` installs, and Turnwise runs without.
"""

import ast
import io
import re
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from gettext import translation
from pathlib import Path

import django.conf
from babel.messages.catalog import Catalog, Message
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po
from django.conf import settings
from django.utils.translation import to_locale
from django.utils.translation.template import templatize

from turnwise.live.templatetags.modules import imported, texts_of

SOURCES = Path(__file__).parents[1]
TEMPLATES = settings.ROOT / "templates"

MODULES = (
    "accounts/limits.py", "contexts/tables.py", "crowd/entry/arrival_views.py", "crowd/entry/practice.py",
    "crowd/entry/worker_views.py", "crowd/models/*.py", "crowd/panels/*.py",
    "crowd/refusals.py", "crowd/running/limits.py", "dialogues/pictures.py",
    "dialogues/progress.py", "dialogues/reading_material.py", "dialogues/turn_taking.py",
    "judging/queue/queued_task.py", "judging/queue/rater_session.py", "judging/queue/services.py",
    "judging/queue/training.py", "live/frames.py", "privacy/participant_views.py", "privacy/stored_data.py",
    "privacy/withdrawal.py", "project/middleware.py", "quality/gates.py", "questionnaires/*.py",
    "questions/question_sets.py", "responses/checks.py",
    "tasks/arena/battles.py", "tasks/arena/both_sides.py",
    "tasks/*/consumers.py", "tasks/*/lobby.py", "tasks/*/page.py", "tasks/*/services.py", "tasks/*/task.py",
    "tasks/*/training_views.py", "tasks/*/views.py", "tasks/*/worker_page.py",
)  # fmt: skip
"""Modules with texts for workers."""
STAFF_MODULES = (
    "crowd/panels/panel_views.py",
    "crowd/panels/study_panels.py",
)
"""Modules among these whose texts are only for researchers."""
STAFF_ONLY = frozenset(
    {"PanelAct", "about", "brings", "decoded", "problems", "_problem_of", "why_not_text", "why_not_open"}
    | {"ProlificApi", "api_account"}
    | {"MACHINE", "why_untrainable", "why_unfit", "article_shortage"}
    | {"ArenaForm", "ArenaPage", "ArenaPlanForm"}
    | {"ConversationPairsForm", "PairsAskForm", "ResponsePairsForm"}
    | {"SelfPlayForm", "SourceForm", "TwoPeopleForm", "TwoPeoplePreviewed", "WritingForm", "WritingPlanForm"}
    | {"help_text", "verbose_name", "verbose_name_plural"}  # of models; forms of workers have their own
)
"""Functions, classes and attributes in these modules whose texts are only for researchers."""

Text = tuple[str, str, str]
"""What is said, its plural or "", and its context or ""."""

_FUNCTIONS = {
    "_",
    "gettext_noop",
    "gettext",
    "gettext_lazy",
    "ngettext",
    "ngettext_lazy",
    "pgettext",
    "pgettext_lazy",
}
_CALL = re.compile(r"\b(_|gettext|ngettext|pgettext)\((.*?)\)(?=[\s)]|$)", re.MULTILINE)
_QUOTED = re.compile(r"""u?("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')""")
_NAMED = re.compile(r'["\']([\w/]+\.html)["\']')
_EXTENDS = re.compile(r'\{% extends "([\w/.]+)"')
_SCRIPT = re.compile(r'\{% module "([\w/.]+)" %\}')
# What would change with every run, or names people.
_NOISE = re.compile(
    r'^"(?:POT-Creation-Date|PO-Revision-Date|Report-Msgid-Bugs-To|Last-Translator|Language-Team|Generated-By'
    r"|Project-Id-Version): .*\n",
    re.MULTILINE,
)
_HEADER = "# What workers read. `make catalogs` brings it up to date: docs/languages.md."


def worker_templates() -> list[str]:
    """The templates of which workers' pages are made: what extends theirs, and what is included there."""
    sources = {str(path.relative_to(TEMPLATES)): path.read_text() for path in TEMPLATES.rglob("*.html")}
    bases = {"worker.html", "403_csrf.html"}
    while more := {name for name, text in sources.items() if _base_of(text) in bases} - bases:
        bases |= more
    found: set[str] = set()
    waiting = [*bases, *(name for name in sources if re.fullmatch(r"tasks/\w+/welcome\.html", name))]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += [each for each in _NAMED.findall(sources[name]) if each in sources]
    return sorted(found)


def _base_of(template: str) -> str:
    extends = _EXTENDS.match(template)
    return extends.group(1) if extends else ""


def texts() -> dict[Text, set[str]]:
    """All texts for workers, each with its source files."""
    found: dict[Text, set[str]] = {}
    for where, text in (*_of_templates(), *_of_scripts(), *_of_modules()):
        found.setdefault(text, set()).add(where)
    return found


def _of_templates() -> Iterator[tuple[str, Text]]:
    for name in worker_templates():
        for function, given in _CALL.findall(templatize((TEMPLATES / name).read_text())):
            quoted = [ast.literal_eval(each) for each in _QUOTED.findall(given)]
            yield f"templates/{name}", _text(function, quoted)


def _of_scripts() -> Iterator[tuple[str, Text]]:
    entries = {
        entry for name in worker_templates() for entry in _SCRIPT.findall((TEMPLATES / name).read_text())
    }
    for path in sorted({each for entry in entries for each in (entry, *imported(entry))}):
        for one, many in texts_of(path):
            yield f"static/{path}", (one, many, "")


def _of_modules() -> Iterator[tuple[str, Text]]:
    paths = {path for pattern in MODULES for path in SOURCES.glob(pattern)}
    for path in sorted(paths - {SOURCES / name for name in STAFF_MODULES}):
        for text in _in_code(ast.parse(path.read_text())):
            yield f"platform/turnwise/{path.relative_to(SOURCES)}", text


def _in_code(node: ast.AST) -> Iterator[Text]:
    """The texts of a piece of Python, in their order."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef) and node.name in STAFF_ONLY:
        return
    if isinstance(node, ast.keyword) and node.arg in STAFF_ONLY:
        return
    if isinstance(node, ast.Assign) and any(getattr(each, "id", "") in STAFF_ONLY for each in node.targets):
        return
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _FUNCTIONS:
        given = [each.value for each in node.args if isinstance(each, ast.Constant)]
        quoted = [each for each in given if isinstance(each, str)]
        if quoted:
            yield _text(node.func.id.removesuffix("_lazy"), quoted)
    for child in ast.iter_child_nodes(node):
        yield from _in_code(child)


def _text(function: str, quoted: Sequence[str]) -> Text:
    if function == "ngettext":
        return quoted[0], quoted[1], ""
    return (quoted[1], "", quoted[0]) if function == "pgettext" else (quoted[0], "", "")


def catalog_file(language: str) -> Path:
    """The catalog that people write; beside it lies what is loaded, with the ending .mo."""
    folder: Path = settings.ROOT / "locale" / to_locale(language) / "LC_MESSAGES"
    return folder / "django.po"


def catalog_of(language: str) -> Catalog:
    """The catalog as its file has it; an empty one of a language that is new."""
    path = catalog_file(language)
    if not path.exists():
        catalog = Catalog(locale=to_locale(language))
        catalog.mime_headers = [("Plural-Forms", _plural_forms(language))]
        return catalog
    with path.open("rb") as file:
        return read_po(file, locale=to_locale(language))


def _plural_forms(language: str) -> str:
    """As Django's own catalog has them, with which ours is loaded."""
    folder = Path(django.conf.__file__).parent / "locale"
    return str(translation("django", folder, [to_locale(language)]).info()["plural-forms"])


def renewed(catalog: Catalog) -> Catalog:
    """Update a catalog to the current texts; new ones have no translation yet."""
    today = Catalog(locale=catalog.locale, fuzzy=False, header_comment=_HEADER)
    today.mime_headers = [("Plural-Forms", catalog.plural_forms)]
    for (one, many, context), files in sorted(texts().items(), key=lambda each: (min(each[1]), each[0])):
        known = catalog.get(one, context=context or None)
        is_alike = known is not None and bool(many) == isinstance(known.id, tuple)
        today.add(
            (one, many) if many else one,
            known.string if known and is_alike else None,
            locations=[(file, 0) for file in sorted(files)],
            flags=known.flags & {"fuzzy"} if known else (),
            context=context or None,
        )
    return today


def written(catalog: Catalog) -> tuple[bytes, bytes]:
    """The catalog as people write it and as it is loaded, the same whenever it is written."""
    catalog.creation_date = catalog.revision_date = datetime(2000, 1, 1, tzinfo=UTC)
    po, mo = io.BytesIO(), io.BytesIO()
    write_po(po, catalog, width=110, include_lineno=False)
    write_mo(mo, catalog)
    return _NOISE.sub("", po.getvalue().decode()).encode(), mo.getvalue()


def forms(message: Message) -> tuple[list[str], list[str]]:
    """The English of a text, and its translation: of one with a number, all forms of both."""
    ids = message.id if isinstance(message.id, tuple | list) else [message.id]
    plural_forms = message.string if isinstance(message.string, tuple | list) else [message.string]
    return [str(each) for each in ids], [str(each or "") for each in plural_forms]


def missing(catalog: Catalog) -> list[str]:
    """The texts that have no translation yet, or one that is marked as a guess."""
    wanted = [each for each in catalog if each.id and (each.fuzzy or not all(forms(each)[1]))]
    return [forms(each)[0][-1] for each in wanted]


def renew(language: str) -> list[str]:
    """Bring a catalog up to date, and what is loaded of it; the texts that still want a translation."""
    catalog, path = renewed(catalog_of(language)), catalog_file(language)
    path.parent.mkdir(parents=True, exist_ok=True)
    po, mo = written(catalog)
    path.write_bytes(po)
    path.with_suffix(".mo").write_bytes(mo)
    return missing(catalog)
