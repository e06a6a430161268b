import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from posixpath import dirname, join, normpath

from django import template
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()

_IMPORT = re.compile(r'^import\s[^"]*"(\.{1,2}/[^"]+)"', re.MULTILINE)


@register.simple_tag
def module(path: str) -> SafeString:
    """A page's script, and links to all that it imports: the browser fetches them at once, not in turn."""
    links = format_html_join(
        "\n", '<link rel="modulepreload" href="{}">', ((static(each),) for each in imported(path))
    )
    return format_html('{}\n<script type="module" src="{}"></script>', links, static(path))


@cache
def imported(path: str) -> tuple[str, ...]:
    """All that a module imports, directly or not, each once; itself it is not among them.

    Raises:
        LookupError: there is no such file.
    """
    found: dict[str, None] = {}
    waiting = [path]
    while waiting:
        for each in _imports(waiting.pop(0)):
            if each not in found and each != path:
                found[each] = None
                waiting.append(each)
    return tuple(found)


def _imports(path: str) -> Iterator[str]:
    file = finders.find(path)
    if not isinstance(file, str):
        raise LookupError(
            f"There is no static file {path}. Correct the address in the import or the template."
        )
    for relative in _IMPORT.findall(Path(file).read_text()):
        yield normpath(join(dirname(path), relative))
