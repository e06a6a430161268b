from typing import Protocol

from django import template
from django.template.loader import render_to_string
from django.utils.html import format_html
from django.utils.safestring import SafeString

from turnwise.live.markdown import as_html

register = template.Library()


@register.filter
def markdown(text: str) -> SafeString:
    """Format a researcher's Markdown as safe HTML for workers."""
    return as_html(text, indented_code=False)


class _Study(Protocol):
    markdown: bool


@register.simple_tag
def turn_text(text: str, study: _Study, *, css: str = "turn__text", top: int = 2) -> SafeString:
    """Show a turn or response as the study's raters see it: formatted, as written, or that it has no text."""
    if not text:
        return SafeString(render_to_string("partials/no_text.html"))
    if study.markdown:
        return format_html('<div class="{} prose" dir="auto">{}</div>', css, as_html(text, top=top))
    return format_html('<p class="{}" dir="auto">{}</p>', css, text)
