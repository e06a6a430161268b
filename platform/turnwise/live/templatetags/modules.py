import json
import re
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from django import template
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import get_language, gettext, ngettext

from turnwise.live.rendering.replaced_texts import version_of_texts
from turnwise.live.static_files.references import imports_of

register = template.Library()

_STRING = r'("(?:[^"\\]|\\.)*")'
# An example of every plural category of any language, and one of the rest.
_ANY_OTHER = 100
_EXAMPLES = (0, 1, 2, 3, 5, 6, 7, 11, _ANY_OTHER)
_TEXT = re.compile(rf"\bn?gettext\(\s*{_STRING}(?:,\s*{_STRING})?")


@register.simple_tag(takes_context=True)
def module(context: template.Context, path: str) -> SafeString:
    """Render a page's script with preload links to its imports, so that the browser fetches all at once.

    If the page is not in English, the translations of the scripts' texts are included.
    """
    of_page: Any = context.render_context
    announced: set[str] = of_page.setdefault("modules", set())
    fresh = [each for each in imported(path) if each not in announced]
    announced.update(fresh)
    links = format_html_join(
        "\n", '<link rel="modulepreload" href="{}">', ((static(each),) for each in fresh)
    )
    language = get_language() or "en"
    texts = _translated(path, language, version_of_texts(language))
    return format_html('{}{}\n<script type="module" src="{}"></script>', texts, links, static(path))


@lru_cache(maxsize=500)
def _translated(path: str, language: str, version: int) -> SafeString:
    """Translated texts of a module and its imports, as a block of JSON that `kit/gettext.js` reads.

    A text that is changed in the product has another version, so it is rendered anew. Characters with a
    meaning in HTML are escaped, so that a text cannot end the block.
    """
    if language == "en":
        return SafeString("")
    found = {one: _forms(one, many) for each in (path, *imported(path)) for one, many in texts_of(each)}
    written = json.dumps(found, ensure_ascii=False, separators=(",", ":"))
    safe = written.replace("<", "\\u003C").replace(">", "\\u003E").replace("&", "\\u0026")
    return format_html('<script type="application/json" class="texts">{}</script>\n', SafeString(safe))


def _forms(one: str, many: str) -> str | dict[int, str]:
    """Translation of a text in the active language; with a plural, its forms by example number."""
    if not many:
        return gettext(one)
    forms = {n: ngettext(one, many, n) for n in _EXAMPLES}
    return {n: text for n, text in forms.items() if n == _ANY_OTHER or text != forms[_ANY_OTHER]}


def texts_of(path: str) -> list[tuple[str, str]]:
    """Texts of a script in order: the English text, and its plural or ""."""
    return [(json.loads(one), json.loads(many or '""')) for one, many in _TEXT.findall(_source(path))]


@cache
def imported(path: str) -> tuple[str, ...]:
    """All direct and indirect imports of a module, each once, without the module.

    Raises:
        LookupError: there is no such file.
    """
    found: dict[str, None] = {}
    waiting = [path]
    while waiting:
        importer = waiting.pop(0)
        for each in imports_of(importer, _source(importer)):
            if each not in found and each != path:
                found[each] = None
                waiting.append(each)
    return tuple(found)


def _source(path: str) -> str:
    file = finders.find(path)
    if not isinstance(file, str):
        raise LookupError(
            f"There is no static file {path}. Correct the address in the import or the template."
        )
    return Path(file).read_text()
