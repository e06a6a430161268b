"""Parts of the report's page that depend on the stored report alone: rendered once, then cached."""

import zlib
from functools import cache
from pathlib import Path
from typing import Any

from django import template
from django.conf import settings
from django.template.base import FilterExpression, Node, NodeList, Parser, Token
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import get_language

from turnwise.live.caching import cache_key, cached

register = template.Library()


class RenderedPart(Node):
    def __init__(self, nodelist: NodeList, report: FilterExpression, name: str) -> None:
        self.nodelist, self.report, self.name = nodelist, report, name

    def render(self, context: template.Context) -> SafeString:
        report = self.report.resolve(context)
        key = cache_key("part", report.pk, str(report.finished_at), self.name, get_language(), _code())
        # A report of 30 bots has megabytes of cells that differ in few digits.
        packed: bytes = cached(key, lambda: zlib.compress(self.nodelist.render(context).encode(), 1))
        return mark_safe(zlib.decompress(packed).decode())


@register.tag
def rendered_once(parser: Parser, token: Token) -> RenderedPart:
    """Render a block once for a report: `{% rendered_once report "results" %}…{% end_rendered_once %}`.

    The block may read only what never changes after the report is ready. The name tells blocks apart.
    """
    try:
        _, report, name = token.split_contents()
    except ValueError as error:
        raise template.TemplateSyntaxError("rendered_once needs a report and a name in quotes.") from error
    nodelist = parser.parse(("end_rendered_once",))
    parser.delete_first_token()
    return RenderedPart(nodelist, parser.compile_filter(report), name)


@cache
def _code() -> list[Any]:
    """Newest change of the templates and tags that the parts are made of: a new version renders them anew."""
    files = list((settings.ROOT / "templates").rglob("*.html"))
    files += Path(__file__).parents[2].rglob("templatetags/*.py")
    return [len(files), max(path.stat().st_mtime_ns for path in files)]
